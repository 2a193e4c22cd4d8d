/** The start of a formula, including full-width characters. */
const FORMULA_START = /^'*[=+\-@\t\r\n＝＋－＠]/;

/** Escapes a cell that a spreadsheet would read as a formula. */
export function escapeFormula(cell: string): string {
  return FORMULA_START.test(cell) ? `'${cell}` : cell;
}

/** Reverts {@link escapeFormula}. */
export function unescapeFormula(cell: string): string {
  return cell.startsWith("'") && FORMULA_START.test(cell) ? cell.slice(1) : cell;
}
