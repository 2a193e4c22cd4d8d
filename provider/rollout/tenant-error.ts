import { EmailSecurityError } from "../settings/email-security-error";
import { without } from "../settings/secrets";
import { harmless } from "../settings/text";
import type { TenantError } from "./report/rollout-report";

/** What to do about a failure, by its code; a sentence. */
const ADVICE: Readonly<Record<string, string>> = {
  ERR_AUTH: "Check that the key is this tenant's and still valid, and that it may change settings.",
  ERR_CONFIGURATION: "Mend what the message names, in the targets file or the environment.",
  ERR_ROLLOUT_KEY: "Make the key readable from where the targets file says that it is.",
  ERR_SETTINGS_FILE: "Mend the settings file at the places that are named.",
  ERR_STACK_LOCKED: "Wait until the other run of Pulumi has ended, then resume the rollout.",
  ERR_STACK_FOREIGN:
    "Move what is not from settings files to another stack, or name another stack for this tenant.",
  ERR_PLAN_MOVED:
    "Somebody changed the tenant since the rollout was planned: look at what, then begin a new rollout.",
  ERR_NETWORK: "Check that the service can be reached from here, then resume the rollout.",
  ERR_TIMEOUT:
    "See whether the service is slow or down; where it is slow, allow a request more time (EMAIL_SECURITY_TIMEOUT_MS). Then resume the rollout.",
  ERR_SERVER: "See whether the service is down, then resume the rollout.",
  ERR_RATE_LIMITED:
    "Give the service's address a lower `requestsPerSecond` in the targets file, then resume the rollout.",
  ERR_CIRCUIT_OPEN: "See whether the service is down, then resume the rollout.",
  ERR_NOT_IN_ORGANIZATION:
    "Mend the settings file, or have the mailbox made; then begin a new rollout (where this one is not through, give it up first: `email-security rollout stop`), since this one keeps the files that it was planned with.",
  ERR_TEMPORARY_FOLDER:
    "Make room in the folder for temporary files, or name another by TMPDIR, then resume the rollout.",
  ERR_NO_PERMIT: "Resume the rollout: what ran it ended, or lost the tenant, in the middle.",
  ERR_ROLLOUT_STOPPED: "Resume the rollout: it does what is left.",
  ERR_ROLLOUT_NOT_AS_DECLARED: "See who else changes this tenant, then resume the rollout.",
};

const OTHERWISE =
  "See the message. Once its cause is mended, resume the rollout; but where it is in a settings file, give this rollout up and begin a new one, since this one keeps the files that it was planned with.";

/**
 * A failure of one tenant as it is kept and told.
 *
 * @param secrets what must not be in it, whatever happens: the tenant's key.
 */
export function tenantError(
  error: unknown,
  phase: TenantError["phase"],
  secrets: readonly string[] = [],
): TenantError {
  const code = error instanceof EmailSecurityError ? error.code : codeIn(error);
  const message = error instanceof Error ? error.message : String(error);
  const advice = ADVICE[code] ?? OTHERWISE;
  return {
    code,
    // What makes a text harmless would keep a key from being found in it.
    message: atMost(harmless(without(secrets, message))),
    // A tenant without a plan has nothing to resume.
    advice: phase === "plan" ? advice.replace(/resume the rollout.*/, "plan a rollout anew.") : advice,
    phase,
  };
}

/** The engine tells the provider's errors with their code: `… [ERR_AUTH]`. */
export function codeIn(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  // What was not applied of a list is told first, and why below it.
  const codes = [...text.matchAll(/\[(ERR_[A-Z_]+)\]/g)].map(([, code]) => code ?? "");
  return codes.find((code) => code !== "ERR_LIST_NOT_APPLIED") ?? codes[0] ?? "ERR_PULUMI";
}

const MAX_CHARACTERS = 4_000;

function atMost(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)} … (cut off)`;
}
