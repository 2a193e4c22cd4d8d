import type { ListedEntry, ListedVip } from "../settings/keyed-list";
import type { SaidTexts } from "./element-fields";
import type { Finding, Place } from "./finding";
import type { ListsOptions, Policy, Reviewed, SettingsFile } from "./settings-schema";

/** The declared fields of an entry or VIP, and their location. */
export interface Declared extends SaidTexts {
  /** The key in the encoded list: the canonical value or mailbox, with the scope or type if needed for uniqueness. */
  readonly key: string;
  /** The encoded text in the list: `deny: INC-7`. */
  readonly text: string;
  /** The last decision to keep it. */
  readonly reviewed?: Reviewed;
  /** The location of the value. */
  readonly place: Place;
  /** Whether it is a plain text instead of a mapping. */
  readonly isShort?: true;
  /** The overridden declarations in included files, nearest first. */
  readonly overrides: readonly Place[];
}

/** A declared entry of the allow/deny list. */
export interface DeclaredEntry extends Declared, Omit<ListedEntry, "unknown"> {
  readonly kind: "entry";
  /** The value as written. */
  readonly written: string;
}

/** A declared VIP. */
export interface DeclaredVip extends Declared, Omit<ListedVip, "unknown"> {
  readonly kind: "vip";
  /** The mailbox as written. */
  readonly written: string;
}

/** A declaration of an included file that another file removes. */
export interface Excluded {
  readonly declared: DeclaredEntry | DeclaredVip;
  /** The location of the `remove` line, or of the expired override. */
  readonly place: Place;
}

/** The combined settings of a tenant's files on a given day. */
export interface Settings {
  /** The requested file, as named. */
  readonly file: string;
  /** All files, the requested one first; see {@link Place.file}. */
  readonly files: readonly string[];
  /** The day (UTC) to which `expires` is compared: `2026-11-21`. */
  readonly today: string;
  /** Own domains from all files and the environment, in canonical form; used for risk checks. */
  readonly ownDomains: readonly string[];
  /** Domains that identify the tenant: those of the files, or those of the environment if the files have none. */
  readonly tenantDomains: readonly string[];
  /** The effective policy. The nearest file wins, but can't be weaker than its includes unless they allow it. */
  readonly policy: Policy;
  /** The effective list options, by the same rule. */
  readonly lists: ListsOptions;
  /** The handling of drift in unattended runs, by the same rule; undefined means `report`. */
  readonly onDrift?: SettingsFile["onDrift"];
  /** All effective settings by path, such as `policy.maxDays`. */
  readonly rules: Readonly<Record<string, unknown>>;
  /** Sorted by key. */
  readonly entries: readonly DeclaredEntry[];
  /** Sorted by key. */
  readonly vips: readonly DeclaredVip[];
  /** Declarations whose last day has passed, which no longer count. */
  readonly expired: readonly (DeclaredEntry | DeclaredVip)[];
  readonly excluded: readonly Excluded[];
  /** Warnings and notes; settings with errors don't exist. */
  readonly findings: readonly Finding[];
}
