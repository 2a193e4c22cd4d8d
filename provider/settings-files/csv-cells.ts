import { DEFAULT_VERDICT_SCOPE } from "../model/assumptions";

/* Parses table cells in the formats that people and spreadsheets write. */

/** Parses a day in an unambiguous spreadsheet format; returns other text unchanged, for the schema to reject. */
export function parseDayCell(text: string): string {
  if (/^never$/i.test(text)) return "never";
  const [, year, month, day] =
    /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]0?0:00(?::00)?(?:\.0+)?Z?)?$/.exec(text) ?? [];
  if (year !== undefined) return [year, month?.padStart(2, "0"), day?.padStart(2, "0")].join("-");
  const [, dayFirst, monthSecond, yearLast] = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(text) ?? [];
  return yearLast === undefined
    ? text
    : [yearLast, monthSecond?.padStart(2, "0"), dayFirst?.padStart(2, "0")].join("-");
}

/** Parses common names of entry types. */
export function parseTypeCell(text: string): string {
  const normalized = text.toLowerCase().replace(/[^a-z0-9]/g, "");
  if (/^ip(?:v[46])?(?:address)?$/.test(normalized)) return "ip";
  if (/^e?mail(?:address)?$|^mailbox$|^sender$/.test(normalized)) return "email_address";
  return /^domain(?:name)?$/.test(normalized) ? "domain" : text;
}

/** Parses a verdict scope; undefined for the default scope. */
export function parseScopeCell(text: string): string | undefined {
  const scope = text.toLowerCase();
  return scope === DEFAULT_VERDICT_SCOPE ? undefined : scope;
}
