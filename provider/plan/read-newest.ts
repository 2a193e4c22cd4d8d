import type { Page } from "../client";
import { excerpt } from "../settings/text";
import { instantOf } from "./seen-mail";

/** A paginated list, newest items first, with bounds for reading it. */
export interface NewestFirst<Item, Kept> {
  /** The name of its items in messages: `threats`. */
  readonly name: string;
  readonly fetchPage: (page: number) => Promise<Page<Item>>;
  /** The maximum number of pages to read. */
  readonly maxPages: number;
  /** Identifies an item, for deduplication. */
  readonly identity: (item: Item) => string;
  /** Reduces an item to the data to keep. */
  readonly keep: (item: Item) => Kept;
  /** Aborts when the time budget is used up. */
  readonly timeIsUp: AbortSignal;
}

/** The items that were read, without duplicates. */
export interface NewestRead<Kept> {
  readonly items: readonly Kept[];
  /** The time of the oldest item; present if items are missing but all later ones were read. */
  readonly from?: string;
  /** What is missing and why, as sentences; undefined if all was read. */
  readonly missing?: string;
}

/**
 * Reads the newest items page by page until a bound. Never throws: a failure returns the items read so far, with the reason. New items
 * shift the pages during the read, so duplicates are dropped.
 */
export async function readNewest<Item, Kept extends { readonly time?: string }>(
  list: NewestFirst<Item, Kept>,
): Promise<NewestRead<Kept>> {
  const items: Kept[] = [];
  const seen = new Set<string>();
  const order = new Order();
  let count = 0;
  let totals: { first: number | undefined; last: number | undefined } | undefined;
  let why: string | undefined;
  for (let page = 1; ; page += 1) {
    if (page > list.maxPages) {
      why = `No more than ${list.maxPages} ${list.maxPages === 1 ? "page is" : "pages are"} read.`;
      break;
    }
    let answer: Page<Item>;
    try {
      answer = await before(list.timeIsUp, () => list.fetchPage(page));
    } catch (error) {
      why = reasonOf(error);
      break;
    }
    totals = { first: totals === undefined ? answer.total : totals.first, last: answer.total };
    count += answer.items.length;
    const fresh: Kept[] = [];
    for (const item of answer.items) {
      const identity = list.identity(item);
      if (seen.has(identity)) continue;
      seen.add(identity);
      fresh.push(list.keep(item));
    }
    for (const one of fresh) items.push(one);
    order.take(fresh);
    if (answer.items.length === 0 || (answer.total !== undefined && count >= answer.total)) break;
    if (fresh.length === 0) {
      why = `Page ${page} brought nothing that the pages before had not.`;
      break;
    }
  }
  return whatIsMissing(list.name, items, order, totals, why);
}

function whatIsMissing<Kept>(
  name: string,
  items: readonly Kept[],
  order: Order,
  totals: { first: number | undefined; last: number | undefined } | undefined,
  why: string | undefined,
): NewestRead<Kept> {
  if (totals === undefined) return { items, missing: `The ${name} could not be read. ${why}` };
  // New items are only in the last total; items that left the window only in the first.
  const total = Math.min(totals.first ?? items.length, totals.last ?? items.length);
  if (why === undefined && items.length >= total) return { items };
  const of = totals.last === undefined ? "" : ` of ${Math.max(totals.last, items.length)}`;
  const which = order.oldest === undefined ? "" : "the newest ";
  const reason = why ?? "The list moved while it was read.";
  return {
    items,
    ...(order.oldest === undefined ? {} : { from: order.oldest }),
    missing: `Of the ${name}, only ${which}${items.length}${of} were read. ${reason}`,
  };
}

/** Tracks whether each page is older than the previous one. Only then are all items later than the oldest one known. */
class Order {
  #oldest: { time: string; instant: number } | undefined;
  #newestOfLast = Number.POSITIVE_INFINITY;
  #isKept = true;

  take(page: readonly { readonly time?: string }[]): void {
    let newest = Number.NEGATIVE_INFINITY;
    for (const { time } of page) {
      const instant = instantOf(time);
      if (time === undefined || instant === undefined) continue;
      newest = Math.max(newest, instant);
      if (this.#oldest === undefined || instant < this.#oldest.instant) this.#oldest = { time, instant };
    }
    if (newest > this.#newestOfLast) this.#isKept = false;
    if (newest !== Number.NEGATIVE_INFINITY) this.#newestOfLast = newest;
  }

  get oldest(): string | undefined {
    return this.#isKept ? this.#oldest?.time : undefined;
  }
}

/** Returns the answer, or rejects when the time is up; a late answer is ignored. */
async function before<T>(timeIsUp: AbortSignal, ask: () => Promise<T>): Promise<T> {
  if (timeIsUp.aborted) throw new TimeIsUp();
  return await new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new TimeIsUp());
    timeIsUp.addEventListener("abort", giveUp, { once: true });
    void ask()
      .then(resolve, reject)
      .finally(() => timeIsUp.removeEventListener("abort", giveUp));
  });
}

class TimeIsUp extends Error {
  override readonly message = "The time for it was up.";
}

function reasonOf(error: unknown): string {
  const message = excerpt(error instanceof Error ? error.message : String(error), LONGEST_REASON).trim();
  return /[.!?…]$/.test(message) ? message : `${message}.`;
}

const LONGEST_REASON = 400;
