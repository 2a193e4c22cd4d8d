import { spawn } from "node:child_process";
import { built } from "./build-output";
import { removeProgress } from "./remove-progress";
import { unwrapError } from "./unwrap-error";

/** The built `email-security` command. */
export const COMMAND = built("commands/main.js", () => import("../../provider/commands/main.ts"));

/** The result of a command. */
export interface CommandRun {
  readonly code: number;
  readonly stdout: string;
  /** Error messages are on one line. Without lines of progress, which appear only if the command takes long. */
  readonly stderr: string;
  /** Both. */
  readonly output: string;
}

/** Runs the built `email-security` command. */
export type CommandLine = (...args: string[]) => Promise<CommandRun>;

/**
 * @param directory where it is run.
 * @param environment all of its environment.
 * @param command another than the one of this repository.
 */
export function commandLine(directory: string, environment: NodeJS.ProcessEnv, command = COMMAND): CommandLine {
  return async (...args) =>
    await new Promise((done, fail) => {
      const child = spawn(process.execPath, [command, ...args], { cwd: directory, env: environment });
      const texts = { stdout: "", stderr: "", output: "" };
      for (const name of ["stdout", "stderr"] as const) {
        child[name].setEncoding("utf8").on("data", (text: string) => {
          texts[name] += text;
          texts.output += text;
        });
      }
      child.stdin.end();
      child.once("error", fail);
      child.once("close", (code) =>
        done({
          code: code ?? -1,
          stdout: texts.stdout,
          stderr: unwrapError(removeProgress(texts.stderr)),
          output: unwrapError(removeProgress(texts.output)),
        }),
      );
    });
}
