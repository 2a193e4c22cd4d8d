import { formatErrorWithCode } from "../model/email-security-error";
import { assertNoMisspelledVariables } from "../resources/setting-names";
import { EXIT, type ExitCode } from "./exit-codes";
import { printError } from "./print-error";

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
