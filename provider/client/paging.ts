import { excerpt } from "../settings/text";
import { ListUnstableError } from "./errors";
import type { Page } from "./schemas";

/** Options for reading a whole list. */
export interface ReadAllOptions<Item = unknown> {
  /** Called before each page is requested, including those of a restarted reading. Default: nothing. */
  readonly onPage?: () => void;
  /** Selects the items to keep; others are dropped once their page is read. Default: all. */
  readonly keep?: (item: Item) => boolean;
}

/** The total duration of a reading's requests so far, in milliseconds, without waits for permits and processing of items. */
export interface Stopwatch {
  spentMs: number;
}

export interface PagedList<Item> {
  /** The name of the list in errors. */
  readonly name: string;
  readonly fetchPage: (page: number, stopwatch: Stopwatch) => Promise<Page<Item>>;
  /** Returns what identifies an item; undefined for an item without an identity. */
  readonly identity: (item: Item) => string | undefined;
  /** How many times a reading restarts if the list changes meanwhile. Default: 5. */
  readonly attempts?: number;
}

/** Reading stops after this many pages if the total doesn't announce more: the list is considered endless. */
const MAX_PAGES = 10_000;
/** Reading stops after this many pages, whatever the total says. */
const MAX_PAGES_OF_ANY = 50_000;
/** The maximum number of items in a list, far above the largest tenants. */
const MAX_ITEMS = 500_000;
/**
 * The maximum amount of text held while a list is read, in characters (a few hundred for each of the maximum number of items).
 */
const MAX_HELD_CHARACTERS = 128 * 1024 * 1024;
/**
 * The time limit of a whole reading with its restarts, in milliseconds. The largest tenants take minutes. A slow service, or
 * one that returns single items, must not block a run for hours.
 */
const MAX_READING_MS = 30 * 60_000;
const DEFAULT_ATTEMPTS = 5;

/**
 * Reads a whole list, page by page, as one consistent reading. The reading restarts if the list changes between two pages: its
 * total changes, an item occurs twice, or the number of items differs from the total.
 *
 * Makes ⌈N / page size⌉ requests for N items, one for an empty list. Without a total, only an empty page marks the end, which
 * takes one more request.
 *
 * No single reading of numbered pages can detect one case. Between two requests, as many items may leave the pages already read
 * as join those still to read. Without a total, any departure from the pages already read goes unnoticed. An item that was
 * there all the time may then be missing, so callers treat an item as gone only if two readings miss it. {@link iterate} reads
 * twice instead.
 *
 * @throws {ListUnstableError} if no consistent reading was possible.
 */
export async function readWholeList<Item>(
  list: PagedList<Item>,
  { onPage = () => {}, keep }: ReadAllOptions<Item> = {},
): Promise<Item[]> {
  const counted: PagedList<Item> = {
    ...list,
    fetchPage(page, stopwatch) {
      onPage();
      return list.fetchPage(page, stopwatch);
    },
  };
  const stopwatch: Stopwatch = { spentMs: 0 };
  // For an item that isn't kept, only its name is held.
  const charactersHeld = (item: Item): number =>
    keep === undefined || keep(item) ? charactersOf(item) : (list.identity(item)?.length ?? 0);
  const reading = untilConsistent(list, async function* () {
    const items: Item[] = [];
    for await (const page of readPages(counted, stopwatch, charactersHeld)) {
      for (const item of page.items) if (keep === undefined || keep(item)) items.push(item);
    }
    yield items;
  });
  for await (const items of reading) return items;
  return [];
}

/**
 * Iterates over a list as its pages arrive. Requests a page only after the previous one is consumed.
 *
 * If the list changes between two pages, in the ways that {@link readWholeList} detects, the reading restarts and skips items
 * already yielded. A list of several pages is read again until a full reading yields nothing new, which covers changes that a
 * single reading can't detect. A reading with as many items as the total can only miss one by containing a new one. Without a
 * total, the last reading must match the one before exactly. So no item that stays is skipped, and none comes twice.
 *
 * @throws {ListUnstableError} if the list keeps changing; the items so far aren't the whole list.
 */
export async function* iterate<Item>(list: PagedList<Item>): AsyncGenerator<Item, void, undefined> {
  const given = new Set<string>();
  const stopwatch: Stopwatch = { spentMs: 0 };
  let before: ReadonlySet<string> | undefined;
  yield* untilConsistent(list, async function* () {
    const alike = new Map<string, number>();
    const names = new Set<string>();
    const givenBefore = given.size;
    let pages = 0;
    let hasTotal = true;
    // For an item that was yielded, only its name is held.
    const charactersHeld = (item: Item) => list.identity(item)?.length ?? charactersOf(item);
    for await (const page of readPages(list, stopwatch, charactersHeld)) {
      pages += 1;
      hasTotal = page.total !== undefined;
      for (const item of page.items) {
        const name = nameOf(item, list, alike);
        names.add(name);
        if (given.has(name)) continue;
        given.add(name);
        yield item;
      }
    }
    // A single page is consistent by itself.
    if (pages === 1) return;
    const isSettled = given.size === givenBefore && (hasTotal || isSame(names, before));
    before = names;
    if (!isSettled) throw new Moved("the last whole reading differs from the one before");
  });
}

