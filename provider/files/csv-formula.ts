/** What begins a formula; in some places of the world also in full width. */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;

/** A cell that no spreadsheet takes for a formula. */
export function defused(cell: string): string {
  return FORMULA.test(cell) ? `'${cell}` : cell;
}

/** The cell that {@link defused} made this one of. */
export function asWritten(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;
}
