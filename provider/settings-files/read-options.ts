import type { FileLocation, Finding } from "./finding";
import type { ParsedSettingsFile } from "./parsed-settings-file";
import type { Settings } from "./settings-model";
import type { YamlReader } from "./yaml-source";

export interface SettingsReadOptions {
  /** The day (UTC) to which `expires` is compared, `2026-11-21`. Default: today. */
  readonly today?: string;
  /** Own domains in addition to those of the files, in canonical form. Default: those of EMAIL_SECURITY_OWN_DOMAINS. */
  readonly ownDomains?: readonly string[];
  /** Reads a file as text; throws if it can't. Default: from disk, as UTF-8. */
  readonly readFile?: (path: string) => string;
  /** Parses a file. Default: {@link readYaml}; use `createCachingYamlReader` if the same texts are read repeatedly. */
  readonly readYaml?: YamlReader;
  /** Caches included files when reading the files of several tenants. */
  readonly cache?: SettingsReadCache;
  /** Whether to check all files together, for example for risky entries. Default: true. */
  readonly shouldCrossCheck?: boolean;
}

/** Parsed included files by absolute path. Create one with `new Map()`. */
export type SettingsReadCache = Map<string, ParsedSettingsFile>;

export interface SettingsReadResult {
  readonly settings: Settings | undefined;
  /** The incomplete settings; present if every file could be read. Used for finding more mistakes. */
  readonly draft: Settings | undefined;
  /** Errors, warnings and notes, in the order of files and lines. */
  readonly findings: readonly Finding[];
  /** All files that were read or failed to be read, the requested one first; see {@link FileLocation.file}. */
  readonly files: readonly string[];
  /** The location of the first `include` of each file. */
  readonly includedAt: ReadonlyMap<string, FileLocation>;
}
