import {
  diffArrays,
  FILE_HEADERS_ONLY,
  formatPatch,
  type StructuredPatch,
  type StructuredPatchHunk,
  structuredPatch,
} from "diff";
import { lineEndAfter, linesIn } from "./edit-element";

/** Context lines around a change. */
const CONTEXT = 4;

/** The maximum edit length for finding the shortest patch, which takes quadratic time. */
const MAX_EDIT_LENGTH = 200;

/**
 * Returns the patch of a file. Skips the common start and end, which are most of a long file.
 *
 * @param does whether the file is created or removed. Default: neither.
 */
export function patchBetween(name: string, before: string, after: string, does?: "make" | "remove"): string {
  if (does !== undefined) {
    const [from, to] = does === "make" ? [NO_FILE, `b/${name}`] : [`a/${name}`, NO_FILE];
    const patch = structuredPatch(from, to, before, after, undefined, undefined, { context: CONTEXT });
    return formatPatch(patch, FILE_HEADERS_ONLY);
  }
  const [start, end] = alike(before, after);
  const middle = patchOfMiddle(name, before, after, start, end);
  // git treats a hunk with fewer context lines as the start or end of the file.
  const isShown =
    (start === 0 || contextOf(middle.hunks.at(0)?.lines ?? []) >= CONTEXT) &&
    (end === 0 || contextOf(middle.hunks.at(-1)?.lines.toReversed() ?? []) >= CONTEXT);
  const patch = isShown ? middle : patchOfMiddle(name, before, after, 0, 0);
  return formatPatch(patch, FILE_HEADERS_ONLY);
}

/** The name that git uses for a file that doesn't exist. */
const NO_FILE = "/dev/null";

function patchOfMiddle(
  name: string,
  before: string,
  after: string,
  start: number,
  end: number,
): StructuredPatch {
  const lines = linesIn(before, 0, start);
  const [oldFileName, newFileName] = [`a/${name}`, `b/${name}`];
  const [old, now] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const options = { context: CONTEXT, maxEditLength: MAX_EDIT_LENGTH };
  const short = structuredPatch(oldFileName, newFileName, old, now, undefined, undefined, options);
  const all = short?.hunks ?? hunksOf(diffLines(linesOf(old), linesOf(now)));
  const hunks = all.map((hunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + lines,
    newStart: hunk.newStart + lines,
  }));
  return { oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks };
}

/** Splits a text into lines with their newlines. */
function linesOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

/**
 * Returns the lines of a diff with their prefixes. If the shortest diff takes too long, unique common lines serve as anchors, which takes
 * linear time.
 */
function diffLines(old: readonly string[], now: readonly string[]): string[] {
  const changes = diffArrays([...old], [...now], { maxEditLength: MAX_EDIT_LENGTH });
  if (changes !== undefined) {
    return changes.flatMap(({ value, added, removed }) => signed(added ? "+" : removed ? "-" : " ", value));
  }
  const most = Math.min(old.length, now.length);
  let [first, last] = [0, 0];
  while (first < most && old[first] === now[first]) first += 1;
  while (last < most - first && old.at(-1 - last) === now.at(-1 - last)) last += 1;
  const [oldEnd, nowEnd] = [old.length - last, now.length - last];
  const anchors = anchorsOf(old.slice(first, oldEnd), now.slice(first, nowEnd));
  const pieces = [signed(" ", old.slice(0, first))];
  let [inOld, inNow] = [first, first];
  for (const anchor of anchors) {
    const [atOld, atNow] = [first + anchor.inOld, first + anchor.inNow];
    if (atOld > inOld || atNow > inNow)
      pieces.push(diffLines(old.slice(inOld, atOld), now.slice(inNow, atNow)));
    pieces.push(signed(" ", old.slice(atOld, atOld + 1)));
    [inOld, inNow] = [atOld + 1, atNow + 1];
  }
  const [oldRest, nowRest] = [old.slice(inOld, oldEnd), now.slice(inNow, nowEnd)];
  if (anchors.length > 0) pieces.push(diffLines(oldRest, nowRest));
  else pieces.push(signed("-", oldRest), signed("+", nowRest));
  pieces.push(signed(" ", old.slice(oldEnd)));
  return pieces.flat();
}

function signed(sign: string, lines: readonly string[]): string[] {
  return lines.map((line) => sign + line);
}

/** A line that occurs exactly once in both texts. */
interface Anchor {
  readonly inOld: number;
  readonly inNow: number;
  /** The previous anchor in the longest sequence that ends here. */
  readonly previous: Anchor | undefined;
}

/** Returns the longest common sequence of unique lines. */
function anchorsOf(old: readonly string[], now: readonly string[]): readonly Anchor[] {
  const places = uniqueLines(now);
  /** By length: the sequence that ends earliest in the new text. */
  const rows: Anchor[] = [];
  for (const [line, inOld] of uniqueLines(old)) {
    const inNow = places.get(line);
    if (inNow === undefined) continue;
    let [low, high] = [0, rows.length];
    if ((rows.at(-1)?.inNow ?? -1) < inNow) low = high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((rows[middle]?.inNow ?? 0) < inNow) low = middle + 1;
      else high = middle;
    }
    rows[low] = { inOld, inNow, previous: rows[low - 1] };
  }
  const anchors: Anchor[] = [];
  for (let one = rows.at(-1); one !== undefined; one = one.previous) anchors.push(one);
  return anchors.reverse();
}

/** Returns the positions of unique lines, in order. */
function uniqueLines(lines: readonly string[]): Map<string, number> {
  const places = new Map<string, number>();
  const repeated = new Set<string>();
  for (const [at, line] of lines.entries()) {
    if (places.has(line)) repeated.add(line);
    places.set(line, at);
  }
  for (const line of repeated) places.delete(line);
  return places;
}

/** Groups prefixed lines into hunks with context. */
function hunksOf(lines: readonly string[]): StructuredPatchHunk[] {
  const ranges: { start: number; end: number }[] = [];
  for (const [at, line] of lines.entries()) {
    if (line.startsWith(" ")) continue;
    const [start, end] = [Math.max(0, at - CONTEXT), Math.min(lines.length, at + CONTEXT + 1)];
    const range = ranges.at(-1);
    if (range === undefined || start > range.end) ranges.push({ start, end });
    else range.end = end;
  }
  let [at, oldStart, newStart] = [0, 1, 1];
  return ranges.map(({ start, end }) => {
    oldStart += countLines(lines, "+", at, start);
    newStart += countLines(lines, "-", at, start);
    at = start;
    const shown = lines
      .slice(start, end)
      .flatMap((line) =>
        line.endsWith("\n") ? [line.slice(0, -1)] : [line, "\\ No newline at end of file"],
      );
    const oldLines = countLines(lines, "+", start, end);
    const newLines = countLines(lines, "-", start, end);
    return { oldStart, oldLines, newStart, newLines, lines: shown };
  });
}

/** Counts the lines of a range without a prefix. */
function countLines(lines: readonly string[], sign: string, from: number, until: number): number {
  let count = 0;
  for (let at = from; at < until; at += 1) if (!lines[at]?.startsWith(sign)) count += 1;
  return count;
}

/** Counts the lines before the first difference. */
function contextOf(lines: readonly string[]): number {
  const at = lines.findIndex((line) => !line.startsWith(" "));
  return at < 0 ? lines.length : at;
}

/** Returns the length of the common start and end in whole lines, without the context of the patch. */
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
