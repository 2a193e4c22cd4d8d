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

/** What stands in an {@link EntryRow}, in its order. The pages' script knows them by the same names. */
export const ENTRY_FIELDS = [
  "list",
  "value",
  "type",
  "scope",
  "unicode",
  ...TEXT_FIELD_NAMES,
  "reviewed",
  /** `settings/acme.yaml:12`; empty of what no file declares. */
  "place",
] as const;

/** What stands beside an entry, each with its label, in the order in which it is told; a comment needs none, and its end has a column. */
export const ENTRY_FACTS: readonly (readonly [field: string, label: string])[] = [
  ...TEXT_FIELD_NAMES.filter((name) => name !== "expires").map(
    (name) => [name, name === "comment" ? "" : ELEMENT_FIELDS[name].label] as const,
  ),
  ["reviewed", "reviewed"],
];

/** An entry or a VIP by {@link ENTRY_FIELDS}: printable texts, without the empty ones at the end. */
export type EntryRow = readonly string[];

/**
 * How a tenant holds something otherwise than declared. `undeclared`, `leaving`: there, and in no file. `ignored`: the same, and its files
 * leave it alone. `changed`, `missing`: by somebody's hand. `to-change`, `to-add`: the files have moved on, and no rollout has come.
 */
export type UnlikeWhat =
  | "undeclared"
  | "ignored"
  | "leaving"
  | "changed"
  | "missing"
  | "to-change"
  | "to-add";

/** An entry that a tenant holds otherwise than declared: its number, how, and who made it and when, as far as is known. */
export type Unlike = readonly [entry: number, what: UnlikeWhat, by: string, at: string];

/** What one tenant's files declare and it holds, by the numbers of entries. */
export interface TenantEntries {
  /** What is declared: first and last of numbers that follow each other. */
  readonly ranges: readonly (readonly [first: number, last: number])[];
  readonly unlike: readonly Unlike[];
  /** What its mail says of them; undefined where it was not asked. */
  readonly mail?: MailSeen;
}

/** All entries of a fleet, each once however many tenants have it, and which of them are whose. */
export interface FleetEntries {
  readonly rows: readonly EntryRow[];
  /** By the tenant's name. */
  readonly tenants: ReadonlyMap<string, TenantEntries>;
}

/** Gathers the entries of a fleet; what an included file declares is stored once, and not once a tenant. */
export class EntryStore {
  readonly #numbers = new Map<string, number>();
  readonly #stored: Stored[] = [];
  readonly #declared = new Map<string, number[]>();
  /** What a tenant's files declare, until it was read: `deny evil.example`. */
  readonly #awaited = new Map<string, ReadonlySet<string>>();
  readonly #others = new Map<string, readonly Unlike[]>();
  readonly #mail = new Map<string, MailSeen>();

  /** Takes in what one tenant's files declare. */
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

  /** Takes in what the same tenant holds. Of it what its files do not declare is kept, which they may leave alone. */
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

  /** Forgets what a tenant holds, and what its mail says. What its files declare stays. */
  forget(name: string): void {
    this.#others.delete(name);
    this.#mail.delete(name);
  }

  /** Takes in what the mail of the same tenant says of what it declares and holds. */
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

  /** All entries in the order of files and lines, with what the tenants hold otherwise. */
  finish(tenants: readonly TenantStatus[]): FleetEntries {
    const unlike = new Map(tenants.map((tenant) => [tenant.name, this.#unlikeOf(tenant)]));
    const used = new Set([...this.#declared.values()].flat());
    for (const [index] of [...unlike.values()].flat()) used.add(index);
    // What only a tenant held that was forgotten is in nothing that is written.
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

  /** What is told as drift, or as behind. */
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
      // On the other list it does something else: it is told there too.
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

/** Numbers in order, as the first and last of those that follow each other. */
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

/** More of a comment is in the files. */
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

/** To the minute; what is no time is shown as it came. */
function timeText(time: string): string {
  return minute(time)
    .map((word) => (typeof word === "string" ? word : excerpt(word.given, 40)))
    .join("");
}

/** What a tenant holds and no file declares so. */
function heldRow(list: string, value: string, scope: string | undefined, held: object = {}): EntryRow {
  return rowWith({ ...sentOf(held), list, value, scope });
}

/** A row of values by their fields, without the empty ones at the end. */
function rowWith(values: Readonly<Record<string, unknown>> & { readonly value: string }): EntryRow {
  const told: typeof values = { ...values, unicode: unicodeOf(values.value) };
  const row = ENTRY_FIELDS.map((field) => printed(told[field]));
  return row.slice(0, row.findLastIndex((text) => text !== "") + 1);
}
