import type { FileEdit } from "../../settings-files/edit-files";
import type { FileLocation } from "../../settings-files/finding";

export const SUGGESTION_KINDS = [
  "vip",
  "deny",
  "malicious-allow",
  "expiring-allow",
  "unused-allow",
  "shadowed",
] as const;

export type SuggestionKind = (typeof SUGGESTION_KINDS)[number];

/** A suggested change to the settings files, with evidence. Its texts are safe to print. */
export interface Suggestion {
  readonly kind: SuggestionKind;
  /** The canonical value or mailbox. */
  readonly value: string;
  /** The action, such as `Deny evil.example`. */
  readonly action: string;
  readonly evidence: string;
  /** The present declaration, for suggestions about declared entries. */
  readonly place?: FileLocation;
  /** The edits to the files; empty if only a person can decide. */
  readonly edits: readonly FileEdit[];
}

export interface SuggestOptions {
  /** The minimum number of threats to a person for suggesting a VIP. Default: 5. */
  readonly minThreats?: number;
  /** The maximum number of VIPs to suggest. Default: 10. */
  readonly maxVips?: number;
  /** The number of days before its expiry at which an allow is reported. Default: 30. */
  readonly expiringDays?: number;
}
