import {
  diffArrays,
  FILE_HEADERS_ONLY,
  formatPatch,
  type StructuredPatch,
  type StructuredPatchHunk,
  structuredPatch,
} from "diff";
import { countLines, findLineEnd } from "./edit-element";

const CONTEXT_LINES = 4;

/** The maximum edit length for finding the shortest patch, which takes quadratic time. */
const MAX_EDIT_LENGTH = 200;

/**
 * Returns the patch of a file. Skips the common start and end, which are most of a long file.
 *
 * @param action whether the file is created or removed. Default: neither.
 */
export function formatFilePatch(name: string, before: string, after: string, action?: "make" | "remove"): string {
  if (action !== undefined) {
    const [from, to] = action === "make" ? [NO_FILE, `b/${name}`] : [`a/${name}`, NO_FILE];
    const patch = structuredPatch(from, to, before, after, undefined, undefined, { context: CONTEXT_LINES });
    return formatPatch(patch, FILE_HEADERS_ONLY);
  }
  const [start, end] = measureCommonEnds(before, after);
  const middle = buildMiddlePatch(name, before, after, start, end);
  // git treats a hunk with fewer context lines as the start or end of the file.
  const hasFullContext =
    (start === 0 || countContextLines(middle.hunks.at(0)?.lines ?? []) >= CONTEXT_LINES) &&
    (end === 0 || countContextLines(middle.hunks.at(-1)?.lines.toReversed() ?? []) >= CONTEXT_LINES);
  const patch = hasFullContext ? middle : buildMiddlePatch(name, before, after, 0, 0);
  return formatPatch(patch, FILE_HEADERS_ONLY);
}

/** The name that git uses for a file that doesn't exist. */
const NO_FILE = "/dev/null";

function buildMiddlePatch(name: string, before: string, after: string, start: number, end: number): StructuredPatch {
  const lineOffset = countLines(before, 0, start);
  const [oldFileName, newFileName] = [`a/${name}`, `b/${name}`];
  const [old, current] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const options = { context: CONTEXT_LINES, maxEditLength: MAX_EDIT_LENGTH };
  const shortestPatch = structuredPatch(oldFileName, newFileName, old, current, undefined, undefined, options);
  const allHunks = shortestPatch?.hunks ?? buildHunks(diffLineArrays(splitLines(old), splitLines(current)));
  const hunks = allHunks.map((hunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + lineOffset,
    newStart: hunk.newStart + lineOffset,
  }));
  return { oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks };
}

function splitLines(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

/**
 * Returns the lines of a diff with their prefixes. If the shortest diff takes too long, unique common lines serve as anchors, which takes
 * linear time.
 */
function diffLineArrays(old: readonly string[], current: readonly string[]): string[] {
  const changes = diffArrays([...old], [...current], { maxEditLength: MAX_EDIT_LENGTH });
  if (changes !== undefined) {
    return changes.flatMap(({ value, added, removed }) => prefixLines(added ? "+" : removed ? "-" : " ", value));
  }
  const minLength = Math.min(old.length, current.length);
  let [prefixLength, suffixLength] = [0, 0];
  while (prefixLength < minLength && old[prefixLength] === current[prefixLength]) prefixLength += 1;
  while (suffixLength < minLength - prefixLength && old.at(-1 - suffixLength) === current.at(-1 - suffixLength))
    suffixLength += 1;
  const [oldEnd, currentEnd] = [old.length - suffixLength, current.length - suffixLength];
  const anchors = findAnchors(old.slice(prefixLength, oldEnd), current.slice(prefixLength, currentEnd));
  const pieces = [prefixLines(" ", old.slice(0, prefixLength))];
  let [oldIndex, currentIndex] = [prefixLength, prefixLength];
  for (const anchor of anchors) {
    const [anchorOld, anchorCurrent] = [prefixLength + anchor.oldIndex, prefixLength + anchor.newIndex];
    if (anchorOld > oldIndex || anchorCurrent > currentIndex)
      pieces.push(diffLineArrays(old.slice(oldIndex, anchorOld), current.slice(currentIndex, anchorCurrent)));
    pieces.push(prefixLines(" ", old.slice(anchorOld, anchorOld + 1)));
    [oldIndex, currentIndex] = [anchorOld + 1, anchorCurrent + 1];
  }
  const [remainingOld, remainingCurrent] = [old.slice(oldIndex, oldEnd), current.slice(currentIndex, currentEnd)];
  if (anchors.length > 0) pieces.push(diffLineArrays(remainingOld, remainingCurrent));
  else pieces.push(prefixLines("-", remainingOld), prefixLines("+", remainingCurrent));
  pieces.push(prefixLines(" ", old.slice(oldEnd)));
  return pieces.flat();
}

function prefixLines(symbol: string, lines: readonly string[]): string[] {
  return lines.map((line) => symbol + line);
}

/** A line that occurs exactly once in both texts. */
interface Anchor {
  readonly oldIndex: number;
  readonly newIndex: number;
  /** The previous anchor in the longest sequence that ends here. */
  readonly previous: Anchor | undefined;
}

/** Returns the longest common sequence of unique lines. */
function findAnchors(old: readonly string[], current: readonly string[]): readonly Anchor[] {
  const linePositions = findUniqueLines(current);
  /** By length: the sequence that ends earliest in the new text. */
  const chains: Anchor[] = [];
  for (const [line, oldIndex] of findUniqueLines(old)) {
    const currentIndex = linePositions.get(line);
    if (currentIndex === undefined) continue;
    let [low, high] = [0, chains.length];
    if ((chains.at(-1)?.newIndex ?? -1) < currentIndex) low = high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((chains[middle]?.newIndex ?? 0) < currentIndex) low = middle + 1;
      else high = middle;
    }
    chains[low] = { oldIndex, newIndex: currentIndex, previous: chains[low - 1] };
  }
  const anchors: Anchor[] = [];
  for (let one = chains.at(-1); one !== undefined; one = one.previous) anchors.push(one);
  return anchors.reverse();
}

