import type { TenantError } from "../model/rollout-report";

/** The commands that continue after a failure. */
export interface NextCommands {
  /** Resumes the rollout. */
  readonly resume: string;
  /** Plans a new rollout. */
  readonly anew: string;
}

/** The action to take before continuing, as the beginning of a sentence. */
interface Remedy {
  readonly act: string;
  /** Whether the remedy needs a new rollout, because the present one keeps its files and its plan. */
  readonly isAnew?: true;
}

const INSPECT_AND_RESUME: Remedy = { act: "Look at it in the service's console" };
const CHECK_SERVICE_ADDRESS: Remedy = {
  act: "See what answers at the service's address: a proxy, a sign-in page, or another service",
};

/** By error code. */
const REMEDIES: Readonly<Record<string, Remedy>> = {
  // Errors of the service, or on the way to it.
  ERR_AUTH: {
    act: "Check that the key is this tenant's and still valid, and that it may change settings",
  },
  ERR_BAD_REQUEST: {
    act: "Mend in the settings file what the service refuses, by its words",
    isAnew: true,
  },
  ERR_NOT_FOUND: {
    act: "Check `baseUrl` in the targets file; where it is right, somebody removed what was being changed",
  },
  ERR_CONFLICT: INSPECT_AND_RESUME,
  ERR_RATE_LIMITED: {
    act: "See what else asks this service so much; a lower `requestsPerSecond` of its address in the targets file holds for the next rollout",
  },
  ERR_SERVER: { act: "See whether the service is well" },
  ERR_TIMEOUT: { act: "See whether the service is slow or down" },
  ERR_NETWORK: { act: "Check that the service can be reached from here" },
  ERR_CIRCUIT_OPEN: { act: "See whether the service is down" },
  ERR_UNEXPECTED_STATUS: CHECK_SERVICE_ADDRESS,
  ERR_REDIRECT: { act: "Put the address that answers itself into the targets file", isAnew: true },
  ERR_INVALID_RESPONSE: CHECK_SERVICE_ADDRESS,
  ERR_HTML_RESPONSE: CHECK_SERVICE_ADDRESS,
  ERR_CONTENT_TYPE: CHECK_SERVICE_ADDRESS,
  ERR_EMPTY_BODY: CHECK_SERVICE_ADDRESS,
  ERR_BROKEN_BODY: CHECK_SERVICE_ADDRESS,
  ERR_WRONG_ENVELOPE: CHECK_SERVICE_ADDRESS,
  ERR_RESPONSE_TOO_LARGE: CHECK_SERVICE_ADDRESS,
  ERR_LIST_UNSTABLE: { act: "Wait until nobody else changes the tenant" },
  ERR_CANCELLED: { act: "Nothing needs to be mended: the run was cancelled" },
  ERR_CUSTOM_TIMEOUT: { act: "Wait until the service is well, or allow more in `customTimeouts`" },
  ERR_NO_PERMIT: { act: "Nothing needs to be mended: what ran it ended, or lost the tenant, in the middle" },
  // Errors in the declarations.
  ERR_CONFIGURATION: {
    act: "Mend what the message names; what is in the targets file holds from the next rollout on",
  },
  ERR_INVALID_ARGUMENT: { act: "Mend what the message names in the settings file", isAnew: true },
  ERR_SETTINGS_FILE: {
    act: "Mend the settings file at the places that are named, which `email-security lint FILE` shows too",
    isAnew: true,
  },
  ERR_NO_SETTINGS: { act: "Make the settings file, or mend its path in the targets file", isAnew: true },
  ERR_NOT_IN_ORGANIZATION: {
    act: "Mend the address in the settings file, or have the mailbox made",
    isAnew: true,
  },
  ERR_EXISTS: {
    act: "Declare the entry as it stands, or with `adopt: true`, or remove it in the service's console",
    isAnew: true,
  },
  ERR_AUTO_DETECTED: { act: "Leave the comment out of the settings file", isAnew: true },
  ERR_GUARD: {
    act: "Look at what would be removed; where all of it is meant, say so by `confirmRemovals` in the settings file",
    isAnew: true,
  },
  // Errors caused by changes since the plan.
  ERR_PLAN_MOVED: { act: "Somebody changed the tenant since it was planned: look at what", isAnew: true },
  ERR_MOVED: INSPECT_AND_RESUME,
  ERR_NOT_APPLIED: INSPECT_AND_RESUME,
  ERR_WRONG_LIST: INSPECT_AND_RESUME,
  ERR_EXCLUDED: {
    act: "Wait a minute: the list may lag. Where it fails again, clear the exclusion in the service's console",
  },
  ERR_NOT_LISTED: { act: "Wait a minute: the list may lag" },
  ERR_VIP_ALIAS: { act: "Declare the mailbox that the message names in place of its alias", isAnew: true },
  ERR_OTHER_TENANT: {
    act: "Put the tenant's own key where the targets file says that it is, and check `baseUrl` and `stack` too",
  },
  ERR_SAME_TENANT: {
    act: "Give each tenant its own key; then look at what the tenant holds, as two files were brought to it",
    isAnew: true,
  },
  ERR_LIST_NOT_APPLIED: { act: "Mend the reasons that are told" },
  ERR_NOT_TRIED: { act: "Mend the reasons that are told" },
  // Errors of the rollout itself.
  ERR_ROLLOUT_KEY: { act: "Make the key readable from where the targets file says that it is" },
  ERR_ROLLOUT_NOT_ALLOWED: {
    act: "Set what the message names in the environment of the process that changes tenants, where all of it is meant",
  },
  ERR_ROLLOUT_NOT_AS_DECLARED: { act: "See who else changes this tenant" },
  ERR_ROLLOUT_STOPPED: { act: "Nothing needs to be mended: it was stopped" },
  ERR_ROLLOUT_BUSY: { act: "Do what the message says" },
  ERR_ROLLOUT_NOT_FOUND: {
    act: "See whether somebody removed the journal, or this is another one",
    isAnew: true,
  },
  ERR_ROLLOUT_JOURNAL: { act: "Do what the message says about the journal" },
  ERR_ROLLOUT_DATABASE: { act: "See whether the journal's database is up and can be reached from here" },
  ERR_TEMPORARY_FOLDER: {
    act: "Make room in the folder for temporary files, or name another by TMPDIR",
  },
  ERR_ROLLOUT_NOT_KNOWN: { act: "Do what the message says", isAnew: true },
  ERR_STACK_LOCKED: { act: "Do what the message says about the lock" },
  ERR_STACK_FOREIGN: {
    act: "Move what is not from settings files to another stack, or name another stack for this tenant in the targets file",
    isAnew: true,
  },
  // Errors of Pulumi.
  ERR_ENGINE_UNAVAILABLE: { act: "Install Pulumi, as the message says" },
  ERR_PULUMI: { act: "Mend what Pulumi's words name" },
};

