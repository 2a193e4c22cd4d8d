import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatch, structuredPatch } from "diff";
import { lineEndAfter, linesIn } from "./edit-element";

/** The lines around a change that a patch shows. */
const CONTEXT = 4;

/**
 * A file's patch. What it begins and ends with alike is not compared: of a long file, that is almost all.
 *
 * @param does whether the file is made, or taken away. Default: neither.
 */
export function patchBetween(name: string, before: string, after: string, does?: "make" | "remove"): string {
  if (does !== undefined) {
    const [from, to] = does === "make" ? [NO_FILE, `b/${name}`] : [`a/${name}`, NO_FILE];
    const patch = structuredPatch(from, to, before, after, undefined, undefined, { context: CONTEXT });
    return formatPatch(patch, FILE_HEADERS_ONLY);
  }
  const [start, end] = alike(before, after);
  const middle = patchOfMiddle(name, before, after, start, end);
  // git takes a change with fewer lines around for one at the beginning or the end of the file.
  const isShown =
    (start === 0 || contextOf(middle.hunks.at(0)?.lines ?? []) >= CONTEXT) &&
    (end === 0 || contextOf(middle.hunks.at(-1)?.lines.toReversed() ?? []) >= CONTEXT);
  const patch = isShown ? middle : patchOfMiddle(name, before, after, 0, 0);
  return formatPatch(patch, FILE_HEADERS_ONLY);
}

/** What git calls the one side of a file that is made or taken away. */
const NO_FILE = "/dev/null";

function patchOfMiddle(
  name: string,
  before: string,
  after: string,
  start: number,
  end: number,
): StructuredPatch {
  const lines = linesIn(before, 0, start);
  const patch = structuredPatch(
    `a/${name}`,
    `b/${name}`,
    before.slice(start, before.length - end),
    after.slice(start, after.length - end),
    undefined,
    undefined,
    { context: CONTEXT },
  );
  const hunks = patch.hunks.map((hunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + lines,
    newStart: hunk.newStart + lines,
  }));
  return { ...patch, hunks };
}

/** How many lines there are before the first that differs. */
function contextOf(lines: readonly string[]): number {
  const at = lines.findIndex((line) => !line.startsWith(" "));
  return at < 0 ? lines.length : at;
}

/** How much two texts begin and end with alike, in whole lines, less what a patch shows of that. */
function alike(one: string, other: string): [start: number, end: number] {
  const most = Math.min(one.length, other.length);
  let start = 0;
  while (start < most && one.charCodeAt(start) === other.charCodeAt(start)) start += 1;
  let end = 0;
  while (
    end < most - start &&
    one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end)
  ) {
    end += 1;
  }
  let from = start;
  for (let count = 0; count <= CONTEXT && from > 0; count += 1) from = one.lastIndexOf("\n", from - 2) + 1;
  let until = one.length - end;
  for (let count = 0; count <= CONTEXT && until < one.length; count += 1) until = lineEndAfter(one, until);
  return [from, one.length - until];
}
