/**
 * Formats a table that reads well both in a terminal and as Markdown.
 *
 * @param texts the number of text columns on the left; the other columns are numbers and right-aligned
 */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[], texts = 1): string {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const formatLine = (show: (width: number, column: number) => string): string => `| ${widths.map(show).join(" | ")} |`;
  const formatCells = (row: readonly string[]): string =>
    formatLine((width, column) => {
      const cell = row[column] ?? "";
      return column < texts ? cell.padEnd(width) : cell.padStart(width);
    });
  const rule = formatLine((width, column) => (column < texts ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [formatCells(head), rule, ...rows.map(formatCells)].join("\n");
}

/** `12,345` */
export function formatWhole(number: number): string {
  return Math.round(number).toLocaleString("en-US");
}

/** Formats a number with two significant digits: `0.85`, `6.1`, `180`. */
export function formatDecimal(number: number): string {
  return number < 1 ? number.toFixed(2) : number < 20 ? number.toFixed(1) : formatWhole(number);
}
