import { type AllowDenyEntryRow, ConflictError, NotFoundError } from "../../client";
import type { List } from "../../model/assumptions";
import { buildEntryDeclarationKey, encodeEntryKey, type ListedEntry } from "../../model/encoded-list";
import { canonicalizeValue, getMailDomain } from "../../model/entry-value";
import type { AllowDenyListInputs } from "../../model/list-arguments";
import { canPrune } from "../../model/list-mode";
import { parseValidPatterns } from "../../model/list-protection";
import { getRowNaturalKey, hasNaturalKey, readConfirmed } from "../../tenant";
import { decodeEntries, getNaturalKey, type KeyedEntry } from "./decode-entries";
import { isRemovalReviewed } from "./enforce-plan";
import { adoptRow, logAdoption } from "./entry-changes";
import { assertNoConflict } from "./entry-conflicts";
import { encodeRowKey } from "./entry-match";
import { assertOnOneList, logRemainingRows, logRemovedRows, removeFromOtherList, removeRow } from "./entry-removal";
import { buildRowDeclarationKey, getManagedRowId, isRowOfEntry } from "./entry-state";
import { ensureEntry, findManagedEntry, rowMatchesDeclaration } from "./entry-writes";
import { AlreadyExistsError, EntryChangedError, NotAppliedError, PrunedByNextRunError } from "./errors";
import type { LifecycleContext } from "./lifecycle";
import { ListEntryRows } from "./list-entry-rows";
import type { ListPlan } from "./list-resource";
import { isManagedRow, isUnclaimed } from "./row-ownership";

export class ListEntryWriter {
  readonly #inputs: AllowDenyListInputs;
  readonly #context: LifecycleContext;
  readonly #removedByValue: ReadonlyMap<string, readonly KeyedEntry[]>;
  /** The entries to remove, by value, scope and list. Several keys share these if the tenant has duplicates. */
  readonly #removedByEntry: ReadonlyMap<string, readonly KeyedEntry[]>;
  /** The keys of entries to remove, and of declared entries that may have to move from the other list. */
  readonly #leavingKeys: ReadonlySet<string>;
  readonly #knownEntries: ReadonlyMap<string, ListedEntry>;
  readonly #rows: ListEntryRows;
  readonly #ignoredPatterns: ReturnType<typeof parseValidPatterns>;
  /**
   * Serializes the writes of entries with the same value, because the service may reject a second one while the first
   * still exists.
   */
  readonly #writesByValue = new Map<string, Promise<unknown>>();

  constructor(plan: ListPlan, removed: readonly KeyedEntry[], inputs: AllowDenyListInputs, context: LifecycleContext) {
    this.#inputs = inputs;
    this.#context = context;
    this.#removedByValue = Map.groupBy(removed, ([, entry]) => getNaturalKey(entry));
    this.#removedByEntry = Map.groupBy(removed, ([, entry]) => buildEntryDeclarationKey(entry));
    this.#leavingKeys = new Set([...removed.map(([key]) => key), ...Object.keys(plan.declaredContent)]);
    this.#knownEntries = new Map(decodeEntries(plan.knownContent));
    this.#rows = new ListEntryRows(plan, this.#knownEntries, context);
    this.#ignoredPatterns = parseValidPatterns(inputs.ignore);
  }

