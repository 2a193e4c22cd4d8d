import { constants } from "node:os";
import { withoutColour } from "../../plan/pulumi";
import { harmless } from "../../settings/text";
import { CliError } from "./engine-command";
import type { UpResult } from "./up-request";

/**
 * Reports a failed run: what killed the CLI, otherwise the engine's errors, otherwise the CLI's output.
 *
 * @param errors the engine's errors, which the CLI's own output only repeats.
 */
export function failedUp(
  stack: string,
  error: unknown,
  errors: readonly string[],
): UpResult & { readonly ok: false } {
  if (!(error instanceof CliError)) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isStart = typeof code === "string" && message.startsWith("spawn ");
    return failed(isStart ? `The Pulumi CLI can't be started for ${stack}: ${message}.` : messageOf(error));
  }
  const { stdout, stderr, ended } = error;
  const told = errors.map((text) => harmless(text));
  const signal = signalOf(ended);
  const panic = /^(?:panic|fatal error): .*$/m.exec(stderr)?.[0];
  if (signal !== undefined || panic !== undefined) {
    const how = signal === undefined ? `crashed (${harmless(panic ?? "")})` : killedBy(signal);
    return failed([`The Pulumi CLI ${how} in the middle of ${stack}. ${FOUND_AGAIN}`, ...told].join("\n"));
  }
  const printed = harmless(withoutColour(stderr)).trim();
  if (/the stack is currently locked by|Another update is currently in progress/.test(stderr)) {
    return { ok: false, isLocked: true, message: lastLines(printed) };
  }
  if (told.length > 0) return failed(told.join("\n"));
  if (printed !== "") return failed(lastLines(printed));
  const last = lastLines(harmless(withoutColour(stdout)).trim());
  return failed(
    `The Pulumi CLI ended with ${ended} in the middle of ${stack}, and told no error. ${FOUND_AGAIN} It printed last:\n${last}`,
  );
}

/** Reports that the process which ran the engine exited by itself. */
export function endedInside(
  stack: string,
  code: number | null,
  signal: NodeJS.Signals | null,
): UpResult & { readonly ok: false } {
  const how = signal === null ? `ended with ${code}` : killedBy(signal);
  return failed(`The process that runs Pulumi ${how} in the middle of ${stack}. ${FOUND_AGAIN}`);
}

const FOUND_AGAIN = "What it had done is found again.";

function killedBy(signal: string): string {
  return `was killed by ${signal}${signal === "SIGKILL" ? " (out of memory?)" : ""}`;
}

/** A shell reports the signal as 128 plus its number. */
function signalOf(ended: number | string): string | undefined {
  if (typeof ended === "string") return ended;
  const number = ended - 128;
  return Object.entries(constants.signals).find(([, one]) => one === number)?.[0];
}

function failed(message: string): UpResult & { readonly ok: false } {
  return { ok: false, isLocked: false, message };
}

function lastLines(text: string): string {
  return text.split("\n").slice(-20).join("\n");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
