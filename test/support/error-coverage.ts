import { tmpdir } from "node:os";
import { expect } from "vitest";
import type { ExplainedErrorCode } from "../../provider/commands/explain/explanation";
import { EXPLANATIONS } from "../../provider/commands/explain/explanations";

/*
 * Tests provoke every error that `email-security explain` documents: in test/integration/explain/error-explanations.test.ts,
 * unless the error needs more than this process.
 */

/** By the real command, or in a provider process: test/integration/explain/error-explanations.slow.test.ts. */
export const BY_PROCESSES = [
  "ERR_CONFIGURATION",
  "ERR_MISSING_PACKAGE",
  "ERR_AUTH",
  "ERR_EXISTS",
  "ERR_OTHER_TENANT",
  "ERR_MOVED",
  "ERR_WRONG_LIST",
  "ERR_NOT_APPLIED",
  "ERR_EXCLUDED",
  "ERR_NOT_LISTED",
  "ERR_VIP_ALIAS",
  "ERR_AUTO_DETECTED",
  "ERR_GUARD",
  "ERR_LIST_NOT_APPLIED",
  "ERR_NOT_ATTEMPTED",
  "ERR_SETTINGS_FILE",
  "ERR_CHANGE_REJECTED",
  "ERR_GIT",
  "ERR_APPROVALS",
  "ERR_SETTINGS_WRITE",
  "ERR_NO_SETTINGS",
  "ERR_CSV",
  "ERR_INIT",
  "ERR_EXPORT_EXISTS",
  "ERR_EXPORT_OPTION",
  "ERR_PLAN_STALE",
  "ERR_PLAN_DIGEST",
  "ERR_ROLLOUT_TARGETS",
  "ERR_ROLLOUT_SELECTION",
  "ERR_ROLLOUT_WAVES",
  "ERR_ROLLOUT_NOT_ALLOWED",
  "ERR_ROLLOUT_SAME_KEY",
  "ERR_SAME_TENANT",
  "ERR_ROLLOUT_NOT_FOUND",
  "ERR_ROLLOUT_JOURNAL",
  "ERR_ROLLBACK_UNAVAILABLE",
  "ERR_ROLLOUT_PRUNED",
  "ERR_ROLLOUT_STOPPED",
  "ERR_PULUMI",
  "ERR_ROLLOUT_BUSY",
  "ERR_ROLLOUT_JOURNAL_OLD",
  "ERR_ROLLOUT_LOCKS",
] as const satisfies readonly ExplainedErrorCode[];

/** Provoked with the real engine: test/engine/explain.slow.test.ts. */
export const BY_ENGINE = [
  "ERR_ROLLOUT_PLAN",
  "ERR_ROLLOUT_DIGEST",
  "ERR_ROLLOUT_NOT_CONVERGED",
  "ERR_STACK_FOREIGN",
] as const satisfies readonly ExplainedErrorCode[];

/** Provoked by whole rollouts: rollout-rollback, rollout-skip and rollout-gates-and-locks in test/engine. */
export const BY_ROLLOUTS = [
  "ERR_ROLLOUT_SKIPPED",
  "ERR_ROLLED_BACK",
  "ERR_STACK_LOCKED",
] as const satisfies readonly ExplainedErrorCode[];

/** An error as thrown, or a command's error output. */
export type ObservedError = string | { readonly code: string; readonly message: string };

/** Provokes the error and returns it. Each call gets its own new directory. */
export type Provocation = (directory: string) => Promise<ObservedError>;

/** The provocation of each error. */
export type Provocations<Code extends ExplainedErrorCode> = Readonly<Record<Code, Provocation>>;

/**
 * Asserts the error's code, and that the message equals the example of `email-security explain`, except for volatile
 * parts.
 */
export function expectExample(code: ExplainedErrorCode, provoked: ObservedError): void {
  const error = typeof provoked === "string" ? fromOutput(provoked, code) : provoked;
  expect(error.code, error.message).toBe(code);
  const message = maskVolatileText(error.message);
  expect(message).toBe(EXPLANATIONS[code].example);
}

/** Parses `error: message [CODE]` and the following lines, without the last one that names written files. */
function fromOutput(output: string, code: string): { code: string; message: string } {
  const lines = output
    .replace(/\nWrote .+\.\s*$/, "")
    .trimEnd()
    .split("\n");
  const index = lines.findIndex((line) => line.includes(` [${code}]`));
  const [first = "", ...rest] = lines.slice(Math.max(index, 0));
  if (index < 0) return { code: "", message: output };
  return { code, message: [first.replace(/^error: /, "").replace(` [${code}]`, ""), ...rest].join("\n") };
}

/** Replaces addresses, directories, IDs, digests and times, which differ in every run. */
function maskVolatileText(message: string): string {
  return (
    message
      .replaceAll(tmpdir(), "/tmp")
      // Pulumi adds it if the path has characters that a URL escapes.
      .replace(/ \(resolved to "[^"]*"\)/g, "")
      .replace(/http:\/\/127\.0\.0\.1:\d+/g, "https://mail-security.example")
      .replace(/127\.0\.0\.1:\d+/g, "mail-security.example")
      .replace(/(?:\/[\w.-]+)*\/email-security-(?:explain|fleet)-\w+/g, "/home/ci/acme")
      .replace(/email-security-rollout-[\w-]+/g, "email-security-rollout")
      .replace(/\bade_\w+/g, "ade_7q2m")
      .replace(/\b\d{8}-\d{4}-[0-9a-f]{6}\b/g, "20261121-0800-7f3a91")
      .replace(/\b([rv]2)-[\w-]{16,}/g, "$1-5d3c0f6a")
      .replace(/\S+@\S+ \(pid \d+\)/g, "ci@build-3 (pid 4711)")
      .replace(/since \d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC by \S+@\S+/g, "since 2026-11-21 03:12 UTC by dana@build-7")
      .replace(
        /locked by process \d+, which did not release it within 0 s/g,
        "locked by process 4711, which did not release it within 60 s",
      )
      .replace(/waited for \d+ s/g, "waited for 600 s")
      .replace(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, "2026-11-21T08:00:00Z")
  );
}
