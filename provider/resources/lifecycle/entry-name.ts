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
  const [, before, rest = text] = /^\s*(allow|deny):(.*)$/is.exec(text) ?? [];
  const list = LISTS.find((one) => one === before?.toLowerCase());
  const key = rest.trim();
  const { value, verdictScope } = readEntry(key, LISTS[0]) ?? {
    value: key,
    verdictScope: DEFAULT_VERDICT_SCOPE,
  };
  const known = KNOWN_VERDICT_SCOPES.find((one) => one === verdictScope.toLowerCase());
  return {
    value: parseEntryValue(value),
    ...(list === undefined ? {} : { list }),
    ...(key.endsWith(")") ? { verdictScope: known ?? verdictScope } : {}),
  };
}

/** Those of the given entries that a name means; more than one where it leaves out what tells them apart. */
export function entriesMeant(name: EntryName, rows: readonly AllowDenyEntryRow[]): AllowDenyEntryRow[] {
  const { list, value, verdictScope } = name;
  if (!value.ok) return [];
  const key = naturalKey(value.value.entryType, value.value.canonical);
  const ofValue = rows.filter(
    (row) => (list === undefined || row.list === list) && naturalKey(row.entry_type, row.value) === key,
  );
  if (verdictScope === undefined) return ofValue;
  const ofScope = ofValue.filter((row) => row.verdict_scope === verdictScope);
  // A scope that the service does not tell can't be another one.
  return ofScope.length > 0 ? ofScope : ofValue.filter((row) => row.verdict_scope === undefined);
}

/**
 * The name that means one entry and no other of the same value; the service's id where none does.
 *
 * @param rows all entries of that value, this one among them.
 */
export function nameOfEntry(row: AllowDenyEntryRow, rows: readonly AllowDenyEntryRow[]): string {
  const plain = `${row.list}:${keyOfRow(row)}`;
  const name = [plain, `${plain} (${DEFAULT_VERDICT_SCOPE})`].find((text) => {
    const name = readEntryName(text);
    const [meant, ...others] = name.list === undefined ? [] : entriesMeant(name, rows);
    return meant === row && others.length === 0;
  });
  return name ?? resourceId(row);
}
