import { type AllowDenyEntryRow, ConflictError, NotFoundError } from "../../client";
import { DEFAULT_VERDICT_SCOPE, type List } from "../../settings/assumptions";
import { isSameListText } from "../../settings/comparable";
import {
  buildEntryDeclarationKey,
  encodeEntryKey,
  type ListedEntry,
  stripUnmanaged,
} from "../../settings/encoded-list";
import { canonicalizeValue } from "../../settings/entry-value";
import type { AllowDenyListInputs } from "../../settings/list-arguments";
import { canPrune } from "../../settings/list-mode";
import { parseValidPatterns } from "../../settings/list-safeguards";
import { getRowNaturalKey, hasNaturalKey, readConfirmed } from "../../tenant";
import { decodeEntries, encodeRow, getNaturalKey, type KeyedEntry } from "./decode-entries";
import { adoptRow } from "./entry-changes";
import { assertNoConflict } from "./entry-conflicts";
import { encodeRowKey } from "./entry-match";
import { assertOnOneList, clearOtherList, logRemainingRows, logRemovedRows, removeRow } from "./entry-removal";
import { buildRowDeclarationKey, getManagedRowId, hasScope } from "./entry-state";
import { ensureEntry, findManagedEntry, isAsDeclared } from "./entry-writes";
import { AlreadyExistsError, EntryChangedError, NotAppliedError, PrunedByNextRunError } from "./errors";
import type { LifecycleContext } from "./lifecycle";
import type { ListPlan } from "./list-resource";
import { isManagedRow, isUnclaimed } from "./row-ownership";

/** The single writes of one run. */
export class ListEntryWriter {
  readonly #plan: ListPlan;
  readonly #inputs: AllowDenyListInputs;
  readonly #context: LifecycleContext;
  /** The entries that go, by what they are about. */
  readonly #removedByValue: ReadonlyMap<string, KeyedEntry>;
  /** The same by value, scope and list. Several keys have the same where the tenant holds duplicates. */
  readonly #removedByEntry: ReadonlyMap<string, readonly KeyedEntry[]>;
  /** The keys that go, or are declared and may have to come over from the other list. */
  readonly #leavingKeys: ReadonlySet<string>;
  /** The keys that the state holds, each with its entry as it was then. */
  readonly #knownEntries: ReadonlyMap<string, ListedEntry>;
  readonly #ignoredPatterns: ReturnType<typeof parseValidPatterns>;
  /** Rows that one declared entry has taken, so that no second one takes them. */
  readonly #adoptedRowIds = new Set<string>();
  /** The keys whose rows this run has removed, or made another entry of. */
  readonly #movedKeys = new Set<string>();
  /** Entries of one value are worked on one after another, for the service may let only one of them be where it is. */
  readonly #writesByValue = new Map<string, Promise<unknown>>();

  constructor(plan: ListPlan, removed: readonly KeyedEntry[], inputs: AllowDenyListInputs, context: LifecycleContext) {
    this.#plan = plan;
    this.#inputs = inputs;
    this.#context = context;
    this.#removedByValue = new Map(removed.map((keyed) => [getNaturalKey(keyed[1]), keyed]));
    this.#removedByEntry = Map.groupBy(removed, ([, entry]) => buildEntryDeclarationKey(entry));
    this.#leavingKeys = new Set([...removed.map(([key]) => key), ...Object.keys(plan.declared)]);
    this.#knownEntries = new Map(decodeEntries(plan.known));
    this.#ignoredPatterns = parseValidPatterns(inputs.ignore);
  }

