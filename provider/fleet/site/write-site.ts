import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { ConfigurationError } from "../../client";
import { readPlainFile } from "../../machine/plain-file";
import { printable, quote } from "../../settings/text";
import { keptRuns, readRun, runFile, type SiteRun } from "./data/runs";
import { isSitePath } from "./pages/paths";
import type { SiteFile } from "./site-files";

/** The file that identifies a directory as a site. It lists the files that were written there. */
export const MARKER = ".email-security-site.json";

/** The directory of the stored runs, with a small file for each. */
const RUNS = "data/runs";
const FOLDERS = ["assets", "data", RUNS, "tenants", "rollouts"];
const RUN_NAME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.json$/;
const STAGE_NAME = /^\.email-security-new-\w{6}$/;
const MAX_MARKER_BYTES = 32 * 1024 * 1024;
const MAX_RUN_BYTES = 256 * 1024;
const HOUR_MS = 3_600_000;

const markerSchema = z.object({ format: z.literal(1), files: z.array(z.string()).readonly() }).readonly();

/** The directory of a present or future site. */
export interface SiteFolder {
  readonly path: string;
  /** The stored runs, oldest first. */
  readonly runs: readonly SiteRun[];
  /** The paths of stored runs that can't be read. */
  readonly brokenRuns: readonly string[];
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
export function openSite(path: string, source?: string): SiteFolder {
  try {
    if (source !== undefined && resolve(path) === dirname(resolve(source))) {
      throw new Error(
        `it is the folder of ${quote(source, 300)}, and the site has many files. Choose another folder, such as "site"`,
      );
    }
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const files = markedIn(path);
    for (const folder of FOLDERS) {
      const stat = statOf(join(path, folder));
      if (stat !== undefined && !stat.isDirectory()) {
        throw new Error(`${quote(join(path, folder), 300)} is no folder, or a link to one`);
      }
    }
    refuseOthers(
      path,
      ["index.html", "tenants.html", "rollouts.html", "attention.html", "entry.html"],
      files,
    );
    return { path, files, ...runsIn(join(path, RUNS)) };
  } catch (error) {
    throw refused(path, error);
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
  { path, files: known, runs }: SiteFolder,
  files: Iterable<SiteFile>,
  run: SiteRun,
): { readonly files: number; readonly bytes: number } {
  let stage: string | undefined;
  try {
    removeForsaken(path);
    // Another run may have written while this one was reading tenants.
    const before = new Set([...known, ...markedIn(path)]);
    stage = mkdtempSync(join(path, ".email-security-new-"));
    const written: string[] = [];
    let bytes = 0;
    for (const [file, text] of files) {
      if (!isSitePath(file)) throw new Error(`${quote(file)} is no path of a site`);
      bytes += Buffer.byteLength(text);
      stageFile(stage, file, text);
      written.push(file);
    }
    refuseOthers(path, written, before);
    const own = `${RUNS}/${runFile(run)}`;
    stageFile(stage, own, `${JSON.stringify(run)}\n`);
    for (const folder of FOLDERS) mkdirSync(join(path, folder), { recursive: true });
    // Lists the new files before they are moved. If this run is killed, the next one then knows that they belong to the site.
    mark(path, stage, [...new Set([...before, ...written])]);
    for (const file of written) renameSync(join(stage, file), join(path, file));
    renameSync(join(stage, own), join(path, own));
    const now = new Set(written);
    for (const file of before) if (!now.has(file) && isSitePath(file)) removeFile(join(path, file));
    const stay = new Set(keptRuns(runs, run).map(runFile));
    for (const one of runs) if (!stay.has(runFile(one))) removeFile(join(path, RUNS, runFile(one)));
    mark(path, stage, written);
    return { files: written.length, bytes };
  } catch (error) {
    throw refused(path, error);
  } finally {
    if (stage !== undefined) rmSync(stage, { recursive: true, force: true });
  }
}

function markedIn(path: string): ReadonlySet<string> {
  const file = join(path, MARKER);
  if (statOf(file) === undefined) return new Set();
  let marked: unknown;
  try {
    marked = JSON.parse(readPlainFile(file, MAX_MARKER_BYTES).toString("utf8"));
  } catch (error) {
    throw new Error(`${MARKER} can't be read: ${(error as Error).message}`);
  }
  const { data } = markerSchema.safeParse(marked);
  if (data === undefined) throw new Error(`${MARKER} is not what this release writes`);
  return new Set(data.files.filter(isSitePath));
}

function mark(path: string, stage: string, files: readonly string[]): void {
  writeFileSync(join(stage, MARKER), `${JSON.stringify({ format: 1, files })}\n`);
  renameSync(join(stage, MARKER), join(path, MARKER));
}

function stageFile(stage: string, file: string, text: string): void {
  mkdirSync(join(stage, dirname(file)), { recursive: true });
  writeFileSync(join(stage, file), text);
}

/** Files that the site would replace but has not written belong to somebody else. */
function refuseOthers(path: string, files: readonly string[], own: ReadonlySet<string>): void {
  const foreign = files.find((file) => !own.has(file) && statOf(join(path, file)) !== undefined);
  if (foreign === undefined) return;
  throw new Error(
    `${quote(foreign)} is there, and by ${MARKER} no run of this command has written it. Choose another folder, or move it away`,
  );
}

/** Reads the stored runs. Files that are none of them are left alone. */
function runsIn(folder: string): Pick<SiteFolder, "runs" | "brokenRuns"> {
  const [runs, brokenRuns]: [SiteRun[], string[]] = [[], []];
  const names = statOf(folder) === undefined ? [] : readdirSync(folder).filter((name) => RUN_NAME.test(name));
  for (const name of names.sort()) {
    const run = runIn(join(folder, name));
    if (run === undefined || runFile(run) !== name) brokenRuns.push(join(folder, name));
    else runs.push(run);
  }
  return { runs, brokenRuns };
}

function runIn(file: string): SiteRun | undefined {
  try {
    return readRun(readPlainFile(file, MAX_RUN_BYTES).toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Deletes the staging directories of killed runs. Skips recent ones, because their run may still be in progress. */
function removeForsaken(path: string): void {
  for (const name of readdirSync(path)) {
    const stat = STAGE_NAME.test(name) ? statOf(join(path, name)) : undefined;
    if (stat?.isDirectory() === true && Date.now() - stat.mtimeMs > HOUR_MS) {
      rmSync(join(path, name), { recursive: true, force: true });
    }
  }
}

function removeFile(file: string): void {
  const stat = statOf(file);
  if (stat !== undefined && !stat.isDirectory()) rmSync(file, { force: true });
}

/** Doesn't follow links. */
function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function refused(path: string, error: unknown): ConfigurationError {
  if (error instanceof ConfigurationError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new ConfigurationError(`The site can't be written to ${quote(path, 300)}: ${printable(why)}.`, {
    cause: error,
  });
}
