import { DEFAULT_VERDICT_SCOPE } from "../settings/assumptions";
import { canonicalComment } from "../settings/text";
import type { CsvTable } from "./csv";
import { reviewCells } from "./csv-columns";
import type { CsvRow } from "./csv-row";
import { isOfEntries, TEXT_FIELD_NAMES, textsOf } from "./element-fields";
import type { Place } from "./finding";
import type { DeclaredEntry, DeclaredVip } from "./settings";

/** A cell of a table that says something else than the settings file, which stays as it is. */
export interface CsvDifference {
  /** As a spreadsheet counts them. */
  readonly row: number;
  /** The column's name, as it is written in the header. */
  readonly column: string;
  /** What the row is about, as it is declared. */
  readonly written: string;
  /** Where it is declared. */
  readonly place: Place;
  /** What the file says; empty when nothing. */
  readonly declared: string;
  /** What the cell says; empty when nothing. */
  readonly given: string;
}

/**
 * Where a row says something else of what is declared than the file. What the table has no column for, it says nothing
 * of; an empty cell says that there is nothing.
 */
export function differencesOf(
  { row, element, ...said }: CsvRow,
  declared: DeclaredEntry | DeclaredVip,
  columns: CsvTable["columns"],
): CsvDifference[] {
  const isDeclared: Readonly<Record<string, unknown>> = {
    ...textCells(declared),
    ...reviewCells(declared),
    ...(declared.kind === "vip" ? {} : { scope: scopeText(declared) }),
  };
  const cells: Readonly<Record<string, unknown>> = { ...element, ...reviewCells(said) };
  return Object.entries(isDeclared).flatMap(([field, text]): CsvDifference[] => {
    const column = columns.get(field);
    if (column === undefined) return [];
    const [has = "", given = ""] = [text, cells[field]].map((one) => canonicalComment(String(one ?? "")));
    if (has === given) return [];
    return [{ row, column, written: declared.written, place: declared.place, declared: has, given }];
  });
}

/** All texts that it may have, also those that it hasn't. */
function textCells(declared: DeclaredEntry | DeclaredVip): Readonly<Record<string, unknown>> {
  const texts = textsOf(declared);
  const names = TEXT_FIELD_NAMES.filter((name) => declared.kind === "entry" || !isOfEntries(name));
  return Object.fromEntries(names.map((name) => [name, texts[name]]));
}

/** Empty for the scope that is meant when none is written, as in a row. */
function scopeText({ verdictScope }: DeclaredEntry): string {
  return verdictScope === DEFAULT_VERDICT_SCOPE ? "" : verdictScope;
}
