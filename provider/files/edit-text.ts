import { lineEndAfter } from "./edit-element";
import { EditError } from "./edit-error";
import { findingText } from "./finding";
import { readYaml, type YamlSource } from "./yaml-source";

/**
 * Parses a text for editing.
 *
 * @throws {EditError} if it isn't valid YAML.
 */
export function readForEdit(text: string, read: (text: string) => YamlSource = readUnnamed): YamlSource {
  const source = read(text);
  const mistake = source.findings.find(({ level }) => level === "error");
  if (mistake !== undefined) throw new EditError(`it can't be read: ${findingText(mistake)}`);
  return source;
}

/** Parses a text without a file name. */
export function readUnnamed(text: string): YamlSource {
  return readYaml(text, "the file");
}

export function lineStartOf(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

/** Returns the start of the comment lines directly above a line at the given column, not before `first`. */
export function aboveComments(text: string, line: number, column: number, first: number): number {
  let at = line;
  while (at > first) {
    const above = lineStartOf(text, at - 1);
    if (above < first || text[above + column] !== "#" || text.slice(above, above + column).trim() !== "")
      break;
    at = above;
  }
  return at;
}

/** Returns the offset after the comment lines directly below that are indented more than the column. */
export function behindComments(text: string, line: number, column: number): number {
  let at = line;
  for (;;) {
    const [indent = "", sign] = /^([ \t]*)(#?)/.exec(text.slice(at, at + 1_000))?.slice(1) ?? [];
    if (sign !== "#" || indent.length <= column) return at;
    at = lineEndAfter(text, at);
  }
}
