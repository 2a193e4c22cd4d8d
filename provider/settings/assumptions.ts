/**
 * Values that this package assumes where the service's reference says "not shown", and limits that the reference gives.
 * `docs/reference/assumptions.md` lists them, and those that are no values, such as which entry decides.
 */

/** The three kinds of allow/deny entry, by the names that go over the wire. */
export const ENTRY_TYPES = ["domain", "ip", "email_address"] as const;

/** The two lists. The list is always sent on create, and always asked for when reading. */
export const ENTRY_LISTS = ["allow", "deny"] as const;

/** The verdict scopes known today. Others are carried as they are. */
export const KNOWN_VERDICT_SCOPES = ["global", "graymail"] as const;

/** The scope of an entry that does not say one. */
export const DEFAULT_VERDICT_SCOPE = "global";

/** The largest page the two settings lists give (reference, section Limits). */
export const SETTINGS_PAGE_SIZE = 200;

/** The most addresses one removal of VIPs takes (reference, section Limits). */
export const MAX_VIP_REMOVALS = 1000;

/** The most addresses one addition of VIPs takes. The reference does not say; a removal takes as many. */
export const MAX_VIP_ADDITIONS = 1000;

/**
 * How long after a write the lists may still show the state before it, in milliseconds. What the service said to a write counts
 * for that long, and a list that contradicts it, or misses what an earlier run wrote, is read again.
 */
export const LIST_LAG_MS = 3_000;

/** The statuses that mean too many requests. */
export const RATE_LIMIT_STATUSES: readonly number[] = [429];

/** The verdicts of a threat known today; any other is read as it is. */
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

/** The name of the parameter that tells users from groups among the top targeted entities. */
export const ENTITY_TYPE_PARAMETER = "entity_type";

/** The largest page of the threat list (reference, section Limits). How a page size is asked for is not shown. */
export const THREAT_PAGE_SIZE = 100;

/** What an entry's value is. */
export type EntryType = (typeof ENTRY_TYPES)[number];
/** The allow list or the deny list. */
export type List = (typeof ENTRY_LISTS)[number];

/** A verdict scope: the known ones complete in an editor, any other is accepted. */
export type VerdictScope = (typeof KNOWN_VERDICT_SCOPES)[number] | (string & {});