  /**
   * Orders entries of one value that come from the other list so they don't conflict. Adopted entries can only be changed;
   * known ones may be recreated; additions come last.
   */
  async sortForWriting(declaredEntries: readonly KeyedEntry[]): Promise<readonly KeyedEntry[]> {
    const entriesByValue = Map.groupBy(declaredEntries, ([, entry]) => getNaturalKey(entry));
    if (entriesByValue.size === declaredEntries.length) return declaredEntries;
    const rankedEntries = await Promise.all(
      declaredEntries.map(async (decodedEntry) => {
        const [key, entry] = decodedEntry;
        const isOnlyOfValue = entriesByValue.get(getNaturalKey(entry))?.length === 1;
        if (isOnlyOfValue || this.#knownEntries.has(key)) return { keyed: decodedEntry, rank: 1 };
        return { keyed: decodedEntry, rank: (await this.#findRows(entry)).length > 0 ? 0 : 2 };
      }),
    );
    return rankedEntries.toSorted((one, other) => one.rank - other.rank).map(({ keyed }) => keyed);
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

  /** The same error, which says how a list that removes what is in the way comes to do so. */
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
    // What this list prunes is removed once a refresh has shown it.
    const isLeftAlone = (row: AllowDenyEntryRow): boolean =>
      canPrune(this.#inputs.mode, row.list) || this.#isIgnored(row);
    const declared = { ...entry, adopt: this.#inputs.adopt ?? false };
    if (knownEntry === undefined) {
      await findManagedEntry(declared, context);
      const row = await this.#findReplacedRow(entry);
      if (row !== undefined) {
        await assertNoConflict(entry, context, (row) => hasScope(row, entry) || isLeftAlone(row));
        this.#adoptedRowIds.add(row.id);
        this.#movedKeys.add(encodeRowKey(row));
        if (await this.#tryUpdateRow(row, entry)) {
          if (row.list !== entry.list) await this.#removeFromOtherList(entry);
          return;
        }
      }
    } else {
      // What a move leaves behind, or a list that adopts finds, is removed afterwards.
      const isRemovingOthers = knownEntry.list !== entry.list || this.#inputs.adopt === true;
      await assertNoConflict(entry, context, (row) => (isRemovingOthers && hasScope(row, entry)) || isLeftAlone(row));
      const matchesState = this.#createStateTest(key, knownEntry);
      const rows = await this.#findRowsConfirmed(entry, key, matchesState);
      const { ownRow, targetRow } = await this.#findMove(entry, knownEntry, rows, matchesState);
      if (ownRow !== undefined && targetRow !== undefined && ownRow.id !== targetRow.id) {
        // A service may hold it on both lists: then what is left on the other one goes.
        if (await this.#tryUpdateRow(targetRow, entry)) {
          await this.#removeFromOtherList(entry);
          return;
        }
      }
      const row = ownRow ?? targetRow;
      // What the state holds was declared before or shown by a refresh, so to change it is what was asked for.
      if (row !== undefined && (await this.#tryUpdateRow(row, entry))) {
        if (row.list !== entry.list || (isRemovingOthers && entry.list === "deny"))
          await this.#removeFromOtherList(entry);
        else if (entry.list === "deny")
          await clearOtherList(entry, context, (other) => isManagedRow(other, entry, context), isLeftAlone);
        return;
      }
    }
    await ensureEntry(declared, context, isLeftAlone);
  }

  /**
   * Finds the row of a known entry on its list, and one on the list to which it moves. Where both are there, the lists may still show
   * either as it was before an earlier run: one row can't be on two lists, and one that is as declared may be gone.
   */
  async #findMove(
    entry: ListedEntry,
    knownEntry: ListedEntry,
    rows: readonly AllowDenyEntryRow[],
    matchesState: (row: AllowDenyEntryRow) => boolean,
  ) {
    const pick = (found: readonly AllowDenyEntryRow[]) => {
      const onList = found.filter((row) => row.list === knownEntry.list);
      const ownRow = onList.find(matchesState) ?? onList[0];
      const isMove = knownEntry.list !== entry.list;
      return { ownRow, targetRow: isMove ? found.find((row) => row.list === entry.list) : undefined };
    };
    const move = pick(rows);
    if (move.ownRow === undefined) return move;
    return await readConfirmed(
      this.#context.tenant,
      "entries",
      async () => pick(await this.#findRows(entry)),
      ({ ownRow, targetRow }) =>
        targetRow !== undefined && (ownRow?.id === targetRow.id || isAsDeclared(targetRow, entry)),
    );
  }

  /** Removes what is left on the other list of an entry that was moved from there. */
  async #removeFromOtherList(entry: ListedEntry): Promise<void> {
    await clearOtherList(
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

  /** Changes an entry in place; answers false when it has gone meanwhile. */
  async #tryUpdateRow(row: AllowDenyEntryRow, entry: ListedEntry): Promise<boolean> {
    try {
      await adoptRow(row, entry, this.#context);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** The entry of the same value that goes, as for another scope: changed in place, it is on the list all the time. */
  async #findReplacedRow(entry: ListedEntry): Promise<AllowDenyEntryRow | undefined> {
    const [key, removedEntry] = this.#removedByValue.get(getNaturalKey(entry)) ?? [];
    if (key === undefined || removedEntry === undefined || (await this.#findRows(entry)).length > 0) return undefined;
    const rows = await this.#findRows(removedEntry);
    // One that another resource declares now goes nowhere.
    const replaceableRows = rows.filter(
      (row) =>
        row.list === removedEntry.list &&
        !this.#adoptedRowIds.has(row.id) &&
        !this.#context.isDeclared(buildRowDeclarationKey(row, removedEntry)),
    );
    return replaceableRows.find(this.#createStateTest(key, removedEntry)) ?? replaceableRows[0];
  }

  /** Whether an entry may become what is declared: not one that the tenant holds otherwise and nobody said to take over. */
  async #canAdopt(key: string, entry: ListedEntry): Promise<boolean> {
    if (this.#knownEntries.has(key) || this.#inputs.adopt) return true;
    return (await this.#findRows(entry)).length === 0;
  }

  /**
   * Removes this list's own entries of the same value from the other list if they conflict with a declared one. They are
   * entries to remove, or declared ones that are recreated on their list.
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
      this.#movedKeys.add(encodeRowKey(row));
    }
    return hasRemoved;
  }

  /** The rows of an entry's value and scope, on both lists. */
  async #findRows(entry: ListedEntry): Promise<AllowDenyEntryRow[]> {
    // Waits for a removal of it that is under way.
    await this.#context.tenant.findEntry(entry);
    const rows = await this.#context.tenant.findEntriesByValue(entry);
    return rows.filter((row) => this.#isOfScope(row, entry));
  }

  /**
   * The same, and surely, where the state names it: one reading that doesn't show it so is no proof, since an earlier run may have written
   * it moments ago.
   */
  async #findRowsConfirmed(
    entry: ListedEntry,
    key: string,
    matchesState: (row: AllowDenyEntryRow) => boolean,
  ): Promise<AllowDenyEntryRow[]> {
    const rows = await this.#findRows(entry);
    if (rows.some(matchesState) || this.#movedKeys.has(key)) return rows;
    const isExpectedRow = (row: AllowDenyEntryRow): boolean => this.#isOfScope(row, entry) && matchesState(row);
    const confirmedRows = await this.#context.tenant.findEntriesConfirmed(entry, isExpectedRow);
    return confirmedRows.filter((row) => this.#isOfScope(row, entry));
  }

  /** Whether a row is as the state has the entry of a key. */
  #createStateTest(key: string, knownEntry: ListedEntry): (row: AllowDenyEntryRow) => boolean {
    const shownText = stripUnmanaged(this.#plan.known[key] ?? "");
    return (row) => row.list === knownEntry.list && isSameListText(encodeRow(row, knownEntry), shownText);
  }

  #isOfScope({ verdict_scope: scope }: AllowDenyEntryRow, entry: ListedEntry): boolean {
    return (scope ?? this.#inferScope(entry)) === entry.verdictScope;
  }

  /** The scope of a row whose scope the service does not tell: the default, where this list has the value with that too. */
  #inferScope(entry: ListedEntry): string {
    const plainKey = encodeEntryKey({ ...entry, verdictScope: DEFAULT_VERDICT_SCOPE });
    const hasPlainKey = this.#knownEntries.has(plainKey) || Object.hasOwn(this.#plan.declared, plainKey);
    return hasPlainKey ? DEFAULT_VERDICT_SCOPE : entry.verdictScope;
  }

  async remove(key: string, entry: ListedEntry, failed: readonly ListedEntry[]): Promise<void> {
    const { tenant, isDeclared } = this.#context;
    const successor = failed.find((other) => other.list === entry.list && coversEntry(other, entry));
    if (successor !== undefined) {
      throw new NotAppliedError(
        `stays, because ${successor.list} ${successor.value}, which would take its place, could not be added`,
      );
    }
    const matchesShown = this.#createStateTest(key, entry);
    const rows = await this.#findRowsConfirmed(entry, key, matchesShown);
    const rowsHere = rows.filter((row) => row.list === entry.list && isUnclaimed(row, entry, this.#context));
    const movedRow = rows.find(
      (row) => row.list !== entry.list && !isDeclared(buildRowDeclarationKey(row, entry)) && !this.#isKnown(row),
    );
    // A row on its list that another resource declares or manages was not moved.
    const isOffList = rows.every((row) => row.list !== entry.list);
    if (isOffList && movedRow !== undefined) throw new EntryChangedError("moved", movedRow);
    // A service may hold the same entry twice, and differing ones of the same value: of those, another key that goes has its own, and one
    // that no preview has shown stays.
    const ownRows = rowsHere.filter(matchesShown);
    assertOnOneList(ownRows, rows);
    const otherTests = this.#getOtherRemovals(key, entry);
    const undeclaredRows = rowsHere.filter(
      (row) => !ownRows.includes(row) && !otherTests.some((matchesOther) => matchesOther(row)),
    );
    const [changedRow] = undeclaredRows;
    const isMoved = this.#movedKeys.has(key);
    if (ownRows.length === 0 && changedRow !== undefined && !isMoved)
      throw new EntryChangedError("changed", changedRow);
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

  /** The tests for the rows of the other keys that go, and are of the same value, scope and list. */
  #getOtherRemovals(key: string, entry: ListedEntry): ((row: AllowDenyEntryRow) => boolean)[] {
    const sameEntries = this.#removedByEntry.get(buildEntryDeclarationKey(entry)) ?? [];
    return sameEntries.flatMap(([otherKey, other]) =>
      otherKey === key ? [] : [this.#createStateTest(otherKey, other)],
    );
  }

  /**
   * Names what the tenant still holds of a value whose entry goes, and neither this list nor another resource manages.
   *
   * @param undeclaredRows rows of the entry itself that no preview has shown.
   */
  async #logRemaining(
    entry: ListedEntry,
    removedRows: readonly AllowDenyEntryRow[],
    undeclaredRows: readonly AllowDenyEntryRow[],
  ): Promise<void> {
    const { tenant, isManagedElsewhere } = this.#context;
    const isRemaining = (row: AllowDenyEntryRow): boolean =>
      !removedRows.includes(row) &&
      !this.#isKnown(row) &&
      !this.#isIgnored(row) &&
      !canPrune(this.#inputs.mode, row.list) &&
      !isManagedElsewhere(getManagedRowId(row));
    const isLeft = (row: AllowDenyEntryRow): boolean => undeclaredRows.includes(row) || isRemaining(row);
    logRemainingRows(entry, await tenant.findEntriesByValue(entry), { ...this.#context, isLeft });
  }

  /** Whether the state has the entry on this list. */
  #isKnown(row: AllowDenyEntryRow): boolean {
    return [...this.#knownEntries.values()].some(
      (entry) => buildEntryDeclarationKey(entry) === buildRowDeclarationKey(row, entry),
    );
  }
}

/** Whether two rows are about the same: by then an id may name something else. */
function hasSameNaturalKey(one: AllowDenyEntryRow, other: AllowDenyEntryRow): boolean {
  return hasNaturalKey(one, getRowNaturalKey(other));
}

/** Whether one entry covers what another stood for: the same value, or a domain that the other lies in. */
function coversEntry(entry: ListedEntry, other: ListedEntry): boolean {
  if (entry.value === other.value) return true;
  if (entry.entryType !== "domain" || other.entryType === "ip") return false;
  const domain = other.value.slice(other.value.lastIndexOf("@") + 1);
  return domain === entry.value || domain.endsWith(`.${entry.value}`);
}
