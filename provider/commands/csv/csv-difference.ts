import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { canonicalizeComment } from "../../model/text";
import { buildReviewCells } from "../../settings-files/csv-columns";
import type { CsvTable } from "../../settings-files/csv-reader";
import type { CsvRow } from "../../settings-files/csv-row";
import { isEntryOnlyField, pickTextFields, TEXT_FIELD_NAMES } from "../../settings-files/element-fields";
import type { FileLocation } from "../../settings-files/finding";
import type { DeclaredEntry, DeclaredVip } from "../../settings-files/settings-model";

/** A cell that differs from the settings file, which stays unchanged. */
export interface CsvDifference {
  /** The row number as in a spreadsheet. */
  readonly row: number;
  /** The column title in the header. */
  readonly column: string;
  /** The value or mailbox, as declared. */
  readonly subject: string;
  /** The location of the declaration. */
  readonly location: FileLocation;
  /** The value in the file; empty if none. */
  readonly fileValue: string;
  /** The value in the cell; empty if none. */
  readonly cellValue: string;
}

/** Compares a row with the declaration in the file. A missing column means no difference; an empty cell means an empty value. */
export function compareCsvRow(
  { row, element, ...review }: CsvRow,
  declared: DeclaredEntry | DeclaredVip,
  columns: CsvTable["columns"],
): CsvDifference[] {
  const declaredCells: Readonly<Record<string, unknown>> = {
    ...getTextCells(declared),
    ...buildReviewCells(declared),
    ...(declared.kind === "vip" ? {} : { scope: formatScopeCell(declared) }),
  };
  const cells: Readonly<Record<string, unknown>> = { ...element, ...buildReviewCells(review) };
  return Object.entries(declaredCells).flatMap(([field, text]): CsvDifference[] => {
    const column = columns.get(field);
    if (column === undefined) return [];
    const [declaredText = "", cellText = ""] = [text, cells[field]].map((text) =>
      canonicalizeComment(String(text ?? "")),
    );
    if (declaredText === cellText) return [];
    return [
      {
        row,
        column,
        subject: declared.rawValue,
        location: declared.location,
        fileValue: declaredText,
        cellValue: cellText,
      },
    ];
  });
}

/** Returns the cells of all text fields, including missing ones. */
function getTextCells(declared: DeclaredEntry | DeclaredVip): Readonly<Record<string, unknown>> {
  const texts = pickTextFields(declared);
  const names = TEXT_FIELD_NAMES.filter((name) => declared.kind === "entry" || !isEntryOnlyField(name));
  return Object.fromEntries(names.map((name) => [name, texts[name]]));
}

/** Empty for the default scope, like the cell of a row. */
function formatScopeCell({ verdictScope }: DeclaredEntry): string {
  return verdictScope === DEFAULT_VERDICT_SCOPE ? "" : verdictScope;
}
