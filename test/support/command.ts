import { spawn } from "node:child_process";
import { COMMAND } from "./command-line";
import { removeProgress } from "./remove-progress";
import { runEnvironment } from "./run-environment";
import { unwrapError } from "./unwrap-error";
import { onDisk, type UnwritableDisk } from "./unwritable-disk";

/** A command's output and exit code. */
export interface CommandOutcome {
  readonly code: number | null;
  readonly stdout: string;
  /** Without lines of progress, which appear only if the command takes long. */
  readonly stderr: string;
}

/**
 * Runs `email-security` with these arguments in a directory, until it ends, without any of our environment variables.
 *
 * @param disk the state of the directory's disk, for this run only.
 */
export function emailSecurity(
  directory: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  disk?: UnwritableDisk,
): Promise<CommandOutcome> {
  return new Promise((resolve, reject) => {
    const program = [process.execPath, COMMAND, ...args] as const;
    const [file, parameters] = disk === undefined ? [program[0], program.slice(1)] : onDisk(disk, program);
    const child = spawn(file, parameters, {
      cwd: directory,
      env: { ...runEnvironment(), ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr: unwrapError(removeProgress(stderr)) }));
  });
}
