/**
 * Values that this package assumes because the service's reference says "not shown", and limits that the reference
 * gives. `docs/reference/assumptions.md` lists them, and also assumptions that aren't values, for example about
 * precedence.
 */

/** The three types of allow/deny entries, by their wire names. */
export const ENTRY_TYPES = ["domain", "ip", "email_address"] as const;

/** The two lists. Every create sends the list, and every read requests it. */
export const ENTRY_LISTS = ["allow", "deny"] as const;

/** The known verdict scopes. Others are passed through unchanged. */
export const KNOWN_VERDICT_SCOPES = ["global", "graymail"] as const;

/** The scope of an entry without one. */
export const DEFAULT_VERDICT_SCOPE = "global";

/** The maximum page size of the two settings lists (reference, section Limits). */
export const SETTINGS_PAGE_SIZE = 200;

/** The maximum number of addresses in one removal of VIPs (reference, section Limits). */
export const MAX_VIP_REMOVALS = 1000;

/**
 * The maximum number of addresses in one addition of VIPs. The reference doesn't give it, so it is assumed to be the
 * same as for a removal.
 */
export const MAX_VIP_ADDITIONS = 1000;

/**
 * How long after a write the lists may still show the previous state, in milliseconds. During that time, the response
 * to the write takes precedence. A list that contradicts it, or lacks what an earlier run wrote, is refetched.
 */
export const LIST_LAG_MS = 3_000;

/** The statuses for too many requests. */
export const RATE_LIMIT_STATUSES: readonly number[] = [429];

/** The known verdicts of a threat. Others are passed through unchanged. */
export const KNOWN_VERDICTS = [
  "unknown",
  "spam",
  "malicious",
  "safe",
  "allowed",
  "denied",
  "simulation",
  "graymail",
  "no_analysis",
] as const;

/** The parameter that distinguishes users from groups among the top targeted entities. */
export const ENTITY_TYPE_PARAMETER = "entity_type";

/**
 * The maximum page size of the threat list (reference, section Limits). The reference doesn't show how to request a
 * page size.
 */
export const THREAT_PAGE_SIZE = 100;

/** The type of an entry's value. */
export type EntryType = (typeof ENTRY_TYPES)[number];
/** The allow list or the deny list. */
export type List = (typeof ENTRY_LISTS)[number];

/** A verdict scope. Editors complete the known ones, and any other is accepted. */
export type VerdictScope = (typeof KNOWN_VERDICT_SCOPES)[number] | (string & {});
