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
export type Declarable<Row> =
  | Declared<Row>
  | { readonly row: Row; readonly ok: false; readonly reason: string };

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

export function isDeclarable<Row>(one: Declarable<Row>): one is Declared<Row> {
  return one.ok;
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
  all: readonly AllowDenyEntryRow[],
  options: DeclarableOptions,
): Declarable<AllowDenyEntryRow>[] {
  // A list can hold only one of two contradicting entries: the one that lets nothing in.
  const byKey = Map.groupBy(all, keyOfRow);
  // Of two rows with the same value, a run finds the one with the declared spelling.
  const single = [...byKey.values()].flatMap((alike) => {
    const [first] = alike;
    return first === undefined || alike.length < 2
      ? alike
      : writtenSoFirst(alike, canonicalValue(first.value));
  });
  const rows = single.toSorted((one, other) => Number(other.list === "deny") - Number(one.list === "deny"));
  const byValue = Map.groupBy(rows, (row) => naturalKey(row.entry_type, row.value));
  const results: Declarable<AllowDenyEntryRow>[] = [];
  const done = new Set<string>();
  const denied = new Set<string>();
  for (const row of rows) {
    const key = keyOfRow(row);
    if (done.has(`${row.list} ${key}`)) continue;
    const one = declarableEntry(row, options);
    const reason = !one.ok
      ? one.reason
      : row.list === "allow" && denied.has(nameOfKey(key))
        ? CONTRADICTS
        : isFound(row, byValue)
          ? undefined
          : "can't be told from another entry of the same value";
    if (!one.ok || reason !== undefined) {
      results.push({ row, ok: false, reason: reason ?? "" });
      continue;
    }
    done.add(`${row.list} ${key}`);
    if (row.list === "deny") denied.add(nameOfKey(key));
    const twins = (byKey.get(key) ?? []).filter((other) => other !== row && other.list === row.list);
    results.push({ ...one, twins });
  }
  return results;
}

const CONTRADICTS =
  "is on the deny list too, which is declared; a value can't be declared on both, so decide which is meant";

/** Returns the declaration of one entry, regardless of other rows. */
export function declarableEntry(
  row: AllowDenyEntryRow,
  { own, acceptRisk, refusal = () => undefined }: DeclarableOptions,
): Declarable<AllowDenyEntryRow> {
  const element = entryElement(row, own, acceptRisk);
  const reason = reasonAgainst(row, element, refusal);
  if (reason !== undefined) return { row, ok: false, reason };
  return { row, ok: true, key: keyOfRow(row), text: textOfDeclared(row, element), element, twins: [] };
}

/** Returns the declaration of one VIP with a mailbox. */
export function declarableVip(
  row: VipEmployeeRow,
  refusal: ElementRefusal = () => undefined,
): Declarable<VipEmployeeRow> {
  const email = canonicalMailbox(row.email ?? "");
  const key = keyOfVip(email);
  const element = { email, ...standingOf(row) };
  const reason = refusal("vips", element) ?? listRefusal(MEMBERS, element, key, textOfVip(row));
  return reason === undefined
    ? { row, ok: true, key, text: textOfVip(row), element, twins: [] }
    : { row, ok: false, reason };
}

function entryElement(row: AllowDenyEntryRow, own: OwnDomains, acceptRisk: string): Element {
  const value = canonicalValue(row.value);
  const { list: _section, ...standing } = standingOf(row);
  const { verdict_scope: scope } = row;
  const parsed = parseEntryValue(value);
  const list = LISTS.find((one) => one === row.list);
  const isRisky =
    parsed.ok &&
    list !== undefined &&
    refusalOf({ list, value, entryType: parsed.value.entryType }, own) !== undefined;
  return withoutUndefined({
    value,
    ...standing,
    scope: scope === undefined || scope === DEFAULT_VERDICT_SCOPE ? undefined : scope,
    acceptRisk: isRisky ? acceptRisk : undefined,
  });
}

function reasonAgainst(
  row: AllowDenyEntryRow,
  element: Element,
  refusal: ElementRefusal,
): string | undefined {
  const list = LISTS.find((one) => one === row.list);
  if (list === undefined)
    return `is on a list called ${quote(row.list)}, which is none of ${LISTS.join(" and ")}`;
  const refused = refusal(list, element);
  if (refused !== undefined) return refused;
  const { failures } = checkEntryArguments(
    { list, value: element["value"], entryType: row.entry_type },
    allowDenyEntryArguments,
  );
  const [failure] = failures;
  if (failure?.property === "value") return failure.reason;
  if (failure !== undefined) return `its type ${failure.reason}`.replace(/; leave it out.*$/, "");
  const { scope: verdictScope, ...rest } = element;
  const raw = withoutUndefined({ list, verdictScope, ...rest });
  return listRefusal(ENTRIES, raw, keyOfRow(row), textOfDeclared(row, element));
}

/** Returns the declared text of a row, with the reason for its risk. */
function textOfDeclared(row: AllowDenyEntryRow, { acceptRisk }: Declared<unknown>["element"]): string {
  return textOfEntry({ ...row, acceptRisk });
}

/** Returns why the list itself refuses it, if nothing else does. */
function listRefusal(kind: ListKind, raw: RawArguments, key: string, text: string): string | undefined {
  const read = kind.readElement(raw, undefined);
  if (Array.isArray(read)) return read.map(told).join(" and ");
  const isSame = typeof read === "object" && "key" in read && read.key === key && read.text === text;
  return isSame ? undefined : "would be read as something else";
}

function told({ property, reason }: { readonly property: string; readonly reason: string }): string {
  return property === "value" || property === "email" ? reason : `its ${property} ${reason}`;
}

/** Whether a lookup by the declared properties finds this row and no other. */
function isFound(
  row: AllowDenyEntryRow,
  byValue: ReadonlyMap<string, readonly AllowDenyEntryRow[]>,
): boolean {
  const scope = row.verdict_scope ?? DEFAULT_VERDICT_SCOPE;
  const rows = byValue.get(naturalKey(row.entry_type, row.value)) ?? [];
  const found = rows.find((one) => one.list === row.list && (one.verdict_scope ?? scope) === scope);
  return found === row || canonicalComment(found?.comment) === canonicalComment(row.comment);
}
