import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { EmailSecurityError } from "../../settings/email-security-error";
import { quote } from "../../settings/text";
import { type Finding, inOrder } from "./finding";
import { type LintResult, lintSettings } from "./lint";
import type { ReadOptions } from "./read-settings";

/** What lint found in several settings files. */
export interface FilesLintResult {
  /** Each finding once, in the order of files and lines. */
  readonly findings: readonly Finding[];
  /** All files that were looked at, sorted. */
  readonly files: readonly string[];
  /** Those that no other includes: a tenant's each. */
  readonly tops: readonly string[];
}

/** Where settings files are looked for when none is named. */
const FOLDER = "settings";
const SINGLE_FILE = "settings.yaml";

/**
 * Lints several settings files, or all in a folder. One that another one includes is linted through that, as it is used,
 * and not by itself.
 *
 * @param named files and folders; when empty, the folder `settings`, or else `settings.yaml`.
 * @throws {EmailSecurityError} (`ERR_NO_SETTINGS`) when there is none.
 */
export function lintFiles(named: readonly string[], options: ReadOptions = {}): FilesLintResult {
  const candidates = new Map(filesOf(named).map((file) => [resolve(file), file]));
  const shared: ReadOptions = { cache: new Map(), ...options };
  const results = new Map([...candidates].map(([path, file]) => [path, lintSettings(file, shared)]));
  const tops = topsOf(results);
  const findings = new Map<string, Finding>();
  for (const { findings: found } of tops) {
    for (const finding of found) {
      const { code, message, place } = finding;
      findings.set(JSON.stringify([place?.file, place?.line, place?.column, code, message]), finding);
    }
  }
  return {
    findings: inOrder([...findings.values()]),
    files: [...new Set(tops.flatMap(({ files }) => files))].sort(),
    tops: tops.flatMap(({ files }) => files.slice(0, 1)),
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

function filesOf(named: readonly string[]): string[] {
  if (named.length > 0) return named.flatMap((path) => (isFolder(path) ? filesIn(path) : [path]));
  if (isFolder(FOLDER)) return filesIn(FOLDER);
  if (existsSync(SINGLE_FILE)) return [SINGLE_FILE];
  throw new EmailSecurityError(
    "ERR_NO_SETTINGS",
    `There is no folder ${FOLDER} here, and no ${SINGLE_FILE}. Name the settings files.`,
  );
}

function filesIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && /\.ya?ml$/i.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/(?:^|[\\/])node_modules[\\/]/.test(file))
    .sort();
  if (files.length > 0) return files;
  throw new EmailSecurityError(
    "ERR_NO_SETTINGS",
    `There is no settings file in ${quote(folder, 300)}: none that ends in .yaml or .yml.`,
  );
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
