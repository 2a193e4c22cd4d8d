import { excerpt } from "../model/text";
import { CreationOrder } from "./creation-order";
import { ListUnstableError } from "./errors";
import { MAX_SEQUENTIAL_PAGES, PagePrefetcher } from "./page-prefetcher";
import type { PagedList, Stopwatch } from "./paged-list";
import type { Page } from "./schemas";

/** Options for reading a whole list. */
export interface ReadAllOptions<Item = unknown> {
  /** Called before each page is requested, including those of a restarted read. Default: nothing. */
  readonly onPage?: () => void;
  /** Selects the items to keep; others are dropped once their page is read. Default: all. */
  readonly keep?: (item: Item) => boolean;
}

/** The number of pages after which a list counts as endless, unless its total announces more. */
const MAX_PAGES = 10_000;
/** The maximum number of pages, whatever the total says. */
export const ABSOLUTE_MAX_PAGES = 50_000;
/** The maximum number of items of a list, many times what the largest tenants have. */
export const MAX_ITEMS = 500_000;
/**
 * The maximum text of a list to buffer while reading it, in characters: a few hundred for each of the maximum items.
 */
const MAX_BUFFERED_CHARACTERS = 128 * 1024 * 1024;
/**
 * The time limit of a whole read with its restarts, in milliseconds. The largest tenants take minutes. A slow service, or
 * one that returns single items, must not block a run for hours.
 */
export const MAX_READ_MS = 30 * 60_000;
const DEFAULT_ATTEMPTS = 5;

/**
 * Reads a whole list, page by page, as one consistent snapshot. The read restarts if the list changes between two
 * pages: its total changes, an item occurs twice, or the number of items differs from the total.
 *
 * Makes ⌈N / page size⌉ requests for N items, one for an empty list. Without a total, only an empty page marks the end,
 * which takes one more request.
 *
 * A single read of numbered pages can't detect one case: between two requests, as many items may leave the pages
 * already read as join those still to read. Without a total, it can't detect any departure from the pages already read.
 * An item that was present throughout may then be missing, so callers treat an item as removed only if two reads
 * miss it. {@link iterateList} reads twice instead.
 *
 * @throws {ListUnstableError} if no consistent read was possible.
 */
export async function readWholeList<Item>(
  list: PagedList<Item>,
  { onPage = () => {}, keep }: ReadAllOptions<Item> = {},
): Promise<Item[]> {
  const countedList: PagedList<Item> = {
    ...list,
    fetchPage(page, stopwatch, fetch) {
      onPage();
      return list.fetchPage(page, stopwatch, fetch);
    },
  };
  let mayPrefetch = list.getCreatedAt !== undefined;
  const stopwatch: Stopwatch = { elapsedMs: 0 };
  // For an item that isn't kept, only its identity is buffered.
  const measureCharacters = (item: Item): number =>
    keep === undefined || keep(item) ? countCharacters(item) : (list.getIdentity(item)?.length ?? 0);
  const listVersions = readUntilConsistent(list, async function* () {
    const items: Item[] = [];
    const pages = readPages(countedList, { stopwatch, measureCharacters, mayPrefetch });
    // After a change, pages are read one after another.
    mayPrefetch = false;
    for await (const page of pages) {
      for (const item of page.items) if (keep === undefined || keep(item)) items.push(item);
    }
    yield items;
  });
  for await (const items of listVersions) return items;
  return [];
}

/**
 * Iterates over a list as its pages arrive. Requests a page only after the previous one is consumed.
 *
 * If the list changes between two pages, in the ways that {@link readWholeList} detects, the read restarts and skips items
 * already yielded. A list of several pages is read again until a full read yields nothing new, which covers changes that a
 * single read can't detect. A read with as many items as the total can only miss one by containing a new one. Without a
 * total, the last read must match the one before exactly. So no item that stays is skipped, and none comes twice.
 *
 * @throws {ListUnstableError} if the list keeps changing; the items so far aren't the whole list.
 */
