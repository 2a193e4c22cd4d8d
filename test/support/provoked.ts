import { expect } from "vitest";
import { EXPLANATIONS, type ErrorCode } from "../../provider/cli/explain/explanations";

/** The codes that it takes the real engine to provoke: test/engine/explain.slow.test.ts does. */
export const BY_ENGINE = [
  "ERR_ROLLOUT_PLAN",
  "ERR_ROLLOUT_DIGEST",
  "ERR_ROLLOUT_TAKEN_BACK",
  "ERR_ROLLOUT_BUSY",
  "ERR_ROLLOUT_NOT_AS_DECLARED",
  "ERR_ROLLOUT_JOURNAL_OLD",
  "ERR_ROLLOUT_MARKS",
  "ERR_STACK_LOCKED",
  "ERR_STACK_FOREIGN",
] as const satisfies readonly ErrorCode[];

export type EngineCode = (typeof BY_ENGINE)[number];

/** An error as it came: one that was thrown, or as a command told it on a terminal. */
export type Provoked = string | { readonly code: string; readonly message: string };

/** Does what ends in the error, and answers it. */
export type Provocation = () => Promise<Provoked>;

/** The code is what comes, and the example that `email-security explain` shows is what was told, but for what varies. */
export function expectExample(code: ErrorCode, provoked: Provoked): void {
  const told = typeof provoked === "string" ? fromOutput(provoked, code) : provoked;
  expect(told.code).toBe(code);
  const message = withoutVolatile(told.message);
  if (process.env["EXAMPLES"]) require("node:fs").appendFileSync(process.env["EXAMPLES"], JSON.stringify([code, message]) + "\n");
  expect(message).toBe(EXPLANATIONS[code].example);
}

/** `error: message [CODE]`, and the lines below it. */
function fromOutput(output: string, code: string): { code: string; message: string } {
  const lines = output.trimEnd().split("\n");
  const at = lines.findIndex((line) => line.includes(` [${code}]`));
  const [first = ""] = lines.slice(at, at + 1);
  if (at < 0) return { code: "", message: output };
  const rest = lines.slice(at + 1);
  return { code, message: [first.replace(/^error: /, "").replace(` [${code}]`, ""), ...rest].join("\n") };
}

/** Addresses, folders, ids, digests and times are others each time. */
function withoutVolatile(message: string): string {
  return message
    .replace(/http:\/\/127\.0\.0\.1:\d+/g, "https://mail-security.example")
    .replace(/127\.0\.0\.1:\d+/g, "mail-security.example")
    .replace(/(?:file:\/\/)?\/[\w./-]*\/email-security-(?:explain|fleet)-\w+/g, "/work/acme")
    .replace(/\bade_\w+/g, "ade_7Q2M")
    .replace(/\b\d{8}-\d{4}-[0-9a-f]{6}\b/g, "20261121-0800-7f3a91")
    .replace(/\b(r2|p\d)-[0-9a-f]{16,}\b/g, "$1-5d3c0f6a")
    .replace(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, "2026-11-21T08:00:00Z");
}
