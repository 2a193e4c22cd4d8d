import { DEFAULT_VERDICT_SCOPE } from "../settings/assumptions";
import { quote } from "../settings/text";
import type { ElementStyle, Said } from "./edit-element";
import { EditError } from "./edit-error";
import { canonical, type Identity } from "./edit-identity";
import type { Section } from "./edit-section";
import { sortKey } from "./sort-key";

/** An element, as others are looked up and written beside it. */
export interface ListElement extends Identity {
  /** Whether it is a text alone. */
  readonly isShort: boolean;
  readonly style: ElementStyle;
}

/** Where a new element goes, and how it is written. */
interface Position<T> {
  readonly identity: Identity;
  readonly previous: T | undefined;
  readonly next: T | undefined;
  readonly style: ElementStyle;
}

/** The key by which a section is sorted. */
export type SortKey = (subject: string) => string;

const SORT_KEYS: readonly SortKey[] = [sortKey, (subject) => subject];

/** The longest run: the cost of one edit grows with it and with the number of runs. */
const MAX_RUN = 256;

/**
 * The elements of a section in their order. They are kept in short runs and indexed by value, so that an edit of a long section
 * doesn't look at each of them.
 */
export class ElementList<T extends ListElement> implements Iterable<T> {
  readonly #section: Section;
  readonly #base: ElementStyle;
  readonly #runs: T[][] = [];
  readonly #runOf = new Map<T, T[]>();
  readonly #bySubject = new Map<string, T[]>();
  /** Whether a run has short elements, and others; absent where it changed. */
  readonly #kinds = new Map<T[], { readonly hasShort: boolean; readonly hasLong: boolean }>();
  /** By each sort key, how many elements are out of order; undefined until somebody asks. */
  #disorder: number[] | undefined;

  /** @param base how an element is written where no neighbour shows it. */
  constructor(section: Section, base: ElementStyle, elements: readonly T[]) {
    this.#section = section;
    this.#base = base;
    for (let at = 0; at < elements.length; at += MAX_RUN) {
      const run = elements.slice(at, at + MAX_RUN);
      this.#runs.push(run);
      for (const one of run) this.#index(one, run);
    }
  }

  get size(): number {
    return this.#runOf.size;
  }

