import type { AllowDenyEntryRow, VipEmployeeRow } from "../../client";
import { allowDenyEntryArguments, checkEntryArguments, type RawArguments } from "../../model/arguments";
import { DEFAULT_VERDICT_SCOPE, ENTRY_LISTS, type List } from "../../model/assumptions";
import { encodeEntry, encodeVip, encodeVipKey, getKeyBaseName } from "../../model/encoded-list";
import { pickEntryState, type SettingsElement } from "../../model/entry-fields";
import { buildNaturalKey, canonicalizeMailbox, canonicalizeValue, parseEntryValue } from "../../model/entry-value";
import { ENTRY_LIST_KIND, type ListKind, VIP_LIST_KIND } from "../../model/list-arguments";
import { omitUndefined } from "../../model/omit-undefined";
import type { OwnDomains } from "../../model/own-domains";
import { describeRisks } from "../../model/risk";
import { canonicalizeComment, quote } from "../../model/text";
import { sortBySpelling } from "../../tenant";
import { encodeRowKey } from "./entry-match";

/** The declaration that matches a row without any change at the service, or the reason why there is none. */
export type DeclarableResult<Row> =
  | DeclarableRow<Row>
  | { readonly row: Row; readonly ok: false; readonly reason: string };

export interface DeclarableRow<Row> {
  readonly row: Row;
  readonly ok: true;
  readonly key: string;
  readonly text: string;
  readonly element: SettingsElement;
  /** Duplicate rows of the same value that this one represents. */
  readonly duplicates: readonly Row[];
}

export function isDeclarable<Row>(result: DeclarableResult<Row>): result is DeclarableRow<Row> {
  return result.ok;
}

/**
 * Returns the reason why further restrictions, such as those of a file format, prevent declaring an element; otherwise
 * undefined.
 */
export type ElementValidator = (section: List | "vips", element: SettingsElement) => string | undefined;

export interface DeclarableOptions {
  readonly ownDomains: OwnDomains;
  readonly acceptRisk: string;
  readonly validateElement?: ElementValidator;
}

/** Returns the tenant's entries as one list can declare them, in its own order. */
export function buildDeclarableEntries(
  allRows: readonly AllowDenyEntryRow[],
  options: DeclarableOptions,
): DeclarableResult<AllowDenyEntryRow>[] {
  // A list can hold only one of two contradicting entries: the deny.
  const byKey = Map.groupBy(allRows, encodeRowKey);
  // Of two rows with the same value, a run finds the one with the declared spelling.
  const uniqueRows = [...byKey.values()].flatMap((sameKeyRows) => {
    const [first] = sameKeyRows;
    return first === undefined || sameKeyRows.length < 2
      ? sameKeyRows
      : sortBySpelling(sameKeyRows, canonicalizeValue(first.value));
  });
  const sortedRows = uniqueRows.toSorted(
    (declarable, other) => Number(other.list === "deny") - Number(declarable.list === "deny"),
  );
  const byValue = Map.groupBy(sortedRows, (row) => buildNaturalKey(row.entry_type, row.value));
  const results: DeclarableResult<AllowDenyEntryRow>[] = [];
  const declaredKeys = new Set<string>();
  const deniedNames = new Set<string>();
  for (const row of sortedRows) {
    const key = encodeRowKey(row);
    if (declaredKeys.has(`${row.list} ${key}`)) continue;
    const declarable = buildDeclarableEntry(row, options);
    const reason = !declarable.ok
      ? declarable.reason
      : row.list === "allow" && deniedNames.has(getKeyBaseName(key))
        ? CONTRADICTION_REASON
        : isFoundFirst(row, byValue)
          ? undefined
          : "can't be distinguished from another entry of the same value";
    if (!declarable.ok || reason !== undefined) {
      results.push({ row, ok: false, reason: reason ?? "" });
      continue;
    }
    declaredKeys.add(`${row.list} ${key}`);
    if (row.list === "deny") deniedNames.add(getKeyBaseName(key));
    const duplicates = (byKey.get(key) ?? []).filter((other) => other !== row && other.list === row.list);
    results.push({ ...declarable, duplicates });
  }
  return results;
}

const CONTRADICTION_REASON =
  "is also on the deny list, which is declared; a value can't be declared on both, so choose one";

