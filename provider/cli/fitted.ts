import { stripVTControlCharacters } from "node:util";
import { columnsOf, hangingBy } from "../plan/render/columns";

/**
 * A text whose long lines are broken for a terminal, two columns deeper than they begin. For a file or a pipe they stay whole, as other
 * programs read them.
 *
 * @param text printable, but for colours.
 */
export function fitted(text: string, { isTTY, columns }: Terminal = process.stdout): string {
  if (!isTTY || !columns) return text;
  return text
    .split("\n")
    .flatMap((line) => {
      const indent = line.length - line.trimStart().length;
      return hangingBy(
        (word) => columnsOf(stripVTControlCharacters(word)),
        indent,
        line.slice(indent),
        columns,
      );
    })
    .join("\n");
}

/** Where it is printed. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
}
