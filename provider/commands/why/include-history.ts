import { posix } from "node:path";
import type { ElementContent, FileElement, HistoryEvent } from "../../gitops/why-schema";

/** The parsed version of a file: elements of the value, and includes. */
export interface FileVersion {
  readonly elements: readonly ElementContent[];
  /** As written in the file. */
  readonly includes: readonly string[];
}

/** Two versions of a file; undefined if the file did not exist. */
export interface IncludeChange {
  /** Relative to the repository's top directory. */
  readonly path: string;
  readonly before: FileVersion | undefined;
  readonly after: FileVersion | undefined;
}

/** The most levels of nested includes to follow; deeper ones are not realistic. */
const MAX_DEPTH = 8;

/**
 * Returns the elements that a new or removed `include` line added or removed: those of the included file and of its own includes. Leaves
 * out elements that the top file still reaches through another include.
 *
 * @param read reads a file before or after the change; undefined if it did not exist.
 * @returns the events, and the files that are no longer included and contained the value: their history is relevant too.
 */
export async function buildIncludeEvents(
  { path, before, after }: IncludeChange,
  topPath: string,
  read: (side: "before" | "after", path: string) => Promise<FileVersion | undefined>,
): Promise<{ readonly events: readonly IncludeEvent[]; readonly removedPaths: readonly string[] }> {
  // A deleted file has no includes; the change to the file that included it reports the removal.
  if (after === undefined) return { events: [], removedPaths: [] };
  const [old, current] = [before, after].map((version) => listIncludedPaths(path, version));
  const events: IncludeEvent[] = [];
  const removedPaths: string[] = [];
  for (const [side, names, otherNames] of [
    ["before", old, current],
    ["after", current, old],
  ] as const) {
    for (const name of names ?? []) {
      if (otherNames?.has(name)) continue;
      const includedElements = await collectElements(name, async (item) => await read(side, item));
      if (includedElements.length === 0) continue;
      const otherSide = side === "before" ? "after" : "before";
      const otherElements = await collectElements(topPath, async (item) => await read(otherSide, item));
      const otherPaths = new Set(otherElements.map((element) => element.path));
      const exclusiveElements = includedElements.filter((element) => !otherPaths.has(element.path));
      for (const element of exclusiveElements)
        events.push({ [side]: element, include: { includingFile: path, includedFile: name } });
      if (side === "before") removedPaths.push(...exclusiveElements.map((element) => element.path));
    }
  }
  return { events, removedPaths };
}

/** An event that an `include` line caused. */
export type IncludeEvent = Pick<HistoryEvent, "before" | "after"> & Required<Pick<HistoryEvent, "include">>;

function listIncludedPaths(path: string, version: FileVersion | undefined): ReadonlySet<string> {
  const names = (version?.includes ?? []).map((name) => posix.join(posix.dirname(path), name));
  // A line break would change the request to git.
  return new Set(names.filter((name) => !/^\.\.(?:\/|$)|[\n\0]/.test(name)));
}

async function collectElements(
  name: string,
  read: (path: string) => Promise<FileVersion | undefined>,
): Promise<readonly FileElement[]> {
  const elements: FileElement[] = [];
  const visitedPaths = new Set<string>();
  let level: readonly string[] = [name];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const nextLevel: string[] = [];
    for (const path of level) {
      if (visitedPaths.has(path)) continue;
      visitedPaths.add(path);
      const version = await read(path);
      elements.push(...(version?.elements ?? []).map((element) => ({ ...element, path })));
      nextLevel.push(...listIncludedPaths(path, version));
    }
    level = nextLevel;
  }
  return elements;
}
