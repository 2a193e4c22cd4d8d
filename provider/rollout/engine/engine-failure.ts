import { constants } from "node:os";
import { getErrorMessage } from "../../model/email-security-error";
import { sanitizeMultiline } from "../../model/text";
import { stripAnsi } from "../../plan/pulumi-cli";
import { CliError } from "./engine-command";
import type { UpResult } from "./up-request";

/**
 * Reports a failed run: what killed the CLI, otherwise the engine's errors, otherwise the CLI's output.
 *
 * @param errors the engine's errors, which the CLI's own output only repeats.
 */
export function buildUpFailure(
  stack: string,
  error: unknown,
  errors: readonly string[],
): UpResult & { readonly ok: false } {
  if (!(error instanceof CliError)) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isStartFailure = typeof code === "string" && message.startsWith("spawn ");
    return toUpFailure(
      isStartFailure ? `The Pulumi CLI can't be started for ${stack}: ${message}.` : getErrorMessage(error),
    );
  }
  const { stdout, stderr, exitStatus } = error;
  const errorTexts = errors.map((text) => sanitizeMultiline(text));
  const signal = getSignal(exitStatus);
  const panic = /^(?:panic|fatal error): .*$/m.exec(stderr)?.[0];
  if (signal !== undefined || panic !== undefined) {
    const outcome = signal === undefined ? `crashed (${sanitizeMultiline(panic ?? "")})` : describeSignal(signal);
    return toUpFailure(
      [`The Pulumi CLI ${outcome} in the middle of ${stack}. ${RECOVERY_NOTE}`, ...errorTexts].join("\n"),
    );
  }
  const stderrText = sanitizeMultiline(stripAnsi(stderr)).trim();
  if (/the stack is currently locked by|Another update is currently in progress/.test(stderr)) {
    return { ok: false, isLocked: true, message: getLastLines(stderrText) };
  }
  if (errorTexts.length > 0) return toUpFailure(errorTexts.join("\n"));
  if (stderrText !== "") return toUpFailure(getLastLines(stderrText));
  const stdoutTail = getLastLines(sanitizeMultiline(stripAnsi(stdout)).trim());
  return toUpFailure(
    `The Pulumi CLI exited with ${exitStatus} in the middle of ${stack}, without an error message. ${RECOVERY_NOTE} The end of its output:\n${stdoutTail}`,
  );
}

/** Reports that the process that ran the engine exited by itself. */
export function buildProcessExitFailure(
  stack: string,
  code: number | null,
  signal: NodeJS.Signals | null,
): UpResult & { readonly ok: false } {
  const outcome = signal === null ? `exited with ${code}` : describeSignal(signal);
  return toUpFailure(`The process that runs Pulumi ${outcome} in the middle of ${stack}. ${RECOVERY_NOTE}`);
}

const RECOVERY_NOTE = "The next run verifies which of its changes took effect.";

function describeSignal(signal: string): string {
  return `was killed by ${signal}${signal === "SIGKILL" ? " (out of memory?)" : ""}`;
}

/** A shell reports the signal as 128 plus its number. */
function getSignal(exitStatus: number | string): string | undefined {
  if (typeof exitStatus === "string") return exitStatus;
  const signalNumber = exitStatus - 128;
  return Object.entries(constants.signals).find(([, value]) => value === signalNumber)?.[0];
}

function toUpFailure(message: string): UpResult & { readonly ok: false } {
  return { ok: false, isLocked: false, message };
}

function getLastLines(text: string): string {
  return text.split("\n").slice(-20).join("\n");
}
