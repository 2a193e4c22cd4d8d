import { printable } from "../settings/text";
import { ListUnstableError } from "./errors";
import type { Page } from "./schemas";

export interface WholeListOptions<Item> {
  /** What the list is called in an error. */
  readonly name: string;
  readonly fetchPage: (page: number) => Promise<Page<Item>>;
  /** What tells one item from another; undefined for an item that nothing tells apart. */
  readonly identity: (item: Item) => string | undefined;
  /** How many times a reading is begun anew when the list moves underneath it. Default: 5. */
  readonly attempts?: number;
}

/**
 * Reads a whole list, page by page, as one consistent reading: when the list moves between two pages (its total
 * changes, an item comes twice, the pages hold another number of items than the total says) the reading begins anew.
 *
 * Makes ⌈N / page size⌉ requests for N items, one for an empty list.
 *
 * @throws {ListUnstableError} when no consistent reading came about.
 */
export async function readWholeList<Item>(options: WholeListOptions<Item>): Promise<Item[]> {
  const attempts = options.attempts ?? 5;
  let why = "";
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const reading = await readOnce(options);
    if (reading.consistent) return reading.items;
    why = reading.why;
  }
  throw new ListUnstableError(
    `The ${options.name} could not be read consistently in ${attempts} attempts: ${why}. Somebody may be changing it; run again when it is quiet.`,
  );
}

type Reading<Item> =
  | { readonly consistent: true; readonly items: Item[] }
  | { readonly consistent: false; readonly why: string };

async function readOnce<Item>(options: WholeListOptions<Item>): Promise<Reading<Item>> {
  const items: Item[] = [];
  const seen = new Set<string>();
  let total: number | undefined;
  for (let page = 1; ; page += 1) {
    const answer = await options.fetchPage(page);
    if (page > 1 && answer.total !== total) return moved(`its total went from ${total} to ${answer.total}`);
    total = answer.total;
    for (const item of answer.items) {
      const identity = options.identity(item);
      if (identity === undefined) continue;
      if (seen.has(identity)) return moved(`${printable(identity)} came twice`);
      seen.add(identity);
    }
    items.push(...answer.items);
    const done = total === undefined ? isLast(answer) : items.length >= total || answer.items.length === 0;
    if (!done) continue;
    if (total !== undefined && items.length !== total) {
      return moved(`its pages hold ${items.length} items but its total says ${total}`);
    }
    return { consistent: true, items };
  }
}

function moved(why: string): { consistent: false; why: string } {
  return { consistent: false, why };
}

/** Without a total only a page that is not full tells that it is the last. */
function isLast(page: Page<unknown>): boolean {
  return page.items.length === 0 || (page.page_size !== undefined && page.items.length < page.page_size);
}
