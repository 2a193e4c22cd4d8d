import { isUtf8 } from "node:buffer";
import Papa from "papaparse";
import { DEFAULT_VERDICT_SCOPE, ENTRY_TYPES } from "../settings/assumptions";
import { EmailSecurityError } from "../settings/email-security-error";
import { canonicalMailbox, canonicalValue, parseEntryValue } from "../settings/entry-value";
import { excerpt, printable, quote } from "../settings/text";
import { dayInCell } from "./csv-cells";
import type { Element, Section } from "./edit";
import {
  ELEMENT_FIELD_NAMES,
  ELEMENT_FIELDS,
  type ElementValue,
  isOfEntries,
  TEXT_FIELD_NAMES,
  valueInCell,
} from "./element-fields";
import type { Settings } from "./settings";
import { type Reviewed, settingsFile } from "./settings-schema";

/** How a table is read. */
export interface CsvOptions {
  /** What rows are for that do not say it themselves. */
  readonly list?: Section;
  /** What stands between cells, one character. Found out when left out. */
  readonly delimiter?: string;
}

/** One row of a table. */
export interface CsvRow {
  /** As a spreadsheet counts them: from 1, with the header. */
  readonly row: number;
  readonly section: Section;
  readonly element: Element;
  /** The decision that it stays. */
  readonly reviewed?: Reviewed;
}

/** A table that was read. */
export interface CsvTable {
  readonly rows: readonly CsvRow[];
  /** What the columns hold, each with its name in the header: `comment`, "Reason". */
  readonly columns: ReadonlyMap<string, string>;
  /** The columns whose names mean nothing here; what they hold is left out. */
  readonly ignored: readonly string[];
}

/** The table can't be used: every mistake in it, each with its row and column. Nothing was written. */
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

/** What is wrong with a table, and where. */
export interface CsvMistake {
  /** As a spreadsheet counts them; undefined when it is about the whole. */
  readonly row?: number;
  /** The column's name, as it is written in the header. */
  readonly column?: string;
  readonly message: string;
}

const SHOWN = 100;

/**
 * Reads a table of entries and VIPs as spreadsheets write one: a header in any order and case, any usual delimiter,
 * quotes, line ends and byte order mark. Each row is checked as an element of a settings file is.
 *
 * @throws {CsvError} (`ERR_CSV`) with every mistake at its row and column.
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

/**
 * Writes settings as a table that spreadsheets open: UTF-8 with a byte order mark, every cell in quotes. What a
 * spreadsheet would take for a formula has an apostrophe before it, which {@link readCsv} takes away again.
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
  return tableText(
    columns,
    rows.map((row) => columns.map((field) => String(row[field] ?? ""))),
    delimiter,
  );
}

/** What the type of an entry is, its value tells. */
const WRITTEN = [...(["list", "value", "scope"] as const), ...TEXT_FIELD_NAMES];

/** The columns of a decision, by its keys in a settings file; a table has them where there is one. */
const REVIEW = { on: "reviewedOn", by: "reviewedBy", reason: "reviewReason" } as const;

/** What the cells of a decision hold. */
export function reviewCells({
  reviewed,
}: {
  readonly reviewed?: Reviewed;
}): Readonly<Record<(typeof REVIEW)[keyof Reviewed], string | undefined>> {
  return { reviewedOn: reviewed?.on, reviewedBy: reviewed?.by, reviewReason: reviewed?.reason };
}

function tableText(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  delimiter: string,
): string {
  return csvText([columns.map(titleOf), ...rows], delimiter);
}

/** The title of a field's column: `approved by`. */
export function titleOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Rows, the titles first, as a table that spreadsheets open: of the form that {@link writeCsv} writes. */
export function csvText(rows: readonly (readonly string[])[], delimiter = ","): string {
  const data = rows.map((row) => row.map(defused));
  return `\uFEFF${Papa.unparse(data, { delimiter, quotes: true, newline: "\r\n" })}\r\n`;
}

/** What begins a formula; in some places of the world also in full width. */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;

function defused(cell: string): string {
  return FORMULA.test(cell) ? `'${cell}` : cell;
}

function asWritten(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;
}

