import type { SettingsClient } from "../client";
import { NO_STACK, readConfiguration } from "../resources/configuration";
import { connectedClient } from "../resources/connected-client";
import { refuseMisspeltVariables } from "../resources/known-names";
import { withCode } from "../settings/email-security-error";
import { harmless } from "../settings/text";

/** The exit codes of all commands, which `docs/reference/exit-codes.md` lists. */
export const EXIT = {
  /** Nothing to do, or nothing found. */
  clean: 0,
  /** Bad input, no connection, a failure. */
  error: 1,
  /** There are changes, drift, or findings. */
  changes: 2,
  /** Refused by a guard. */
  refused: 3,
} as const;

/** A way in which a verb ends. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * Wraps what a verb does: its answer becomes the exit code; an error is told on stderr with its code, and ends in 1. What
 * is told is text and nothing else, whoever wrote it.
 */
export function verb<Args extends unknown[]>(
  action: (...args: Args) => Promise<ExitCode> | ExitCode,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    try {
      refuseMisspeltVariables(process.env);
      process.exitCode = await action(...args);
    } catch (error) {
      console.error(harmless(`error: ${withCode(error)}`));
      if (process.env["EMAIL_SECURITY_DEBUG"]) console.error(error);
      process.exitCode = EXIT.error;
    }
  };
}

/**
 * The client of the tenant that the environment names.
 *
 * @throws {ConfigurationError} that names what is missing.
 */
export function connect(environment: NodeJS.ProcessEnv = process.env): SettingsClient {
  return connectedClient(readConfiguration(NO_STACK, environment), environment);
}

/** How a person called this command, and is told to call it again: over npx, it is not on PATH. */
export function programName(environment: NodeJS.ProcessEnv = process.env): string {
  return environment["npm_command"] === "exec" ? "npx email-security" : "email-security";
}

/** Colour where there is a terminal that shows it, as the conventions of NO_COLOR and FORCE_COLOR have it. */
export function isColoured(terminal: Partial<Pick<NodeJS.WriteStream, "isTTY" | "hasColors">>): boolean {
  if (process.env["NO_COLOR"]) return false;
  if (process.env["FORCE_COLOR"]) return process.env["FORCE_COLOR"] !== "0";
  return terminal.isTTY === true && terminal.hasColors?.() === true;
}
