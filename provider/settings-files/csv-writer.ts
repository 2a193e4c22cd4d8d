import Papa from "papaparse";
import { DEFAULT_VERDICT_SCOPE } from "../model/assumptions";
import { buildReviewCells, REVIEW_COLUMNS } from "./csv-columns";
import { escapeFormula } from "./csv-formula";
import { TEXT_FIELD_NAMES } from "./element-fields";
import type { Settings } from "./settings-model";

/**
 * Writes settings as CSV for spreadsheets: UTF-8 with a byte order mark, all cells quoted. An apostrophe escapes formulas, which `readCsv`
 * removes.
 */
export function formatCsv({ entries, vips }: Pick<Settings, "entries" | "vips">, delimiter = ","): string {
  const rows = [
    ...vips.map((vip) => ({ ...vip, ...buildReviewCells(vip), list: "vip", value: vip.email })),
    ...entries.map(({ verdictScope, ...entry }) => ({
      ...entry,
      ...buildReviewCells(entry),
      scope: verdictScope === DEFAULT_VERDICT_SCOPE ? undefined : verdictScope,
    })),
  ].map((row): Readonly<Record<string, unknown>> => row);
  const isReviewed = rows.some((row) => row[REVIEW_COLUMNS.on] !== undefined);
  const columns = isReviewed ? [...BASE_COLUMNS, ...Object.values(REVIEW_COLUMNS)] : BASE_COLUMNS;
  const cells = rows.map((row) => columns.map((field) => String(row[field] ?? "")));
  return formatCsvRows([columns.map(formatColumnTitle), ...cells], delimiter);
}

/** Without the entry type, which follows from the value. */
const BASE_COLUMNS = [...(["list", "value", "scope"] as const), ...TEXT_FIELD_NAMES];

/** Formats the title of a field's column: `approved by`. */
export function formatColumnTitle(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Formats rows, titles first, as CSV in the format of {@link formatCsv}. */
export function formatCsvRows(rows: readonly (readonly string[])[], delimiter = ","): string {
  const data = rows.map((row) => row.map(escapeFormula));
  return `\uFEFF${Papa.unparse(data, { delimiter, quotes: true, newline: "\r\n" })}\r\n`;
}
