import { EmailSecurityError, getErrorMessage } from "../../model/email-security-error";
import { maskSecrets } from "../../model/secrets";
import { sanitizeMultiline } from "../../model/text";
import { findEngineCause } from "../engine/engine-causes";
import type { TenantError } from "../model/rollout-report";
import { formatFailureAdvice, type NextCommands } from "../report/failure-advice";

/**
 * Builds the error of one tenant for the journal and for reports, with the cause first.
 *
 * @param secrets texts that must never appear in it, such as the tenant's key.
 * @param nextCommands the commands to continue with. Default: the tenant has no plan and needs a new rollout.
 */
export function buildTenantError(
  error: unknown,
  phase: TenantError["phase"],
  secrets: readonly string[] = [],
  nextCommands?: NextCommands,
): TenantError {
  const code = extractErrorCode(error);
  const reorderedMessage = reorderCauseFirst(getErrorMessage(error));
  const engineFailure = code === "ERR_PULUMI" ? findEngineCause(reorderedMessage) : undefined;
  const message =
    engineFailure?.summary === undefined ? reorderedMessage : `${engineFailure.summary}\n${reorderedMessage}`;
  return {
    code,
    // Removes secrets before sanitizing, which could change a key so that it isn't found any more.
    message: truncateMessage(sanitizeMultiline(maskSecrets(secrets, message))),
    advice: formatFailureAdvice(code, engineFailure?.advice, nextCommands),
    phase,
  };
}

/** Returns the code of a failure. The engine reports the provider's errors with their codes: `… [ERR_AUTH]`. */
export function extractErrorCode(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  // The codes of Node.js errors have other meanings.
  const isOwnError = error instanceof EmailSecurityError || /^ERR_ENGINE_/.test(String(code));
  if (isOwnError && code !== "ERR_PULUMI") return String(code);
  const text = getErrorMessage(error);
  // A list that was not applied also reports the codes of its reasons, which say more.
  const codes = [...text.matchAll(/\[(ERR_[A-Z_]+)\]/g)].map(([, errorCode]) => errorCode ?? "");
  return codes.find((errorCode) => errorCode !== "ERR_LIST_NOT_APPLIED") ?? codes[0] ?? "ERR_PULUMI";
}

/** The summary of a list that was not applied: how many of how many, and what to do. */
const NOT_APPLIED_PATTERN =
  /^(\d+ of \d+ .+ could not be applied); the reasons are below(\..*?)(?: Fix the reported causes, .*)?(?: \[ERR_LIST_NOT_APPLIED\])?$/;
/** A reason below that summary: its subject, the cause and its code. */
const REASON_PATTERN = /^(.+?): (.+ \[ERR_[A-Z_]+\])$/;

/**
 * Moves the causes of a list's failure before its summary, and drops the advice, because the rollout gives its own. Also drops the engine's
 * line about the failed update, which adds nothing.
 */
function reorderCauseFirst(message: string): string {
  const lines = message.split("\n").filter((line) => line !== "update failed");
  if (!lines.some((line) => NOT_APPLIED_PATTERN.test(line))) return message;
  const [progressLines, causeLines]: [string[], string[]] = [[], []];
  for (const line of lines) {
    const [, count, remainder] = NOT_APPLIED_PATTERN.exec(line) ?? [];
    const [, subject, cause] = REASON_PATTERN.exec(line) ?? [];
    if (count !== undefined) progressLines.push(`${count}${remainder}`);
    else causeLines.push(cause === undefined ? line : `${cause} This concerns ${subject}.`);
  }
  return [...causeLines, ...progressLines].join("\n");
}

const MAX_CHARACTERS = 4_000;

function truncateMessage(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)} … (truncated)`;
}
