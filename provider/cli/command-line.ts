import type { SettingsClient } from "../client";
import { NO_STACK_CONFIG, readConfiguration } from "../resources/configuration";
import { createTenantClient } from "../resources/create-tenant-client";
import { assertNoMisspelledVariables } from "../resources/setting-names";
import { formatErrorWithCode } from "../settings/email-security-error";
import { printError } from "./print-error";

/** The exit codes of all commands; `docs/reference/exit-codes.md` documents them. */
export const EXIT = {
  /** Nothing to do, or no findings. */
  clean: 0,
  /** Invalid input, no connection, or a failure. */
  error: 1,
  /** Changes, drift or findings. */
  changes: 2,
  /** Refused because of a blocker. */
  refused: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * Wraps the action of a command. Its result becomes the exit code; an error is printed to stderr with its code, and exits with 1. The
 * message is escaped.
 */
export function wrapAction<Args extends unknown[]>(
  action: (...args: Args) => Promise<ExitCode> | ExitCode,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    try {
      assertNoMisspelledVariables(process.env);
      process.exitCode = await action(...args);
    } catch (error) {
      printError(formatErrorWithCode(error));
      if (process.env["EMAIL_SECURITY_DEBUG"]) console.error(error);
      process.exitCode = EXIT.error;
    }
  };
}

/**
 * Connects to the tenant in the environment.
 *
 * @throws {ConfigurationError} with the missing settings.
 */
export function connect(environment: NodeJS.ProcessEnv = process.env): SettingsClient {
  return createTenantClient(readConfiguration(NO_STACK_CONFIG, environment), environment);
}

/** Returns the name by which the user runs this command: with npx, it isn't on PATH. */
export function getCommandName(environment: NodeJS.ProcessEnv = process.env): string {
  return environment["npm_command"] === "exec" ? "npx email-security" : "email-security";
}

/** Returns whether to use colours: on a terminal that supports them, subject to NO_COLOR and FORCE_COLOR. */
export function shouldUseColor(terminal: Partial<Pick<NodeJS.WriteStream, "isTTY" | "hasColors">>): boolean {
  if (process.env["NO_COLOR"]) return false;
  if (process.env["FORCE_COLOR"]) return process.env["FORCE_COLOR"] !== "0";
  return terminal.isTTY === true && terminal.hasColors?.() === true;
}
