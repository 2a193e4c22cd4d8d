import { type AllowDenyEntryRow, ConflictError, NotFoundError } from "../../client";
import { DEFAULT_VERDICT_SCOPE, type List } from "../../settings/assumptions";
import { sameListText } from "../../settings/comparable";
import { canonicalValue } from "../../settings/entry-value";
import { asDeclared, entryKey, keyOfEntry, type ListedEntry } from "../../settings/keyed-list";
import type { AllowDenyListInputs } from "../../settings/list-arguments";
import { prunes } from "../../settings/list-mode";
import { readPatterns } from "../../settings/list-safeguards";
import { isAbout, keyOfValue } from "../../tenant";
import { takeOver } from "./entry-changes";
import { assertNoConflict } from "./entry-conflicts";
import { keyOfRow } from "./entry-match";
import { clearOtherList, removeRow, sayLeftRows } from "./entry-removal";
import { holdKeyOf, isOfScope, keyOf } from "./entry-state";
import { ensureEntry, findManagedEntry } from "./entry-writes";
import {
  AlreadyExistsError,
  describeEntry,
  MovedError,
  NotAppliedError,
  PrunedByNextRunError,
} from "./errors";
import type { Context } from "./lifecycle";
import { entriesOf, type KeyedEntry, naturalKeyOf, textOfRow } from "./list-entries";
import type { ListPlan } from "./list-resource";

/** The single writes of one run. */
export class EntryWork {
  readonly #plan: ListPlan;
  readonly #inputs: AllowDenyListInputs;
  readonly #context: Context;
  /** The entries to remove, by value. */
  readonly #going: ReadonlyMap<string, ListedEntry>;
  /** The keys to remove, and declared keys that may have to move from the other list. */
  readonly #leaving: ReadonlySet<string>;
  /** The entries in the state, by key. */
  readonly #known: ReadonlyMap<string, ListedEntry>;
  readonly #ignored: ReturnType<typeof readPatterns>;
  /** Rows already assigned to a declared entry, so that no other entry uses them. */
  readonly #taken = new Set<string>();
  /** The keys whose rows this run has removed or reused. */
  readonly #carried = new Set<string>();
  /** Entries of one value are processed one after another, because the service may accept only one of them. */
  readonly #byValue = new Map<string, Promise<unknown>>();

  constructor(plan: ListPlan, removed: readonly KeyedEntry[], inputs: AllowDenyListInputs, context: Context) {
    this.#plan = plan;
    this.#inputs = inputs;
    this.#context = context;
    this.#going = new Map(removed.map(([, entry]) => [naturalKeyOf(entry), entry]));
    this.#leaving = new Set([...removed.map(([key]) => key), ...Object.keys(plan.declared)]);
    this.#known = new Map(entriesOf(plan.known));
    this.#ignored = readPatterns(inputs.ignore);
  }

