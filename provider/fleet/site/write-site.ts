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

/** The file by which a folder is known to be a site of ours: it lists what was written there. */
export const MARKER = ".email-security-site.json";

/** Where the runs before are kept: a small file each. */
const RUNS = "data/runs";
const FOLDERS = ["assets", "data", RUNS, "tenants", "rollouts"];
const RUN_NAME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.json$/;
const STAGE_NAME = /^\.email-security-new-\w{6}$/;
const MAX_MARKER_BYTES = 32 * 1024 * 1024;
const MAX_RUN_BYTES = 256 * 1024;
const HOUR_MS = 3_600_000;

const markerSchema = z.object({ format: z.literal(1), files: z.array(z.string()).readonly() }).readonly();

/** A folder that a site is, or is to be. */
export interface SiteFolder {
  readonly path: string;
  /** The runs that were kept, the oldest first. */
  readonly runs: readonly SiteRun[];
  /** The files of runs that can't be read, by their paths. */
  readonly brokenRuns: readonly string[];
  /** What the run before wrote. */
  readonly files: ReadonlySet<string>;
}

/**
 * Looks at a folder before it is written to; one that is not there is made, for this user alone.
 *
 * @param source the targets file, whose folder is refused. Default: none.
 * @throws {ConfigurationError} when it can't be used, holds something of others that the site would take the place of, or is the
 * targets file's own.
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
 * Writes a site: all of it beside what is there first, and then each file in its place, the first page last. Whoever is cut short before
 * that leaves the site as it was; in the midst of it, each page is the old or the new one, whole, with the data that it needs. Then goes
 * what the run before wrote and this one did not, and nothing else.
 *
 * @param run what is kept of this one; of those before it some go.
 * @returns how many files, and of how many bytes, the site has.
 * @throws {ConfigurationError} when it can't be written.
 */
export function writeSite(
  { path, files: known, runs }: SiteFolder,
  files: Iterable<SiteFile>,
  run: SiteRun,
): { readonly files: number; readonly bytes: number } {
  let stage: string | undefined;
  try {
    removeForsaken(path);
    // Another run may have written since the folder was looked at, while this one was reading tenants.
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
    // Known from now on, so that whoever goes on after this one was killed takes them for the site's.
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

/** What the site would take the place of and has not written is somebody's. */
function refuseOthers(path: string, files: readonly string[], own: ReadonlySet<string>): void {
  const foreign = files.find((file) => !own.has(file) && statOf(join(path, file)) !== undefined);
  if (foreign === undefined) return;
  throw new Error(
    `${quote(foreign)} is there, and by ${MARKER} no run of this command has written it. Choose another folder, or move it away`,
  );
}

/** What was kept of runs; what is none of them stays as it is, and is not read. */
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

/** What runs that were killed have left; of one that may be under way nothing. */
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

/** Of a link, its own. */
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
