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
  /** The entries that go, by what they are about. */
  readonly #going: ReadonlyMap<string, ListedEntry>;
  /** The keys that go, or are declared and may have to come over from the other list. */
  readonly #leaving: ReadonlySet<string>;
  /** The keys that the state holds, each with its entry as it was then. */
  readonly #known: ReadonlyMap<string, ListedEntry>;
  readonly #ignored: ReturnType<typeof readPatterns>;
  /** Rows that one declared entry has taken, so that no second one takes them. */
  readonly #taken = new Set<string>();
  /** The keys whose rows this run has removed, or made another entry of. */
  readonly #carried = new Set<string>();
  /** Entries of one value are worked on one after another, for the service may let only one of them be where it is. */
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
   * The order in which entries of one value don't stand in each other's way, where they come from the other list: what is
   * taken over can only be changed, what the state knows may be made anew, and what is added comes last.
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

  /** The same error, which says how a list that removes what is in the way comes to do so. */
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
      // What a move leaves behind, or a list that adopts finds, is removed afterwards.
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
        // A service may hold it on both lists: then what is left on the other one goes.
        await takeOver(wanted, entry, context);
        await this.#clearOtherList(entry);
        return;
      }
      // What the state holds was declared before or shown by a refresh, so to change it is what was asked for.
      if (row !== undefined && (await this.#mend(row, entry))) {
        if (row.list !== entry.list || (isClearing && entry.list === "deny"))
          await this.#clearOtherList(entry);
        return;
      }
    }
    await ensureEntry({ ...entry, adopt: this.#inputs.adopt ?? false }, context, leaves);
  }

  /** Removes what is left on the other list of an entry that was moved from there. */
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

  /** Changes an entry in place; answers false when it has gone meanwhile. */
  async #mend(row: AllowDenyEntryRow, entry: ListedEntry): Promise<boolean> {
    try {
      await takeOver(row, entry, this.#context);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** The entry of the same value that goes, as for another scope: changed in place, it is on the list all the time. */
  async #rowThatGoes(entry: ListedEntry): Promise<AllowDenyEntryRow | undefined> {
    const going = this.#going.get(naturalKeyOf(entry));
    if (going === undefined || (await this.#rowsLike(entry)).length > 0) return undefined;
    const rows = await this.#rowsLike(going);
    // One that another resource declares now goes nowhere.
    return rows.find(
      (row) =>
        row.list === going.list && !this.#taken.has(row.id) && !this.#context.isDeclared(keyOf(row, going)),
    );
  }

  /** Whether an entry may become what is declared: not one that the tenant holds otherwise and nobody said to take over. */
  async #mayBecome(key: string, entry: ListedEntry): Promise<boolean> {
    if (this.#known.has(key) || this.#inputs.adopt) return true;
    return (await this.#rowsLike(entry)).length === 0;
  }

  /**
   * Removes this list's own entries of the same value from the other list, where they keep a declared one off its list:
   * those that go, and those that are declared for this list too, which are made anew there.
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

  /** The rows of an entry's value and scope, on both lists. */
  async #rowsLike(entry: ListedEntry): Promise<AllowDenyEntryRow[]> {
    // Waits for a removal of it that is under way.
    await this.#context.tenant.findEntry(entry);
    const rows = await this.#context.tenant.entriesOfValue(entry);
    return rows.filter((row) => this.#isOfScope(row, entry));
  }

  /**
   * The same, and surely, where the state names it: one reading that doesn't show it so is no proof, since an earlier run may have written
   * it moments ago.
   */
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

  /** Whether a row is as the state has the entry of a key. */
  #isAsInState(key: string, known: ListedEntry): (row: AllowDenyEntryRow) => boolean {
    const shown = asDeclared(this.#plan.known[key] ?? "");
    return (row) => row.list === known.list && sameListText(textOfRow(row, known), shown);
  }

  #isOfScope({ verdict_scope: scope }: AllowDenyEntryRow, entry: ListedEntry): boolean {
    return (scope ?? this.#untoldScope(entry)) === entry.verdictScope;
  }

  /** The scope of a row whose scope the service does not tell: the default, where this list has the value with that too. */
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

  /** Names what the tenant still holds of a value whose entry goes, and neither this list nor another resource manages. */
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

  /** Whether the state holds the entry where it is. */
  #isKnown(row: AllowDenyEntryRow): boolean {
    return [...this.#known.values()].some((entry) => entryKey(entry) === keyOf(row, entry));
  }
}

/** Whether two rows are about the same: by then an id may name something else. */
function isLike(one: AllowDenyEntryRow, other: AllowDenyEntryRow): boolean {
  return isAbout(one, keyOfValue(other));
}

/** Somebody moved or changed the entry since it was shown. */
export class ChangedError extends MovedError {
  readonly row: AllowDenyEntryRow;

  constructor(what: "moved" | "changed", row: AllowDenyEntryRow) {
    super(
      `was ${what} in the meantime: there is ${describeEntry(row)}. Removing that is not what was shown, so it was left. A refresh shows it; then run again.`,
    );
    this.row = row;
  }
}

/** Whether one entry covers what another stood for: the same value, or a domain that the other lies in. */
function takesThePlaceOf(one: ListedEntry, other: ListedEntry): boolean {
  if (one.value === other.value) return true;
  if (one.entryType !== "domain" || other.entryType === "ip") return false;
  const domain = other.value.slice(other.value.lastIndexOf("@") + 1);
  return domain === one.value || domain.endsWith(`.${one.value}`);
}
