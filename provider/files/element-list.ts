import { DEFAULT_VERDICT_SCOPE } from "../settings/assumptions";
import { quote } from "../settings/text";
import type { ElementStyle, FieldValue } from "./edit-element";
import { EditError } from "./edit-error";
import type { Section } from "./editable-section";
import { type ElementIdentity, normalizeSubject } from "./element-identity";
import { getValueSortKey } from "./sort-key";

/** An element that new elements are positioned and styled by. */
export interface ListElement extends ElementIdentity {
  /** Whether it is a plain text. */
  readonly isShort: boolean;
  readonly style: ElementStyle;
}

/** The position and style of a new element. */
interface InsertPosition<T> {
  readonly identity: ElementIdentity;
  readonly previous: T | undefined;
  readonly next: T | undefined;
  readonly style: ElementStyle;
}

export type SortKey = (subject: string) => string;

const SORT_KEYS: readonly SortKey[] = [getValueSortKey, (subject) => subject];

/** The maximum length of a run. The cost of an edit grows with it and with the number of runs. */
const MAX_RUN = 256;

/** The elements of a section in order. Short runs and an index by value let an edit of a long section avoid a full scan. */
export class ElementList<T extends ListElement> implements Iterable<T> {
  readonly #section: Section;
  readonly #base: ElementStyle;
  readonly #runs: T[][] = [];
  readonly #runByElement = new Map<T, T[]>();
  readonly #bySubject = new Map<string, T[]>();
  /** Whether a run contains short or long elements; absent after a change. */
  readonly #kinds = new Map<T[], { readonly hasShort: boolean; readonly hasLong: boolean }>();
  /** The number of elements out of order, by sort key; computed lazily. */
  #disorderCounts: number[] | undefined;

  /** @param base the style of elements without neighbours. */
  constructor(section: Section, base: ElementStyle, elements: readonly T[]) {
    this.#section = section;
    this.#base = base;
    for (let start = 0; start < elements.length; start += MAX_RUN) {
      const run = elements.slice(start, start + MAX_RUN);
      this.#runs.push(run);
      for (const one of run) this.#addToIndex(one, run);
    }
  }

  get size(): number {
    return this.#runByElement.size;
  }

