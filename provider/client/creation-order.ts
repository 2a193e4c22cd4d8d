/** Determines whether a list is sorted by creation time, which shows where new items appear. */
export class CreationOrder {
  #previous: number | undefined;
  #isAscending = true;
  #isDescending = true;

  add(createdAt: string | undefined): void {
    const time = Date.parse(createdAt ?? "");
    const difference = time - (this.#previous ?? time);
    // An invalid time makes both comparisons false.
    this.#isAscending &&= difference >= 0;
    this.#isDescending &&= difference <= 0;
    this.#previous = time;
  }

  get isSorted(): boolean {
    return this.#isAscending || this.#isDescending;
  }

  /** The ends at which new items appear: one, or both if all items have the same time. */
  get growingEnds(): readonly ("first" | "last")[] {
    return [...(this.#isDescending ? ["first" as const] : []), ...(this.#isAscending ? ["last" as const] : [])];
  }
}