export function buildDeclarableEntry(
  row: AllowDenyEntryRow,
  { ownDomains, acceptRisk, validateElement = () => undefined }: DeclarableOptions,
): DeclarableResult<AllowDenyEntryRow> {
  const element = buildEntryElement(row, ownDomains, acceptRisk);
  const reason = validateRow(row, element, validateElement);
  if (reason !== undefined) return { row, ok: false, reason };
  return {
    row,
    ok: true,
    key: encodeRowKey(row),
    text: encodeDeclaredRow(row, element),
    element,
    duplicates: [],
  };
}

export function buildDeclarableVip(
  row: VipEmployeeRow,
  validateElement: ElementValidator = () => undefined,
): DeclarableResult<VipEmployeeRow> {
  const email = canonicalizeMailbox(row.email ?? "");
  const key = encodeVipKey(email);
  const element = { email, ...pickEntryState(row) };
  const reason = validateElement("vips", element) ?? validateListElement(VIP_LIST_KIND, element, key, encodeVip(row));
  return reason === undefined
    ? { row, ok: true, key, text: encodeVip(row), element, duplicates: [] }
    : { row, ok: false, reason };
}

function buildEntryElement(row: AllowDenyEntryRow, ownDomains: OwnDomains, acceptRisk: string): SettingsElement {
  const value = canonicalizeValue(row.value);
  const { list: _section, ...entryFields } = pickEntryState(row);
  const { verdict_scope: scope } = row;
  const parsed = parseEntryValue(value);
  const list = ENTRY_LISTS.find((candidate) => candidate === row.list);
  const hasRisk =
    parsed.ok &&
    list !== undefined &&
    describeRisks({ list, value, entryType: parsed.value.entryType }, ownDomains) !== undefined;
  return omitUndefined({
    value,
    ...entryFields,
    scope: scope === undefined || scope === DEFAULT_VERDICT_SCOPE ? undefined : scope,
    acceptRisk: hasRisk ? acceptRisk : undefined,
  });
}

function validateRow(
  row: AllowDenyEntryRow,
  element: SettingsElement,
  validateElement: ElementValidator,
): string | undefined {
  const list = ENTRY_LISTS.find((candidate) => candidate === row.list);
  if (list === undefined)
    return `is on a list called ${quote(row.list)}, which isn't one of ${ENTRY_LISTS.join(" and ")}`;
  const problem = validateElement(list, element);
  if (problem !== undefined) return problem;
  const { failures } = checkEntryArguments(
    { list, value: element["value"], entryType: row.entry_type },
    allowDenyEntryArguments,
  );
  const [failure] = failures;
  if (failure?.property === "value") return failure.reason;
  if (failure !== undefined) return `its type ${failure.reason}`.replace(/; leave it out.*$/, "");
  const { scope: verdictScope, ...rest } = element;
  const raw = omitUndefined({ list, verdictScope, ...rest });
  return validateListElement(ENTRY_LIST_KIND, raw, encodeRowKey(row), encodeDeclaredRow(row, element));
}

function encodeDeclaredRow(row: AllowDenyEntryRow, { acceptRisk }: DeclarableRow<unknown>["element"]): string {
  return encodeEntry({ ...row, acceptRisk });
}

/** Returns the list's own objection to an element that passes all other checks. */
function validateListElement(kind: ListKind, raw: RawArguments, key: string, text: string): string | undefined {
  const parsed = kind.parseElement(raw, undefined);
  if (Array.isArray(parsed)) return parsed.map(formatArgumentFailure).join(" and ");
  const isSame = typeof parsed === "object" && "key" in parsed && parsed.key === key && parsed.text === text;
  return isSame ? undefined : "would be read as a different value";
}

function formatArgumentFailure({ property, reason }: { readonly property: string; readonly reason: string }): string {
  return property === "value" || property === "email" ? reason : `its ${property} ${reason}`;
}

/** Returns whether a lookup of the declared entry finds this row, or one with the same comment. */
function isFoundFirst(row: AllowDenyEntryRow, byValue: ReadonlyMap<string, readonly AllowDenyEntryRow[]>): boolean {
  const scope = row.verdict_scope ?? DEFAULT_VERDICT_SCOPE;
  const sortedRows = byValue.get(buildNaturalKey(row.entry_type, row.value)) ?? [];
  const firstMatch = sortedRows.find(
    (candidate) => candidate.list === row.list && (candidate.verdict_scope ?? scope) === scope,
  );
  return firstMatch === row || canonicalizeComment(firstMatch?.comment) === canonicalizeComment(row.comment);
}