function decoded(bytes: Uint8Array): string {
  const [first, second] = bytes;
  // Excel's "Unicode Text".
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  const line = Buffer.from(bytes).toString("utf8").split("\uFFFD", 1)[0]?.split("\n").length ?? 1;
  const message = `holds bytes that are no UTF-8, first in line ${line} of the file; save it as "CSV UTF-8"`;
  throw new CsvError([{ message }]);
}

const DELIMITERS = [",", ";", "\t", "|"];

/** What stands between the cells of the header: that which leaves the most names that mean something. */
function delimiterOf(text: string): string {
  const beginning = text.trimStart().slice(0, 10_000);
  const names = DELIMITERS.map((delimiter) => {
    const [header = []] = Papa.parse<string[]>(beginning, { delimiter, preview: 1 }).data;
    return header.filter((cell) => fieldOf(cell) !== undefined).length;
  });
  return DELIMITERS[names.indexOf(Math.max(...names))] ?? ",";
}

/** What a column holds, by the names that people give it, without case, spaces and signs. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  value: [
    "value",
    "domain",
    "domains",
    "email",
    "emails",
    "emailaddress",
    "address",
    "mailbox",
    "mail",
    "ip",
    "ipaddress",
    "sender",
    "entry",
    "indicator",
    "ioc",
  ],
  list: ["list", "section", "action", "allowdeny"],
  ...Object.fromEntries(ELEMENT_FIELD_NAMES.map((name) => [name, ELEMENT_FIELDS[name].columns])),
  reviewedOn: ["reviewedon", "lastreviewed", "lastreview", "reviewdate"],
  reviewedBy: ["reviewedby", "reviewer"],
  reviewReason: ["reviewreason"],
  vip: ["vip", "isvip"],
};

const FIELD_OF = new Map(
  Object.entries(COLUMNS).flatMap(([field, names]) => names.map((name) => [name, field] as const)),
);

function fieldOf(title: string): string | undefined {
  return FIELD_OF.get(title.toLowerCase().replace(/[^a-z0-9]/g, ""));
}

interface Column {
  readonly field: string;
  readonly title: string;
  readonly index: number;
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

function columnsOf(
  header: readonly string[],
  row: number,
): { columns: readonly Column[]; ignored: readonly string[]; isHeader: boolean } {
  const titled = header.map((cell, index) => {
    const title = cell.trim();
    return { title, index, field: fieldOf(title) };
  });
  const columns = titled.filter((column): column is Column => column.field !== undefined);
  const ignored = titled.flatMap(({ title, field }) => (field === undefined && title !== "" ? [title] : []));
  const [only, ...others] = header.filter((cell) => cell.trim() !== "");
  if (columns.length === 0 && others.length === 0 && parseEntryValue((only ?? "").trim()).ok) {
    // A bare list of values, without a header.
    const index = header.findIndex((cell) => cell.trim() !== "");
    return { columns: [{ field: "value", title: "", index }], ignored: [], isHeader: false };
  }
  const mistakes: CsvMistake[] = [];
  if (!columns.some(({ field }) => field === "value")) {
    const found = header
      .map((cell) => quote(cell.trim()))
      .slice(0, 20)
      .join(", ");
    const message = `has no column for the value: write value, domain or email above it. The first row is ${found}`;
    mistakes.push({ row, message });
  }
  const byField = Map.groupBy(columns, ({ field }) => field);
  for (const [field, same] of byField) {
    // A table may have a column for domains and one for mailboxes.
    if (same.length < 2 || field === "value") continue;
    const both = same.map(({ title }) => quote(title)).join(" and ");
    mistakes.push({ row, message: `has ${same.length} columns for ${field}: ${both}; keep one` });
  }
  if (mistakes.length > 0) throw new CsvError(mistakes);
  return { columns, ignored, isHeader: true };
}

/** One row, or what is wrong with it. */
function rowOf(
  row: number,
  cells: readonly string[],
  columns: readonly Column[],
  list: Section | undefined,
): CsvRow | CsvMistake[] {
  const given = new Map<string, { text: string; title: string }>();
  const mistakes: CsvMistake[] = [];
  for (const { field, title, index } of columns) {
    const text = asWritten((cells[index] ?? "").trim()).trim();
    if (text === "") continue;
    const other = given.get(field);
    if (other === undefined) given.set(field, { text, title });
    else {
      const message = `is ${quote(text)}, and ${quote(other.title)} is ${quote(other.text)}; a row holds one value`;
      mistakes.push({ row, column: title, message });
    }
  }
  const section = sectionOf(row, given, list, mistakes);
  const value = given.get("value");
  if (value === undefined) mistakes.push({ row, message: "has no value, and yet something beside it" });
  if (section === undefined || value === undefined || mistakes.length > 0) return mistakes;

  const element: Record<string, ElementValue> = { [section === "vips" ? "email" : "value"]: value.text };
  for (const field of ELEMENT_FIELD_NAMES) {
    const cell = given.get(field);
    if (cell === undefined) continue;
    if (section === "vips" && isOfEntries(field)) {
      if (field === "type") continue;
      mistakes.push({ row, column: cell.title, message: `is ${quote(cell.text)}, and a VIP has none` });
      continue;
    }
    const said = valueInCell(field, cell.text);
    if (said !== undefined) element[field] = said;
  }
  if (mistakes.length > 0) return mistakes;
  const reviewed = Object.entries(REVIEW).flatMap(([key, field]) => {
    const text = given.get(field)?.text;
    return text === undefined ? [] : [[key, key === "on" ? dayInCell(text) : text] as const];
  });
  if (reviewed.length === 0) return { row, section, element };
  // What is missing of it is told with what else the settings files' own schema refuses.
  return { row, section, element, reviewed: Object.fromEntries(reviewed) as unknown as Reviewed };
}

