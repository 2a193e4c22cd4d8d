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

/** Reads the name of an entry: the list before a colon as in a pattern, the scope behind as in a keyed list. */
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

/** Those of the given entries that a name means; more than one where it leaves out what tells them apart. */
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
 * The name that means one entry and no other of the same value; the service's id where none does.
 *
 * @param rows all entries of that value, this one among them.
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
