import { posix } from "node:path";
import type { Element, HistoryEvent, PlacedElement } from "../../gitops/why-schema";

/** What one version of a file says: of the value, and what it includes. */
export interface Version {
  readonly elements: readonly Element[];
  /** As they are written. */
  readonly includes: readonly string[];
}

/** A file of which two versions are compared; undefined where it was not there. */
export interface IncludeChange {
  /** Relative to the repository's top folder. */
  readonly path: string;
  readonly before: Version | undefined;
  readonly after: Version | undefined;
}

/** How deep files include each other; no team's are deeper. */
const MAX_DEPTH = 8;

/**
 * What came with a line of `include` that is new, or went with one that is there no more: the elements of the file that it names, and
 * of those that this one includes. What the top file comes to on another way all the while, neither came nor went.
 *
 * @param topPath the settings file that is asked about.
 * @param read a file as it stood before or after the change; undefined where it was not there.
 * @returns the events, and the files that are included no more and had it, whose past is a part of the story.
 */
export async function includeEvents(
  { path, before, after }: IncludeChange,
  topPath: string,
  read: (side: "before" | "after", path: string) => Promise<Version | undefined>,
): Promise<{ readonly events: readonly IncludeEvent[]; readonly gone: readonly string[] }> {
  // A file that is gone includes nothing; who included it says so.
  if (after === undefined) return { events: [], gone: [] };
  const [old, current] = [before, after].map((one) => listIncludedPaths(path, one));
  const events: IncludeEvent[] = [];
  const removedPaths: string[] = [];
  for (const [side, names, otherNames] of [
    ["before", old, current],
    ["after", current, old],
  ] as const) {
    for (const name of names ?? []) {
      if (otherNames?.has(name)) continue;
      const includedElements = await collectElements(name, async (one) => await read(side, one));
      if (includedElements.length === 0) continue;
      const otherSide = side === "before" ? "after" : "before";
      const otherElements = await collectElements(topPath, async (one) => await read(otherSide, one));
      const otherPaths = new Set(otherElements.map((element) => element.path));
      const exclusiveElements = includedElements.filter((element) => !otherPaths.has(element.path));
      for (const element of exclusiveElements)
        events.push({ [side]: element, include: { by: path, file: name } });
      if (side === "before") removedPaths.push(...exclusiveElements.map((element) => element.path));
    }
  }
  return { events, gone: removedPaths };
}

/** An event that a line of `include` brought. */
export type IncludeEvent = Pick<HistoryEvent, "before" | "after"> & Required<Pick<HistoryEvent, "include">>;

function listIncludedPaths(path: string, version: Version | undefined): ReadonlySet<string> {
  const names = (version?.includes ?? []).map((name) => posix.join(posix.dirname(path), name));
  // A line end would ask git for something else.
  return new Set(names.filter((name) => !/^\.\.(?:\/|$)|[\n\0]/.test(name)));
}

async function collectElements(
  name: string,
  read: (path: string) => Promise<Version | undefined>,
): Promise<readonly PlacedElement[]> {
  const elements: PlacedElement[] = [];
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
