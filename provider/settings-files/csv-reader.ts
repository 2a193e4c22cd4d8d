import { isUtf8 } from "node:buffer";
import Papa from "papaparse";
import { ENTRY_TYPES } from "../model/assumptions";
import { parseEntryValue } from "../model/entry-value";
import { quote } from "../model/text";
import { detectDelimiter, parseCsvHeader, REVIEW_COLUMNS } from "./csv-columns";
import { CsvError, type CsvMistake } from "./csv-error";
import { type CsvRow, getRowKey, getRowValue, parseCsvRow } from "./csv-row";
import type { SectionName } from "./settings-editor";
import { type ElementReview, settingsFileSchema } from "./settings-schema";

export interface CsvOptions {
  /** The section of rows that don't name one. */
  readonly list?: SectionName;
  /** The delimiter, one character. Default: detected. */
  readonly delimiter?: string;
}

export interface CsvTable {
  readonly rows: readonly CsvRow[];
  /** The fields of the columns with their titles: `comment`, "Reason". */
  readonly columns: ReadonlyMap<string, string>;
  /** The titles of ignored, unknown columns. */
  readonly ignoredColumns: readonly string[];
}

/**
 * Parses a table of entries and VIPs from a spreadsheet. Columns may be in any order and case; any common delimiter, quoting, newline and
 * byte order mark is accepted. Validates each row like an element of a settings file.
 *
 * @throws {CsvError} (`ERR_CSV`) with all mistakes by row and column.
 */
export function readCsv(bytes: Uint8Array, { list, delimiter }: CsvOptions = {}): CsvTable {
  const text = decodeCsv(bytes);
  const [, declaredDelimiter] = /^sep=(.)\r?\n/i.exec(text) ?? [];
  const body = declaredDelimiter === undefined ? text : text.slice(text.indexOf("\n") + 1);
  const { data, errors } = Papa.parse<string[]>(body, {
    delimiter: delimiter ?? declaredDelimiter ?? detectDelimiter(body),
  });
  const quoteErrors = errors.filter(({ type }) => type === "Quotes");
  if (quoteErrors.length > 0) {
    throw new CsvError(
      quoteErrors.map(({ row = 0 }) => ({
        row: row + 1,
        message: 'has an unmatched quote ("); write a quote inside a quoted cell twice',
      })),
    );
  }
  return parseTable(data, list);
}

function decodeCsv(bytes: Uint8Array): string {
  const [firstByte, second] = bytes;
  // The "Unicode Text" format of Excel.
  if (firstByte === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  const line = Buffer.from(bytes).toString("utf8").split("\uFFFD", 1)[0]?.split("\n").length ?? 1;
  const message = `contains bytes that aren't valid UTF-8, first on line ${line} of the file; save it as "CSV UTF-8"`;
  throw new CsvError([{ message }]);
}

function parseTable(data: readonly (readonly string[])[], list: SectionName | undefined): CsvTable {
  const isBlank = (cells: readonly string[]): boolean => cells.every((cell) => cell.trim() === "");
  const start = data.findIndex((cells) => !isBlank(cells));
  const header = data[start];
  if (header === undefined) throw new CsvError([{ message: "is empty" }]);
  const { columns, ignored: ignoredColumns, isHeader } = parseCsvHeader(header, start + 1);
  const mistakes: CsvMistake[] = [];
  const rows: CsvRow[] = [];
  for (const [index, cells] of data.entries()) {
    if (index < start + (isHeader ? 1 : 0) || isBlank(cells)) continue;
    const row = index + 1;
    const extraCell = cells.slice(header.length).find((cell) => cell.trim() !== "");
    if (extraCell !== undefined) {
      const message = `has more cells than the header (${quote(extraCell)}); put quotes around a cell that contains the separator`;
      mistakes.push({ row, message });
      continue;
    }
    const parsed = parseCsvRow(row, cells, columns, list);
    if (Array.isArray(parsed)) mistakes.push(...parsed);
    else rows.push(parsed as CsvRow);
  }
  const titles = new Map(columns.map(({ field, title }) => [field, title]));
  mistakes.push(...validateRows(rows, titles), ...findDuplicateMistakes(rows));
  if (mistakes.length > 0) throw new CsvError(mistakes);
  return { rows, columns: titles, ignoredColumns };
}

function validateRows(rows: readonly CsvRow[], titles: ReadonlyMap<string, string>): CsvMistake[] {
  const bySection = Map.groupBy(rows, ({ section }) => section);
  const file = Object.fromEntries(
    [...bySection].map(([section, sectionRows]) => [
      section,
      sectionRows.map(({ element, reviewed }) => (reviewed === undefined ? element : { ...element, reviewed })),
    ]),
  );
  const result = settingsFileSchema.safeParse({ version: 1, ...file });
  const issues = result.success ? [] : result.error.issues;
  const schemaMistakes = issues.map(({ path: [section, index, key, reviewKey], message }): CsvMistake => {
    const row = bySection.get(section as SectionName)?.[Number(index)]?.row;
    const field =
      key === "reviewed" ? REVIEW_COLUMNS[reviewKey as keyof ElementReview] : key === "email" ? "value" : String(key);
    return { ...(row === undefined ? {} : { row }), column: titles.get(field) ?? field, message };
  });
  const typeMistakes = rows.flatMap(({ row, element }): CsvMistake[] => {
    const { type, value = "" } = element;
    const parsed = parseEntryValue(value);
    if (!ENTRY_TYPES.some((entryType) => entryType === type) || !parsed.ok || parsed.value.entryType === type)
      return [];
    const message = `is ${quote(type)}, but ${quote(value)} has another type; leave it out`;
    return [{ row, column: titles.get("type") ?? "type", message }];
  });
  return [...schemaMistakes, ...typeMistakes];
}

function findDuplicateMistakes(rows: readonly CsvRow[]): CsvMistake[] {
  const firstByKey = new Map<string, CsvRow>();
  return rows.flatMap((row): CsvMistake[] => {
    const key = getRowKey(row);
    const firstRow = firstByKey.get(key);
    if (firstRow === undefined) {
      firstByKey.set(key, row);
      return [];
    }
    const problem =
      row.section === firstRow.section ? "is already declared" : `is already declared for ${firstRow.section}`;
    const message = `${quote(getRowValue(row))} ${problem}, in row ${firstRow.row}; keep one of the two rows`;
    return [{ row: row.row, message }];
  });
}
