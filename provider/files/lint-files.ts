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

/** What lint found in several settings files. */
export interface FilesLintResult {
  /** Each finding once, in the order of files and lines. */
  readonly findings: readonly Finding[];
  /** All files that were looked at, sorted. */
  readonly files: readonly string[];
  /** Those that no other includes: a tenant's each. */
  readonly tops: readonly string[];
  /** The same, each with what it reads and the rules that hold for all of that. */
  readonly tenants: readonly LintedTenant[];
  /** The same of those that another one includes: a file does not stop being a tenant's by that. */
  readonly included: readonly LintedTenant[];
  /** Whether mistakes kept it from looking for more. */
  readonly isPartial: boolean;
}

/** A file with all that it includes, as far as it could be read. */
export interface LintedTenant {
  /** All files that it reads, itself first. */
  readonly files: readonly string[];
  readonly policy: Policy;
  /** All entries and VIPs, of whichever file. */
  readonly declared: readonly (DeclaredEntry | DeclaredVip)[];
}

/** Where settings files are looked for when none is named. */
const FOLDER = "settings";
const SINGLE_FILE = "settings.yaml";

/**
 * Lints several settings files, or all in a folder. One that another one includes is linted through that, as it is used,
 * and not by itself: its own domains and the policy may stand there. That other one is found when it is named too or lies
 * where settings files are looked for; of what else it says errors alone are told, for they can hide others.
 *
 * @param named files and folders; when empty, the folder `settings`, or else `settings.yaml`.
 * @throws {EmailSecurityError} (`ERR_NO_SETTINGS`) when there is none.
 */
export function lintFiles(named: readonly string[], options: ReadOptions = {}): FilesLintResult {
  const candidates = new Map(filesOf(named).map((file) => [resolve(file), file]));
  const shared: ReadOptions = { cache: new Map(), ...options };
  const results = new Map([...candidates].map(([path, file]) => [path, lintSettings(file, shared)]));
  const asked = new Set([...results.values()].flatMap(({ files }) => files).map((file) => resolve(file)));
  for (const file of mayInclude([...candidates.keys()])) {
    const result = lintSettings(file, shared);
    const includes = result.files.some((one) => candidates.has(resolve(one)));
    // What a file includes that has a mistake can't be told.
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

/** Those that no other includes; of a circle, one. */
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
 * Where settings files are looked for, those that name one of these or one that names it, and so on. To read all of them
 * as settings would take long where there are many tenants.
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

/** The text of a file; empty where it can't be read. */
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