  /**
   * Orders entries of one value that come from the other list so they don't conflict. Adopted entries can only be changed;
   * known ones may be recreated; additions come last.
   */
  async inOrder(wanted: readonly KeyedEntry[]): Promise<readonly KeyedEntry[]> {
    const values = Map.groupBy(wanted, ([, entry]) => naturalKeyOf(entry));
    if (values.size === wanted.length) return wanted;
    const ranked = await Promise.all(
      wanted.map(async (keyed) => {
        const [key, entry] = keyed;
        const isAlone = values.get(naturalKeyOf(entry))?.length === 1;
        if (isAlone || this.#known.has(key)) return { keyed, rank: 1 };
        return { keyed, rank: (await this.#rowsLike(entry)).length > 0 ? 0 : 2 };
      }),
    );
    return ranked.toSorted((one, other) => one.rank - other.rank).map(({ keyed }) => keyed);
  }

  async ensure(key: string, entry: ListedEntry): Promise<void> {
    const before = this.#byValue.get(naturalKeyOf(entry));
    const mine = (async () => {
      await before?.catch(() => undefined);
      await this.#ensureNow(key, entry);
    })();
    this.#byValue.set(naturalKeyOf(entry), mine);
    await mine;
  }

  async #ensureNow(key: string, entry: ListedEntry): Promise<void> {
    try {
      await this.#ensureOnce(key, entry);
    } catch (error) {
      const isInTheWay = error instanceof ConflictError || error instanceof AlreadyExistsError;
      if (!isInTheWay || !(await this.#mayBecome(key, entry)) || !(await this.#clearTheWay(entry)))
        throw await this.#advised(error, entry);
      await this.#ensureOnce(key, entry);
    }
  }

  /** Adds to an error how a pruning list will remove the conflicting entry. */
  async #advised(error: unknown, entry: ListedEntry): Promise<unknown> {
    if (!(error instanceof AlreadyExistsError)) return error;
    const rows = await this.#context.tenant.entriesOfValue(entry);
    const { mode } = this.#inputs;
    if (!rows.some(({ list }) => list !== entry.list && prunes(mode, list))) return error;
    return new PrunedByNextRunError(error);
  }

  async #ensureOnce(key: string, entry: ListedEntry): Promise<void> {
    const context = this.#context;
    const known = this.#known.get(key);
    // What this list prunes is removed once a refresh has shown it.
    const leaves = (row: AllowDenyEntryRow): boolean =>
      prunes(this.#inputs.mode, row.list) || this.#isIgnored(row);
    if (known === undefined) {
      await findManagedEntry(entry, context);
      const row = await this.#rowThatGoes(entry);
      if (row !== undefined) {
        await assertNoConflict(entry, context, (other) => isOfScope(other, entry) || leaves(other));
        this.#taken.add(row.id);
        this.#carried.add(keyOfRow(row));
        await takeOver(row, entry, context);
        if (row.list !== entry.list) await this.#clearOtherList(entry);
        return;
      }
    } else {
      // Leftovers of a move, or of an adoption, are removed afterwards.
      const isClearing = known.list !== entry.list || this.#inputs.adopt === true;
      await assertNoConflict(
        entry,
        context,
        (other) => (isClearing && isOfScope(other, entry)) || leaves(other),
      );
      const rows = await this.#rowsSurelyLike(entry, key, this.#isAsInState(key, known));
      const own = rows.find((row) => row.list === known.list);
      const wanted = rows.find((row) => row.list === entry.list);
      const row = own ?? wanted;
      if (own !== undefined && wanted !== undefined && own !== wanted) {
        // A service may hold it on both lists: then the one on the other list is removed.
        await takeOver(wanted, entry, context);
        await this.#clearOtherList(entry);
        return;
      }
      // The state holds what was declared before or shown by a refresh, so changing it was requested.
      if (row !== undefined && (await this.#mend(row, entry))) {
        if (row.list !== entry.list || (isClearing && entry.list === "deny"))
          await this.#clearOtherList(entry);
        return;
      }
    }
    await ensureEntry({ ...entry, adopt: this.#inputs.adopt ?? false }, context, leaves);
  }

  /** Removes the leftovers of a moved entry from the other list. */
  async #clearOtherList(entry: ListedEntry): Promise<void> {
    await clearOtherList(
      entry,
      this.#context,
      () => true,
      (row) => this.#isIgnored(row),
    );
  }

  #isIgnored({ list, value }: AllowDenyEntryRow): boolean {
    const target = { value: canonicalValue(value), list: list as List };
    return this.#ignored.some((pattern) => pattern.matches(target));
  }

  /** Changes an entry in place; false if it has gone meanwhile. */
  async #mend(row: AllowDenyEntryRow, entry: ListedEntry): Promise<boolean> {
    try {
      await takeOver(row, entry, this.#context);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /**
   * Returns an entry of the same value that is to be removed, for example with another scope. Changing it in place keeps the
   * value on the list throughout.
   */
  async #rowThatGoes(entry: ListedEntry): Promise<AllowDenyEntryRow | undefined> {
    const going = this.#going.get(naturalKeyOf(entry));
    if (going === undefined || (await this.#rowsLike(entry)).length > 0) return undefined;
    const rows = await this.#rowsLike(going);
    // An entry that another resource now declares is not removed.
    return rows.find(
      (row) =>
        row.list === going.list && !this.#taken.has(row.id) && !this.#context.isDeclared(keyOf(row, going)),
    );
  }

  /** Whether an entry may become what is declared. False if the tenant's entry differs and adoption wasn't requested. */
  async #mayBecome(key: string, entry: ListedEntry): Promise<boolean> {
    if (this.#known.has(key) || this.#inputs.adopt) return true;
    return (await this.#rowsLike(entry)).length === 0;
  }

  /**
   * Removes this list's own entries of the same value from the other list if they conflict with a declared one. They are
   * entries to remove, or declared ones that are recreated on their list.
   */
  async #clearTheWay(entry: ListedEntry): Promise<boolean> {
    const { tenant } = this.#context;
    let isCleared = false;
    for (const row of await tenant.entriesOfValue(entry)) {
      const known = this.#known.get(keyOfRow(row));
      const isLeaving = this.#leaving.has(keyOfRow(row));
      const isOwn = isLeaving && known?.list === row.list && row.list !== entry.list;
      if (!isOwn || keyOfRow(row) === keyOfEntry(entry)) continue;
      if (this.#context.isDeclared(keyOf(row, entry))) continue;
      const isStill = (now: AllowDenyEntryRow) => now.list === row.list && isLike(now, row);
      if ((await tenant.deleteEntry(row.id, isStill)) !== "deleted") continue;
      isCleared = true;
      this.#carried.add(keyOfRow(row));
    }
    return isCleared;
  }

  /** Returns the rows of an entry's value and scope, on both lists. */
  async #rowsLike(entry: ListedEntry): Promise<AllowDenyEntryRow[]> {
    // Waits for its removal, if one is in progress.
    await this.#context.tenant.findEntry(entry);
    const rows = await this.#context.tenant.entriesOfValue(entry);
    return rows.filter((row) => this.#isOfScope(row, entry));
  }

  /** Refetches the rows if the state names the entry: one reading isn't proof, since an earlier run may have just written it. */
  async #rowsSurelyLike(
    entry: ListedEntry,
    key: string,
    isAsInState: (row: AllowDenyEntryRow) => boolean,
  ): Promise<AllowDenyEntryRow[]> {
    const rows = await this.#rowsLike(entry);
    if (rows.some(isAsInState) || this.#carried.has(key)) return rows;
    const isNamed = (row: AllowDenyEntryRow): boolean => this.#isOfScope(row, entry) && isAsInState(row);
    const sure = await this.#context.tenant.entriesOfValueSurely(entry, isNamed);
    return sure.filter((row) => this.#isOfScope(row, entry));
  }

  /** Returns whether a row matches the state's entry of a key. */
  #isAsInState(key: string, known: ListedEntry): (row: AllowDenyEntryRow) => boolean {
    const shown = asDeclared(this.#plan.known[key] ?? "");
    return (row) => row.list === known.list && sameListText(textOfRow(row, known), shown);
  }

  #isOfScope({ verdict_scope: scope }: AllowDenyEntryRow, entry: ListedEntry): boolean {
    return (scope ?? this.#untoldScope(entry)) === entry.verdictScope;
  }

  /** Returns the scope for a row without one: the default, if this list also has the value with that scope. */
  #untoldScope(entry: ListedEntry): string {
    const plain = keyOfEntry({ ...entry, verdictScope: DEFAULT_VERDICT_SCOPE });
    const isPlainToo = this.#known.has(plain) || Object.hasOwn(this.#plan.declared, plain);
    return isPlainToo ? DEFAULT_VERDICT_SCOPE : entry.verdictScope;
  }

  async remove(key: string, entry: ListedEntry, failed: readonly ListedEntry[]): Promise<void> {
    const { tenant, isDeclared, isHeldElsewhere } = this.#context;
    const successor = failed.find((other) => other.list === entry.list && takesThePlaceOf(other, entry));
    if (successor !== undefined) {
      throw new NotAppliedError(
        `stays, because ${successor.list} ${successor.value}, which would take its place, could not be added`,
      );
    }
    const isAsShown = this.#isAsInState(key, entry);
    const rows = await this.#rowsSurelyLike(entry, key, isAsShown);
    const here = rows.filter(
      (row) => row.list === entry.list && !isDeclared(keyOf(row, entry)) && !isHeldElsewhere(holdKeyOf(row)),
    );
    const elsewhere = rows.find(
      (row) => row.list !== entry.list && !isDeclared(keyOf(row, entry)) && !this.#isKnown(row),
    );
    if (here.length === 0 && elsewhere !== undefined) throw new ChangedError("moved", elsewhere);
    await this.#sayLeft(entry, here);
    // A service may hold the same entry twice.
    for (const row of here) {
      if (!isAsShown(row)) throw new ChangedError("changed", row);
      const isStill = (now: AllowDenyEntryRow) =>
        now.list === row.list &&
        now.verdict_scope === row.verdict_scope &&
        isLike(now, row) &&
        !isDeclared(keyOf(now, entry));
      await removeRow(row, entry, isStill, tenant);
    }
  }

  /** Reports what the tenant still holds of a removed value, if neither this list nor another resource manages it. */
  async #sayLeft(entry: ListedEntry, going: readonly AllowDenyEntryRow[]): Promise<void> {
    const { tenant, isHeldElsewhere } = this.#context;
    const isLeft = (row: AllowDenyEntryRow): boolean =>
      !going.includes(row) &&
      !this.#isKnown(row) &&
      !this.#isIgnored(row) &&
      !prunes(this.#inputs.mode, row.list) &&
      !isHeldElsewhere(holdKeyOf(row));
    sayLeftRows(entry, await tenant.entriesOfValue(entry), { ...this.#context, isLeft });
  }

  /** Whether the state has the entry on this list. */
  #isKnown(row: AllowDenyEntryRow): boolean {
    return [...this.#known.values()].some((entry) => entryKey(entry) === keyOf(row, entry));
  }
}

/** Whether two rows have the same value: an id may have been reused. */
function isLike(one: AllowDenyEntryRow, other: AllowDenyEntryRow): boolean {
  return isAbout(one, keyOfValue(other));
}

/** Somebody moved or changed the entry after it was shown. */
export class ChangedError extends MovedError {
  readonly row: AllowDenyEntryRow;

  constructor(what: "moved" | "changed", row: AllowDenyEntryRow) {
    super(
      `was ${what} in the meantime: there is ${describeEntry(row)}. Removing that is not what was shown, so it was left. A refresh shows it; then run again.`,
    );
    this.row = row;
  }
}

/** Whether one entry covers what the other stood for: the same value, or a parent domain. */
function takesThePlaceOf(one: ListedEntry, other: ListedEntry): boolean {
  if (one.value === other.value) return true;
  if (one.entryType !== "domain" || other.entryType === "ip") return false;
  const domain = other.value.slice(other.value.lastIndexOf("@") + 1);
  return domain === one.value || domain.endsWith(`.${one.value}`);
}
