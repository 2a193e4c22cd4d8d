import { lstatSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, type Stats, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { ConfigurationError } from "../../client";
import { getErrorMessage } from "../../model/email-security-error";
import { jsonArray } from "../../model/json-schema-builders";
import { quote, sanitizeLine } from "../../model/text";
import { readRegularFile } from "../../system/regular-file";
import { getRunFileName, parseSiteRun, type SiteRun, selectRetainedRuns } from "./data/site-runs";
import { isSitePath } from "./pages/paths";
import type { SiteFile } from "./site-files";

/** The file that identifies a directory as a site. It lists the files that were written there. */
export const SITE_MARKER = ".email-security-site.json";

/** The directory of the stored runs, with a small file for each. */
const RUNS_DIRECTORY = "data/runs";
const SITE_DIRECTORIES = ["assets", "data", RUNS_DIRECTORY, "tenants", "rollouts"];
const RUN_NAME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.json$/;
const STAGE_NAME = /^\.email-security-new-\w{6}$/;
const MAX_MARKER_BYTES = 32 * 1024 * 1024;
const MAX_RUN_BYTES = 256 * 1024;
const HOUR_MS = 3_600_000;

const markerSchema = z.object({ format: z.literal(1), files: jsonArray(z.string()) }).readonly();

/** The directory of a present or future site. */
export interface SiteDirectory {
  readonly path: string;
  /** The stored runs, oldest first. */
  readonly runs: readonly SiteRun[];
  /** The paths of stored runs that can't be read. */
  readonly unreadableRuns: readonly string[];
  /** The files that the previous run wrote. */
  readonly files: ReadonlySet<string>;
}

/**
 * Checks a directory before anything is written to it. Creates a missing one with access only for this user.
 *
 * @param source the targets file, whose directory must not become a site. Default: none.
 * @throws {ConfigurationError} if the directory can't be used, holds files of others that the site would replace, or is the one of the
 * targets file.
 */
export function openSite(path: string, source?: string): SiteDirectory {
  try {
    if (source !== undefined && resolve(path) === dirname(resolve(source))) {
      throw new Error(
        `it is the directory of ${quote(source, 300)}, and the site needs its own directory. Choose another directory, such as "site"`,
      );
    }
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const files = readMarker(path);
    for (const directory of SITE_DIRECTORIES) {
      const stat = readStats(join(path, directory));
      if (stat !== undefined && !stat.isDirectory()) {
        throw new Error(`${quote(join(path, directory), 300)} isn't a directory, or is a link to one`);
      }
    }
    assertNoForeignFiles(path, ["index.html", "tenants.html", "rollouts.html", "attention.html", "entry.html"], files);
    return { path, files, ...readRuns(join(path, RUNS_DIRECTORY)) };
  } catch (error) {
    throw toSiteError(path, error);
  }
}

/**
 * Writes a site. First writes all files to a staging directory, and then moves each into place, the first page last. An interruption before
 * the first move leaves the old site. An interruption afterwards leaves each page either old or new, always complete and with the data that
 * it needs. Finally deletes the files of the previous run that this run did not write, and nothing else.
 *
 * @param run the results of this run to store. Some older ones are deleted.
 * @returns the number of files of the site, and their total size in bytes.
 * @throws {ConfigurationError} if the site can't be written.
 */
export function writeSite(
  { path, files: previousFiles, runs }: SiteDirectory,
  files: Iterable<SiteFile>,
  run: SiteRun,
): { readonly files: number; readonly bytes: number } {
  let stage: string | undefined;
  try {
    removeStaleStages(path);
    // Another run may have written while this one was reading tenants.
    const ownFiles = new Set([...previousFiles, ...readMarker(path)]);
    stage = mkdtempSync(join(path, ".email-security-new-"));
    const written: string[] = [];
    let bytes = 0;
    for (const [file, text] of files) {
      if (!isSitePath(file)) throw new Error(`${quote(file)} isn't a path of a site`);
      bytes += Buffer.byteLength(text);
      stageFile(stage, file, text);
      written.push(file);
    }
    assertNoForeignFiles(path, written, ownFiles);
    const runPath = `${RUNS_DIRECTORY}/${getRunFileName(run)}`;
    stageFile(stage, runPath, `${JSON.stringify(run)}\n`);
    for (const directory of SITE_DIRECTORIES) mkdirSync(join(path, directory), { recursive: true });
    // Lists the new files before they are moved. If this run is killed, the next one then knows that they belong to the site.
    writeMarker(path, stage, [...new Set([...ownFiles, ...written])]);
    for (const file of written) renameSync(join(stage, file), join(path, file));
    renameSync(join(stage, runPath), join(path, runPath));
    const writtenFiles = new Set(written);
    for (const file of ownFiles) if (!writtenFiles.has(file) && isSitePath(file)) removeFile(join(path, file));
    const keptNames = new Set(selectRetainedRuns(runs, run).map(getRunFileName));
    for (const previousRun of runs)
      if (!keptNames.has(getRunFileName(previousRun)))
        removeFile(join(path, RUNS_DIRECTORY, getRunFileName(previousRun)));
    writeMarker(path, stage, written);
    return { files: written.length, bytes };
  } catch (error) {
    throw toSiteError(path, error);
  } finally {
    if (stage !== undefined) rmSync(stage, { recursive: true, force: true });
  }
}

function readMarker(path: string): ReadonlySet<string> {
  const file = join(path, SITE_MARKER);
  if (readStats(file) === undefined) return new Set();
  let content: unknown;
  try {
    content = JSON.parse(readRegularFile(file, MAX_MARKER_BYTES).toString("utf8"));
  } catch (error) {
    throw new Error(`${SITE_MARKER} can't be read: ${(error as Error).message}`);
  }
  const { data } = markerSchema.safeParse(content);
  if (data === undefined) throw new Error(`${SITE_MARKER} has a different format than this release writes`);
  return new Set(data.files.filter(isSitePath));
}

function writeMarker(path: string, stage: string, files: readonly string[]): void {
  writeFileSync(join(stage, SITE_MARKER), `${JSON.stringify({ format: 1, files })}\n`);
  renameSync(join(stage, SITE_MARKER), join(path, SITE_MARKER));
}

function stageFile(stage: string, file: string, text: string): void {
  mkdirSync(join(stage, dirname(file)), { recursive: true });
  writeFileSync(join(stage, file), text);
}

/** Files that the site would replace but has not written belong to somebody else. */
function assertNoForeignFiles(path: string, files: readonly string[], ownFiles: ReadonlySet<string>): void {
  const foreign = files.find((file) => !ownFiles.has(file) && readStats(join(path, file)) !== undefined);
  if (foreign === undefined) return;
  throw new Error(
    `${quote(foreign)} exists, but according to ${SITE_MARKER} this command did not write it. Choose another directory, or move the file away`,
  );
}

/** Reads the stored runs. Other files are left alone. */
function readRuns(directory: string): Pick<SiteDirectory, "runs" | "unreadableRuns"> {
  const [runs, unreadableRuns]: [SiteRun[], string[]] = [[], []];
  const names = readStats(directory) === undefined ? [] : readdirSync(directory).filter((name) => RUN_NAME.test(name));
  for (const name of names.sort()) {
    const run = readRunFile(join(directory, name));
    if (run === undefined || getRunFileName(run) !== name) unreadableRuns.push(join(directory, name));
    else runs.push(run);
  }
  return { runs, unreadableRuns };
}

function readRunFile(file: string): SiteRun | undefined {
  try {
    return parseSiteRun(readRegularFile(file, MAX_RUN_BYTES).toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Deletes the staging directories of killed runs. Skips recent ones, because their run may still be in progress. */
function removeStaleStages(path: string): void {
  for (const name of readdirSync(path)) {
    const stat = STAGE_NAME.test(name) ? readStats(join(path, name)) : undefined;
    if (stat?.isDirectory() === true && Date.now() - stat.mtimeMs > HOUR_MS) {
      rmSync(join(path, name), { recursive: true, force: true });
    }
  }
}

function removeFile(file: string): void {
  const stat = readStats(file);
  if (stat !== undefined && !stat.isDirectory()) rmSync(file, { force: true });
}

/** Doesn't follow links. */
function readStats(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function toSiteError(path: string, error: unknown): ConfigurationError {
  if (error instanceof ConfigurationError) return error;
  const reason = getErrorMessage(error);
  return new ConfigurationError(`The site can't be written to ${quote(path, 300)}: ${sanitizeLine(reason)}.`, {
    cause: error,
  });
}
