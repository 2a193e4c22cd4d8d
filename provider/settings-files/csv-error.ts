import { EmailSecurityError } from "../model/email-security-error";
import { excerpt, quote, sanitizeLine } from "../model/text";

/** An invalid table: all mistakes with row and column. Nothing was written. */
export class CsvError extends EmailSecurityError {
  readonly mistakes: readonly CsvMistake[];

  constructor(mistakes: readonly CsvMistake[]) {
    const sorted = mistakes.toSorted((a, b) => (a.row ?? 0) - (b.row ?? 0));
    const lines = sorted.slice(0, MAX_LISTED).map((mistake) => `  ${formatCsvMistake(mistake)}`);
    const moreLines = sorted.length > MAX_LISTED ? [`  … and ${sorted.length - MAX_LISTED} more`] : [];
    const count = sorted.length === 1 ? "a mistake" : `${sorted.length} mistakes`;
    super(
      "ERR_CSV",
      [`The table can't be imported: it has ${count}. Nothing was written.`, ...lines, ...moreLines].join("\n"),
    );
    this.mistakes = sorted;
  }
}

export interface CsvMistake {
  /** The row number as in a spreadsheet; undefined for the whole table. */
  readonly row?: number;
  /** The column title in the header. */
  readonly column?: string;
  readonly message: string;
}

const MAX_LISTED = 100;

function formatCsvMistake({ row, column, message }: CsvMistake): string {
  const rowText = row === undefined ? "" : `row ${row}`;
  const location = column === undefined || column === "" ? rowText : `${rowText}, column ${quote(column)}`;
  return `${location}${location === "" ? "It " : ": "}${sanitizeLine(excerpt(message, 2_000))}`;
}
