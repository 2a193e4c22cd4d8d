import type { TenantError } from "../model/rollout-report";

/** The commands that continue after a failure. */
export interface NextCommands {
  /** Resumes the rollout. */
  readonly resume: string;
  /** Plans a new rollout. */
  readonly newRollout: string;
}

/** The action to take before continuing, as the beginning of a sentence. */
interface Remedy {
  readonly action: string;
  /** Whether the remedy needs a new rollout, because the present one keeps its files and its plan. */
  readonly isNewRolloutNeeded?: true;
}

const INSPECT_AND_RESUME: Remedy = { action: "Look at it in the service's console" };
const CHECK_SERVICE_ADDRESS: Remedy = {
  action: "See what answers at the service's address: a proxy, a sign-in page, or another service",
};

/** By error code. */
const REMEDIES: Readonly<Record<string, Remedy>> = {
  // Errors of the service, or of the connection to it.
  ERR_AUTH: {
    action: "Check that the key is this tenant's and still valid, and that it may change settings",
  },
  ERR_BAD_REQUEST: {
    action: "Fix in the settings file what the service refuses, by its message",
    isNewRolloutNeeded: true,
  },
  ERR_NOT_FOUND: {
    action: "Check `baseUrl` in the targets file; where it is right, somebody removed what was being changed",
  },
  ERR_CONFLICT: INSPECT_AND_RESUME,
  ERR_RATE_LIMITED: {
    action:
      "See what else asks this service so much; a lower `requestsPerSecond` of its address in the targets file holds for the next rollout",
  },
  ERR_SERVER: { action: "See whether the service is well" },
  ERR_TIMEOUT: { action: "See whether the service is slow or down" },
  ERR_NETWORK: { action: "Check that the service can be reached from here" },
  ERR_CIRCUIT_OPEN: { action: "See whether the service is down" },
  ERR_UNEXPECTED_STATUS: CHECK_SERVICE_ADDRESS,
  ERR_REDIRECT: {
    action: "Put the address that answers itself into the targets file",
    isNewRolloutNeeded: true,
  },
  ERR_INVALID_RESPONSE: CHECK_SERVICE_ADDRESS,
  ERR_HTML_RESPONSE: CHECK_SERVICE_ADDRESS,
  ERR_CONTENT_TYPE: CHECK_SERVICE_ADDRESS,
  ERR_EMPTY_BODY: CHECK_SERVICE_ADDRESS,
  ERR_TRUNCATED_BODY: CHECK_SERVICE_ADDRESS,
  ERR_WRONG_ENVELOPE: CHECK_SERVICE_ADDRESS,
  ERR_RESPONSE_TOO_LARGE: CHECK_SERVICE_ADDRESS,
  ERR_LIST_UNSTABLE: { action: "Wait until nobody else changes the tenant" },
  ERR_CANCELLED: { action: "Nothing needs to be fixed: the run was cancelled" },
  ERR_CUSTOM_TIMEOUT: { action: "Wait until the service is well, or allow more in `customTimeouts`" },
  ERR_NO_TOKEN: {
    action: "Nothing needs to be fixed: the run ended, or lost the tenant, before it was through",
  },
  // Errors in the declarations.
  ERR_CONFIGURATION: {
    action: "Fix what the message names; changes of the targets file apply from the next rollout on",
  },
  ERR_INVALID_ARGUMENT: {
    action: "Fix what the message names in the settings file",
    isNewRolloutNeeded: true,
  },
  ERR_SETTINGS_FILE: {
    action: "Fix the named places in the settings file, which `email-security lint FILE` shows too",
    isNewRolloutNeeded: true,
  },
  ERR_NO_SETTINGS: {
    action: "Make the settings file, or fix its path in the targets file",
    isNewRolloutNeeded: true,
  },
  ERR_NOT_IN_ORGANIZATION: {
    action: "Fix the address in the settings file, or have the mailbox made",
    isNewRolloutNeeded: true,
  },
  ERR_EXISTS: {
    action: "Declare the entry as it is, or with `adopt: true`, or remove it in the service's console",
    isNewRolloutNeeded: true,
  },
  ERR_AUTO_DETECTED: { action: "Leave the comment out of the settings file", isNewRolloutNeeded: true },
  ERR_GUARD: {
    action: "Look at what would be removed; where all of it is meant, say so by `confirmRemovals` in the settings file",
    isNewRolloutNeeded: true,
  },
  // Errors caused by changes since the plan.
  ERR_PLAN_STALE: {
    action: "Somebody changed the tenant since it was planned: look at what",
    isNewRolloutNeeded: true,
  },
  ERR_MOVED: INSPECT_AND_RESUME,
  ERR_NOT_APPLIED: INSPECT_AND_RESUME,
  ERR_WRONG_LIST: INSPECT_AND_RESUME,
  ERR_EXCLUDED: {
    action: "Wait a minute: the list may lag. Where it fails again, clear the exclusion in the service's console",
  },
  ERR_NOT_LISTED: { action: "Wait a minute: the list may lag" },
  ERR_VIP_ALIAS: {
    action: "Declare the mailbox that the message names in place of its alias",
    isNewRolloutNeeded: true,
  },
  ERR_OTHER_TENANT: {
    action: "Put the tenant's own key where the targets file says that it is, and check `baseUrl` and `stack` too",
  },
  ERR_SAME_TENANT: {
    action: "Give each tenant its own key; then look at what the tenant holds, as two files were brought to it",
    isNewRolloutNeeded: true,
  },
  ERR_LIST_NOT_APPLIED: { action: "Fix the listed causes" },
  ERR_NOT_ATTEMPTED: { action: "Fix the listed causes" },
  // Errors of the rollout itself.
  ERR_ROLLOUT_KEY: { action: "Make the key readable from where the targets file says that it is" },
  ERR_ROLLOUT_NOT_ALLOWED: {
    action:
      "Set what the message names in the environment of the process that changes tenants, where all of it is meant",
  },
  ERR_ROLLOUT_NOT_AS_DECLARED: { action: "See who else changes this tenant" },
  ERR_ROLLOUT_STOPPED: { action: "Nothing needs to be fixed: it was stopped" },
  ERR_ROLLOUT_BUSY: { action: "Do what the message says" },
  ERR_ROLLOUT_NOT_FOUND: {
    action: "See whether somebody removed the journal, or this is another one",
    isNewRolloutNeeded: true,
  },
  ERR_ROLLOUT_JOURNAL: { action: "Do what the message says about the journal" },
  ERR_ROLLOUT_DATABASE: { action: "See whether the journal's database is up and can be reached from here" },
  ERR_TEMPORARY_DIRECTORY: {
    action: "Make room in the directory for temporary files, or name another by TMPDIR",
  },
  ERR_ROLLOUT_NOT_KNOWN: { action: "Do what the message says", isNewRolloutNeeded: true },
  ERR_STACK_LOCKED: { action: "Do what the message says about the lock" },
  ERR_STACK_FOREIGN: {
    action:
      "Move what is not from settings files to another stack, or name another stack for this tenant in the targets file",
    isNewRolloutNeeded: true,
  },
  // Errors of Pulumi.
  ERR_ENGINE_UNAVAILABLE: { action: "Install Pulumi, as the message says" },
  ERR_PULUMI: { action: "Fix what Pulumi's message names" },
};

