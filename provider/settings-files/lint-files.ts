import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { EmailSecurityError } from "../model/email-security-error";
import { quote } from "../model/text";
import { type Finding, sortFindings } from "./finding";
import { type LintResult, lintSettings } from "./lint";
import type { SettingsReadOptions } from "./read-settings";
import { createFileReader } from "./read-yaml-file";
import type { DeclaredEntry, DeclaredVip } from "./settings-model";
import type { Policy } from "./settings-schema";

export interface FilesLintResult {
  /** Findings without duplicates, in the order of files and lines. */
  readonly findings: readonly Finding[];
  /** All checked files, sorted. */
  readonly files: readonly string[];
  /** Files that no other file includes: one per tenant. */
  readonly topLevelFiles: readonly string[];
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
  readonly declarations: readonly (DeclaredEntry | DeclaredVip)[];
}

const DEFAULT_DIRECTORY = "settings";
const DEFAULT_FILE = "settings.yaml";

/**
 * Lints several settings files, or all in a directory.
 *
 * An included file is linted as part of the including file, which may contain its own domains and policy. That file is found if it is
 * named, or lies in the default location. Only errors are reported for its other content, because they can hide further findings.
 *
 * @param paths files and directories. Default if empty: the directory `settings`, or else `settings.yaml`.
 * @throws {EmailSecurityError} (`ERR_NO_SETTINGS`) if there is none.
 */
export function lintFiles(paths: readonly string[], options: SettingsReadOptions = {}): FilesLintResult {
  const candidates = new Map(resolveSettingsFiles(paths).map((file) => [resolve(file), file]));
  const sharedOptions: SettingsReadOptions = { cache: new Map(), ...options };
  const results = new Map([...candidates].map(([path, file]) => [path, lintSettings(file, sharedOptions)]));
  const readPaths = new Set([...results.values()].flatMap(({ files }) => files).map((file) => resolve(file)));
  for (const file of findMentioningFiles([...candidates.keys()])) {
    const result = lintSettings(file, sharedOptions);
    const includesCandidate = result.files.some((candidate) => candidates.has(resolve(candidate)));
    // The includes of an invalid file are unknown.
    const isUnknown = result.settings === undefined && result.files.length === 1;
    if (includesCandidate || isUnknown) results.set(resolve(file), result);
  }
  const topLevelFiles = findTopLevelResults(results);
  const findings = new Map<string, Finding>();
  for (const { findings: fileFindings } of topLevelFiles) {
    for (const finding of fileFindings) {
      const { code, level, message, place } = finding;
      if (level !== "error" && place !== undefined && !readPaths.has(resolve(place.file))) continue;
      findings.set(JSON.stringify([place?.file, place?.line, place?.column, code, message]), finding);
    }
  }
  return {
    findings: sortFindings([...findings.values()]),
    files: [...new Set(topLevelFiles.flatMap(({ files }) => files))].sort(),
    topLevelFiles: topLevelFiles.flatMap(({ files }) => files.slice(0, 1)),
    tenants: topLevelFiles.map(buildLintedTenant),
    included: [...results.values()].filter((result) => !topLevelFiles.includes(result)).map(buildLintedTenant),
    isPartial: topLevelFiles.some((top) => top.isPartial),
  };
}

function buildLintedTenant({ files, draft }: LintResult): LintedTenant {
  return {
    files,
    policy: draft?.policy ?? {},
    declarations: [...(draft?.entries ?? []), ...(draft?.vips ?? [])],
  };
}

/** Returns the files that no other file includes, and one file of each include cycle. */
function findTopLevelResults(results: ReadonlyMap<string, LintResult>): LintResult[] {
  const getIncludedFiles = (path: string, { files }: LintResult): string[] =>
    files.map((file) => resolve(file)).filter((file) => file !== path);
  const included = new Set([...results].flatMap(([path, result]) => getIncludedFiles(path, result)));
  const topLevelFiles = [...results].filter(([path]) => !included.has(path));
  const covered = new Set(topLevelFiles.flatMap(([path, result]) => [path, ...getIncludedFiles(path, result)]));
  for (const [path, result] of results) {
    if (covered.has(path)) continue;
    topLevelFiles.push([path, result]);
    for (const file of [path, ...getIncludedFiles(path, result)]) covered.add(file);
  }
  return topLevelFiles.map(([, result]) => result);
}

/**
 * Returns the files in the default location that mention one of the given files, directly or indirectly. Searching the text is faster than
 * parsing the settings of many tenants.
 */
export function findMentioningFiles(paths: readonly string[]): string[] {
  const remaining = new Map(
    findDefaultFiles()
      .filter((file) => !paths.includes(resolve(file)))
      .map((file) => [file, readTextOrEmpty(file)]),
  );
  const includingFiles: string[] = [];
  for (const names = paths.map((path) => basename(path)); names.length > 0; ) {
    const name = names.shift() ?? "";
    for (const [file, text] of remaining) {
      if (!text.includes(name)) continue;
      remaining.delete(file);
      includingFiles.push(file);
      names.push(basename(file));
    }
  }
  return includingFiles;
}

/** Returns the text of a file; empty if it can't be read. */
export function readTextOrEmpty(file: string): string {
  try {
    return createFileReader(file)(file);
  } catch {
    return "";
  }
}

/** Returns the settings files that paths stand for. */
export function resolveSettingsFiles(paths: readonly string[]): string[] {
  if (paths.length > 0) return paths.flatMap((path) => (isExistingDirectory(path) ? listRequiredFiles(path) : [path]));
  const files = findDefaultFiles();
  if (files.length > 0) return files;
  if (isExistingDirectory(DEFAULT_DIRECTORY)) return listRequiredFiles(DEFAULT_DIRECTORY);
  throw new EmailSecurityError(
    "ERR_NO_SETTINGS",
    `Found no settings files: the directory ${DEFAULT_DIRECTORY} and the file ${DEFAULT_FILE} don't exist here. Specify the settings files.`,
  );
}

function findDefaultFiles(): string[] {
  if (isExistingDirectory(DEFAULT_DIRECTORY)) return listYamlFiles(DEFAULT_DIRECTORY);
  return existsSync(DEFAULT_FILE) ? [DEFAULT_FILE] : [];
}

function listRequiredFiles(directory: string): string[] {
  const files = listYamlFiles(directory);
  if (files.length > 0) return files;
  throw new EmailSecurityError(
    "ERR_NO_SETTINGS",
    `The directory ${quote(directory, 300)} contains no settings files (.yaml or .yml).`,
  );
}

function listYamlFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && /\.ya?ml$/i.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/(?:^|[\\/])node_modules[\\/]/.test(file))
    .sort();
}

function isExistingDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
