import { COMMAND, runCommand, runInOwnProcess } from "./command-process";
import { runEnvironment } from "./run-environment";
import { unwrapError } from "./unwrap-error";
import { onDisk, type UnwritableDisk } from "./unwritable-disk";

/** A command's output and exit code. */
export interface CommandOutcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs `email-security` with these arguments in a directory, until it ends, without any of our environment variables.
 *
 * @param disk the state of the directory's disk, for this run only.
 */
export async function emailSecurity(
  directory: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  disk?: UnwritableDisk,
): Promise<CommandOutcome> {
  const start = { directory, args, environment: { ...runEnvironment(), ...environment } };
  const { code, stdout, stderr } =
    disk === undefined
      ? await runCommand(start)
      : await runInOwnProcess(onDisk(disk, [process.execPath, COMMAND, ...args]).flat(), start);
  return { code, stdout, stderr: unwrapError(stderr) };
}
