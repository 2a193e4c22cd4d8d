import type { TenantErrorCode } from "../../model/error-codes";
import type { TenantError } from "../model/rollout-report";

export interface NextCommands {
  readonly resume: string;
  readonly newRollout: string;
}

/** The action to take before continuing, as the beginning of a sentence. */
interface Remedy {
  readonly action: string;
  /** Whether the remedy needs a new rollout, because the present one keeps its files and its plan. */
  readonly isNewRolloutNeeded?: true;
}

const INSPECT_AND_RESUME: Remedy = { action: "Check it in the service's console" };
const CHECK_SERVICE_ADDRESS: Remedy = {
  action: "Check what responds at the service's address: a proxy, a sign-in page, or another service",
};

const REMEDIES: Readonly<Record<TenantErrorCode, Remedy>> = {
  // Errors of the service, or of the connection to it.
  ERR_AUTH: {
    action: "Check that the key belongs to this tenant, is still valid, and is allowed to change settings",
  },
  ERR_BAD_REQUEST: {
    action: "Fix what the service rejects in the settings file; see its message",
    isNewRolloutNeeded: true,
  },
  ERR_NOT_FOUND: {
    action: "Check `baseUrl` in the targets file; if it is correct, somebody removed the changed element",
  },
  ERR_CONFLICT: INSPECT_AND_RESUME,
  ERR_RATE_LIMITED: {
    action:
      "Find out what else sends many requests to this service; a lower `requestsPerSecond` for its address in the targets file applies to the next rollout",
  },
  ERR_SERVER: { action: "Check whether the service has an outage" },
  ERR_TIMEOUT: { action: "Check whether the service is slow or down" },
  ERR_NETWORK: { action: "Check that the service is reachable from here" },
  ERR_CIRCUIT_OPEN: { action: "Check whether the service is down" },
  ERR_UNEXPECTED_STATUS: CHECK_SERVICE_ADDRESS,
  ERR_REDIRECT: {
    action: "Write the address to which the service redirects in the targets file",
    isNewRolloutNeeded: true,
  },
  ERR_INVALID_RESPONSE: CHECK_SERVICE_ADDRESS,
  ERR_HTML_RESPONSE: CHECK_SERVICE_ADDRESS,
  ERR_CONTENT_TYPE: CHECK_SERVICE_ADDRESS,
  ERR_EMPTY_BODY: CHECK_SERVICE_ADDRESS,
  ERR_TRUNCATED_BODY: CHECK_SERVICE_ADDRESS,
  ERR_WRONG_ENVELOPE: CHECK_SERVICE_ADDRESS,
  ERR_RESPONSE_TOO_LARGE: CHECK_SERVICE_ADDRESS,
  ERR_LIST_UNSTABLE: { action: "Wait until nothing else changes the tenant" },
  ERR_CANCELLED: { action: "Nothing needs to be fixed: the run was cancelled" },
  ERR_CUSTOM_TIMEOUT: { action: "Wait until the service is healthy, or increase `customTimeouts`" },
  ERR_NO_TOKEN: {
    action: "Nothing needs to be fixed: the run ended, or lost the tenant, before it was finished",
  },
  // Errors in the declarations.
  ERR_CONFIGURATION: {
    action: "Fix the problem in the message; changes to the targets file apply from the next rollout on",
  },
  ERR_INVALID_ARGUMENT: {
    action: "Fix the problem in the settings file; see the message",
    isNewRolloutNeeded: true,
  },
  ERR_SETTINGS_FILE: {
    action: "Fix the reported lines of the settings file; `email-security lint FILE` shows them too",
    isNewRolloutNeeded: true,
  },
  ERR_NO_SETTINGS: {
    action: "Create the settings file, or fix its path in the targets file",
    isNewRolloutNeeded: true,
  },
  ERR_NOT_IN_ORGANIZATION: {
    action: "Fix the address in the settings file, or have the mailbox created",
    isNewRolloutNeeded: true,
  },
  ERR_EXISTS: {
    action: "Declare the entry with its existing values, or with `adopt: true`, or remove it in the service's console",
    isNewRolloutNeeded: true,
  },
  ERR_AUTO_DETECTED: { action: "Remove the comment from the settings file", isNewRolloutNeeded: true },
  ERR_GUARD: {
    action:
      "Review the removals; if all of them are intended, confirm them with `confirmRemovals` in the settings file",
    isNewRolloutNeeded: true,
  },
  // Errors caused by changes since the plan.
  ERR_PLAN_STALE: {
    action: "Somebody changed the tenant since it was planned: check the changes",
    isNewRolloutNeeded: true,
  },
  ERR_MOVED: INSPECT_AND_RESUME,
  ERR_NOT_APPLIED: INSPECT_AND_RESUME,
  ERR_WRONG_LIST: INSPECT_AND_RESUME,
  ERR_EXCLUDED: {
    action: "Wait a minute: the list may lag. If it fails again, clear the exclusion in the service's console",
  },
  ERR_NOT_LISTED: { action: "Wait a minute: the list may lag" },
  ERR_VIP_ALIAS: {
    action: "Declare the mailbox in the message instead of its alias",
    isNewRolloutNeeded: true,
  },
  ERR_OTHER_TENANT: {
    action:
      "Put the tenant's own key in the source that the targets file specifies, and check `baseUrl` and `stack` too",
  },
  ERR_SAME_TENANT: {
    action: "Give each tenant its own key; then check the content of the tenant, because two files were applied to it",
    isNewRolloutNeeded: true,
  },
  ERR_LIST_NOT_APPLIED: { action: "Fix the listed causes" },
  ERR_NOT_ATTEMPTED: { action: "Fix the listed causes" },
  // Errors of the rollout itself.
  ERR_ROLLOUT_KEY: { action: "Make the key readable from the source that the targets file specifies" },
  ERR_ROLLOUT_NOT_ALLOWED: {
    action:
      "If all of it is intended, set the variables in the message in the environment of the process that changes tenants",
  },
  ERR_ROLLOUT_NOT_CONVERGED: { action: "Find out who else changes this tenant" },
  ERR_ROLLOUT_STOPPED: { action: "Nothing needs to be fixed: it was stopped" },
  ERR_ROLLOUT_BUSY: { action: "Follow the message" },
  ERR_ROLLOUT_NOT_FOUND: {
    action: "Check whether the journal was removed, or this is another one",
    isNewRolloutNeeded: true,
  },
  ERR_ROLLOUT_JOURNAL: { action: "Follow the message about the journal" },
  ERR_ROLLOUT_DATABASE: { action: "Check that the journal's database is up and reachable from here" },
  ERR_TEMPORARY_DIRECTORY: {
    action: "Free space in the directory for temporary files, or set TMPDIR to another",
  },
  ERR_ROLLBACK_UNAVAILABLE: { action: "Follow the message", isNewRolloutNeeded: true },
  ERR_STACK_LOCKED: { action: "Follow the message about the lock" },
  ERR_STACK_FOREIGN: {
    action:
      "Move the resources that don't come from settings files to another stack, or set another stack for this tenant in the targets file",
    isNewRolloutNeeded: true,
  },
  // Errors of Pulumi.
  ERR_ENGINE_UNAVAILABLE: { action: "Install Pulumi, as the message says" },
  ERR_PULUMI: { action: "Fix the problem in Pulumi's message" },
};