/** Whether a failure needs a new rollout: with changed files, or to plan a tenant that has no plan. */
export function needsNewRollout({ code, phase }: Pick<TenantError, "code" | "phase">): boolean {
  return phase === "plan" || REMEDIES[code]?.isNewRolloutNeeded === true;
}

/** The error codes with a remedy. */
export const REMEDY_CODES: ReadonlySet<string> = new Set(Object.keys(REMEDIES));

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
  const remedy = REMEDIES[code] ?? { action: "See the message, and fix its cause" };
  const firstStep = action ?? remedy.action;
  if (nextCommands === undefined) return `${firstStep}; then plan the rollout again.`;
  if (action !== undefined || remedy.isNewRolloutNeeded !== true)
    return `${firstStep}; then go on: \`${nextCommands.resume}\`.`;
  return `${firstStep}. This rollout keeps its files and its plan, so begin a new one after that: \`${nextCommands.newRollout}\`.`;
}

/** Adapts advice to a rollout that is abandoned or rolled back, and can't be resumed. */
export function replaceResumeAdvice(advice: string, state: "abandoned" | "rolled-back"): string {
  const newRolloutText = `. This rollout is ${state.replace("-", " ")}, so begin a new one after that.`;
  return advice.replace(/; then go on: `[^`]*`\.$/, newRolloutText);
}
