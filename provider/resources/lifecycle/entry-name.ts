import type { AllowDenyEntryRow } from "../../client";
import { DEFAULT_VERDICT_SCOPE, ENTRY_LISTS, KNOWN_VERDICT_SCOPES, type List } from "../../model/assumptions";
import { decodeEntry } from "../../model/encoded-list";
import { buildNaturalKey, type EntryValue, type ParseResult, parseEntryValue } from "../../model/entry-value";
import { encodeRowKey } from "./entry-match";
import { getResourceId } from "./entry-state";

/** An entry name as written by a person: `deny:evil.example`, `allow:mail.example (graymail)`, `evil.example`. */
export interface EntryName {
  readonly list?: List;
  readonly value: ParseResult<EntryValue>;
  readonly verdictScope?: string;
}

/**
 * Parses the name of an entry: an optional list before a colon as in patterns, an optional scope after it as in encoded
 * lists.
 */
export function parseEntryName(text: string): EntryName {
  const [, listText, keyText = text] = /^\s*(allow|deny):(.*)$/is.exec(text) ?? [];
  const list = ENTRY_LISTS.find((candidate) => candidate === listText?.toLowerCase());
  const key = keyText.trim();
  const { value, verdictScope } = decodeEntry(key, ENTRY_LISTS[0]) ?? {
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
export function findEntriesByName(name: EntryName, rows: readonly AllowDenyEntryRow[]): AllowDenyEntryRow[] {
  const { list, value, verdictScope } = name;
  if (!value.ok) return [];
  const key = buildNaturalKey(value.value.entryType, value.value.canonical);
  const rowsOfValue = rows.filter(
    (row) => (list === undefined || row.list === list) && buildNaturalKey(row.entry_type, row.value) === key,
  );
  if (verdictScope === undefined) return rowsOfValue;
  const rowsOfScope = rowsOfValue.filter((row) => row.verdict_scope === verdictScope);
  // If the service doesn't report the scope, any scope matches.
  return rowsOfScope.length > 0 ? rowsOfScope : rowsOfValue.filter((row) => row.verdict_scope === undefined);
}

/**
 * Returns the name that identifies exactly one entry of its value; the service's id if there is none.
 *
 * @param rows all entries of that value, including this one.
 */
export function formatUniqueEntryName(row: AllowDenyEntryRow, rows: readonly AllowDenyEntryRow[]): string {
  const plainName = `${row.list}:${encodeRowKey(row)}`;
  const name = [plainName, `${plainName} (${DEFAULT_VERDICT_SCOPE})`].find((text) => {
    const name = parseEntryName(text);
    const [match, ...others] = name.list === undefined ? [] : findEntriesByName(name, rows);
    return match === row && others.length === 0;
  });
  return name ?? getResourceId(row);
}