/** Whether a failure needs a new rollout: with changed files, or to plan a tenant that has no plan. */
export function needsNewRollout({ code, phase }: Pick<TenantError, "code" | "phase">): boolean {
  return phase === "plan" || findRemedy(code)?.isNewRolloutNeeded === true;
}

export const TENANT_ERROR_CODES = Object.keys(REMEDIES) as TenantErrorCode[];

/** A newer release may have written the code to the journal. */
function findRemedy(code: string): Remedy | undefined {
  return Object.hasOwn(REMEDIES, code) ? REMEDIES[code as TenantErrorCode] : undefined;
}

/**
 * Formats the advice for a tenant's failure: what to fix, and the command that continues.
 *
 * @param action a more specific action than the one for the error code.
 * @param nextCommands undefined for a tenant that could not be planned.
 */
export function formatFailureAdvice(
  code: string,
  action: string | undefined,
  nextCommands: NextCommands | undefined,
): string {
  const remedy = findRemedy(code) ?? { action: "Fix the cause in the message" };
  const firstStep = action ?? remedy.action;
  if (nextCommands === undefined) return `${firstStep}; then plan the rollout again.`;
  if (action !== undefined || remedy.isNewRolloutNeeded !== true)
    return `${firstStep}; then continue: \`${nextCommands.resume}\`.`;
  return `${firstStep}. This rollout keeps its files and its plan, so start a new one after that: \`${nextCommands.newRollout}\`.`;
}

/** Adapts advice to a rollout that is abandoned or rolled back, and can't be resumed. */
export function replaceResumeAdvice(advice: string, state: "abandoned" | "rolled-back"): string {
  const newRolloutText = `. This rollout is ${state.replace("-", " ")}, so start a new one after that.`;
  return advice.replace(/; then (?:continue|go on): `[^`]*`\.$/, newRolloutText);
}
