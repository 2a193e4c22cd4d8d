import type { AllowDenyEntryRow } from "../../client";
import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { isSameListText } from "../../model/compare-arguments";
import { buildEntryDeclarationKey, encodeEntryKey, type ListedEntry, stripUnmanaged } from "../../model/encoded-list";
import { encodeRow } from "./decode-entries";
import { buildRowDeclarationKey } from "./entry-state";
import type { LifecycleContext } from "./lifecycle";
import type { ListPlan } from "./list-resource";
import { isUnclaimed } from "./row-ownership";

export class ListEntryRows {
  readonly #plan: ListPlan;
  readonly #context: LifecycleContext;
  readonly #knownEntries: ReadonlyMap<string, ListedEntry>;
  /** Rows already adopted for a declared entry, so that no second entry adopts them. */
  readonly adoptedRowIds = new Set<string>();
  /** The keys whose rows this run removed or changed into another entry. */
  readonly movedKeys = new Set<string>();

  constructor(plan: ListPlan, knownEntries: ReadonlyMap<string, ListedEntry>, context: LifecycleContext) {
    this.#plan = plan;
    this.#knownEntries = knownEntries;
    this.#context = context;
  }

  /** Returns the rows with an entry's value, type and scope, on both lists. */
  async findRows(entry: ListedEntry): Promise<AllowDenyEntryRow[]> {
    // Waits for a pending removal of the entry.
    await this.#context.tenant.findEntry(entry);
    const rows = await this.#context.tenant.findEntriesByValue(entry);
    return rows.filter((row) => this.#isRowOfEntry(row, entry));
  }

  /**
   * Like {@link findRows}, but refetches the list if no row matches the state. An earlier run may have written the entry
   * moments ago, so one read doesn't prove it.
   */
  async findRowsConfirmed(
    entry: ListedEntry,
    key: string,
    matchesState: (row: AllowDenyEntryRow) => boolean,
  ): Promise<AllowDenyEntryRow[]> {
    const rows = await this.findRows(entry);
    if (rows.some(matchesState) || this.movedKeys.has(key)) return rows;
    const isExpectedRow = (row: AllowDenyEntryRow): boolean => this.#isRowOfEntry(row, entry) && matchesState(row);
    const confirmedRows = await this.#context.tenant.findEntriesConfirmed(entry, isExpectedRow);
    return confirmedRows.filter((row) => this.#isRowOfEntry(row, entry));
  }

  createStateTest(key: string, knownEntry: ListedEntry): (row: AllowDenyEntryRow) => boolean {
    const shownText = stripUnmanaged(this.#plan.knownContent[key] ?? "");
    return (row) => row.list === knownEntry.list && isSameListText(encodeRow(row, knownEntry), shownText);
  }

  #isRowOfEntry({ entry_type, verdict_scope: scope }: AllowDenyEntryRow, entry: ListedEntry): boolean {
    return entry_type === entry.entryType && (scope ?? this.#inferScope(entry)) === entry.verdictScope;
  }

  /**
   * Returns the scope to assume for a row without one: the default scope if this list has the value with that scope
   * too.
   */
  #inferScope(entry: ListedEntry): string {
    const plainKey = encodeEntryKey({ ...entry, verdictScope: DEFAULT_VERDICT_SCOPE });
    const hasPlainKey = this.#knownEntries.has(plainKey) || Object.hasOwn(this.#plan.declaredContent, plainKey);
    return hasPlainKey ? DEFAULT_VERDICT_SCOPE : entry.verdictScope;
  }

  /**
   * Returns the rows that a known entry without a row may have become since the state was written: rows of its value and
   * type on its list with another scope, which nothing declares. A row that is otherwise as in the state is the entry itself.
   */
  async findChangedScope(
    key: string,
    knownEntry: ListedEntry,
    rows: readonly AllowDenyEntryRow[],
  ): Promise<{
    readonly changedRow?: AllowDenyEntryRow | undefined;
    readonly otherRows: readonly AllowDenyEntryRow[];
  }> {
    if (this.movedKeys.has(key) || rows.some((row) => row.list === knownEntry.list)) return { otherRows: [] };
    const rowsOfValue = await this.#context.tenant.findEntriesByValue(knownEntry);
    const otherRows = rowsOfValue.filter(
      (row) =>
        row.list === knownEntry.list &&
        row.entry_type === knownEntry.entryType &&
        !this.isKnown(row) &&
        !this.adoptedRowIds.has(row.id) &&
        isUnclaimed(row, knownEntry, this.#context),
    );
    const equalRows = otherRows.filter(this.createStateTest(key, knownEntry));
    return equalRows.length === 1 ? { changedRow: equalRows[0], otherRows } : { otherRows };
  }

  isKnown(row: AllowDenyEntryRow): boolean {
    return [...this.#knownEntries.values()].some(
      (entry) => buildEntryDeclarationKey(entry) === buildRowDeclarationKey(row, entry),
    );
  }
}
