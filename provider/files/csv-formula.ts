/** The start of a formula, including full-width characters. */
const FORMULA_START = /^'*[=+\-@\t\r\n＝＋－＠]/;

/** Escapes a cell that a spreadsheet would read as a formula. */
export function defused(cell: string): string {
  return FORMULA_START.test(cell) ? `'${cell}` : cell;
}

/** Reverts {@link defused}. */
export function asWritten(cell: string): string {
  return cell.startsWith("'") && FORMULA_START.test(cell) ? cell.slice(1) : cell;
}