/** Returns the positions of unique lines, in order. */
function findUniqueLines(lines: readonly string[]): Map<string, number> {
  const linePositions = new Map<string, number>();
  const repeated = new Set<string>();
  for (const [lineIndex, line] of lines.entries()) {
    if (linePositions.has(line)) repeated.add(line);
    linePositions.set(line, lineIndex);
  }
  for (const line of repeated) linePositions.delete(line);
  return linePositions;
}

/** Groups prefixed lines into hunks with context. */
function buildHunks(lines: readonly string[]): StructuredPatchHunk[] {
  const ranges: { start: number; end: number }[] = [];
  for (const [lineIndex, line] of lines.entries()) {
    if (line.startsWith(" ")) continue;
    const [start, end] = [
      Math.max(0, lineIndex - CONTEXT_LINES),
      Math.min(lines.length, lineIndex + CONTEXT_LINES + 1),
    ];
    const range = ranges.at(-1);
    if (range === undefined || start > range.end) ranges.push({ start, end });
    else range.end = end;
  }
  let [lineIndex, oldStart, newStart] = [0, 1, 1];
  return ranges.map(({ start, end }) => {
    oldStart += countLinesWithout(lines, "+", lineIndex, start);
    newStart += countLinesWithout(lines, "-", lineIndex, start);
    lineIndex = start;
    const hunkLines = lines
      .slice(start, end)
      .flatMap((line) => (line.endsWith("\n") ? [line.slice(0, -1)] : [line, "\\ No newline at end of file"]));
    const oldLines = countLinesWithout(lines, "+", start, end);
    const newLines = countLinesWithout(lines, "-", start, end);
    return { oldStart, oldLines, newStart, newLines, lines: hunkLines };
  });
}

/** Counts the lines of a range without a prefix. */
function countLinesWithout(lines: readonly string[], symbol: string, start: number, end: number): number {
  let count = 0;
  for (let lineIndex = start; lineIndex < end; lineIndex += 1) if (!lines[lineIndex]?.startsWith(symbol)) count += 1;
  return count;
}

/** Counts the lines before the first difference. */
function countContextLines(lines: readonly string[]): number {
  const lineIndex = lines.findIndex((line) => !line.startsWith(" "));
  return lineIndex < 0 ? lines.length : lineIndex;
}

/** Returns the length of the common start and end in whole lines, without the context of the patch. */
function measureCommonEnds(one: string, other: string): [start: number, end: number] {
  const minLength = Math.min(one.length, other.length);
  let start = 0;
  while (start < minLength && one.charCodeAt(start) === other.charCodeAt(start)) start += 1;
  let end = 0;
  while (end < minLength - start && one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end)) {
    end += 1;
  }
  let startOffset = start;
  for (let count = 0; count <= CONTEXT_LINES && startOffset > 0; count += 1)
    startOffset = one.lastIndexOf("\n", startOffset - 2) + 1;
  let endOffset = one.length - end;
  for (let count = 0; count <= CONTEXT_LINES && endOffset < one.length; count += 1)
    endOffset = findLineEnd(one, endOffset);
  return [startOffset, one.length - endOffset];
}
