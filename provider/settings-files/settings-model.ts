import type { ListedEntry, ListedVip } from "../model/encoded-list";
import type { ElementMetadata } from "./element-fields";
import type { FileLocation, Finding } from "./finding";
import type { ElementReview, ListsOptions, Policy, SettingsFile } from "./settings-schema";
import type { ElementSeen, SourceDeclaration, SourceRecord } from "./source-schema";

/** The declared fields of an entry or VIP, and their location. */
export interface DeclaredElement extends ElementMetadata {
  /** The key in the encoded list: the canonical value or mailbox, with the scope or type if needed for uniqueness. */
  readonly key: string;
  /** The encoded text in the list: `deny: INC-7`. */
  readonly text: string;
  /** The last review, in which a person decided to keep it. */
  readonly reviewed?: ElementReview;
  /** When it was in its source, for an element of a generated file. */
  readonly seen?: ElementSeen;
  /** The location of the value. */
  readonly location: FileLocation;
  /** Whether it is a plain text instead of a mapping. */
  readonly isShort?: true;
  /** The overridden declarations in included files, nearest first. */
  readonly overrides: readonly FileLocation[];
}

/** A declared entry of the allow/deny list. */
export interface DeclaredEntry extends DeclaredElement, Omit<ListedEntry, "unknown"> {
  readonly kind: "entry";
  /** The value as written. */
  readonly rawValue: string;
}

/** A declared VIP. */
export interface DeclaredVip extends DeclaredElement, Omit<ListedVip, "unknown"> {
  readonly kind: "vip";
  /** The mailbox as written. */
  readonly rawValue: string;
}

/** A declaration of an included file that another file removes. */
export interface RemovedDeclaration {
  readonly declaration: DeclaredEntry | DeclaredVip;
  /** The location of the `remove` line, or of the expired override. */
  readonly location: FileLocation;
}

/** A source that a settings file declares. */
export interface DeclaredSource {
  readonly name: string;
  readonly source: SourceDeclaration;
  readonly location: FileLocation;
}

/** A file that `email-security sync` wrote for a source. */
export interface GeneratedFile {
  /** See {@link FileLocation.file}. */
  readonly file: string;
  readonly record: SourceRecord;
  /** The location of `source`. */
  readonly location: FileLocation;
}

/** The combined settings of a tenant's files on a given day. */
export interface Settings {
  /** The requested file, as specified by the caller. */
  readonly file: string;
  /** All files, the requested one first; see {@link FileLocation.file}. */
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
  /** The sources of all files. */
  readonly sources: readonly DeclaredSource[];
  /** The generated files among {@link Settings.files}. */
  readonly generatedFiles: readonly GeneratedFile[];
  /** Sorted by key. */
  readonly entries: readonly DeclaredEntry[];
  /** Sorted by key. */
  readonly vips: readonly DeclaredVip[];
  /** Declarations whose last day has passed, which no longer count. */
  readonly expired: readonly (DeclaredEntry | DeclaredVip)[];
  readonly excluded: readonly RemovedDeclaration[];
  /** Warnings and notes. Files with errors give no `Settings`. */
  readonly findings: readonly Finding[];
}
