import { findLineEnd } from "./edit-element";
import { EditError } from "./edit-error";
import { formatFinding } from "./finding";
import { readYaml, type YamlSource } from "./yaml-source";

/**
 * Parses a text for editing.
 *
 * @throws {EditError} if it isn't valid YAML.
 */
export function parseForEdit(text: string, read: (text: string) => YamlSource = parseUnnamed): YamlSource {
  const source = read(text);
  const mistake = source.findings.find(({ level }) => level === "error");
  if (mistake !== undefined) throw new EditError(`it can't be read: ${formatFinding(mistake)}`);
  return source;
}

export function parseUnnamed(text: string): YamlSource {
  return readYaml(text, "the file");
}

export function getLineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

/** Returns the start of the comment lines directly above a line at the given column, not before `first`. */
export function findCommentsStart(text: string, lineStart: number, column: number, minOffset: number): number {
  let offset = lineStart;
  while (offset > minOffset) {
    const previousLine = getLineStart(text, offset - 1);
    if (
      previousLine < minOffset ||
      text[previousLine + column] !== "#" ||
      text.slice(previousLine, previousLine + column).trim() !== ""
    )
      break;
    offset = previousLine;
  }
  return offset;
}

/** Returns the offset after the comment lines directly below that are indented more than the column. */
export function findCommentsEnd(text: string, lineStart: number, column: number): number {
  let offset = lineStart;
  for (;;) {
    const [indent = "", symbol] = /^([ \t]*)(#?)/.exec(text.slice(offset, offset + 1_000))?.slice(1) ?? [];
    if (symbol !== "#" || indent.length <= column) return offset;
    offset = findLineEnd(text, offset);
  }
}