export async function* iterateList<Item>(list: PagedList<Item>): AsyncGenerator<Item, void, undefined> {
  const yieldedNames = new Set<string>();
  const stopwatch: Stopwatch = { elapsedMs: 0 };
  let previousNames: ReadonlySet<string> | undefined;
  yield* readUntilConsistent(list, async function* () {
    const duplicateCounts = new Map<string, number>();
    const currentNames = new Set<string>();
    const yieldedCountBefore = yieldedNames.size;
    let pages = 0;
    let hasTotal = true;
    // For an item that was yielded, only its identity is buffered.
    const measureCharacters = (item: Item) => list.getIdentity(item)?.length ?? countCharacters(item);
    for await (const page of readPages(list, { stopwatch, measureCharacters, mayPrefetch: false })) {
      pages += 1;
      hasTotal = page.total !== undefined;
      for (const item of page.items) {
        const name = getItemName(item, list, duplicateCounts);
        currentNames.add(name);
        if (yieldedNames.has(name)) continue;
        yieldedNames.add(name);
        yield item;
      }
    }
    // A single page is consistent by itself.
    if (pages === 1) return;
    const isStable =
      yieldedNames.size === yieldedCountBefore && (hasTotal || haveSameNames(currentNames, previousNames));
    previousNames = currentNames;
    if (!isStable) throw new ListChangedError("the last complete reading differs from the one before");
  });
}

function haveSameNames(currentNames: ReadonlySet<string>, otherNames: ReadonlySet<string> | undefined): boolean {
  return (
    otherNames !== undefined &&
    currentNames.size === otherNames.size &&
    [...currentNames].every((name) => otherNames.has(name))
  );
}

/** Restarts a read whenever the list changes during it, up to the limits. */
async function* readUntilConsistent<Item, Output>(
  list: PagedList<Item>,
  read: () => AsyncGenerator<Output, void, undefined>,
): AsyncGenerator<Output, void, undefined> {
  const attempts = list.maxAttempts ?? DEFAULT_ATTEMPTS;
  let reason = "";
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    try {
      yield* read();
      return;
    } catch (error) {
      if (!(error instanceof ListChangedError)) throw error;
      reason = error.message;
    }
  }
  throw new ListUnstableError(
    `The ${list.name} could not be read consistently in ${attempts} attempts: ${reason}. Someone may be changing it; run again later.`,
  );
}

/** The list changed between two pages, or may have. */
class ListChangedError extends Error {}

interface PageReadOptions<Item> {
  readonly stopwatch: Stopwatch;
  readonly measureCharacters: (item: Item) => number;
  readonly mayPrefetch: boolean;
}

async function* readPages<Item>(
  list: PagedList<Item>,
  options: PageReadOptions<Item>,
): AsyncGenerator<Page<Item>, void, undefined> {
  const prefetcher = new PagePrefetcher(list, options.stopwatch);
  try {
    yield* readConsistentPages(list, prefetcher, options);
  } finally {
    prefetcher.stop();
  }
}

