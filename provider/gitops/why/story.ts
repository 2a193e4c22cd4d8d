import type { Place } from "../../files/finding";
import type { Evidence, EvidenceSummary } from "../../plan/plan";
import type { WithoutEntry } from "../../plan/without-entry";
import type { List } from "../../settings/assumptions";
import type { HistoryEvent } from "./history-event";

/** The version of a story's JSON. */
export const WHY_FORMAT = 1;

/** What the settings files say of a value now. */
export interface ToldByFiles {
  /** `removed`: an included file has it, and another one takes it out. `expired`: its last day is past. */
  readonly state: "declared" | "expired" | "removed";
  readonly kind: "entry" | "vip";
  /** As in a keyed list. */
  readonly key: string;
  readonly list?: List;
  readonly verdictScope?: string;
  readonly place: Place;
  /** The files over which it is included, from the one that was asked for to the one that has it. */
  readonly chain: readonly string[];
  /** What it takes the place of in included files, nearest first. */
  readonly overrides: readonly Place[];
  /** Where it is taken out. */
  readonly removedAt?: Place;
  readonly comment?: string;
  readonly ticket?: string;
  readonly owner?: string;
  readonly approvedBy?: string;
  readonly acceptRisk?: string;
  /** The last day (UTC), or `never`. */
  readonly expires?: string;
  /** Days until its last one; below 0 when that is past. */
  readonly daysLeft?: number;
}

/** What the tenant holds of it. All text is the service's. */
export interface ToldByTenant {
  readonly kind: "entry" | "vip";
  readonly key: string;
  readonly list?: string;
  readonly verdictScope?: string;
  readonly comment?: string;
  readonly by?: string;
  readonly at?: string;
  /** Of a VIP: how it came to be one. */
  readonly source?: string;
  readonly isDeclared: boolean;
}

/** What stands above a value: a domain above it, or a mailbox's domain. */
export interface Above {
  readonly list: string;
  readonly value: string;
  readonly verdictScope: string;
  /** Where a file declares it; absent where only the tenant has it. */
  readonly place?: Place;
}

/** What a rollout brought to this tenant. */
export interface ToldByRollout {
  readonly rollout: string;
  readonly wave: string;
  /** `add`, `change` or `remove`. */
  readonly did: string;
  readonly kind: "entry" | "vip";
  /** Of an entry: its list; both where it went from one to the other. */
  readonly lists: readonly List[];
  /** Of entries. */
  readonly verdictScope?: string;
  /** What became of it: `done`, `failed`, `running`. */
  readonly state: string;
  /** The digest of the rollout, which is what was reviewed, and that of this tenant's plan. */
  readonly digest: string;
  readonly planDigest: string;
  readonly rollsBack?: string;
  /** ISO 8601, UTC. */
  readonly at?: string;
}

/** What the mail says, and what would be without it. */
export interface ToldByMail {
  readonly kind: "entry" | "vip";
  readonly key: string;
  readonly list?: string;
  readonly verdictScope?: string;
  readonly evidence: Evidence;
  readonly without?: WithoutEntry;
}

/** All that is known of one value. */
export interface WhyStory {
  readonly format: typeof WHY_FORMAT;
  /** In canonical form. */
  readonly value: string;
  /** The same in its own script. */
  readonly unicode?: string;
  /** The settings file that was asked for. */
  readonly file: string;
  readonly tenant?: { readonly host: string; readonly name?: string };
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly files: readonly ToldByFiles[];
  readonly above: readonly Above[];
  /** Of a VIP: what its mailbox becomes when the files declare it no more, by their `lists.vips.onDelete`. */
  readonly vipEnd?: "excluded" | "kept";
  /** Absent where the tenant was not asked, or did not answer. */
  readonly held?: readonly ToldByTenant[];
  /** The newest first. */
  readonly history: readonly HistoryEvent[];
  /** Whether the history is of other files of the repository, since those that are asked for never had it. */
  readonly isHistoryOfOtherFiles: boolean;
  /** The newest first; absent where no journal was looked at. */
  readonly rollouts?: readonly ToldByRollout[];
  readonly mail?: { readonly summary: EvidenceSummary; readonly of: readonly ToldByMail[] };
  /** What could not be asked or told, a sentence each. */
  readonly missing: readonly string[];
}
