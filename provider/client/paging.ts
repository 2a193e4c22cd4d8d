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

/** A list that goes on for longer does not end: it is given up, whatever its total says. */
const MAX_PAGES = 10_000;

/**
 * Reads a whole list, page by page, as one consistent reading: when the list moves between two pages (its total
 * changes, an item comes twice, the pages hold another number of items than the total says) the reading begins anew.
 *
 * Makes ⌈N / page size⌉ requests for N items, one for an empty list. Where the service gives no total, only an empty
 * page tells the end for certain, which takes one request more.
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
  let lastNameless: string | undefined;
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const answer = await options.fetchPage(page);
    if (page > 1 && answer.total !== total) {
      return moved(`its total went from ${total ?? "none"} to ${answer.total ?? "none"}`);
    }
    total = answer.total;
    let named = 0;
    for (const item of answer.items) {
      items.push(item);
      const identity = options.identity(item);
      if (identity === undefined) continue;
      if (seen.has(identity)) return moved(`${printable(identity)} came twice`);
      seen.add(identity);
      named += 1;
    }
    // Where no item can be told from another, a whole page that comes again still can.
    const nameless = named === 0 && answer.items.length > 0 ? JSON.stringify(answer.items) : undefined;
    if (nameless !== undefined && nameless === lastNameless)
      return moved(`page ${page} is page ${page - 1} again`);
    lastNameless = nameless;
    const done = answer.items.length === 0 || (total !== undefined && items.length >= total);
    if (!done) continue;
    if (total !== undefined && items.length !== total) {
      return moved(`its pages hold ${items.length} items but its total says ${total}`);
    }
    return { consistent: true, items };
  }
  throw new ListUnstableError(
    `The ${options.name} did not end within ${MAX_PAGES} pages; the service seems to page wrongly.`,
  );
}

function moved(why: string): { consistent: false; why: string } {
  return { consistent: false, why };
}