  *[Symbol.iterator](): Generator<T> {
    for (const run of this.#runs) yield* run;
  }

  /**
   * Returns the only element of a value.
   *
   * @throws {EditError} if it is missing or ambiguous.
   */
  find(value: string, scope: string | undefined): T {
    const candidates = this.#bySubject.get(normalizeSubject(value, this.#base)) ?? [];
    const [element, secondElement] =
      scope === undefined ? candidates : candidates.filter((candidate) => candidate.scope === scope);
    if (element === undefined) throw new EditError(`${quote(value)} isn't listed under ${this.#section}`);
    if (secondElement !== undefined) {
      throw new EditError(`${quote(value)} is listed under ${this.#section} more than once; specify its scope`);
    }
    return element;
  }

  next(element: T): T | undefined {
    const run = this.#getRun(element);
    return run[run.indexOf(element) + 1] ?? this.#runs[this.#runs.indexOf(run) + 1]?.[0];
  }

  previous(element: T): T | undefined {
    const run = this.#getRun(element);
    return run[run.indexOf(element) - 1] ?? this.#runs[this.#runs.indexOf(run) - 1]?.at(-1);
  }

  /** Returns the sort key if the section is sorted. */
  getSortOrder(): SortKey | undefined {
    if (this.size < 2) return undefined;
    if (this.#disorderCounts === undefined) {
      this.#disorderCounts = SORT_KEYS.map(() => 0);
      let previous: T | undefined;
      for (const one of this) {
        this.#countDisorder(previous, one, 1);
        previous = one;
      }
    }
    return SORT_KEYS.find((_keyOf, index) => this.#disorderCounts?.[index] === 0);
  }

  /**
   * Finds the position of a new element: by sort order, or at the end of an unsorted section.
   *
   * @throws {EditError} if the section already has it.
   */
  findPosition(element: Readonly<Record<string, FieldValue>>, getSortKey: SortKey | undefined): InsertPosition<T> {
    const { subjectKey } = this.#base;
    const { [subjectKey]: rawSubject, scope = DEFAULT_VERDICT_SCOPE } = element;
    if (rawSubject === undefined) throw new EditError(`the new element has no ${subjectKey}`);
    const identity = { subject: normalizeSubject(String(rawSubject), this.#base), scope: String(scope) };
    const sameSubject = this.#bySubject.get(identity.subject) ?? [];
    if (sameSubject.some((one) => one.scope === identity.scope)) {
      throw new EditError(`${quote(identity.subject)} is already listed under ${this.#section}`);
    }
    const previous =
      getSortKey === undefined
        ? this.#runs.at(-1)?.at(-1)
        : this.#findLastUpTo(getSortKey(identity.subject), getSortKey);
    const next = previous === undefined ? this.#runs[0]?.[0] : this.next(previous);
    return { identity, previous, next, style: this.#chooseStyle(element, previous, next) };
  }

  insert(element: T, previous: T | undefined): void {
    const next = previous === undefined ? this.#runs[0]?.[0] : this.next(previous);
    this.#countDisorder(previous, next, -1);
    this.#countDisorder(previous, element, 1);
    this.#countDisorder(element, next, 1);
    let run = previous === undefined ? this.#runs[0] : this.#getRun(previous);
    if (run === undefined) {
      run = [];
      this.#runs.push(run);
    }
    run.splice(previous === undefined ? 0 : run.indexOf(previous) + 1, 0, element);
    this.#addToIndex(element, run);
    this.#kinds.delete(run);
    if (run.length <= 2 * MAX_RUN) return;
    const newRun = run.splice(MAX_RUN);
    this.#runs.splice(this.#runs.indexOf(run) + 1, 0, newRun);
    for (const moved of newRun) this.#runByElement.set(moved, newRun);
  }

  remove(element: T): void {
    const [previous, next] = [this.previous(element), this.next(element)];
    this.#countDisorder(previous, element, -1);
    this.#countDisorder(element, next, -1);
    this.#countDisorder(previous, next, 1);
    const run = this.#getRun(element);
    run.splice(run.indexOf(element), 1);
    if (run.length === 0) this.#runs.splice(this.#runs.indexOf(run), 1);
    this.#runByElement.delete(element);
    const sameSubject = this.#bySubject.get(element.subject);
    sameSubject?.splice(sameSubject.indexOf(element), 1);
    this.#kinds.delete(run);
  }

  /** Must be called when an element becomes short or long. */
  onStyleChanged(one: T): void {
    this.#kinds.delete(this.#getRun(one));
  }

  #getRun(one: T): T[] {
    return this.#runByElement.get(one) as T[];
  }

  #addToIndex(element: T, run: T[]): void {
    this.#runByElement.set(element, run);
    const sameSubject = this.#bySubject.get(element.subject);
    if (sameSubject === undefined) this.#bySubject.set(element.subject, [element]);
    else sameSubject.push(element);
  }

  #countDisorder(one: T | undefined, next: T | undefined, by: 1 | -1): void {
    const counts = this.#disorderCounts;
    if (counts === undefined || one === undefined || next === undefined) return;
    for (const [index, keyOf] of SORT_KEYS.entries()) {
      if (keyOf(one.subject) > keyOf(next.subject)) counts[index] = (counts[index] ?? 0) + by;
    }
  }

  /** Returns the last element of a sorted section whose key isn't above the given one. */
  #findLastUpTo(key: string, keyOf: SortKey): T | undefined {
    const isAtMost = (one: T | undefined): boolean => keyOf(one?.subject ?? "") <= key;
    const run = this.#runs[countLeading(this.#runs, ([first]) => isAtMost(first)) - 1];
    return run?.[countLeading(run, isAtMost) - 1];
  }

  /** A new element copies the style of the one above or below; with more keys, that of the nearest long one. */
  #chooseStyle(
    element: Readonly<Record<string, FieldValue>>,
    previous: T | undefined,
    next: T | undefined,
  ): ElementStyle {
    const neighbour = (previous ?? next)?.style ?? this.#base;
    if (Object.keys(element).length === 1) {
      const isShort = this.size === 0 || this.#runs.some((run) => this.#getKinds(run).hasShort);
      return { ...neighbour, isShort };
    }
    if (!neighbour.isShort) return neighbour;
    const long = this.#findLongUpTo(previous) ?? this.#findLongFrom(next);
    return long === undefined ? neighbour : { ...long.style, column: neighbour.column };
  }

  #findLongUpTo(last: T | undefined): T | undefined {
    if (last === undefined) return undefined;
    const run = this.#getRun(last);
    const earlierRun = this.#runs.slice(0, this.#runs.indexOf(run)).findLast((one) => this.#getKinds(one).hasLong);
    return run.slice(0, run.indexOf(last) + 1).findLast(isLong) ?? earlierRun?.findLast(isLong);
  }

  #findLongFrom(first: T | undefined): T | undefined {
    if (first === undefined) return undefined;
    const run = this.#getRun(first);
    const laterRun = this.#runs.slice(this.#runs.indexOf(run) + 1).find((one) => this.#getKinds(one).hasLong);
    return run.slice(run.indexOf(first)).find(isLong) ?? laterRun?.find(isLong);
  }

  #getKinds(run: T[]): { readonly hasShort: boolean; readonly hasLong: boolean } {
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

/** Counts the leading elements that match a condition, by binary search. */
function countLeading<E>(items: readonly E[], predicate: (item: E) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (predicate(items[middle] as E)) low = middle + 1;
    else high = middle;
  }
  return low;
}
