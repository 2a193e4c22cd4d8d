import type { FileEdit } from "../../files/change-files";
import type { Place } from "../../files/finding";

/** What is suggested. */
export const SUGGESTION_KINDS = [
  "vip",
  "deny",
  "malicious-allow",
  "expiring-allow",
  "unused-allow",
  "shadowed",
] as const;

/** What a suggestion is about: one of {@link SUGGESTION_KINDS}. */
export type SuggestionKind = (typeof SUGGESTION_KINDS)[number];

/** One thing to do to the settings files, and why. Its texts are printable. */
export interface Suggestion {
  readonly kind: SuggestionKind;
  /** The canonical value or mailbox. */
  readonly value: string;
  /** What to do: `Deny evil.example`. */
  readonly what: string;
  /** Sentences: what was seen, and what is not known. */
  readonly evidence: string;
  /** What stands there already, of those about what is declared. */
  readonly place?: Place;
  /** How the files say it; none where only a person can decide. */
  readonly edits: readonly FileEdit[];
}

/** How readily something is suggested. */
export interface SuggestOptions {
  /** The fewest threats to a person for whom VIP is suggested. Default: 5. */
  readonly minThreats?: number;
  /** The most VIPs that are suggested. Default: 10. */
  readonly maxVips?: number;
  /** How many days before its last day an allow is told. Default: 30. */
  readonly expiringDays?: number;
}
