import { stripVTControlCharacters } from "node:util";
import { columnsOf, hangingBy } from "../render/columns";
import { harmless } from "../settings/text";

/**
 * Breaks the long lines of a text, two columns deeper than they begin: to the width of the terminal, or to 80 columns for a file or a
 * pipe.
 *
 * @param text printable, except for colours on a terminal.
 */
export function fitted(text: string, { isTTY, columns }: Terminal = process.stdout): string {
  const lines = text.split("\n").flatMap((line) => {
    const indent = line.length - line.trimStart().length;
    return hangingBy(
      (word) => columnsOf(stripVTControlCharacters(word)),
      indent,
      line.slice(indent),
      columns || 80,
    );
  });
  // A pipeline reads text at the start of a line as a command, such as `::error::`, that it ignores elsewhere.
  return (isTTY ? lines : lines.map(harmless)).join("\n");
}

/** The stream that a text is printed to. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
}
