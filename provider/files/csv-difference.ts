import { DEFAULT_VERDICT_SCOPE } from "../settings/assumptions";
import { canonicalComment } from "../settings/text";
import type { CsvTable } from "./csv";
import { reviewCells } from "./csv-columns";
import type { CsvRow } from "./csv-row";
import { isOfEntries, TEXT_FIELD_NAMES, textsOf } from "./element-fields";
import type { Place } from "./finding";
import type { DeclaredEntry, DeclaredVip } from "./settings";

/** A cell that differs from the settings file, which stays unchanged. */
export interface CsvDifference {
  /** The row number as in a spreadsheet. */
  readonly row: number;
  /** The column title in the header. */
  readonly column: string;
  /** The value or mailbox, as declared. */
  readonly written: string;
  /** The location of the declaration. */
  readonly place: Place;
  /** The value in the file; empty if none. */
  readonly declared: string;
  /** The value in the cell; empty if none. */
  readonly given: string;
}

/** Compares a row with the declaration in the file. A missing column means no difference; an empty cell means an empty value. */
export function differencesOf(
  { row, element, ...said }: CsvRow,
  declared: DeclaredEntry | DeclaredVip,
  columns: CsvTable["columns"],
): CsvDifference[] {
  const declaredCells: Readonly<Record<string, unknown>> = {
    ...getTextCells(declared),
    ...reviewCells(declared),
    ...(declared.kind === "vip" ? {} : { scope: formatScopeCell(declared) }),
  };
  const cells: Readonly<Record<string, unknown>> = { ...element, ...reviewCells(said) };
  return Object.entries(declaredCells).flatMap(([field, text]): CsvDifference[] => {
    const column = columns.get(field);
    if (column === undefined) return [];
    const [declaredText = "", cellText = ""] = [text, cells[field]].map((text) => canonicalComment(String(text ?? "")));
    if (declaredText === cellText) return [];
    return [
      {
        row,
        column,
        written: declared.written,
        place: declared.place,
        declared: declaredText,
        given: cellText,
      },
    ];
  });
}

/** Returns the cells of all text fields, including missing ones. */
function getTextCells(declared: DeclaredEntry | DeclaredVip): Readonly<Record<string, unknown>> {
  const texts = textsOf(declared);
  const names = TEXT_FIELD_NAMES.filter((name) => declared.kind === "entry" || !isOfEntries(name));
  return Object.fromEntries(names.map((name) => [name, texts[name]]));
}

/** Empty for the default scope, like the cell of a row. */
function formatScopeCell({ verdictScope }: DeclaredEntry): string {
  return verdictScope === DEFAULT_VERDICT_SCOPE ? "" : verdictScope;
}