function isSame(names: ReadonlySet<string>, others: ReadonlySet<string> | undefined): boolean {
  return others !== undefined && names.size === others.size && [...names].every((name) => others.has(name));
}

/** Restarts a reading, up to a limit, whenever the list changes meanwhile. */
async function* untilConsistent<Item, Read>(
  list: PagedList<Item>,
  reading: () => AsyncGenerator<Read, void, undefined>,
): AsyncGenerator<Read, void, undefined> {
  const attempts = list.attempts ?? DEFAULT_ATTEMPTS;
  let why = "";
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    try {
      yield* reading();
      return;
    } catch (error) {
      if (!(error instanceof Moved)) throw error;
      why = error.message;
    }
  }
  throw new ListUnstableError(
    `The ${list.name} could not be read consistently in ${attempts} attempts: ${why}. Somebody may be changing it; run again when it is quiet.`,
  );
}

/** The list changed between two pages, or may have. */
class Moved extends Error {}

async function* readPages<Item>(
  list: PagedList<Item>,
  stopwatch: Stopwatch,
  charactersHeld: (item: Item) => number,
): AsyncGenerator<Page<Item>, void, undefined> {
  const seen = new Set<string>();
  let count = 0;
  let held = 0;
  let total: number | undefined;
  let lastNameless: string | undefined;
  let most = MAX_PAGES;
  for (let page = 1; page <= most; page += 1) {
    if (stopwatch.spentMs > MAX_READING_MS) throw tooLong(list, page - 1, count, total);
    const answer = await list.fetchPage(page, stopwatch);
    if (page === 1 && answer.items.length > 0) {
      most = Math.min(most + Math.ceil((answer.total ?? 0) / answer.items.length), MAX_PAGES_OF_ANY);
    }
    if (page > 1 && answer.total !== total) {
      throw new Moved(`its total went from ${total ?? "none"} to ${answer.total ?? "none"}`);
    }
    total = answer.total;
    count += answer.items.length;
    if (count > MAX_ITEMS) throw endless(list, `${MAX_ITEMS} items`);
    let named = 0;
    const here = new Map<string, Item>();
    for (const item of answer.items) {
      held += charactersHeld(item);
      if (held > MAX_HELD_CHARACTERS) throw endless(list, `${MAX_HELD_CHARACTERS} characters`);
      const identity = list.identity(item);
      if (identity === undefined) continue;
      // A single page is consistent by itself: exact duplicates in it are stored twice at the service.
      const isTwin = isSaidAgain(item, here.get(identity));
      if (seen.has(identity) && !isTwin) throw new Moved(`${excerpt(identity)} came twice`);
      seen.add(identity);
      here.set(identity, item);
      named += 1;
    }
    // Items without an identity can't be compared, but a repeated page can be detected as a whole.
    const nameless = named === 0 && answer.items.length > 0 ? JSON.stringify(answer.items) : undefined;
    if (nameless !== undefined && nameless === lastNameless) {
      throw new Moved(`page ${page} is page ${page - 1} again`);
    }
    lastNameless = nameless;
    const done = answer.items.length === 0 || (total !== undefined && count >= total);
    if (done && total !== undefined && count !== total) {
      throw new Moved(`its pages hold ${count} items but its total says ${total}`);
    }
    if (answer.items.length === 0 && (answer.page ?? page) !== page) {
      throw new Moved(`asked for page ${page}, it answered with page ${answer.page}, which is empty`);
    }
    yield answer;
    if (done) return;
  }
  throw endless(list, `${most} pages`);
}

function endless({ name }: { readonly name: string }, bound: string): ListUnstableError {
  return new ListUnstableError(`The ${name} did not end within ${bound}; the service seems to page wrongly.`);
}

function tooLong(
  { name }: { readonly name: string },
  pages: number,
  items: number,
  total: number | undefined,
): ListUnstableError {
  const of = total === undefined ? "" : ` of the ${total} that it tells of`;
  return new ListUnstableError(
    `The ${name} did not end within ${MAX_READING_MS / 60_000} minutes, and reading it was stopped: ${pages} pages had come, with ${items} items${of}. Nothing is done on the strength of them. The service is too slow now, or pages wrongly; run again later.`,
  );
}

function isSaidAgain<Item>(item: Item, before: Item | undefined): boolean {
  return before !== undefined && JSON.stringify(item) === JSON.stringify(before);
}

/** Returns the amount of text in an item, in characters. */
function charactersOf<Item>(item: Item): number {
  let characters = 0;
  const fields = item as Record<string, unknown>;
  for (const name in fields) {
    const value = fields[name];
    if (typeof value === "string") characters += value.length;
  }
  return characters;
}

/** Returns an item's name within a reading; items without an identity are numbered. */
function nameOf<Item>(item: Item, list: PagedList<Item>, alike: Map<string, number>): string {
  const identity = list.identity(item);
  if (identity !== undefined) return `=${identity}`;
  const text = JSON.stringify(item);
  const count = (alike.get(text) ?? 0) + 1;
  alike.set(text, count);
  return `${count}:${text}`;
}
