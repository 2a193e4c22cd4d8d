import { DEFAULT_VERDICT_SCOPE } from "../../../model/assumptions";
import { decodePunycode } from "../../../model/decode-punycode";
import { pickSentFields } from "../../../model/entry-fields";
import { canonicalizeMailbox, canonicalizeValue } from "../../../model/entry-value";
import { excerpt } from "../../../model/text";
import type { TenantMailHistory } from "../../../plan/evidence";
import type { ObservedState } from "../../../plan/observed-state";
import { formatMinute, toSingleLine } from "../../../render/safe-text";
import { ELEMENT_FIELDS, pickTextFields, TEXT_FIELD_NAMES } from "../../../settings-files/element-fields";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../../settings-files/settings-model";
import { isStoredRow } from "../../../tenant";
import type { FleetDifference, TenantStatus } from "../../status/status-schema";
import { describeEntryMail, type EntryMailEvidence } from "./entry-mail";

/** The fields of an {@link EntryRow}, in order. The script of the pages uses the same names. */
export const ENTRY_ROW_FIELDS = [
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
export const ENTRY_DETAIL_LABELS: readonly (readonly [field: string, label: string])[] = [
  ...TEXT_FIELD_NAMES.filter((name) => name !== "expires").map(
    (name) => [name, name === "comment" ? "" : ELEMENT_FIELDS[name].label] as const,
  ),
  ["reviewed", "reviewed"],
];

/** An entry or VIP, as printable texts in the order of {@link ENTRY_ROW_FIELDS}. Trailing empty texts are omitted. */
export type EntryRow = readonly string[];

/**
 * The difference between a tenant and its declarations. `undeclared`, `pending-removal`: the tenant holds the entry, but no
 * file declares it. `ignored`: the same, but the files leave it alone. `changed`, `missing`: somebody changed it at the
 * tenant. `to-change`, `to-add`: the files have changed, and no rollout has applied them yet.
 */
export type DeviationKind =
  | "undeclared"
  | "ignored"
  | "pending-removal"
  | "changed"
  | "missing"
  | "to-change"
  | "to-add";

/** An entry that a tenant holds differently: its number, the kind of difference, and the author and the time if they are known. */
export type EntryDeviation = readonly [entry: number, kind: DeviationKind, by: string, at: string];

/** The declared and the actual entries of one tenant, by number. */
export interface TenantEntries {
  /** The declared entries, as ranges of consecutive numbers. */
  readonly ranges: readonly (readonly [first: number, last: number])[];
  readonly deviations: readonly EntryDeviation[];
  /** The evidence from the tenant's mail; undefined if it was not searched. */
  readonly mail?: EntryMailEvidence;
}

/** All entries of a fleet, each once, and the tenants that they belong to. */
export interface FleetEntries {
  readonly rows: readonly EntryRow[];
  /** By tenant name. */
  readonly tenants: ReadonlyMap<string, TenantEntries>;
}

/** Collects the entries of a fleet. Stores the entries of an included file only once for all tenants. */
export class EntryStore {
  readonly #indexByKey = new Map<string, number>();
  readonly #stored: StoredRow[] = [];
  readonly #declaredIndexes = new Map<string, number[]>();
  /** The declared entries of tenants that have not been read yet: `deny evil.example`. */
  readonly #pendingKeys = new Map<string, ReadonlySet<string>>();
  readonly #undeclared = new Map<string, readonly EntryDeviation[]>();
  readonly #mailByTenant = new Map<string, EntryMailEvidence>();

  addDeclared(name: string, { entries, vips }: Pick<Settings, "entries" | "vips">): void {
    this.#declaredIndexes.set(
      name,
      [...entries, ...vips].map((entry) =>
        this.#store(buildDeclaredRow(entry), entry.location.file, entry.location.line),
      ),
    );
    const keys = [...entries.map(({ list, key }) => `${list} ${key}`), ...vips.map(({ key }) => `vip ${key}`)];
    this.#pendingKeys.set(name, new Set(keys));
  }

  /** Adds the actual entries of the same tenant. Keeps only those that its files don't declare, and that they may leave alone. */
  addObserved(name: string, { entries, vips }: Pick<ObservedState, "entries" | "vips">): void {
    const declared = this.#pendingKeys.get(name) ?? new Set();
    this.#pendingKeys.delete(name);
    const undeclared: EntryDeviation[] = [];
    for (const [key, rows] of entries) {
      for (const item of rows) {
        const { list, value, verdict_scope: scope, created_by: by, created_at: at } = item;
        if (declared.has(`${list} ${key}`)) continue;
        const row = buildUndeclaredRow(
          list,
          canonicalizeValue(value),
          scope === DEFAULT_VERDICT_SCOPE ? "" : scope,
          item,
        );
        undeclared.push([this.#store(row, "", 0), "ignored", formatCellText(by), formatTime(at ?? "")]);
      }
    }
    for (const [key, row] of vips) {
      if (declared.has(`vip ${key}`) || !isStoredRow(row)) continue;
      const undeclaredRow = buildUndeclaredRow("vip", canonicalizeMailbox(row.email ?? key), "", row);
      undeclared.push([
        this.#store(undeclaredRow, "", 0),
        "ignored",
        formatCellText(row.added_by),
        formatTime(row.date_added ?? ""),
      ]);
    }
    if (undeclared.length > 0) this.#undeclared.set(name, undeclared);
  }

  /** Deletes the actual entries and the mail evidence of a tenant. Keeps the declarations of its files. */
  removeObserved(name: string): void {
    this.#undeclared.delete(name);
    this.#mailByTenant.delete(name);
  }

  addMail(name: string, base: TenantMailHistory): void {
    const { days, threats, reports, missing } = base.summary;
    const indexes = [
      ...(this.#declaredIndexes.get(name) ?? []),
      ...(this.#undeclared.get(name) ?? []).map(([index]) => index),
    ];
    const matches = [...new Set(indexes)].flatMap((index): EntryMailEvidence["entries"] => {
      const [list = "", value = ""] = this.#stored[index]?.row ?? [];
      const matchText = describeEntryMail(base, list, value);
      return matchText === undefined ? [] : [[index, matchText]];
    });
    this.#mailByTenant.set(name, {
      days,
      threats,
      reports,
      missing: missing.map((text) => formatCellText(text)),
      entries: matches,
    });
  }

  /** Returns all entries in the order of files and lines, with the differences of each tenant. */
  buildFleetEntries(tenants: readonly TenantStatus[]): FleetEntries {
    const deviationsByTenant = new Map(tenants.map((tenant) => [tenant.name, this.#getDeviations(tenant)]));
    const used = new Set([...this.#declaredIndexes.values()].flat());
    for (const [index] of [...deviationsByTenant.values()].flat()) used.add(index);
    // Drops entries that only occur in discarded data of a tenant, so that they never reach a file.
    const order = [...used].sort((a, b) => this.#compare(a, b));
    const numbers: number[] = [];
    for (const [number, index] of order.entries()) numbers[index] = number;
    const getNumber = (index: number): number => numbers[index] ?? 0;
    return {
      rows: order.flatMap((index) => {
        const stored = this.#stored[index];
        return stored === undefined ? [] : [stored.row];
      }),
      tenants: new Map(
        tenants.map(({ name }) => [
          name,
          {
            ...this.#getMail(name, getNumber),
            ranges: buildRanges((this.#declaredIndexes.get(name) ?? []).map(getNumber)),
            deviations: (deviationsByTenant.get(name) ?? []).map(
              ([index, kind, by, at]): EntryDeviation => [getNumber(index), kind, by, at],
            ),
          },
        ]),
      ),
    };
  }

  #getMail(name: string, getNumber: (index: number) => number): Pick<TenantEntries, "mail"> {
    const mail = this.#mailByTenant.get(name);
    if (mail === undefined) return {};
    const entries = mail.entries.map(([index, evidenceText]) => [getNumber(index), evidenceText] as const);
    return { mail: { ...mail, entries } };
  }

  #compare(left: number, right: number): number {
    const [a, b] = [this.#stored[left], this.#stored[right]];
    if (a === undefined || b === undefined || a.file === b.file) {
      return (a?.line ?? 0) - (b?.line ?? 0) || left - right;
    }
    return a.file < b.file ? -1 : 1;
  }

  #store(row: EntryRow, file: string, line: number): number {
    const key = `${file}\n${row.join("\n")}`;
    const existing = this.#indexByKey.get(key);
    if (existing !== undefined) return existing;
    const number = this.#stored.push({ row, file, line }) - 1;
    this.#indexByKey.set(key, number);
    return number;
  }

  #getDeviations(tenant: TenantStatus): readonly EntryDeviation[] {
    const reported = this.#getReportedDeviations(tenant);
    const undeclared = this.#undeclared.get(tenant.name) ?? [];
    if (undeclared.length === 0) return reported;
    const getDeviationIdentity = ([entry]: EntryDeviation): string => this.#getIdentity(entry);
    const existing = new Set(reported.map(getDeviationIdentity));
    return [...reported, ...undeclared.filter((deviation) => !existing.has(getDeviationIdentity(deviation)))];
  }

  #getIdentity(index: number): string {
    const { row: [list = "", value = "", , scope = ""] = [] } = this.#stored[index] ?? {};
    return getEntryIdentity(list, value, scope);
  }

  /** Returns the differences that the status reports as drift, as pending changes or as unclassified. */
  #getReportedDeviations({
    name,
    syncStatus,
    drift,
    pendingChanges,
    unclassified = [],
  }: TenantStatus): readonly EntryDeviation[] {
    if (drift.length + pendingChanges.length + unclassified.length === 0) return [];
    const isUndeployed = syncStatus !== "unknown";
    const declared = new Map(
      (this.#declaredIndexes.get(name) ?? []).map((index) => [this.#getIdentity(index), index] as const),
    );
    const toDeviations = (difference: FleetDifference, isPendingChange: boolean): EntryDeviation[] => {
      const { driftKind, list, value, scope = "", actual } = difference;
      const [author, at] = [excerpt(toSingleLine(actual?.createdBy ?? "")), formatTime(actual?.createdAt ?? "")];
      const row = buildUndeclaredRow(list === "vip" ? list : (actual?.list ?? list), value, scope, actual);
      const toUndeclared = (kind: DeviationKind): EntryDeviation => [this.#store(row, "", 0), kind, author, at];
      if (driftKind === "added") return [toUndeclared("undeclared")];
      if (driftKind === "pending-removal") return [toUndeclared("pending-removal")];
      const index = declared.get(
        getEntryIdentity(difference.declared?.list ?? list, formatCellText(value), formatCellText(scope)),
      );
      const isOnOtherList = actual?.list !== undefined && actual.list !== difference.declared?.list;
      if (index === undefined) return driftKind === "missing" ? [] : [toUndeclared("undeclared")];
      if (driftKind === "missing") return [[index, isPendingChange ? "to-add" : "missing", "", ""]];
      // On the other list the entry has another effect, so it appears there as well.
      return [
        [index, isPendingChange ? "to-change" : "changed", author, at],
        ...(isOnOtherList ? [toUndeclared("undeclared")] : []),
      ];
    };
    return [
      ...drift.flatMap((item) => toDeviations(item, false)),
      ...pendingChanges.flatMap((change) => toDeviations(change, true)),
      ...unclassified.flatMap((item) => toDeviations(item, isUndeployed)),
    ];
  }
}

interface StoredRow {
  readonly row: EntryRow;
  readonly file: string;
  readonly line: number;
}

function buildRanges(numbers: readonly number[]): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && number <= last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}

function getEntryIdentity(list: string, value: string, scope: string): string {
  return [list, value, scope].join("\n");
}

/** Longer comments are cut off. The files have the full text. */
const MAX_TEXT_LENGTH = 500;

function formatCellText(value: unknown): string {
  return value == null ? "" : excerpt(toSingleLine(String(value)), MAX_TEXT_LENGTH);
}

function buildDeclaredRow(entry: DeclaredEntry | DeclaredVip): EntryRow {
  const { reviewed, location } = entry;
  const isVip = entry.kind === "vip";
  const value = isVip ? entry.email : entry.value;
  return buildRow({
    list: isVip ? "vip" : entry.list,
    value,
    type: isVip ? undefined : entry.entryType,
    scope: isVip || entry.verdictScope === DEFAULT_VERDICT_SCOPE ? undefined : entry.verdictScope,
    ...pickTextFields(entry),
    reviewed: formatReview(reviewed),
    place: `${location.file}:${location.line}`,
  });
}

function formatReview(reviewed: DeclaredEntry["reviewed"]): string | undefined {
  if (reviewed === undefined) return undefined;
  const { on, by, reason } = reviewed;
  return [on, by && `by ${by}`, reason].filter((part) => part !== undefined && part !== "").join(", ");
}

/** Formats a time to the minute. An invalid time is shown unchanged. */
function formatTime(time: string): string {
  return formatMinute(time)
    .map((word) => (typeof word === "string" ? word : excerpt(word.untrusted, 40)))
    .join("");
}

/** Builds a row for an actual entry that no file declares in this form. */
function buildUndeclaredRow(list: string, value: string, scope: string | undefined, fields: object = {}): EntryRow {
  return buildRow({ ...pickSentFields(fields), list, value, scope });
}

/** Orders values by their fields, and omits trailing empty ones. */
function buildRow(values: Readonly<Record<string, unknown>> & { readonly value: string }): EntryRow {
  const fieldValues: typeof values = { ...values, unicode: decodePunycode(values.value) };
  const row = ENTRY_ROW_FIELDS.map((field) => formatCellText(fieldValues[field]));
  return row.slice(0, row.findLastIndex((text) => text !== "") + 1);
}
