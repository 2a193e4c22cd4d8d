import Papa from "papaparse";
import { DEFAULT_VERDICT_SCOPE } from "../settings/assumptions";
import { REVIEW, reviewCells } from "./csv-columns";
import { defused } from "./csv-formula";
import { TEXT_FIELD_NAMES } from "./element-fields";
import type { Settings } from "./settings";

/**
 * Writes settings as a table that spreadsheets open: UTF-8 with a byte order mark, every cell in quotes. What a
 * spreadsheet would take for a formula has an apostrophe before it, which `readCsv` takes away again.
 */
export function writeCsv({ entries, vips }: Pick<Settings, "entries" | "vips">, delimiter = ","): string {
  const rows = [
    ...vips.map((vip) => ({ ...vip, ...reviewCells(vip), list: "vip", value: vip.email })),
    ...entries.map(({ verdictScope, ...entry }) => ({
      ...entry,
      ...reviewCells(entry),
      scope: verdictScope === DEFAULT_VERDICT_SCOPE ? undefined : verdictScope,
    })),
  ].map((one): Readonly<Record<string, unknown>> => one);
  const isReviewed = rows.some((row) => row[REVIEW.on] !== undefined);
  const columns = isReviewed ? [...WRITTEN, ...Object.values(REVIEW)] : WRITTEN;
  const cells = rows.map((row) => columns.map((field) => String(row[field] ?? "")));
  return csvText([columns.map(titleOf), ...cells], delimiter);
}

/** What the type of an entry is, its value tells. */
const WRITTEN = [...(["list", "value", "scope"] as const), ...TEXT_FIELD_NAMES];

/** The title of a field's column: `approved by`. */
export function titleOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Rows, the titles first, as a table that spreadsheets open: of the form that {@link writeCsv} writes. */
export function csvText(rows: readonly (readonly string[])[], delimiter = ","): string {
  const data = rows.map((row) => row.map(defused));
  return `\uFEFF${Papa.unparse(data, { delimiter, quotes: true, newline: "\r\n" })}\r\n`;
}