async function* readConsistentPages<Item>(
  list: PagedList<Item>,
  prefetcher: PagePrefetcher<Item>,
  { stopwatch, measureCharacters, mayPrefetch }: PageReadOptions<Item>,
): AsyncGenerator<Page<Item>, void, undefined> {
  const order = new CreationOrder();
  let firstPage: Page<Item> | undefined;
  const seenIdentities = new Set<string>();
  let count = 0;
  let bufferedCharacters = 0;
  let total: number | undefined;
  let previousUnidentifiedPage: string | undefined;
  let maxPages = MAX_PAGES;
  for (let page = 1; page <= maxPages; page += 1) {
    if (stopwatch.elapsedMs > MAX_READ_MS) throw buildReadTooLongError(list, page - 1, count, total);
    const answer = await prefetcher.fetch(page);
    firstPage ??= answer;
    if (page === 1 && answer.items.length > 0) {
      maxPages = Math.min(maxPages + Math.ceil((answer.total ?? 0) / answer.items.length), ABSOLUTE_MAX_PAGES);
    }
    if (page > 1 && answer.total !== total) {
      throw new ListChangedError(`its total changed from ${total ?? "none"} to ${answer.total ?? "none"}`);
    }
    total = answer.total;
    count += answer.items.length;
    if (count > MAX_ITEMS) throw buildEndlessListError(list, `${MAX_ITEMS} items`);
    let identifiedCount = 0;
    const pageItems = new Map<string, Item>();
    for (const item of answer.items) {
      bufferedCharacters += measureCharacters(item);
      if (bufferedCharacters > MAX_BUFFERED_CHARACTERS)
        throw buildEndlessListError(list, `${MAX_BUFFERED_CHARACTERS} characters`);
      if (mayPrefetch) order.add(list.getCreatedAt?.(item));
      const identity = list.getIdentity(item);
      if (identity === undefined) continue;
      // One response is a single point in time, so identical rows in it are real duplicates at the service.
      const isDuplicate = isIdenticalItem(item, pageItems.get(identity));
      if (seenIdentities.has(identity) && !isDuplicate)
        throw new ListChangedError(`${excerpt(identity)} was listed twice`);
      seenIdentities.add(identity);
      pageItems.set(identity, item);
      identifiedCount += 1;
    }
    // Items without an identity can't be compared, but a whole repeated page can.
    const unidentifiedPage =
      identifiedCount === 0 && answer.items.length > 0 ? JSON.stringify(answer.items) : undefined;
    if (unidentifiedPage !== undefined && unidentifiedPage === previousUnidentifiedPage) {
      throw new ListChangedError(`page ${page} is the same as page ${page - 1}`);
    }
    previousUnidentifiedPage = unidentifiedPage;
    const isDone = answer.items.length === 0 || (total !== undefined && count >= total);
    if (isDone && total !== undefined && count !== total) {
      throw new ListChangedError(`its pages have ${count} items, but its total is ${total}`);
    }
    if (answer.items.length === 0 && (answer.page ?? page) !== page) {
      throw new ListChangedError(`for page ${page}, it returned page ${answer.page}, which is empty`);
    }
    if (page === 1 && mayPrefetch && answer.items.length === list.pageSize && order.isSorted) {
      const lastPage = Math.ceil((total ?? 0) / answer.items.length);
      if (lastPage > MAX_SEQUENTIAL_PAGES) prefetcher.allowUpTo(lastPage);
    }
    if (prefetcher.hasPrefetched && !order.isSorted) throw new ListChangedError("it isn't sorted by creation time");
    yield answer;
    if (!isDone) continue;
    if (prefetcher.hasPrefetched) {
      if (order.growingEnds.includes("first")) await assertUnchangedPage(list, 1, firstPage, stopwatch);
      if (order.growingEnds.includes("last")) await assertUnchangedPage(list, page, answer, stopwatch);
    }
    return;
  }
  throw buildEndlessListError(list, `${maxPages} pages`);
}

/**
 * Prefetched pages may be of different moments, in any order. But an addition shows on the page where new items appear, and without an
 * addition, an equal total means that nothing was removed.
 */
async function assertUnchangedPage<Item>(
  list: PagedList<Item>,
  number: number,
  page: Page<Item>,
  stopwatch: Stopwatch,
): Promise<void> {
  const laterPage = await list.fetchPage(number, stopwatch);
  const listNames = ({ items, total }: Page<Item>): string => JSON.stringify([total, items.map(list.getIdentity)]);
  if (listNames(laterPage) !== listNames(page)) throw new ListChangedError(`page ${number} changed`);
}

function buildEndlessListError({ name }: { readonly name: string }, limit: string): ListUnstableError {
  return new ListUnstableError(`The ${name} did not end within ${limit}; the service's paging seems to be broken.`);
}

function buildReadTooLongError(
  { name }: { readonly name: string },
  pages: number,
  items: number,
  total: number | undefined,
): ListUnstableError {
  const totalText = total === undefined ? "" : ` of the announced ${total}`;
  return new ListUnstableError(
    `Reading the ${name} was stopped, because it did not end within ${MAX_READ_MS / 60_000} minutes. It returned ${pages} pages with ${items} items${totalText}, which are not used. The service is too slow, or its paging is broken; run again later.`,
  );
}

function isIdenticalItem<Item>(item: Item, previous: Item | undefined): boolean {
  return previous !== undefined && JSON.stringify(item) === JSON.stringify(previous);
}

/** Returns the amount of text in an item, in characters. */
function countCharacters<Item>(item: Item): number {
  let characters = 0;
  const fields = item as Record<string, unknown>;
  for (const name in fields) {
    const value = fields[name];
    if (typeof value === "string") characters += value.length;
  }
  return characters;
}

/** Returns an item's key within a read. Indistinguishable items are numbered. */
function getItemName<Item>(item: Item, list: PagedList<Item>, duplicateCounts: Map<string, number>): string {
  const identity = list.getIdentity(item);
  if (identity !== undefined) return `=${identity}`;
  const text = JSON.stringify(item);
  const count = (duplicateCounts.get(text) ?? 0) + 1;
  duplicateCounts.set(text, count);
  return `${count}:${text}`;
}
