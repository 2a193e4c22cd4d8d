import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import { keyOfRow } from "../resources/lifecycle/entry-match";
import { allowDenyEntryArguments, checkEntryArguments, type RawArguments } from "../settings/arguments";
import { DEFAULT_VERDICT_SCOPE, LISTS, type List } from "../settings/assumptions";
import { canonicalMailbox, canonicalValue, naturalKey, parseEntryValue } from "../settings/entry-value";
import { keyOfVip, nameOfKey, textOfEntry, textOfVip } from "../settings/keyed-list";
import { ENTRIES, type ListKind, MEMBERS } from "../settings/list-arguments";
import type { OwnDomains } from "../settings/own-domains";
import { parsePattern } from "../settings/pattern";
import { refusalOf } from "../settings/risk";
import { canonicalComment, isPrintable, quote } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { settingsFile } from "./files/settings-schema";
import type { Observed } from "./plan/observed";

/** What a settings file would say of a row so that nothing changes at the service; or why no file can. */
export type Declarable<Row> =
  | {
      readonly row: Row;
      readonly ok: true;
      /** In a keyed list, as it would be read back. */
      readonly key: string;
      readonly text: string;
      readonly element: Readonly<Record<string, string>>;
      /** Other rows that this one stands for: the same value a second time. */
      readonly twins: readonly Row[];
    }
  | { readonly row: Row; readonly ok: false; readonly reason: string };

/**
 * The entries of a tenant as a settings file can declare them.
 *
 * @param acceptRisk the reason that a risky entry is declared with.
 */
export function declarableEntries(
  { entries }: Observed,
  own: OwnDomains,
  acceptRisk: string,
): Declarable<AllowDenyEntryRow>[] {
  // Of two that contradict each other a file can hold one: the one that lets nothing in.
  const rows = [...entries.values()]
    .flat()
    .sort((one, other) => Number(other.list === "deny") - Number(one.list === "deny"));
  const byValue = Map.groupBy(rows, (row) => naturalKey(row.entry_type, row.value));
  const results: Declarable<AllowDenyEntryRow>[] = [];
  const done = new Set<string>();
  const denied = new Set<string>();
  for (const row of rows) {
    const key = keyOfRow(row);
    if (done.has(`${row.list} ${key}`)) continue;
    const element = entryElement(row, own, acceptRisk);
    const reason =
      reasonAgainst(row, element) ??
      (row.list === "allow" && denied.has(nameOfKey(key)) ? CONTRADICTS : undefined) ??
      (isFound(row, byValue) ? undefined : "can't be told from another entry of the same value");
    if (reason !== undefined) {
      results.push({ row, ok: false, reason });
      continue;
    }
    done.add(`${row.list} ${key}`);
    if (row.list === "deny") denied.add(nameOfKey(key));
    const twins = (entries.get(key) ?? []).filter((one) => one !== row && one.list === row.list);
    const text = textOfEntry({ list: row.list, comment: row.comment, acceptRisk: element["acceptRisk"] });
    results.push({ row, ok: true, key, text, element, twins });
  }
  return results;
}

const CONTRADICTS =
  "is on the deny list too, which is declared; a value can't be declared on both, so decide which is meant";

/** The VIPs with a mailbox as a settings file can declare them. */
export function declarableVips({ vips }: Observed): Declarable<VipEmployeeRow>[] {
  return [...vips].map(([key, row]): Declarable<VipEmployeeRow> => {
    const email = canonicalMailbox(row.email ?? "");
    const comment = canonicalComment(row.comment);
    const element = withoutUndefined({ email, comment: comment === "" ? undefined : comment });
    const reason = schemaRefusal("vips", element) ?? listRefusal(MEMBERS, element, key, textOfVip(row));
    return reason === undefined
      ? { row, ok: true, key, text: textOfVip(row), element, twins: [] }
      : { row, ok: false, reason };
  });
}

function entryElement(row: AllowDenyEntryRow, own: OwnDomains, acceptRisk: string): Record<string, string> {
  const value = canonicalValue(row.value);
  const comment = canonicalComment(row.comment);
  const { verdict_scope: scope } = row;
  const parsed = parseEntryValue(value);
  const list = LISTS.find((one) => one === row.list);
  const isRisky =
    parsed.ok &&
    list !== undefined &&
    refusalOf({ list, value, entryType: parsed.value.entryType }, own) !== undefined;
  return withoutUndefined({
    value,
    comment: comment === "" ? undefined : comment,
    scope: scope === undefined || scope === DEFAULT_VERDICT_SCOPE ? undefined : scope,
    acceptRisk: isRisky ? acceptRisk : undefined,
  });
}

