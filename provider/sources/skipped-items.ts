import { excerpt } from "../model/text";
import type { SkippedItems } from "./source-content";

const MAX_EXAMPLES = 5;

/** Counts items by reason, and keeps a few examples of each. */
export class ItemCounter {
  readonly #groups = new Map<string, { count: number; readonly examples: string[] }>();

  add(reason: string, example: string): void {
    const group = this.#groups.get(reason) ?? { count: 0, examples: [] };
    this.#groups.set(reason, group);
    group.count += 1;
    if (group.examples.length < MAX_EXAMPLES) group.examples.push(excerpt(example, 100));
  }

  /** Returns the groups, the largest first. */
  list(): SkippedItems[] {
    return [...this.#groups]
      .map(([reason, { count, examples }]) => ({ reason, count, examples }))
      .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
  }
}
