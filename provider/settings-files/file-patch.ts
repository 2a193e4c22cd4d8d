import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatch, structuredPatch } from "diff";

const CONTEXT_LINES = 4;

/** Finding the shortest patch takes quadratic time. This many changed lines take a second. */
const MAX_EDIT_LENGTH = 2_000;

/**
 * Returns the patch of a file.
 *
 * @param action whether the file is created or removed. Default: neither.
 */
export function formatFilePatch(name: string, before: string, after: string, action?: "create" | "remove"): string {
  const [from, to] = [action === "create" ? NO_FILE : `a/${name}`, action === "remove" ? NO_FILE : `b/${name}`];
  const options = { context: CONTEXT_LINES, maxEditLength: action === undefined ? MAX_EDIT_LENGTH : Infinity };
  const patch = structuredPatch(from, to, before, after, undefined, undefined, options);
  return formatPatch(patch ?? replaceWholeText(from, to, before, after), FILE_HEADERS_ONLY);
}

/** The name that git uses for a file that doesn't exist. */
const NO_FILE = "/dev/null";

function replaceWholeText(from: string, to: string, before: string, after: string): StructuredPatch {
  const removal = structuredPatch(from, to, before, "", undefined, undefined);
  const addition = structuredPatch(from, to, "", after, undefined, undefined);
  const hunks = removal.hunks.flatMap((removed) =>
    addition.hunks.map(({ newStart, newLines, lines }) => ({
      ...removed,
      newStart,
      newLines,
      lines: [...removed.lines, ...lines],
    })),
  );
  return { ...removal, hunks };
}
