import { COMMAND, type CommandStart, type PrintedOutput, runCapturedCommand, runInOwnProcess } from "./command-process";
import { removeProgress } from "./remove-progress";
import { runEnvironment } from "./run-environment";
import { unwrapError } from "./unwrap-error";
import { buildDiskCommand, type UnwritableDisk } from "./unwritable-disk";

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
  const start: CommandStart = { directory, args, environment: { ...runEnvironment(), ...environment } };
  if (disk === undefined) return unwrapOutput(await runCapturedCommand(start));
  const [file, parameters] = buildDiskCommand(disk, [process.execPath, COMMAND, ...args]);
  return unwrapOutput(await runInOwnProcess([file, ...parameters], start));
}

/**
 * Returns a function that runs the command in one environment.
 *
 * @param environment all of its environment.
 * @param command another than the one of this repository.
 */
export function createCli(directory: string, environment: NodeJS.ProcessEnv, command = COMMAND): Cli {
  return async (...args) => {
    const start = { directory, args, environment };
    if (command === COMMAND) return unwrapOutput(await runCapturedCommand(start));
    return unwrapOutput(await runInOwnProcess([process.execPath, command, ...args], start));
  };
}

function unwrapOutput({ code, stdout, stderr, output }: PrintedOutput): CliResult {
  return {
    code: code ?? -1,
    stdout,
    stderr: unwrapError(removeProgress(stderr)),
    output: unwrapError(removeProgress(output)),
  };
}