/** What a row is for: its own word for it, in whichever column, or the option's. */
function sectionOf(
  row: number,
  given: Map<string, { text: string; title: string }>,
  list: Section | undefined,
  mistakes: CsvMistake[],
): Section | undefined {
  const said = new Set<Section>();
  const own = given.get("list");
  if (own !== undefined) {
    const section = sectionNamed(own.text);
    if (section === undefined) {
      mistakes.push({ row, column: own.title, message: `is ${quote(own.text)}; write allow, deny or vip` });
      return undefined;
    }
    said.add(section);
  }
  // In some tables the type says what others have a list for.
  const type = given.get("type");
  const byType = type === undefined ? undefined : sectionNamed(type.text);
  if (byType !== undefined) {
    given.delete("type");
    said.add(byType);
  }
  const vip = given.get("vip");
  if (vip !== undefined) {
    if (YES.test(vip.text)) said.add("vips");
    else if (!NO.test(vip.text)) {
      mistakes.push({ row, column: vip.title, message: `is ${quote(vip.text)}; write yes or no` });
      return undefined;
    }
  }
  if (said.size > 1) {
    mistakes.push({ row, message: `is said to be for ${[...said].join(" and for ")}; keep one` });
    return undefined;
  }
  const [section = list] = said;
  if (section === undefined) {
    mistakes.push({
      row,
      message: "does not say which list it is for; write allow, deny or vip, or give --list",
    });
  }
  return section;
}

const YES = /^(?:yes|y|true|x|1|vip|✓|✔)$/i;
const NO = /^(?:no|n|false|0|-)$/i;

function sectionNamed(text: string): Section | undefined {
  const word = text.toLowerCase().replace(/[^a-z]/g, "");
  if (/^(?:allow(?:ed|list)?|whitelist(?:ed)?|permit(?:ted)?)$/.test(word)) return "allow";
  if (/^(?:den(?:y|ied)|denylist|block(?:ed|list)?|blacklist(?:ed)?)$/.test(word)) return "deny";
  return /^vips?$/.test(word) ? "vips" : undefined;
}

/** What the settings files' own schema says, row by row. */
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

/** What two rows about the same thing share. */
export function subjectOfRow({ section, element }: Pick<CsvRow, "section" | "element">): string {
  if (section === "vips") return `vip ${canonicalMailbox(element["email"] ?? "")}`;
  return `entry ${canonicalValue(element["value"] ?? "")} ${element["scope"] ?? DEFAULT_VERDICT_SCOPE}`;
}

/** The value or mailbox of a row, as it is written. */
function valueOfRow({ element }: Pick<CsvRow, "element">): string {
  return element["value"] ?? element["email"] ?? "";
}

function mistakeText({ row, column, message }: CsvMistake): string {
  const at = row === undefined ? "" : `row ${row}`;
  const place = column === undefined || column === "" ? at : `${at}, column ${quote(column)}`;
  return `${place}${place === "" ? "It " : ": "}${printable(excerpt(message, 2_000))}`;
}
