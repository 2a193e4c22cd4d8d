import type { AllowDenyEntryRow, VipEmployeeRow } from "../../client";
import { allowDenyEntryArguments, checkEntryArguments, type RawArguments } from "../../settings/arguments";
import { DEFAULT_VERDICT_SCOPE, LISTS, type List } from "../../settings/assumptions";
import { type Element, standingOf } from "../../settings/entry-fields";
import { canonicalMailbox, canonicalValue, naturalKey, parseEntryValue } from "../../settings/entry-value";
import { keyOfVip, nameOfKey, textOfEntry, textOfVip } from "../../settings/keyed-list";
import { ENTRIES, type ListKind, MEMBERS } from "../../settings/list-arguments";
import type { OwnDomains } from "../../settings/own-domains";
import { refusalOf } from "../../settings/risk";
import { canonicalComment, quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import { writtenSoFirst } from "../../tenant";
import { keyOfRow } from "./entry-match";

/** The declaration that matches a row without any change at the service, or why there is none. */
export type Declarable<Row> = Declared<Row> | { readonly row: Row; readonly ok: false; readonly reason: string };

/** The declaration of a row. */
export interface Declared<Row> {
  readonly row: Row;
  readonly ok: true;
  /** The key in a keyed list, as it would be read back. */
  readonly key: string;
  readonly text: string;
  /** The element of a settings file. */
  readonly element: Element;
  /** Duplicate rows of the same value that this one represents. */
  readonly twins: readonly Row[];
}

export function isDeclarable<Row>(result: Declarable<Row>): result is Declared<Row> {
  return result.ok;
}

/** Returns why an element can't be declared under further restrictions, such as a file format's; otherwise undefined. */
export type ElementRefusal = (section: List | "vips", element: Element) => string | undefined;

/** How a tenant's entries are declared. */
export interface DeclarableOptions {
  readonly own: OwnDomains;
  /** The reason to declare for accepting a risky entry. */
  readonly acceptRisk: string;
  readonly refusal?: ElementRefusal;
}

/** Returns the tenant's entries as one list can declare them, in its own order. */
export function declarableEntries(
  allRows: readonly AllowDenyEntryRow[],
  options: DeclarableOptions,
): Declarable<AllowDenyEntryRow>[] {
  // Of two that contradict each other a list can hold one: the one that lets nothing in.
  const byKey = Map.groupBy(allRows, keyOfRow);
  // Of two of one value, a run finds the one that is written as it is declared.
  const uniqueRows = [...byKey.values()].flatMap((sameKeyRows) => {
    const [first] = sameKeyRows;
    return first === undefined || sameKeyRows.length < 2
      ? sameKeyRows
      : writtenSoFirst(sameKeyRows, canonicalValue(first.value));
  });
  const sortedRows = uniqueRows.toSorted(
    (declarable, other) => Number(other.list === "deny") - Number(declarable.list === "deny"),
  );
  const byValue = Map.groupBy(sortedRows, (row) => naturalKey(row.entry_type, row.value));
  const results: Declarable<AllowDenyEntryRow>[] = [];
  const declaredKeys = new Set<string>();
  const deniedNames = new Set<string>();
  for (const row of sortedRows) {
    const key = keyOfRow(row);
    if (declaredKeys.has(`${row.list} ${key}`)) continue;
    const declarable = declarableEntry(row, options);
    const reason = !declarable.ok
      ? declarable.reason
      : row.list === "allow" && deniedNames.has(nameOfKey(key))
        ? CONTRADICTION_REASON
        : isFoundFirst(row, byValue)
          ? undefined
          : "can't be told from another entry of the same value";
    if (!declarable.ok || reason !== undefined) {
      results.push({ row, ok: false, reason: reason ?? "" });
      continue;
    }
    declaredKeys.add(`${row.list} ${key}`);
    if (row.list === "deny") deniedNames.add(nameOfKey(key));
    const duplicates = (byKey.get(key) ?? []).filter((other) => other !== row && other.list === row.list);
    results.push({ ...declarable, twins: duplicates });
  }
  return results;
}

const CONTRADICTION_REASON =
  "is on the deny list too, which is declared; a value can't be declared on both, so decide which is meant";

/** Returns the declaration of one entry, regardless of other rows. */
export function declarableEntry(
  row: AllowDenyEntryRow,
  { own, acceptRisk, refusal = () => undefined }: DeclarableOptions,
): Declarable<AllowDenyEntryRow> {
  const element = buildEntryElement(row, own, acceptRisk);
  const reason = validateRow(row, element, refusal);
  if (reason !== undefined) return { row, ok: false, reason };
  return { row, ok: true, key: keyOfRow(row), text: encodeDeclaredRow(row, element), element, twins: [] };
}

/** Returns the declaration of one VIP with a mailbox. */
export function declarableVip(
  row: VipEmployeeRow,
  validateElement: ElementRefusal = () => undefined,
): Declarable<VipEmployeeRow> {
  const email = canonicalMailbox(row.email ?? "");
  const key = keyOfVip(email);
  const element = { email, ...standingOf(row) };
  const reason = validateElement("vips", element) ?? validateListElement(MEMBERS, element, key, textOfVip(row));
  return reason === undefined
    ? { row, ok: true, key, text: textOfVip(row), element, twins: [] }
    : { row, ok: false, reason };
}

function buildEntryElement(row: AllowDenyEntryRow, ownDomains: OwnDomains, acceptRisk: string): Element {
  const value = canonicalValue(row.value);
  const { list: _section, ...standing } = standingOf(row);
  const { verdict_scope: scope } = row;
  const parsed = parseEntryValue(value);
  const list = LISTS.find((candidate) => candidate === row.list);
  const hasRisk =
    parsed.ok &&
    list !== undefined &&
    refusalOf({ list, value, entryType: parsed.value.entryType }, ownDomains) !== undefined;
  return withoutUndefined({
    value,
    ...standing,
    scope: scope === undefined || scope === DEFAULT_VERDICT_SCOPE ? undefined : scope,
    acceptRisk: hasRisk ? acceptRisk : undefined,
  });
}

function validateRow(row: AllowDenyEntryRow, element: Element, validateElement: ElementRefusal): string | undefined {
  const list = LISTS.find((candidate) => candidate === row.list);
  if (list === undefined) return `is on a list called ${quote(row.list)}, which is none of ${LISTS.join(" and ")}`;
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
  const raw = withoutUndefined({ list, verdictScope, ...rest });
  return validateListElement(ENTRIES, raw, keyOfRow(row), encodeDeclaredRow(row, element));
}

/** The text of a row as it is declared, with the reason that it is declared for. */
function encodeDeclaredRow(row: AllowDenyEntryRow, { acceptRisk }: Declared<unknown>["element"]): string {
  return textOfEntry({ ...row, acceptRisk });
}

/** What the list itself says of it, where nothing else refuses it. */
function validateListElement(kind: ListKind, raw: RawArguments, key: string, text: string): string | undefined {
  const parsed = kind.readElement(raw, undefined);
  if (Array.isArray(parsed)) return parsed.map(formatArgumentFailure).join(" and ");
  const isSame = typeof parsed === "object" && "key" in parsed && parsed.key === key && parsed.text === text;
  return isSame ? undefined : "would be read as something else";
}

function formatArgumentFailure({ property, reason }: { readonly property: string; readonly reason: string }): string {
  return property === "value" || property === "email" ? reason : `its ${property} ${reason}`;
}

/** Whether who looks for the entry by what is declared finds this row, and not another one in its place. */
function isFoundFirst(row: AllowDenyEntryRow, byValue: ReadonlyMap<string, readonly AllowDenyEntryRow[]>): boolean {
  const scope = row.verdict_scope ?? DEFAULT_VERDICT_SCOPE;
  const sortedRows = byValue.get(naturalKey(row.entry_type, row.value)) ?? [];
  const firstMatch = sortedRows.find((one) => one.list === row.list && (one.verdict_scope ?? scope) === scope);
  return firstMatch === row || canonicalComment(firstMatch?.comment) === canonicalComment(row.comment);
}
