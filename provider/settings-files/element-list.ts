import { DEFAULT_VERDICT_SCOPE } from "../model/assumptions";
import { quote } from "../model/text";
import type { ElementStyle, FieldValue } from "./edit-element";
import { EditError } from "./edit-error";
import type { SectionName } from "./editable-section";
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

/** The elements of a section in order, with an index by value. */
export class ElementList<T extends ListElement> implements Iterable<T> {
  readonly #section: SectionName;
  readonly #base: ElementStyle;
  readonly #elements: T[];
  readonly #bySubject = new Map<string, T[]>();
  /** The number of elements out of order, by sort key; computed lazily. */
  #disorderCounts: number[] | undefined;

  /** @param base the style of elements without neighbours. */
  constructor(section: SectionName, base: ElementStyle, elements: readonly T[]) {
    this.#section = section;
    this.#base = base;
    this.#elements = [...elements];
    for (const element of elements) this.#addToIndex(element);
  }

  get size(): number {
    return this.#elements.length;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#elements.values();
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

  next(element: T | undefined): T | undefined {
    return this.#elements[element === undefined ? 0 : this.#elements.indexOf(element) + 1];
  }

  previous(element: T): T | undefined {
    return this.#elements[this.#elements.indexOf(element) - 1];
  }

  /** Returns the sort key if the section is sorted. */
  getSortOrder(): SortKey | undefined {
    if (this.size < 2) return undefined;
    if (this.#disorderCounts === undefined) {
      this.#disorderCounts = SORT_KEYS.map(() => 0);
      let previous: T | undefined;
      for (const item of this) {
        this.#countDisorder(previous, item, 1);
        previous = item;
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
    const { valueKey } = this.#base;
    const { [valueKey]: rawSubject, scope = DEFAULT_VERDICT_SCOPE } = element;
    if (rawSubject === undefined) throw new EditError(`the new element has no ${valueKey}`);
    const identity = { subject: normalizeSubject(String(rawSubject), this.#base), scope: String(scope) };
    const sameSubject = this.#bySubject.get(identity.subject) ?? [];
    if (sameSubject.some((candidate) => candidate.scope === identity.scope)) {
      throw new EditError(`${quote(identity.subject)} is already listed under ${this.#section}`);
    }
    const previous =
      getSortKey === undefined ? this.#elements.at(-1) : this.#findLastUpTo(getSortKey(identity.subject), getSortKey);
    const next = this.next(previous);
    return { identity, previous, next, style: this.#chooseStyle(element, previous, next) };
  }

  insert(element: T, previous: T | undefined): void {
    const next = this.next(previous);
    this.#countDisorder(previous, next, -1);
    this.#countDisorder(previous, element, 1);
    this.#countDisorder(element, next, 1);
    this.#elements.splice(previous === undefined ? 0 : this.#elements.indexOf(previous) + 1, 0, element);
    this.#addToIndex(element);
  }

  remove(element: T): void {
    const [previous, next] = [this.previous(element), this.next(element)];
    this.#countDisorder(previous, element, -1);
    this.#countDisorder(element, next, -1);
    this.#countDisorder(previous, next, 1);
    this.#elements.splice(this.#elements.indexOf(element), 1);
    const sameSubject = this.#bySubject.get(element.subject);
    sameSubject?.splice(sameSubject.indexOf(element), 1);
  }

  #addToIndex(element: T): void {
    const sameSubject = this.#bySubject.get(element.subject);
    if (sameSubject === undefined) this.#bySubject.set(element.subject, [element]);
    else sameSubject.push(element);
  }

  #countDisorder(item: T | undefined, next: T | undefined, by: 1 | -1): void {
    const counts = this.#disorderCounts;
    if (counts === undefined || item === undefined || next === undefined) return;
    for (const [index, getKey] of SORT_KEYS.entries()) {
      if (getKey(item.subject) > getKey(next.subject)) counts[index] = (counts[index] ?? 0) + by;
    }
  }

  /** Returns the last element of a sorted section whose key isn't above the given one, by binary search. */
  #findLastUpTo(key: string, getKey: SortKey): T | undefined {
    let [low, high] = [0, this.size];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (getKey(this.#elements[middle]?.subject ?? "") <= key) low = middle + 1;
      else high = middle;
    }
    return this.#elements[low - 1];
  }

  /** A new element copies the style of the one above or below; with more keys, that of the nearest long one. */
  #chooseStyle(
    element: Readonly<Record<string, FieldValue>>,
    previous: T | undefined,
    next: T | undefined,
  ): ElementStyle {
    const neighbour = (previous ?? next)?.style ?? this.#base;
    if (Object.keys(element).length === 1) {
      return { ...neighbour, isShort: this.size === 0 || this.#elements.some(({ isShort }) => isShort) };
    }
    if (!neighbour.isShort) return neighbour;
    const position = next === undefined ? this.size : this.#elements.indexOf(next);
    const long = this.#elements.slice(0, position).findLast(isLong) ?? this.#elements.slice(position).find(isLong);
    return long === undefined ? neighbour : { ...long.style, column: neighbour.column };
  }
}

function isLong({ isShort }: ListElement): boolean {
  return !isShort;
}
