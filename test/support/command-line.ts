import { COMMAND, runCommand, runInOwnProcess } from "./command-process";
import { unwrapError } from "./unwrap-error";

/** The result of a command. */
export interface CommandRun {
  readonly code: number;
  readonly stdout: string;
  /** Error messages are on one line. */
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
  return async (...args) => {
    const start = { directory, args, environment };
    const run = command === COMMAND ? runCommand(start) : runInOwnProcess([process.execPath, command, ...args], start);
    const { code, stdout, stderr, output } = await run;
    return { code: code ?? -1, stdout, stderr: unwrapError(stderr), output: unwrapError(output) };
  };
}
