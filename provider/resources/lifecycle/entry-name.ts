import type { AllowDenyEntryRow } from "../../client";
import { DEFAULT_VERDICT_SCOPE, KNOWN_VERDICT_SCOPES, LISTS, type List } from "../../settings/assumptions";
import { type EntryValue, naturalKey, type Parsed, parseEntryValue } from "../../settings/entry-value";
import { readEntry } from "../../settings/keyed-list";
import { keyOfRow } from "./entry-match";
import { resourceId } from "./entry-state";

/** An entry as a person names it: `deny:evil.example`, `allow:mail.example (graymail)`, `evil.example`. */
export interface EntryName {
  readonly list?: List;
  readonly value: Parsed<EntryValue>;
  readonly verdictScope?: string;
}

/** Parses the name of an entry: an optional list before a colon as in patterns, an optional scope after it as in keyed lists. */
export function readEntryName(text: string): EntryName {
  const [, listText, keyText = text] = /^\s*(allow|deny):(.*)$/is.exec(text) ?? [];
  const list = LISTS.find((candidate) => candidate === listText?.toLowerCase());
  const key = keyText.trim();
  const { value, verdictScope } = readEntry(key, LISTS[0]) ?? {
    value: key,
    verdictScope: DEFAULT_VERDICT_SCOPE,
  };
  const knownScope = KNOWN_VERDICT_SCOPES.find((candidate) => candidate === verdictScope.toLowerCase());
  return {
    value: parseEntryValue(value),
    ...(list === undefined ? {} : { list }),
    ...(key.endsWith(")") ? { verdictScope: knownScope ?? verdictScope } : {}),
  };
}

/** Returns the entries that a name matches; several if the name is ambiguous. */
export function entriesMeant(name: EntryName, rows: readonly AllowDenyEntryRow[]): AllowDenyEntryRow[] {
  const { list, value, verdictScope } = name;
  if (!value.ok) return [];
  const key = naturalKey(value.value.entryType, value.value.canonical);
  const rowsOfValue = rows.filter(
    (row) => (list === undefined || row.list === list) && naturalKey(row.entry_type, row.value) === key,
  );
  if (verdictScope === undefined) return rowsOfValue;
  const rowsOfScope = rowsOfValue.filter((row) => row.verdict_scope === verdictScope);
  // A scope that the service does not tell can't be another one.
  return rowsOfScope.length > 0 ? rowsOfScope : rowsOfValue.filter((row) => row.verdict_scope === undefined);
}

/**
 * Returns the name that identifies exactly one entry of its value; the service's id if there is none.
 *
 * @param rows all entries of that value, including this one.
 */
export function nameOfEntry(row: AllowDenyEntryRow, rows: readonly AllowDenyEntryRow[]): string {
  const plainName = `${row.list}:${keyOfRow(row)}`;
  const name = [plainName, `${plainName} (${DEFAULT_VERDICT_SCOPE})`].find((text) => {
    const name = readEntryName(text);
    const [match, ...others] = name.list === undefined ? [] : entriesMeant(name, rows);
    return match === row && others.length === 0;
  });
  return name ?? resourceId(row);
}
