import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { EmailSecurityError } from "../settings/email-security-error";
import { quote } from "../settings/text";
import { type Finding, inOrder } from "./finding";
import { type LintResult, lintSettings } from "./lint";
import type { ReadOptions } from "./read-settings";
import { readerFrom } from "./read-source";
import type { DeclaredEntry, DeclaredVip } from "./settings";
import type { Policy } from "./settings-schema";

/** The result of linting several settings files. */
export interface FilesLintResult {
  /** Findings without duplicates, in the order of files and lines. */
  readonly findings: readonly Finding[];
  /** All checked files, sorted. */
  readonly files: readonly string[];
  /** Files that no other file includes: one per tenant. */
  readonly tops: readonly string[];
  /** The top files with everything they include, and their policies. */
  readonly tenants: readonly LintedTenant[];
  /** The included files in the same form: an included file can still belong to a tenant. */
  readonly included: readonly LintedTenant[];
  /** Whether mistakes prevented further checks. */
  readonly isPartial: boolean;
}

/** A file with everything it includes, as far as readable. */
export interface LintedTenant {
  /** All files it reads, itself first. */
  readonly files: readonly string[];
  readonly policy: Policy;
  /** The entries and VIPs of all files. */
  readonly declared: readonly (DeclaredEntry | DeclaredVip)[];
}

/** The default directory of settings files. */
const FOLDER = "settings";
const SINGLE_FILE = "settings.yaml";

/**
 * Lints several settings files, or all in a directory.
 *
 * An included file is linted as part of the including file, which may contain its own domains and policy. That file is found if it is
 * named, or lies in the default location. Only errors are reported for its other content, because they can hide further findings.
 *
 * @param named files and directories. Default if empty: the directory `settings`, or else `settings.yaml`.
 * @throws {EmailSecurityError} (`ERR_NO_SETTINGS`) if there is none.
 */
export function lintFiles(named: readonly string[], options: ReadOptions = {}): FilesLintResult {
  const candidates = new Map(filesOf(named).map((file) => [resolve(file), file]));
  const shared: ReadOptions = { cache: new Map(), ...options };
  const results = new Map([...candidates].map(([path, file]) => [path, lintSettings(file, shared)]));
  const asked = new Set([...results.values()].flatMap(({ files }) => files).map((file) => resolve(file)));
  for (const file of mayInclude([...candidates.keys()])) {
    const result = lintSettings(file, shared);
    const includes = result.files.some((one) => candidates.has(resolve(one)));
    // The includes of an invalid file are unknown.
    const isUnknown = result.settings === undefined && result.files.length === 1;
    if (includes || isUnknown) results.set(resolve(file), result);
  }
  const tops = topsOf(results);
  const findings = new Map<string, Finding>();
  for (const { findings: found } of tops) {
    for (const finding of found) {
      const { code, level, message, place } = finding;
      if (level !== "error" && place !== undefined && !asked.has(resolve(place.file))) continue;
      findings.set(JSON.stringify([place?.file, place?.line, place?.column, code, message]), finding);
    }
  }
  return {
    findings: inOrder([...findings.values()]),
    files: [...new Set(tops.flatMap(({ files }) => files))].sort(),
    tops: tops.flatMap(({ files }) => files.slice(0, 1)),
    tenants: tops.map(asTenant),
    included: [...results.values()].filter((result) => !tops.includes(result)).map(asTenant),
    isPartial: tops.some((top) => top.isPartial),
  };
}

function asTenant({ files, draft }: LintResult): LintedTenant {
  return {
    files,
    policy: draft?.policy ?? {},
    declared: [...(draft?.entries ?? []), ...(draft?.vips ?? [])],
  };
}

/** Returns the files that no other file includes, and one file of each include cycle. */
function topsOf(results: ReadonlyMap<string, LintResult>): LintResult[] {
  const includedBy = (path: string, { files }: LintResult): string[] =>
    files.map((file) => resolve(file)).filter((file) => file !== path);
  const included = new Set([...results].flatMap(([path, result]) => includedBy(path, result)));
  const tops = [...results].filter(([path]) => !included.has(path));
  const covered = new Set(tops.flatMap(([path, result]) => [path, ...includedBy(path, result)]));
  for (const [path, result] of results) {
    if (covered.has(path)) continue;
    tops.push([path, result]);
    for (const file of [path, ...includedBy(path, result)]) covered.add(file);
  }
  return tops.map(([, result]) => result);
}

/**
 * Returns the files in the default location that mention one of the given files, directly or indirectly. Searching the text is faster than
 * parsing the settings of many tenants.
 */
function mayInclude(paths: readonly string[]): string[] {
  const rest = new Map(
    defaultFiles()
      .filter((file) => !paths.includes(resolve(file)))
      .map((file) => [file, textOf(file)]),
  );
  const found: string[] = [];
  for (const names = paths.map((path) => basename(path)); names.length > 0; ) {
    const name = names.shift() ?? "";
    for (const [file, text] of rest) {
      if (!text.includes(name)) continue;
      rest.delete(file);
      found.push(file);
      names.push(basename(file));
    }
  }
  return found;
}

/** Returns the text of a file; empty if it can't be read. */
export function textOf(file: string): string {
  try {
    return readerFrom(file)(file);
  } catch {
    return "";
  }
}

function filesOf(named: readonly string[]): string[] {
  if (named.length > 0) return named.flatMap((path) => (isFolder(path) ? wantedIn(path) : [path]));
  const files = defaultFiles();
  if (files.length > 0) return files;
  if (isFolder(FOLDER)) return wantedIn(FOLDER);
  throw new EmailSecurityError(
    "ERR_NO_SETTINGS",
    `There is no folder ${FOLDER} here, and no ${SINGLE_FILE}. Name the settings files.`,
  );
}

function defaultFiles(): string[] {
  if (isFolder(FOLDER)) return filesIn(FOLDER);
  return existsSync(SINGLE_FILE) ? [SINGLE_FILE] : [];
}

function wantedIn(folder: string): string[] {
  const files = filesIn(folder);
  if (files.length > 0) return files;
  throw new EmailSecurityError(
    "ERR_NO_SETTINGS",
    `There is no settings file in ${quote(folder, 300)}: none that ends in .yaml or .yml.`,
  );
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && /\.ya?ml$/i.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/(?:^|[\\/])node_modules[\\/]/.test(file))
    .sort();
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
