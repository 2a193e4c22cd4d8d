import { EmailSecurityError } from "../../settings/email-security-error";
import { without } from "../../settings/secrets";
import { harmless } from "../../settings/text";
import { engineCause } from "../engine/engine-causes";
import type { TenantError } from "../model/rollout-report";
import { adviceOn, type NextCommands } from "../report/advice";

/**
 * A failure of one tenant as it is kept and told: the cause first.
 *
 * @param secrets what must not be in it, whatever happens: the tenant's key.
 * @param next how somebody goes on. Default: the tenant has no plan, and is planned anew.
 */
export function tenantError(
  error: unknown,
  phase: TenantError["phase"],
  secrets: readonly string[] = [],
  next?: NextCommands,
): TenantError {
  const code = codeIn(error);
  const told = causeFirst(error instanceof Error ? error.message : String(error));
  const cause = code === "ERR_PULUMI" ? engineCause(told) : undefined;
  const message = cause?.lead === undefined ? told : `${cause.lead}\n${told}`;
  return {
    code,
    // What makes a text harmless would keep a key from being found in it.
    message: atMost(harmless(without(secrets, message))),
    advice: adviceOn(code, cause?.act, next),
    phase,
  };
}

/** The code of a failure; the engine tells the provider's errors with theirs: `… [ERR_AUTH]`. */
export function codeIn(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  // Of what Node.js throws, the codes mean something else.
  const isOurs = error instanceof EmailSecurityError || /^ERR_ENGINE_/.test(String(code));
  if (isOurs && code !== "ERR_PULUMI") return String(code);
  const text = error instanceof Error ? error.message : String(error);
  // What was not applied of a list is told with why.
  const codes = [...text.matchAll(/\[(ERR_[A-Z_]+)\]/g)].map(([, one]) => one ?? "");
  return codes.find((one) => one !== "ERR_LIST_NOT_APPLIED") ?? codes[0] ?? "ERR_PULUMI";
}

/** A list tells that it was not applied, how many of how many, and what to do. */
const NOT_APPLIED =
  /^(\d+ of \d+ .+ could not be brought to what is declared); the reasons are below(\..*?)(?: (?:Mend them, or|Fix what the reasons name,) .*)?(?: \[ERR_LIST_NOT_APPLIED\])?$/;
/** And below that each reason: what it is of, the cause and its code. */
const REASON = /^(.+?): (.+ \[ERR_[A-Z_]+\])$/;

/**
 * What a list's failure says, turned round: the causes, then what is done and not. How to go on is the rollout's to say. The
 * engine adds that the update failed, which is known.
 */
function causeFirst(message: string): string {
  const lines = message.split("\n").filter((line) => line !== "update failed");
  if (!lines.some((line) => NOT_APPLIED.test(line))) return message;
  const [done, causes]: [string[], string[]] = [[], []];
  for (const line of lines) {
    const [, count, rest] = NOT_APPLIED.exec(line) ?? [];
    const [, subject, cause] = REASON.exec(line) ?? [];
    if (count !== undefined) done.push(`${count}${rest}`);
    else causes.push(cause === undefined ? line : `${cause} This is of ${subject}.`);
  }
  return [...causes, ...done].join("\n");
}

const MAX_CHARACTERS = 4_000;

function atMost(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)} … (cut off)`;
}
