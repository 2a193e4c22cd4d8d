import { ELEMENT_FIELDS, TEXT_FIELD_NAMES, textsOf } from "../../../files/element-fields";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../../files/settings";
import type { EvidenceBase } from "../../../plan/evidence";
import type { Observed } from "../../../plan/observed";
import { minute, onOneLine } from "../../../render/words";
import { DEFAULT_VERDICT_SCOPE } from "../../../settings/assumptions";
import { sentOf } from "../../../settings/entry-fields";
import { canonicalMailbox, canonicalValue } from "../../../settings/entry-value";
import { excerpt } from "../../../settings/text";
import { unicodeOf } from "../../../settings/unicode-value";
import { isStored } from "../../../tenant";
import type { FleetDifference, TenantStatus } from "../../status/status-schema";
import { type MailSeen, mailSeenOf } from "./mail-seen";

/** The fields of an {@link EntryRow}, in order. The script of the pages uses the same names. */
export const ENTRY_FIELDS = [
  "list",
  "value",
  "type",
  "scope",
  "unicode",
  ...TEXT_FIELD_NAMES,
  "reviewed",
  /** For example: `settings/acme.yaml:12`. Empty if no file declares the entry. */
  "place",
] as const;

/** The details of an entry and their labels, in display order. A comment needs no label, and the expiry date has its own column. */
export const ENTRY_FACTS: readonly (readonly [field: string, label: string])[] = [
  ...TEXT_FIELD_NAMES.filter((name) => name !== "expires").map(
    (name) => [name, name === "comment" ? "" : ELEMENT_FIELDS[name].label] as const,
  ),
  ["reviewed", "reviewed"],
];

/** An entry or VIP, as printable texts in the order of {@link ENTRY_FIELDS}. Trailing empty texts are omitted. */
export type EntryRow = readonly string[];

/**
 * How a tenant differs from its declarations. `undeclared`, `leaving`: the tenant holds the entry, but no file declares it. `ignored`: the
 * same, but the files leave it alone. `changed`, `missing`: somebody changed it at the tenant. `to-change`, `to-add`: the files have
 * changed, and no rollout has applied them yet.
 */
export type UnlikeWhat =
  | "undeclared"
  | "ignored"
  | "leaving"
  | "changed"
  | "missing"
  | "to-change"
  | "to-add";

/** An entry that a tenant holds differently: its number, the kind of difference, and the author and the time if they are known. */
export type Unlike = readonly [entry: number, what: UnlikeWhat, by: string, at: string];

/** The declared and the actual entries of one tenant, by number. */
export interface TenantEntries {
  /** The declared entries, as ranges of consecutive numbers. */
  readonly ranges: readonly (readonly [first: number, last: number])[];
  readonly unlike: readonly Unlike[];
  /** The evidence from the tenant's mail; undefined if it was not searched. */
  readonly mail?: MailSeen;
}

/** All entries of a fleet, each once, and the tenants that they belong to. */
export interface FleetEntries {
  readonly rows: readonly EntryRow[];
  /** By tenant name. */
  readonly tenants: ReadonlyMap<string, TenantEntries>;
}

/** Collects the entries of a fleet. Stores the entries of an included file only once for all tenants. */
export class EntryStore {
  readonly #numbers = new Map<string, number>();
  readonly #stored: Stored[] = [];
  readonly #declared = new Map<string, number[]>();
  /** The declared entries of tenants that have not been read yet: `deny evil.example`. */
  readonly #awaited = new Map<string, ReadonlySet<string>>();
  readonly #others = new Map<string, readonly Unlike[]>();
  readonly #mail = new Map<string, MailSeen>();

  /** Adds the declarations of a tenant's files. */
  add(name: string, { entries, vips }: Pick<Settings, "entries" | "vips">): void {
    this.#declared.set(
      name,
      [...entries, ...vips].map((one) => this.#store(rowOf(one), one.place.file, one.place.line)),
    );
    const keys = [
      ...entries.map(({ list, key }) => `${list} ${key}`),
      ...vips.map(({ key }) => `vip ${key}`),
    ];
    this.#awaited.set(name, new Set(keys));
  }

