import { EmailSecurityError } from "../settings/email-security-error";
import { excerpt, printable, quote } from "../settings/text";

/** An invalid table: all mistakes with row and column. Nothing was written. */
export class CsvError extends EmailSecurityError {
  readonly mistakes: readonly CsvMistake[];

  constructor(mistakes: readonly CsvMistake[]) {
    const sorted = mistakes.toSorted((one, other) => (one.row ?? 0) - (other.row ?? 0));
    const lines = sorted.slice(0, SHOWN).map((mistake) => `  ${mistakeText(mistake)}`);
    const more = sorted.length > SHOWN ? [`  … and ${sorted.length - SHOWN} more`] : [];
    const count = sorted.length === 1 ? "a mistake" : `${sorted.length} mistakes`;
    super(
      "ERR_CSV",
      [`The table can't be used: it has ${count}, and nothing was written.`, ...lines, ...more].join("\n"),
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

const SHOWN = 100;

function mistakeText({ row, column, message }: CsvMistake): string {
  const at = row === undefined ? "" : `row ${row}`;
  const place = column === undefined || column === "" ? at : `${at}, column ${quote(column)}`;
  return `${place}${place === "" ? "It " : ": "}${printable(excerpt(message, 2_000))}`;
}