function reasonAgainst(row: AllowDenyEntryRow, element: Record<string, string>): string | undefined {
  const list = LISTS.find((one) => one === row.list);
  if (list === undefined)
    return `is on a list called ${quote(row.list)}, which is none of ${LISTS.join(" and ")}`;
  const refusal = schemaRefusal(list, element);
  if (refusal !== undefined) return refusal;
  const { failures } = checkEntryArguments(
    { list, value: element["value"], entryType: row.entry_type },
    allowDenyEntryArguments,
  );
  if (failures[0] !== undefined) return `its type ${failures[0].reason}`.replace(/; leave it out.*$/, "");
  const { value, comment, scope, acceptRisk } = element;
  const raw = withoutUndefined({ list, value, verdictScope: scope, comment, acceptRisk });
  return listRefusal(ENTRIES, raw, keyOfRow(row), textOfEntry({ list, comment: row.comment, acceptRisk }));
}

/** What the list itself says of it, where a file would let it pass. */
function listRefusal(kind: ListKind, raw: RawArguments, key: string, text: string): string | undefined {
  const read = kind.readElement(raw, undefined);
  if (Array.isArray(read))
    return read.map(({ property, reason }) => `its ${property} ${reason}`).join(" and ");
  const isSame = typeof read === "object" && "key" in read && read.key === key && read.text === text;
  return isSame ? undefined : "would be read as something else";
}

function schemaRefusal(
  section: List | "vips",
  element: Readonly<Record<string, string>>,
): string | undefined {
  const result = settingsFile.safeParse({ version: 1, [section]: [element] });
  const issue = result.error?.issues[0];
  if (issue === undefined) return undefined;
  const key = String(issue.path.at(-1) ?? "");
  return key === "value" || key === "email" ? issue.message : `its ${key} ${issue.message}`;
}

/** Whether who looks for the entry by what is declared finds this row, and not another one in its place. */
function isFound(
  row: AllowDenyEntryRow,
  byValue: ReadonlyMap<string, readonly AllowDenyEntryRow[]>,
): boolean {
  const scope = row.verdict_scope ?? DEFAULT_VERDICT_SCOPE;
  const rows = byValue.get(naturalKey(row.entry_type, row.value)) ?? [];
  const found = rows.find((one) => one.list === row.list && (one.verdict_scope ?? scope) === scope);
  return found === row || canonicalComment(found?.comment) === canonicalComment(row.comment);
}

/**
 * For each entry that can't be declared the pattern for `ignore` that names it, and nothing that is declared; undefined
 * where none can, and for those that are declared.
 */
export function patternsForEntries(all: readonly Declarable<AllowDenyEntryRow>[]): (string | undefined)[] {
  return patternsFor(ENTRIES, all, (row) =>
    LISTS.some((list) => list === row.list) ? [keyOfRow(row), textOfEntry(row)] : undefined,
  );
}

/** The same for VIPs. */
export function patternsForVips(all: readonly Declarable<VipEmployeeRow>[]): (string | undefined)[] {
  return patternsFor(MEMBERS, all, (row) => [keyOfVip(row.email ?? ""), textOfVip(row)]);
}

function patternsFor<Row>(
  kind: ListKind,
  all: readonly Declarable<Row>[],
  keyed: (row: Row) => readonly [key: string, text: string] | undefined,
): (string | undefined)[] {
  const declared = all.flatMap((one) => (one.ok ? [kind.target(one.key, one.text)] : []));
  return all.map((one) => {
    const [key, text] = (one.ok ? undefined : keyed(one.row)) ?? [];
    if (key === undefined || text === undefined) return undefined;
    const target = kind.target(key, text);
    const prefix = target.list === undefined ? "" : `${target.list}:`;
    // What has a meaning in a pattern, as the / of a range, and what is no text, is any character there.
    const plain = target.value.replace(/[^\p{L}\p{N}.@_-]+/gu, "*");
    return [target.value, plain, `${plain.slice(0, LONGEST_PATTERN)}*`]
      .map((candidate) => prefix + candidate)
      .find((candidate) => {
        if (!isPrintable(candidate) || !/[\p{L}\p{N}]{2}/u.test(candidate.slice(prefix.length))) return false;
        const pattern = parsePattern(candidate);
        return pattern.ok && pattern.value.matches(target) && !declared.some(pattern.value.matches);
      });
  });
}

/** Beyond this, the beginning of a value tells enough. */
const LONGEST_PATTERN = 100;