  /** Adds the actual entries of the same tenant. Keeps only those that its files don't declare, and that they may leave alone. */
  observed(name: string, { entries, vips }: Pick<Observed, "entries" | "vips">): void {
    const declared = this.#awaited.get(name) ?? new Set();
    this.#awaited.delete(name);
    const others: Unlike[] = [];
    for (const [key, rows] of entries) {
      for (const one of rows) {
        const { list, value, verdict_scope: scope, created_by: by, created_at: at } = one;
        if (declared.has(`${list} ${key}`)) continue;
        const row = heldRow(list, canonicalValue(value), scope === DEFAULT_VERDICT_SCOPE ? "" : scope, one);
        others.push([this.#store(row, "", 0), "ignored", printed(by), timeText(at ?? "")]);
      }
    }
    for (const [key, row] of vips) {
      if (declared.has(`vip ${key}`) || !isStored(row)) continue;
      const held = heldRow("vip", canonicalMailbox(row.email ?? key), "", row);
      others.push([
        this.#store(held, "", 0),
        "ignored",
        printed(row.added_by),
        timeText(row.date_added ?? ""),
      ]);
    }
    if (others.length > 0) this.#others.set(name, others);
  }

  /** Deletes the actual entries and the mail evidence of a tenant. Keeps the declarations of its files. */
  forget(name: string): void {
    this.#others.delete(name);
    this.#mail.delete(name);
  }

  /** Adds the evidence from the same tenant's mail about its declared and actual entries. */
  mail(name: string, base: EvidenceBase): void {
    const { days, threats, reports, missing } = base.summary;
    const indexes = [
      ...(this.#declared.get(name) ?? []),
      ...(this.#others.get(name) ?? []).map(([index]) => index),
    ];
    const seen = [...new Set(indexes)].flatMap((index): MailSeen["seen"] => {
      const [list = "", value = ""] = this.#stored[index]?.row ?? [];
      const told = mailSeenOf(base, list, value);
      return told === undefined ? [] : [[index, told]];
    });
    this.#mail.set(name, { days, threats, reports, missing: missing.map((text) => printed(text)), seen });
  }

  /** Returns all entries in the order of files and lines, with the differences of each tenant. */
  finish(tenants: readonly TenantStatus[]): FleetEntries {
    const unlike = new Map(tenants.map((tenant) => [tenant.name, this.#unlikeOf(tenant)]));
    const used = new Set([...this.#declared.values()].flat());
    for (const [index] of [...unlike.values()].flat()) used.add(index);
    // Drops entries that only occur in discarded data of a tenant, so that they never reach a file.
    const order = [...used].sort((one, other) => this.#compare(one, other));
    const numbers: number[] = [];
    for (const [number, index] of order.entries()) numbers[index] = number;
    const numberOf = (index: number): number => numbers[index] ?? 0;
    return {
      rows: order.flatMap((index) => {
        const stored = this.#stored[index];
        return stored === undefined ? [] : [stored.row];
      }),
      tenants: new Map(
        tenants.map(({ name }) => [
          name,
          {
            ...this.#mailOf(name, numberOf),
            ranges: rangesOf((this.#declared.get(name) ?? []).map(numberOf)),
            unlike: (unlike.get(name) ?? []).map(
              ([index, what, by, at]): Unlike => [numberOf(index), what, by, at],
            ),
          },
        ]),
      ),
    };
  }

  #mailOf(name: string, numberOf: (index: number) => number): Pick<TenantEntries, "mail"> {
    const mail = this.#mail.get(name);
    if (mail === undefined) return {};
    const seen = mail.seen.map(([index, told]) => [numberOf(index), told] as const);
    return { mail: { ...mail, seen } };
  }

  #compare(one: number, other: number): number {
    const [a, b] = [this.#stored[one], this.#stored[other]];
    if (a === undefined || b === undefined || a.file === b.file) {
      return (a?.line ?? 0) - (b?.line ?? 0) || one - other;
    }
    return a.file < b.file ? -1 : 1;
  }

  #store(row: EntryRow, file: string, line: number): number {
    const key = `${file}\n${row.join("\n")}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#stored.push({ row, file, line }) - 1;
    this.#numbers.set(key, number);
    return number;
  }

  #unlikeOf(tenant: TenantStatus): readonly Unlike[] {
    const told = this.#toldOf(tenant);
    const others = this.#others.get(tenant.name) ?? [];
    if (others.length === 0) return told;
    const identity = ([entry]: Unlike): string => this.#identityOf(entry);
    const known = new Set(told.map(identity));
    return [...told, ...others.filter((one) => !known.has(identity(one)))];
  }

  #identityOf(index: number): string {
    const { row: [list = "", value = "", , scope = ""] = [] } = this.#stored[index] ?? {};
    return identityOf(list, value, scope);
  }

  /** The differences that the status reports as drift, behind or unattributed. */
  #toldOf({ name, standing, drift, behind, unattributed = [] }: TenantStatus): readonly Unlike[] {
    if (drift.length + behind.length + unattributed.length === 0) return [];
    const isFirst = standing !== "not-known";
    const declared = new Map(
      (this.#declared.get(name) ?? []).map((index) => [this.#identityOf(index), index] as const),
    );
    const told = (difference: FleetDifference, isBehind: boolean): Unlike[] => {
      const { what, list, value, scope = "", there } = difference;
      const [by, at] = [excerpt(onOneLine(there?.by ?? "")), timeText(there?.at ?? "")];
      const row = heldRow(list === "vip" ? list : (there?.list ?? list), value, scope, there);
      const held = (how: UnlikeWhat): Unlike => [this.#store(row, "", 0), how, by, at];
      if (what === "added") return [held("undeclared")];
      if (what === "leaving") return [held("leaving")];
      const index = declared.get(
        identityOf(difference.declared?.list ?? list, printed(value), printed(scope)),
      );
      const isMoved = there?.list !== undefined && there.list !== difference.declared?.list;
      if (index === undefined) return what === "missing" ? [] : [held("undeclared")];
      if (what === "missing") return [[index, isBehind ? "to-add" : "missing", "", ""]];
      // On the other list the entry has another effect, so it appears there as well.
      return [[index, isBehind ? "to-change" : "changed", by, at], ...(isMoved ? [held("undeclared")] : [])];
    };
    return [
      ...drift.flatMap((one) => told(one, false)),
      ...behind.flatMap((one) => told(one, true)),
      ...unattributed.flatMap((one) => told(one, isFirst)),
    ];
  }
}

interface Stored {
  readonly row: EntryRow;
  readonly file: string;
  readonly line: number;
}

/** Converts numbers to ranges of consecutive ones. */
function rangesOf(numbers: readonly number[]): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (const number of [...numbers].sort((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last !== undefined && number <= last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}

function identityOf(list: string, value: string, scope: string): string {
  return [list, value, scope].join("\n");
}

/** Longer comments are cut off. The files have the full text. */
const LONGEST = 500;

function printed(value: unknown): string {
  return value == null ? "" : excerpt(onOneLine(String(value)), LONGEST);
}

function rowOf(one: DeclaredEntry | DeclaredVip): EntryRow {
  const { reviewed, place } = one;
  const isVip = one.kind === "vip";
  const value = isVip ? one.email : one.value;
  return rowWith({
    list: isVip ? "vip" : one.list,
    value,
    type: isVip ? undefined : one.entryType,
    scope: isVip || one.verdictScope === DEFAULT_VERDICT_SCOPE ? undefined : one.verdictScope,
    ...textsOf(one),
    reviewed: reviewedText(reviewed),
    place: `${place.file}:${place.line}`,
  });
}

function reviewedText(reviewed: DeclaredEntry["reviewed"]): string | undefined {
  if (reviewed === undefined) return undefined;
  const { on, by, reason } = reviewed;
  return [on, by && `by ${by}`, reason].filter((part) => part !== undefined && part !== "").join(", ");
}

/** Formats a time to the minute. An invalid time is shown unchanged. */
function timeText(time: string): string {
  return minute(time)
    .map((word) => (typeof word === "string" ? word : excerpt(word.given, 40)))
    .join("");
}

/** A row for an actual entry that no file declares in this form. */
function heldRow(list: string, value: string, scope: string | undefined, held: object = {}): EntryRow {
  return rowWith({ ...sentOf(held), list, value, scope });
}

/** Orders values by their fields, and omits trailing empty ones. */
function rowWith(values: Readonly<Record<string, unknown>> & { readonly value: string }): EntryRow {
  const told: typeof values = { ...values, unicode: unicodeOf(values.value) };
  const row = ENTRY_FIELDS.map((field) => printed(told[field]));
  return row.slice(0, row.findLastIndex((text) => text !== "") + 1);
}
