import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import {
  decodeEntry,
  decodeVip,
  type EncodedList,
  encodeEntry,
  encodeVip,
  isUnmanaged,
  type ListedEntry,
} from "../model/encoded-list";
import { isSameEntryState, pickEntryState } from "../model/entry-fields";
import { canonicalizeValue } from "../model/entry-value";
import { canPrune } from "../model/list-mode";
import { createIgnoreFilter, findRemovals, validateListProtection } from "../model/list-protection";
import { omitUndefined } from "../model/omit-undefined";
import { sanitizeLine } from "../model/text";
import { buildKeyedRows, EntryMatch, encodeRowKey, type KeyedRows } from "../resources/lifecycle/entry-match";
import { pickMetadata } from "../settings-files/element-fields";
import type { DeclaredEntry, DeclaredVip } from "../settings-files/settings-model";
import { isStoredRow } from "../tenant";
import type { UnratedChange } from "./change-rating";
import { buildContradictionFinding, contradictsDeclaredDeny } from "./contradicting-allows";
import { type DesiredList, type DesiredState, getListKind } from "./desired-state";
import { describeExternalChange } from "./last-applied-state";
import type { ObservedState } from "./observed-state";
import type { PlanBlocker, UnmanagedItem } from "./plan";
import type { PlanBlockerCode, PlanFinding } from "./plan-codes";
import { getEntryRowState, getEntrySubject, getVipRowState, isEntryRow, isSupportedList } from "./plan-row-state";
import { buildPriorEntries, buildPriorVips, type PriorList } from "./prior-lists";

type RemovalCandidates = readonly (readonly [key: string, row: AllowDenyEntryRow | VipEmployeeRow])[];

/** The reason for the changes of an entry and of the row in its other scope. */
const SCOPE_CHANGED = "its scope was changed at the tenant since the stack's last run";

interface EntryContext {
  readonly match: EntryMatch;
  readonly prior: PriorList<AllowDenyEntryRow>;
  readonly removedRows: ReadonlySet<AllowDenyEntryRow | VipEmployeeRow>;
}

export class ListComparison {
  readonly changes: UnratedChange[] = [];
  readonly blockers: PlanBlocker[] = [];
  readonly findings: PlanFinding[] = [];
  unchanged = 0;
  readonly #desired: DesiredState;
  readonly #observed: ObservedState;
  readonly #keyedRows: KeyedRows;
  #rowsByValue: ReadonlyMap<string, readonly AllowDenyEntryRow[]> | undefined;
  /** Rows that are declared or will be removed. */
  readonly #accountedRows = new Set<AllowDenyEntryRow | VipEmployeeRow>();

  constructor(desired: DesiredState, observed: ObservedState) {
    this.#desired = desired;
    this.#observed = observed;
    this.#keyedRows = buildKeyedRows(observed.rows, observed.entries);
  }

