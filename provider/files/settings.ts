import type { ListedEntry, ListedVip } from "../settings/keyed-list";
import type { SaidTexts } from "./element-fields";
import type { Finding, Place } from "./finding";
import type { ListsOptions, Policy, Reviewed, SettingsFile } from "./settings-schema";

/** What is declared of an entry or a VIP beside what it is, and where. */
export interface Declared extends SaidTexts {
  /** The key in a keyed list: the canonical value or mailbox, with what tells it from others of the same value. */
  readonly key: string;
  /** The text of the key in a keyed list: `deny: INC-7`. */
  readonly text: string;
  /** The last decision that it stays. */
  readonly reviewed?: Reviewed;
  /** Where it is declared: the value itself. */
  readonly place: Place;
  /** Whether it is written as a text alone, and not as a mapping. */
  readonly isShort?: true;
  /** What it takes the place of in included files, nearest first. */
  readonly overrides: readonly Place[];
}

/** An entry of the allow/deny list as the files declare it. */
export interface DeclaredEntry extends Declared, Omit<ListedEntry, "unknown"> {
  readonly kind: "entry";
  /** The value as it was written. */
  readonly written: string;
}

/** A VIP as the files declare it. */
export interface DeclaredVip extends Declared, Omit<ListedVip, "unknown"> {
  readonly kind: "vip";
  /** The mailbox as it was written. */
  readonly written: string;
}

/** What an included file declares and another one took out with `remove`. */
export interface Excluded {
  readonly declared: DeclaredEntry | DeclaredVip;
  /** Where `remove` says so. */
  readonly place: Place;
}

/** What a tenant's settings files say, all together, on one day. */
export interface Settings {
  /** The file that was asked for, as it was named. */
  readonly file: string;
  /** All files, that one first, as in {@link Place.file}. */
  readonly files: readonly string[];
  /** The day (UTC) by which `expires` was judged: `2026-11-21`. */
  readonly today: string;
  /** In canonical form, of all files and of the environment: what is risky goes by them. */
  readonly ownDomains: readonly string[];
  /** By which the tenant is told from another: those of the files; the environment's only where these have none. */
  readonly tenantDomains: readonly string[];
  /** The nearest file that has a rule decides; it can't ask for less than those that it includes, unless they let it. */
  readonly policy: Policy;
  /** The same of the options. */
  readonly lists: ListsOptions;
  /** The same of what is done unattended about what the console changed; undefined where nothing is said, which is `report`. */
  readonly onDrift?: SettingsFile["onDrift"];
  /** The same, and what else the files say for all that they declare, by its path: `policy.maxDays`. */
  readonly rules: Readonly<Record<string, unknown>>;
  /** Sorted by key. */
  readonly entries: readonly DeclaredEntry[];
  /** Sorted by key. */
  readonly vips: readonly DeclaredVip[];
  /** What was declared until a day that is past, and is declared no more. */
  readonly expired: readonly (DeclaredEntry | DeclaredVip)[];
  readonly excluded: readonly Excluded[];
  /** Warnings and notes; with errors there are no settings. */
  readonly findings: readonly Finding[];
}