  *[Symbol.iterator](): Generator<T> {
    for (const run of this.#runs) yield* run;
  }

  /**
   * The one element of a value.
   *
   * @throws {EditError} when it is not there, or more than once.
   */
  find(value: string, scope: string | undefined): T {
    const some = this.#bySubject.get(canonical(value, this.#base)) ?? [];
    const [one, another] = scope === undefined ? some : some.filter((each) => each.scope === scope);
    if (one === undefined) throw new EditError(`${quote(value)} is not in its ${this.#section}`);
    if (another !== undefined) {
      throw new EditError(
        `${quote(value)} is in its ${this.#section} more than once, and it was not said which is meant`,
      );
    }
    return one;
  }

  next(one: T): T | undefined {
    const run = this.#run(one);
    return run[run.indexOf(one) + 1] ?? this.#runs[this.#runs.indexOf(run) + 1]?.[0];
  }

  previous(one: T): T | undefined {
    const run = this.#run(one);
    return run[run.indexOf(one) - 1] ?? this.#runs[this.#runs.indexOf(run) - 1]?.at(-1);
  }

  /** What the section is sorted by, if it is. */
  order(): SortKey | undefined {
    if (this.size < 2) return undefined;
    if (this.#disorder === undefined) {
      this.#disorder = SORT_KEYS.map(() => 0);
      let before: T | undefined;
      for (const one of this) {
        this.#countDisorder(before, one, 1);
        before = one;
      }
    }
    return SORT_KEYS.find((_keyOf, index) => this.#disorder?.[index] === 0);
  }

  /**
   * Finds the position of a new element: by the order where the section is sorted, else at the end.
   *
   * @throws {EditError} when the section has it already.
   */
  positionOf(element: Readonly<Record<string, Said>>, order: SortKey | undefined): Position<T> {
    const { subjectKey } = this.#base;
    const { [subjectKey]: written, scope = DEFAULT_VERDICT_SCOPE } = element;
    if (written === undefined) throw new EditError(`what is to be added has no ${subjectKey}`);
    const identity = { subject: canonical(String(written), this.#base), scope: String(scope) };
    const same = this.#bySubject.get(identity.subject) ?? [];
    if (same.some((one) => one.scope === identity.scope)) {
      throw new EditError(`${quote(identity.subject)} is in its ${this.#section} already`);
    }
    const previous =
      order === undefined ? this.#runs.at(-1)?.at(-1) : this.#lastUpTo(order(identity.subject), order);
    const next = previous === undefined ? this.#runs[0]?.[0] : this.next(previous);
    return { identity, previous, next, style: this.#styleFor(element, previous, next) };
  }

  insert(one: T, previous: T | undefined): void {
    const next = previous === undefined ? this.#runs[0]?.[0] : this.next(previous);
    this.#countDisorder(previous, next, -1);
    this.#countDisorder(previous, one, 1);
    this.#countDisorder(one, next, 1);
    let run = previous === undefined ? this.#runs[0] : this.#run(previous);
    if (run === undefined) {
      run = [];
      this.#runs.push(run);
    }
    run.splice(previous === undefined ? 0 : run.indexOf(previous) + 1, 0, one);
    this.#index(one, run);
    this.#kinds.delete(run);
    if (run.length <= 2 * MAX_RUN) return;
    const rest = run.splice(MAX_RUN);
    this.#runs.splice(this.#runs.indexOf(run) + 1, 0, rest);
    for (const each of rest) this.#runOf.set(each, rest);
  }

  remove(one: T): void {
    const [previous, next] = [this.previous(one), this.next(one)];
    this.#countDisorder(previous, one, -1);
    this.#countDisorder(one, next, -1);
    this.#countDisorder(previous, next, 1);
    const run = this.#run(one);
    run.splice(run.indexOf(one), 1);
    if (run.length === 0) this.#runs.splice(this.#runs.indexOf(run), 1);
    this.#runOf.delete(one);
    const same = this.#bySubject.get(one.subject);
    same?.splice(same.indexOf(one), 1);
    this.#kinds.delete(run);
  }

  /** To be told when an element becomes short or long. */
  restyled(one: T): void {
    this.#kinds.delete(this.#run(one));
  }

  #run(one: T): T[] {
    return this.#runOf.get(one) as T[];
  }

  #index(one: T, run: T[]): void {
    this.#runOf.set(one, run);
    const same = this.#bySubject.get(one.subject);
    if (same === undefined) this.#bySubject.set(one.subject, [one]);
    else same.push(one);
  }

  #countDisorder(one: T | undefined, next: T | undefined, by: 1 | -1): void {
    const counts = this.#disorder;
    if (counts === undefined || one === undefined || next === undefined) return;
    for (const [index, keyOf] of SORT_KEYS.entries()) {
      if (keyOf(one.subject) > keyOf(next.subject)) counts[index] = (counts[index] ?? 0) + by;
    }
  }

  /** In a sorted section, the last element whose key is not above another. */
  #lastUpTo(key: string, keyOf: SortKey): T | undefined {
    const isUpTo = (one: T | undefined): boolean => keyOf(one?.subject ?? "") <= key;
    const run = this.#runs[countLeading(this.#runs, ([first]) => isUpTo(first)) - 1];
    return run?.[countLeading(run, isUpTo) - 1];
  }

  /** A new element is written as the one above it, or below; one that says more, as the nearest that does. */
  #styleFor(
    element: Readonly<Record<string, Said>>,
    previous: T | undefined,
    next: T | undefined,
  ): ElementStyle {
    const neighbour = (previous ?? next)?.style ?? this.#base;
    if (Object.keys(element).length === 1) {
      const isShort = this.size === 0 || this.#runs.some((run) => this.#kindsOf(run).hasShort);
      return { ...neighbour, isShort };
    }
    if (!neighbour.isShort) return neighbour;
    const long = this.#longUpTo(previous) ?? this.#longFrom(next);
    return long === undefined ? neighbour : { ...long.style, column: neighbour.column };
  }

  #longUpTo(last: T | undefined): T | undefined {
    if (last === undefined) return undefined;
    const run = this.#run(last);
    const before = this.#runs.slice(0, this.#runs.indexOf(run)).findLast((one) => this.#kindsOf(one).hasLong);
    return run.slice(0, run.indexOf(last) + 1).findLast(isLong) ?? before?.findLast(isLong);
  }

  #longFrom(first: T | undefined): T | undefined {
    if (first === undefined) return undefined;
    const run = this.#run(first);
    const behind = this.#runs.slice(this.#runs.indexOf(run) + 1).find((one) => this.#kindsOf(one).hasLong);
    return run.slice(run.indexOf(first)).find(isLong) ?? behind?.find(isLong);
  }

  #kindsOf(run: T[]): { readonly hasShort: boolean; readonly hasLong: boolean } {
    let kinds = this.#kinds.get(run);
    if (kinds === undefined) {
      kinds = { hasShort: run.some(({ isShort }) => isShort), hasLong: run.some(isLong) };
      this.#kinds.set(run, kinds);
    }
    return kinds;
  }
}

function isLong({ isShort }: ListElement): boolean {
  return !isShort;
}

/** How many elements a condition holds for, which holds for the first ones and no other. */
function countLeading<E>(all: readonly E[], isIn: (one: E) => boolean): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isIn(all[middle] as E)) low = middle + 1;
    else high = middle;
  }
  return low;
}
