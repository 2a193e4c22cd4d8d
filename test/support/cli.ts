import { spawn } from "node:child_process";
import { getBuildPath } from "./build-output";
import { removeProgress } from "./remove-progress";
import { runEnvironment } from "./run-environment";
import { unwrapError } from "./unwrap-error";
import { onDisk, type UnwritableDisk } from "./unwritable-disk";

/** The built `email-security` command. */
export const COMMAND = getBuildPath("commands/main.js", () => import("../../provider/commands/main.ts"));

/** The result of the command. */
export interface CliResult {
  /** -1 if a signal ended the command. */
  readonly code: number;
  readonly stdout: string;
  /** Error messages are on one line. Without lines of progress, which appear only if the command takes long. */
  readonly stderr: string;
  /** Both. */
  readonly output: string;
}

/** Runs the command with these arguments, until it ends. */
export type Cli = (...args: string[]) => Promise<CliResult>;

/**
 * Runs the command in a directory, without any of our environment variables.
 *
 * @param disk the state of the directory's disk, for this run only.
 */
export async function runCli(
  directory: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  disk?: UnwritableDisk,
): Promise<CliResult> {
  const [file, parameters] =
    disk === undefined ? [process.execPath, [COMMAND, ...args]] : onDisk(disk, [process.execPath, COMMAND, ...args]);
  return await runProgram(directory, file, parameters, { ...runEnvironment(), ...environment });
}

/**
 * Returns a function that runs the command in one environment.
 *
 * @param environment all of its environment.
 * @param command another than the one of this repository.
 */
export function createCli(directory: string, environment: NodeJS.ProcessEnv, command = COMMAND): Cli {
  return async (...args) => await runProgram(directory, process.execPath, [command, ...args], environment);
}

function runProgram(
  directory: string,
  file: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<CliResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd: directory, env: environment, stdio: ["ignore", "pipe", "pipe"] });
    const texts = { stdout: "", stderr: "", output: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        texts[name] += text;
        texts.output += text;
      });
    }
    child.once("error", reject);
    child.once("close", (code) =>
      resolve({
        code: code ?? -1,
        stdout: texts.stdout,
        stderr: unwrapError(removeProgress(texts.stderr)),
        output: unwrapError(removeProgress(texts.output)),
      }),
    );
  });
}
