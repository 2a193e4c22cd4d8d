import Papa from "papaparse";
import { parseEntryValue } from "../model/entry-value";
import { quote } from "../model/text";
import { CsvError, type CsvMistake } from "./csv-error";
import { ELEMENT_FIELD_NAMES, ELEMENT_FIELDS } from "./element-fields";
import type { ElementReview } from "./settings-schema";

/** The columns of a review, by its keys in a settings file. A table has them only if it contains reviews. */
export const REVIEW_COLUMNS = { on: "reviewedOn", by: "reviewedBy", reason: "reviewReason" } as const;

export function buildReviewCells({
  reviewed,
}: {
  readonly reviewed?: ElementReview;
}): Readonly<Record<(typeof REVIEW_COLUMNS)[keyof ElementReview], string | undefined>> {
  return { reviewedOn: reviewed?.on, reviewedBy: reviewed?.by, reviewReason: reviewed?.reason };
}

const DELIMITERS = [",", ";", "\t", "|"];

/** Detects the delimiter: the one that yields the most known column names. */
export function detectDelimiter(text: string): string {
  const sample = text.trimStart().slice(0, 10_000);
  const knownCounts = DELIMITERS.map((delimiter) => {
    const [header = []] = Papa.parse<string[]>(sample, { delimiter, preview: 1 }).data;
    return header.filter((cell) => getColumnField(cell) !== undefined).length;
  });
  return DELIMITERS[knownCounts.indexOf(Math.max(...knownCounts))] ?? ",";
}

/** Known column titles by field, without case, spaces and punctuation. */
const COLUMN_ALIASES: Readonly<Record<string, readonly string[]>> = {
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

const FIELD_BY_ALIAS = new Map(
  Object.entries(COLUMN_ALIASES).flatMap(([field, knownCounts]) => knownCounts.map((name) => [name, field] as const)),
);

function getColumnField(title: string): string | undefined {
  return FIELD_BY_ALIAS.get(title.toLowerCase().replace(/[^a-z0-9]/g, ""));
}

export interface CsvColumn {
  readonly field: string;
  readonly title: string;
  readonly index: number;
}

export function parseCsvHeader(
  header: readonly string[],
  row: number,
): { columns: readonly CsvColumn[]; ignored: readonly string[]; isHeader: boolean } {
  const titledCells = header.map((cell, index) => {
    const title = cell.trim();
    return { title, index, field: getColumnField(title) };
  });
  const columns = titledCells.filter((column): column is CsvColumn => column.field !== undefined);
  const ignored = titledCells.flatMap(({ title, field }) => (field === undefined && title !== "" ? [title] : []));
  const [onlyCell, ...others] = header.filter((cell) => cell.trim() !== "");
  if (columns.length === 0 && others.length === 0 && parseEntryValue((onlyCell ?? "").trim()).ok) {
    // A bare list of values without a header.
    const index = header.findIndex((cell) => cell.trim() !== "");
    return { columns: [{ field: "value", title: "", index }], ignored: [], isHeader: false };
  }
  const mistakes: CsvMistake[] = [];
  if (!columns.some(({ field }) => field === "value")) {
    const headerText = header
      .map((cell) => quote(cell.trim()))
      .slice(0, 20)
      .join(", ");
    const message = `has no value column; add the title value, domain or email. The first row is ${headerText}`;
    mistakes.push({ row, message });
  }
  const byField = Map.groupBy(columns, ({ field }) => field);
  for (const [field, duplicates] of byField) {
    // A table may have one column for domains and one for mailboxes.
    if (duplicates.length < 2 || field === "value") continue;
    const titles = duplicates.map(({ title }) => quote(title)).join(" and ");
    mistakes.push({ row, message: `has ${duplicates.length} columns for ${field} (${titles}); keep one` });
  }
  if (mistakes.length > 0) throw new CsvError(mistakes);
  return { columns, ignored, isHeader: true };
}