  /** Returns the rows of one value on any list, in any scope and of any type. Built lazily, for changed entries only. */
  #getRowsOfValue({ value }: ListedEntry): readonly AllowDenyEntryRow[] {
    this.#rowsByValue ??= Map.groupBy(this.#observed.rows, (row) => canonicalizeValue(row.value));
    return this.#rowsByValue.get(canonicalizeValue(value)) ?? [];
  }

  compare(list: DesiredList): void {
    if (list.kind === "entry") {
      const prior = buildPriorEntries(list, this.#keyedRows);
      const toRemove = this.#findRemovals(list, prior);
      const removedRows = new Set(toRemove.map(([, row]) => row));
      const match = new EntryMatch(list.declared, this.#keyedRows);
      const context = { match, prior, removedRows };
      for (const key of Object.keys(list.declared)) this.#compareEntry(list, key, context);
      this.#addRemovals(list, prior, toRemove);
      this.#warnLaterRemovals(list, prior.laterRemovals);
    } else {
      const prior = buildPriorVips(list, this.#observed.vips);
      for (const [key, text] of Object.entries(list.declared)) this.#compareVip(list, key, text);
      this.#addRemovals(list, prior, this.#findRemovals(list, prior));
      this.#warnLaterRemovals(list, prior.laterRemovals);
    }
  }

  #compareEntry(list: DesiredList, key: string, { match, prior, removedRows }: EntryContext): void {
    const entry = decodeEntry(key, list.declared[key] ?? "");
    if (entry === undefined) return;
    const row = match.matches.get(key);
    if (row !== undefined) for (const duplicate of match.getDuplicates(row)) this.#accountedRows.add(duplicate);
    if (row !== undefined && isSameEntryState(row, entry)) {
      this.unchanged += 1;
      return;
    }
    const subject = getEntrySubject(entry, key);
    const before = row === undefined ? undefined : getEntryRowState(row);
    const operation = row === undefined ? "add" : "change";
    const doesAdopt = list.options["adopt"] === true;
    const otherRows = row === undefined ? this.#findOtherRows(entry, key, removedRows) : [];
    const adoptableRows = doesAdopt ? otherRows.filter(({ entry_type }) => entry_type === entry.entryType) : [];
    const mayReplace =
      adoptableRows.length > 0
        ? adoptableRows.map((other) => ({ key: encodeRowKey(other), before: getEntryRowState(other) }))
        : undefined;
    this.changes.push({
      ...subject,
      operation,
      ...omitUndefined({
        before,
        mayReplace,
        reason:
          row === undefined && prior.changedScopeKeys.has(key) ? SCOPE_CHANGED : describeExternalChange(list, key, row),
      }),
      after: pickEntryState(entry),
      ...this.#getDeclarationFields(list, key),
    });
    for (const other of otherRows) if (!adoptableRows.includes(other)) this.#noteOtherRow(other, entry, key);
    // Entries that are not in the state are adopted only if the files say so.
    if (row !== undefined && !doesAdopt && list.stackContent !== undefined && !Object.hasOwn(prior.content, key)) {
      const differs = row.list === entry.list ? "with a different comment" : `on the ${row.list} list`;
      this.blockers.push({
        code: "exists" satisfies PlanBlockerCode,
        message: `${entry.list} ${entry.value} already exists at the tenant, ${differs}, and this stack has not declared it before. To adopt and change it, set \`adopt: true\` for the entries; or declare it with its existing values.`,
      });
      return;
    }
    if (row?.list === entry.list) return;
    const isUnknownToState = row !== undefined && !Object.hasOwn(prior.content, key);
    const blockingRows = this.#findBlockingRows(entry, key, {
      prior,
      removedRows,
      isTaken: isUnknownToState,
    });
    const [first] = blockingRows;
    if (first === undefined) return;
    const isSameType = first.entry_type === entry.entryType;
    if (row === undefined && doesAdopt && isSameType && blockingRows.length === 1) {
      this.#addRemoval(list, encodeRowKey(first), first, `is replaced by ${entry.list} ${key}, which adopts it`);
      return;
    }
    const adopt = row === undefined && isSameType ? "set `adopt: true` for the entries to adopt it, or " : "";
    this.blockers.push({
      code: "exists" satisfies PlanBlockerCode,
      message: `${first.list} ${sanitizeLine(encodeRowKey(first))} is at the tenant, and this stack has not declared it before; a value can't be on both lists, whatever its scopes, so ${entry.list} ${key} can't be added: ${adopt}remove it in the console.`,
    });
  }

  /** Returns undeclared rows of the list and value in another scope or of another type: a service may hold only one. */
  #findOtherRows(
    entry: ListedEntry,
    key: string,
    removedRows: EntryContext["removedRows"],
  ): readonly AllowDenyEntryRow[] {
    return this.#getRowsOfValue(entry).filter(
      (row) =>
        row.list === entry.list &&
        encodeRowKey(row) !== key &&
        !removedRows.has(row) &&
        !this.#isDeclared(encodeRowKey(row)),
    );
  }

  #isDeclared(key: string): boolean {
    return this.#desired.lists.some(({ kind, declared }) => kind === "entry" && Object.hasOwn(declared, key));
  }

  #noteOtherRow(row: AllowDenyEntryRow, { entryType }: ListedEntry, key: string): void {
    // An update can't change the type of an entry.
    const adopt = row.entry_type === entryType ? "set `adopt: true` for the entries to adopt it, or " : "";
    this.findings.push({
      code: "other-scope",
      level: "note",
      message: `${row.list} ${sanitizeLine(encodeRowKey(row))} is at the tenant, but undeclared. If the service allows only one entry per value, the run fails: ${adopt}remove it in the console.`,
      subject: { kind: "entry", key },
    });
  }

  /** Returns rows on the opposite list with the same value in another scope or of another type, which block the entry. */
  #findBlockingRows(
    entry: ListedEntry,
    key: string,
    { prior, removedRows, isTaken }: Omit<EntryContext, "match"> & { readonly isTaken: boolean },
  ): AllowDenyEntryRow[] {
    // Declared rows move away first. Two rows that are not in the state would each wait for the other.
    const willBeRemoved = (other: string): boolean =>
      this.#isDeclared(other) && (!isTaken || Object.hasOwn(prior.content, other));
    return this.#getRowsOfValue(entry).filter(
      (row) =>
        isSupportedList(row.list) &&
        row.list !== entry.list &&
        encodeRowKey(row) !== key &&
        !removedRows.has(row) &&
        !willBeRemoved(encodeRowKey(row)),
    );
  }

  #compareVip(list: DesiredList, key: string, text: string): void {
    const vip = decodeVip(key, text);
    const row = this.#observed.vips.get(key);
    if (row !== undefined) this.#accountedRows.add(row);
    if (row !== undefined && isSameEntryState(row, vip)) {
      this.unchanged += 1;
      return;
    }
    this.changes.push({
      kind: "vip",
      key,
      value: vip.email,
      operation: row === undefined ? "add" : "change",
      ...omitUndefined({
        before: row === undefined ? undefined : getVipRowState(row),
        reason: describeExternalChange(list, key, row),
      }),
      after: pickEntryState(vip),
      ...this.#getDeclarationFields(list, key),
    });
  }

  #getDeclarationFields(list: DesiredList, key: string): Partial<UnratedChange> {
    const declaration = list.declarations.get(key);
    if (declaration === undefined) return omitUndefined({ resource: list.resource, place: list.location });
    const { location, overrides } = declaration;
    return {
      ...pickMetadata(declaration),
      place: location,
      ...(overrides.length === 0 ? {} : { overrides }),
    };
  }

  #addRemovals(
    list: DesiredList,
    { content, changedScopeKeys }: PriorList<unknown>,
    toRemove: RemovalCandidates,
  ): void {
    const kind = getListKind(list);
    const inputs = { ...list.options, [kind.property]: list.declared };
    const confirmRemovals = list.lastConfirmedRemovals;
    if (list.isWholeList) {
      const before = { [kind.property]: content, ...omitUndefined({ confirmRemovals }) };
      for (const { property, reason } of validateListProtection(kind, inputs, list.declared, before)) {
        const isContent = property === kind.property;
        const listLabel = list.kind === "vip" ? "The VIP list" : "The allow/deny list";
        const text = isContent ? `${listLabel} ${reason}` : `${listLabel}: ${property} ${reason}`;
        const message =
          isContent && list.section !== undefined
            ? `${text}\nIn the settings file, this is under \`lists: { ${list.section}: { … } }\`.`
            : text;
        this.blockers.push({ code: isContent ? ("removal-guard" satisfies PlanBlockerCode) : property, message });
      }
    }
    this.#noteKeptVips(list, content);
    for (const [key, row] of toRemove) {
      const expired = this.#desired.expired.find((candidate) => candidate.kind === list.kind && candidate.key === key);
      const reason =
        expired !== undefined
          ? `expired on ${expired.expires}`
          : Object.hasOwn(list.stackContent ?? {}, key) && !isUnmanaged(list.stackContent?.[key] ?? "")
            ? "no longer declared"
            : changedScopeKeys.has(key)
              ? SCOPE_CHANGED
              : `undeclared, and the list is ${list.options["mode"]}`;
      this.#addRemoval(list, key, row, reason, expired);
    }
  }

  #findRemovals(
    list: DesiredList,
    { content, rows }: PriorList<AllowDenyEntryRow | VipEmployeeRow>,
  ): RemovalCandidates {
    return findRemovals(getListKind(list), content, list.declared, list.options).flatMap(([key]) => {
      const row = rows.get(key);
      return row === undefined || this.#isDeclaredElsewhere(list, key) ? [] : [[key, row] as const];
    });
  }

  /** Reports the rows that a pruning list leaves until the next run. */
  #warnLaterRemovals(list: DesiredList, laterRemovals: readonly (AllowDenyEntryRow | VipEmployeeRow)[]): void {
    const remaining = laterRemovals.filter((row) => !this.#accountedRows.has(row));
    if (remaining.length === 0) return;
    const mode = list.options["mode"];
    const noun = list.kind === "vip" || canPrune(mode, "deny") ? "" : ` ${remaining.length === 1 ? "allow" : "allows"}`;
    const subjectText = `${remaining.length}${noun} ${remaining.length === 1 ? "is" : "are"}`;
    this.findings.push({
      code: "pruning-deferred",
      level: "warning",
      message: `The ${list.kind === "vip" ? "VIP" : "allow/deny"} list is ${mode}, and ${subjectText} undeclared at the tenant. The first run in this mode doesn't remove them; the plan after it will show them as removed.`,
    });
  }

  #addRemoval(
    list: DesiredList,
    key: string,
    row: AllowDenyEntryRow | VipEmployeeRow,
    reason: string,
    expired?: DeclaredEntry | DeclaredVip,
  ): void {
    const acceptedRiskReason = expired?.kind === "entry" ? expired.acceptRisk : undefined;
    const changeText = describeExternalChange(list, key, row);
    const fields = {
      reason: changeText === undefined ? reason : `${reason}; ${changeText}`,
      ...omitUndefined({ place: expired?.location ?? list.location, acceptedRiskReason }),
    };
    if (!isEntryRow(row)) {
      this.#accountedRows.add(row);
      this.changes.push({
        kind: "vip",
        key,
        value: key,
        operation: "remove",
        before: getVipRowState(row),
        ...fields,
      });
      return;
    }
    for (const item of this.#observed.entries.get(encodeRowKey(row)) ?? []) {
      if (item.list === row.list) this.#accountedRows.add(item);
    }
    const entry = decodeEntry(key, encodeEntry(row));
    if (entry === undefined) return;
    this.changes.push({
      ...getEntrySubject(entry, key),
      operation: "remove",
      before: getEntryRowState(row),
      ...fields,
    });
  }

  #isDeclaredElsewhere(list: DesiredList, key: string): boolean {
    return this.#desired.lists.some(
      (other) => other !== list && other.kind === list.kind && Object.hasOwn(other.declared, key),
    );
  }

  #noteKeptVips(list: DesiredList, content: EncodedList): void {
    if (list.options["onDelete"] !== "keep") return;
    for (const [key, text] of Object.entries(content)) {
      if (Object.hasOwn(list.declared, key) || isUnmanaged(text)) continue;
      this.findings.push({
        code: "vip-kept",
        level: "note",
        message: `${sanitizeLine(key)} is no longer declared, and stays a VIP at the tenant (onDelete: keep): it is only removed from the stack's state. To remove the VIP, use the console; until then, drift reports it as added.`,
        subject: { kind: "vip", key },
      });
    }
  }

  /** Returns undeclared entries and VIPs, without ignored ones and VIPs that are only detected automatically. */
  findUnmanaged(): UnmanagedItem[] {
    const ignored = this.#desired.lists.map(
      (list) => [list.kind, createIgnoreFilter(getListKind(list), list.options)] as const,
    );
    const isIgnored = (kind: "entry" | "vip", key: string, text: string): boolean =>
      ignored.some(([item, matchesIgnore]) => item === kind && matchesIgnore(key, text));
    const unmanagedItems: UnmanagedItem[] = [];
    const remaining = this.#observed.rows.filter((row) => !this.#accountedRows.has(row));
    const keys = remaining.length === 0 ? undefined : this.#getUnmanagedKeys();
    for (const row of remaining) {
      const text = encodeEntry(row);
      const key = keys?.get(row) ?? encodeRowKey(row);
      if (isIgnored("entry", key, text)) continue;
      if (contradictsDeclaredDeny(row, this.#desired)) this.findings.push(buildContradictionFinding(row));
      const entry = decodeEntry(key, text);
      const subject = entry === undefined ? { kind: "entry" as const, key, value: key } : getEntrySubject(entry, key);
      unmanagedItems.push({ ...subject, before: getEntryRowState(row) });
    }
    for (const [key, row] of this.#observed.vips) {
      if (this.#accountedRows.has(row) || !isStoredRow(row) || isIgnored("vip", key, encodeVip(row))) continue;
      unmanagedItems.push({ kind: "vip", key, value: key, before: getVipRowState(row) });
    }
    return unmanagedItems.sort((a, b) => (`${a.kind} ${a.key}` < `${b.kind} ${b.key}` ? -1 : 1));
  }

  /** Returns the undeclared rows with unique keys. */
  #getUnmanagedKeys(): ReadonlyMap<AllowDenyEntryRow, string> {
    const declared = Object.assign({}, ...this.#desired.lists.map((list) => list.declared)) as EncodedList;
    const match = new EntryMatch(declared, this.#keyedRows);
    return new Map([...match.getUnmatched()].map(([key, row]) => [row, key]));
  }
}