  /**
   * Sorts entries with the same value that move from the other list so that they don't conflict. Adopted entries can
   * only be updated in place, so they come first. Known entries may be recreated. Additions come last.
   */
  async sortForWriting(declaredEntries: readonly KeyedEntry[]): Promise<readonly KeyedEntry[]> {
    const entriesByValue = Map.groupBy(declaredEntries, ([, entry]) => getNaturalKey(entry));
    if (entriesByValue.size === declaredEntries.length) return declaredEntries;
    const rankedEntries = await Promise.all(
      declaredEntries.map(async (decodedEntry) => {
        const [key, entry] = decodedEntry;
        const isOnlyOfValue = entriesByValue.get(getNaturalKey(entry))?.length === 1;
        if (isOnlyOfValue || this.#knownEntries.has(key)) return { keyed: decodedEntry, rank: 1 };
        return { keyed: decodedEntry, rank: (await this.#rows.findRows(entry)).length > 0 ? 0 : 2 };
      }),
    );
    return rankedEntries.toSorted((a, b) => a.rank - b.rank).map(({ keyed }) => keyed);
  }

  async ensure(key: string, entry: ListedEntry): Promise<void> {
    const previousWrite = this.#writesByValue.get(getNaturalKey(entry));
    const currentWrite = (async () => {
      await previousWrite?.catch(() => undefined);
      await this.#ensureResolvingConflict(key, entry);
    })();
    this.#writesByValue.set(getNaturalKey(entry), currentWrite);
    await currentWrite;
  }

  async #ensureResolvingConflict(key: string, entry: ListedEntry): Promise<void> {
    try {
      await this.#ensureEntry(key, entry);
    } catch (error) {
      const isBlocked = error instanceof ConflictError || error instanceof AlreadyExistsError;
      if (!isBlocked || !(await this.#canAdopt(key, entry)) || !(await this.#removeBlockingRows(entry)))
        throw await this.#addPruneAdvice(error, entry);
      await this.#ensureEntry(key, entry);
    }
  }

  /** Returns the same error, with advice if the list's mode prunes the blocking entry. */
  async #addPruneAdvice(error: unknown, entry: ListedEntry): Promise<unknown> {
    if (!(error instanceof AlreadyExistsError)) return error;
    const rows = await this.#context.tenant.findEntriesByValue(entry);
    const { mode } = this.#inputs;
    if (!rows.some(({ list }) => list !== entry.list && canPrune(mode, list))) return error;
    return new PrunedByNextRunError(error);
  }

  async #ensureEntry(key: string, entry: ListedEntry): Promise<void> {
    const context = this.#context;
    const knownEntry = this.#knownEntries.get(key);
    // This list prunes such a row once a refresh has shown it.
    const isExempt = (row: AllowDenyEntryRow): boolean => canPrune(this.#inputs.mode, row.list) || this.#isIgnored(row);
    const declared = { ...entry, adopt: this.#inputs.adopt ?? false };
    if (knownEntry === undefined) {
      await findManagedEntry(declared, context);
      const row = await this.#findReplacedRow(entry);
      if (row !== undefined) {
        await assertNoConflict(entry, context, (row) => isRowOfEntry(row, entry) || isExempt(row));
        this.#rows.adoptedRowIds.add(row.id);
        this.#rows.movedKeys.add(encodeRowKey(row));
        if (await this.#tryUpdateRow(row, entry)) {
          if (row.list !== entry.list) await this.#removeFromOtherList(entry);
          return;
        }
      }
    } else {
      // A move, or a list that adopts, removes the other rows afterwards.
      const isRemovingOthers = knownEntry.list !== entry.list || this.#inputs.adopt === true;
      const matchesState = this.#rows.createStateTest(key, knownEntry);
      const rows = await this.#rows.findRowsConfirmed(entry, key, matchesState);
      const { changedRow, otherRows } = await this.#rows.findChangedScope(key, knownEntry, rows);
      const isOwnRow = (row: AllowDenyEntryRow): boolean => row.id === changedRow?.id;
      await assertNoConflict(
        entry,
        context,
        (row) => isOwnRow(row) || (isRemovingOthers && isRowOfEntry(row, entry)) || isExempt(row),
      );
      const { ownRow, targetRow } = await this.#findMove(entry, knownEntry, rows, matchesState);
      if (ownRow !== undefined && targetRow !== undefined && ownRow.id !== targetRow.id) {
        // A service may have the entry on both lists. Remove the one on the other list.
        if (await this.#tryUpdateRow(targetRow, entry)) {
          logAdoption(targetRow, entry, context);
          await this.#removeFromOtherList({ ...entry, named: ownRow });
          return;
        }
      }
      const row = ownRow ?? targetRow ?? changedRow;
      // An earlier run declared the entry, or a refresh showed it, so the update is intended.
      if (row !== undefined && (await this.#tryUpdateRow(row, entry))) {
        if (row === targetRow && !rowMatchesDeclaration(row, entry)) logAdoption(row, entry, context);
        if (row.list !== entry.list || (isRemovingOthers && entry.list === "deny"))
          await this.#removeFromOtherList(entry);
        else if (entry.list === "deny")
          await removeFromOtherList(entry, context, (other) => isManagedRow(other, entry, context), isExempt);
        return;
      }
      logRemainingRows(entry, otherRows, { ...context, isRemaining: () => true });
    }
    await ensureEntry(declared, context, isExempt);
  }

  /**
   * Finds the row of a known entry on its list, and the row on the list to which it moves. If both exist, the lists may
   * be stale from an earlier run, because one row can't be on two lists and a row that matches the declaration means
   * that the other may be gone. The lists are then refetched.
   */
  async #findMove(
    entry: ListedEntry,
    knownEntry: ListedEntry,
    rows: readonly AllowDenyEntryRow[],
    matchesState: (row: AllowDenyEntryRow) => boolean,
  ) {
    const pick = (foundRows: readonly AllowDenyEntryRow[]) => {
      const onList = foundRows.filter((row) => row.list === knownEntry.list);
      const ownRow = onList.find(matchesState) ?? onList[0];
      const isMove = knownEntry.list !== entry.list;
      return { ownRow, targetRow: isMove ? foundRows.find((row) => row.list === entry.list) : undefined };
    };
    const move = pick(rows);
    if (move.ownRow === undefined) return move;
    return await readConfirmed(
      this.#context.tenant,
      "entries",
      async () => pick(await this.#rows.findRows(entry)),
      ({ ownRow, targetRow }) =>
        targetRow !== undefined && (ownRow?.id === targetRow.id || rowMatchesDeclaration(targetRow, entry)),
    );
  }

  /** Removes what a move left behind on the other list. */
  async #removeFromOtherList(entry: ListedEntry & { readonly named?: AllowDenyEntryRow }): Promise<void> {
    await removeFromOtherList(
      entry,
      this.#context,
      () => true,
      (row) => this.#isIgnored(row),
    );
  }

  #isIgnored({ list, value }: AllowDenyEntryRow): boolean {
    const target = { value: canonicalizeValue(value), list: list as List };
    return this.#ignoredPatterns.some((pattern) => pattern.matches(target));
  }

  /** Updates an entry in place. Returns false if it no longer exists. */
  async #tryUpdateRow(row: AllowDenyEntryRow, entry: ListedEntry): Promise<boolean> {
    try {
      await adoptRow(row, entry, this.#context);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /**
   * Returns the row of an entry to remove that has the same value, for example with another scope. An update in place
   * keeps the sender on the list throughout.
   */
  async #findReplacedRow(entry: ListedEntry): Promise<AllowDenyEntryRow | undefined> {
    const removedEntries = this.#removedByValue.get(getNaturalKey(entry)) ?? [];
    if (removedEntries.length === 0 || (await this.#rows.findRows(entry)).length > 0) return undefined;
    for (const [key, removedEntry] of removedEntries) {
      const rows = await this.#rows.findRows(removedEntry);
      // Another resource may declare the entry by now. It must stay.
      const replaceableRows = rows.filter(
        (row) =>
          row.list === removedEntry.list &&
          !this.#rows.adoptedRowIds.has(row.id) &&
          !this.#context.isDeclared(buildRowDeclarationKey(row, removedEntry)),
      );
      const row = replaceableRows.find(this.#rows.createStateTest(key, removedEntry)) ?? replaceableRows[0];
      if (row !== undefined) return row;
    }
    return undefined;
  }

  /**
   * Whether the run may replace existing rows of an entry. Not if the tenant has it in another form and `adopt` isn't
   * set.
   */
  async #canAdopt(key: string, entry: ListedEntry): Promise<boolean> {
    if (this.#knownEntries.has(key) || this.#inputs.adopt) return true;
    return (await this.#rows.findRows(entry)).length === 0;
  }

  /**
   * Removes this list's own entries with the same value from the other list if they conflict with a declared one. They
   * are entries to remove, or declared ones that are recreated on their list. Returns whether it removed any.
   */
  async #removeBlockingRows(entry: ListedEntry): Promise<boolean> {
    const { tenant } = this.#context;
    let hasRemoved = false;
    for (const row of await tenant.findEntriesByValue(entry)) {
      const knownEntry = this.#knownEntries.get(encodeRowKey(row));
      const isLeaving = this.#leavingKeys.has(encodeRowKey(row));
      const isOwnLeavingRow = isLeaving && knownEntry?.list === row.list && row.list !== entry.list;
      if (!isOwnLeavingRow || encodeRowKey(row) === encodeEntryKey(entry)) continue;
      if (this.#context.isDeclared(buildRowDeclarationKey(row, entry))) continue;
      const isUnchanged = (currentRow: AllowDenyEntryRow) =>
        currentRow.list === row.list && hasSameNaturalKey(currentRow, row);
      if ((await tenant.deleteEntry(row.id, isUnchanged)) !== "deleted") continue;
      hasRemoved = true;
      logRemovedRows({ ...entry, list: row.list as List }, [row], this.#context);
      this.#rows.movedKeys.add(encodeRowKey(row));
    }
    return hasRemoved;
  }

  async remove(key: string, entry: ListedEntry, failed: readonly ListedEntry[]): Promise<void> {
    const { tenant, isDeclared } = this.#context;
    const successor = failed.find((other) => other.list === entry.list && coversEntry(other, entry));
    if (successor !== undefined) {
      throw new NotAppliedError(
        `is kept, because its replacement ${successor.list} ${successor.value} could not be added`,
      );
    }
    const matchesShown = this.#rows.createStateTest(key, entry);
    const rows = await this.#rows.findRowsConfirmed(entry, key, matchesShown);
    const rowsHere = rows.filter((row) => row.list === entry.list && isUnclaimed(row, entry, this.#context));
    const movedRow = rows.find(
      (row) => row.list !== entry.list && !isDeclared(buildRowDeclarationKey(row, entry)) && !this.#rows.isKnown(row),
    );
    // If another resource declares or manages a row on this list, the entry was not moved.
    const isOffList = rows.every((row) => row.list !== entry.list);
    if (isOffList && movedRow !== undefined) throw new EntryChangedError("moved", movedRow);
    const { changedRow: otherScopeRow } = await this.#rows.findChangedScope(key, entry, rows);
    if (otherScopeRow !== undefined) throw new EntryChangedError("changed", otherScopeRow);
    // A service may hold duplicates of an entry, also with other comments. They go with it, as they would keep it in
    // effect. An enforced plan must show their removal. Other removed keys have their own rows.
    const shownRows = rowsHere.filter(matchesShown);
    const otherTests = this.#getOtherRemovals(key, entry);
    const otherRows = rowsHere.filter(
      (row) => !shownRows.includes(row) && !otherTests.some((matchesOther) => matchesOther(row)),
    );
    const [changedRow] = otherRows;
    const isMoved = this.#rows.movedKeys.has(key);
    if (shownRows.length === 0 && changedRow !== undefined && !isMoved)
      throw new EntryChangedError("changed", changedRow);
    const isRemoving = shownRows.length > 0 || isMoved;
    const duplicates = isRemoving ? otherRows.filter((row) => isRemovalReviewed(row, this.#context)) : [];
    const ownRows = [...shownRows, ...duplicates];
    assertOnOneList(ownRows, rows);
    const undeclaredRows = otherRows.filter((row) => !duplicates.includes(row));
    await this.#logRemaining(
      entry,
      rowsHere.filter((row) => !undeclaredRows.includes(row)),
      undeclaredRows,
    );
    const deletedRows: AllowDenyEntryRow[] = [];
    for (const row of ownRows) {
      const isUnchanged = (currentRow: AllowDenyEntryRow) =>
        currentRow.list === row.list &&
        currentRow.verdict_scope === row.verdict_scope &&
        hasSameNaturalKey(currentRow, row) &&
        !isDeclared(buildRowDeclarationKey(currentRow, entry));
      if ((await removeRow(row, entry, isUnchanged, tenant)) === "deleted") deletedRows.push(row);
    }
    if (deletedRows.length > (key === encodeEntryKey(entry) && !isMoved ? 1 : 0))
      logRemovedRows(entry, deletedRows, this.#context);
  }

  /** Returns predicates for the rows of other removed keys with the same value, scope and list. */
  #getOtherRemovals(key: string, entry: ListedEntry): ((row: AllowDenyEntryRow) => boolean)[] {
    const sameEntries = this.#removedByEntry.get(buildEntryDeclarationKey(entry)) ?? [];
    return sameEntries.flatMap(([otherKey, other]) =>
      otherKey === key ? [] : [this.#rows.createStateTest(otherKey, other)],
    );
  }

  /**
   * Logs which rows with the value of a removed entry the tenant still has, if neither this list nor another resource
   * manages them.
   *
   * @param undeclaredRows rows of the entry itself that stay.
   */
  async #logRemaining(
    entry: ListedEntry,
    removedRows: readonly AllowDenyEntryRow[],
    undeclaredRows: readonly AllowDenyEntryRow[],
  ): Promise<void> {
    const { tenant, isManagedElsewhere } = this.#context;
    const isRemaining = (row: AllowDenyEntryRow): boolean =>
      !removedRows.includes(row) &&
      !this.#rows.isKnown(row) &&
      !this.#isIgnored(row) &&
      !canPrune(this.#inputs.mode, row.list) &&
      !isManagedElsewhere(getManagedRowId(row));
    const isReportable = (row: AllowDenyEntryRow): boolean => undeclaredRows.includes(row) || isRemaining(row);
    logRemainingRows(entry, await tenant.findEntriesByValue(entry), { ...this.#context, isRemaining: isReportable });
  }
}

/** Whether two rows have the same natural key. By now the id may belong to another entry. */
function hasSameNaturalKey(a: AllowDenyEntryRow, b: AllowDenyEntryRow): boolean {
  return hasNaturalKey(a, getRowNaturalKey(b));
}

/** Whether one entry covers the senders of another: it has the same value, or is a domain that contains the other. */
function coversEntry(entry: ListedEntry, other: ListedEntry): boolean {
  if (entry.value === other.value) return true;
  if (entry.entryType !== "domain" || other.entryType === "ip") return false;
  const domain = getMailDomain(other.value);
  return domain === entry.value || domain.endsWith(`.${entry.value}`);
}