/** Whether a failure needs a new rollout: with changed files, or to plan a tenant that has no plan. */
export function needsNewRollout({ code, phase }: Pick<TenantError, "code" | "phase">): boolean {
  return phase === "plan" || REMEDIES[code]?.isAnew === true;
}

/** The error codes with a remedy. */
export const REMEDIED: ReadonlySet<string> = new Set(Object.keys(REMEDIES));

/**
 * Formats the advice for a tenant's failure: what to fix, and the command that continues.
 *
 * @param action a more specific action than the one for the error code.
 * @param nextCommands undefined for a tenant that could not be planned.
 */
export function adviceOn(code: string, action: string | undefined, nextCommands: NextCommands | undefined): string {
  const remedy = REMEDIES[code] ?? { act: "See the message, and mend its cause" };
  const firstStep = action ?? remedy.act;
  if (nextCommands === undefined) return `${firstStep}; then plan the rollout anew.`;
  if (action !== undefined || remedy.isAnew !== true) return `${firstStep}; then go on: \`${nextCommands.resume}\`.`;
  return `${firstStep}. This rollout keeps its files and its plan, so begin a new one after that: \`${nextCommands.anew}\`.`;
}

/** Adapts advice to a rollout that is abandoned or rolled back, and can't be resumed. */
export function adviceOnEnded(advice: string, state: "abandoned" | "rolled-back"): string {
  const newRolloutText = `. This rollout is ${state.replace("-", " ")}, so begin a new one after that.`;
  return advice.replace(/; then go on: `[^`]*`\.$/, newRolloutText);
}
