import { stripVTControlCharacters } from "node:util";
import { sanitizeMultiline } from "../model/text";
import { getTextWidth, wrapStyledText } from "../render/text-width";

/**
 * Wraps long lines with a hanging indent of two columns: to the terminal width, or to 80 columns for a file or pipe.
 *
 * @param text printable text, except for colours on a terminal.
 */
export function wrapForTerminal(text: string, { isTTY, columns }: TerminalInfo = process.stdout): string {
  const lines = text.split("\n").flatMap((line) => {
    const indent = line.length - line.trimStart().length;
    return wrapStyledText(
      (word) => getTextWidth(stripVTControlCharacters(word)),
      indent,
      line.slice(indent),
      columns || 80,
    );
  });
  // A pipeline executes commands such as `::error::` only at the start of a line.
  return (isTTY ? lines : lines.map(sanitizeMultiline)).join("\n");
}

export interface TerminalInfo {
  readonly isTTY?: boolean;
  readonly columns?: number;
}
