import { isUtf8 } from "node:buffer";
import Papa from "papaparse";
import { ENTRY_TYPES } from "../settings/assumptions";
import { parseEntryValue } from "../settings/entry-value";
import { quote } from "../settings/text";
import { columnsOf, delimiterOf, REVIEW } from "./csv-columns";
import { CsvError, type CsvMistake } from "./csv-error";
import { type CsvRow, rowOf, subjectOfRow, valueOfRow } from "./csv-row";
import type { Section } from "./edit";
import { type Reviewed, settingsFile } from "./settings-schema";

export interface CsvOptions {
  /** The section of rows that don't name one. */
  readonly list?: Section;
  /** The delimiter, one character. Default: detected. */
  readonly delimiter?: string;
}

export interface CsvTable {
  readonly rows: readonly CsvRow[];
  /** The fields of the columns with their titles: `comment`, "Reason". */
  readonly columns: ReadonlyMap<string, string>;
  /** The titles of ignored, unknown columns. */
  readonly ignored: readonly string[];
}

/**
 * Parses a table of entries and VIPs from a spreadsheet. Columns may be in any order and case; any common delimiter, quoting, newline and
 * byte order mark is accepted. Validates each row like an element of a settings file.
 *
 * @throws {CsvError} (`ERR_CSV`) with all mistakes by row and column.
 */
export function readCsv(bytes: Uint8Array, { list, delimiter }: CsvOptions = {}): CsvTable {
  const text = decoded(bytes);
  const [, announced] = /^sep=(.)\r?\n/i.exec(text) ?? [];
  const body = announced === undefined ? text : text.slice(text.indexOf("\n") + 1);
  const { data, errors } = Papa.parse<string[]>(body, {
    delimiter: delimiter ?? announced ?? delimiterOf(body),
  });
  const torn = errors.filter(({ type }) => type === "Quotes");
  if (torn.length > 0) {
    throw new CsvError(
      torn.map(({ row = 0 }) => ({
        row: row + 1,
        message: 'has a quote (") without its partner; a quote within quotes is written twice',
      })),
    );
  }
  return tableOf(data, list);
}

function decoded(bytes: Uint8Array): string {
  const [first, second] = bytes;
  // The "Unicode Text" format of Excel.
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  const line = Buffer.from(bytes).toString("utf8").split("\uFFFD", 1)[0]?.split("\n").length ?? 1;
  const message = `holds bytes that are no UTF-8, first in line ${line} of the file; save it as "CSV UTF-8"`;
  throw new CsvError([{ message }]);
}

function tableOf(data: readonly (readonly string[])[], list: Section | undefined): CsvTable {
  const isBlank = (cells: readonly string[]): boolean => cells.every((cell) => cell.trim() === "");
  const start = data.findIndex((cells) => !isBlank(cells));
  const header = data[start];
  if (header === undefined) throw new CsvError([{ message: "is empty" }]);
  const { columns, ignored, isHeader } = columnsOf(header, start + 1);
  const mistakes: CsvMistake[] = [];
  const rows: CsvRow[] = [];
  for (const [index, cells] of data.entries()) {
    if (index < start + (isHeader ? 1 : 0) || isBlank(cells)) continue;
    const row = index + 1;
    const extra = cells.slice(header.length).find((cell) => cell.trim() !== "");
    if (extra !== undefined) {
      const message = `has more cells than the header (${quote(extra)}); a cell that holds what stands between cells needs quotes around it`;
      mistakes.push({ row, message });
      continue;
    }
    const read = rowOf(row, cells, columns, list);
    if (Array.isArray(read)) mistakes.push(...read);
    else rows.push(read as CsvRow);
  }
  const titles = new Map(columns.map(({ field, title }) => [field, title]));
  mistakes.push(...refusedBySchema(rows, titles), ...repeated(rows));
  if (mistakes.length > 0) throw new CsvError(mistakes);
  return { rows, columns: titles, ignored };
}

/** Validates the rows with the settings schema. */
function refusedBySchema(rows: readonly CsvRow[], titles: ReadonlyMap<string, string>): CsvMistake[] {
  const bySection = Map.groupBy(rows, ({ section }) => section);
  const file = Object.fromEntries(
    [...bySection].map(([section, all]) => [
      section,
      all.map(({ element, reviewed }) => (reviewed === undefined ? element : { ...element, reviewed })),
    ]),
  );
  const result = settingsFile.safeParse({ version: 1, ...file });
  const issues = result.success ? [] : result.error.issues;
  const refused = issues.map(({ path: [section, index, key, part], message }): CsvMistake => {
    const row = bySection.get(section as Section)?.[Number(index)]?.row;
    const field =
      key === "reviewed" ? REVIEW[part as keyof Reviewed] : key === "email" ? "value" : String(key);
    return { ...(row === undefined ? {} : { row }), column: titles.get(field) ?? field, message };
  });
  const mistyped = rows.flatMap(({ row, element }): CsvMistake[] => {
    const { type, value = "" } = element;
    const parsed = parseEntryValue(value);
    if (!ENTRY_TYPES.some((one) => one === type) || !parsed.ok || parsed.value.entryType === type) return [];
    const message = `is ${quote(type)}, and ${quote(value)} is none; leave it out`;
    return [{ row, column: titles.get("type") ?? "type", message }];
  });
  return [...refused, ...mistyped];
}

function repeated(rows: readonly CsvRow[]): CsvMistake[] {
  const first = new Map<string, CsvRow>();
  return rows.flatMap((one): CsvMistake[] => {
    const key = subjectOfRow(one);
    const other = first.get(key);
    if (other === undefined) {
      first.set(key, one);
      return [];
    }
    const where = one.section === other.section ? "is there twice" : `is also for ${other.section}`;
    const message = `${quote(valueOfRow(one))} ${where}, in row ${other.row}; keep one of the two`;
    return [{ row: one.row, message }];
  });
}
