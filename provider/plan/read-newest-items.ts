import type { Page } from "../client";
import { getErrorMessage } from "../model/email-security-error";
import { excerpt } from "../model/text";
import { parseInstant } from "./mail-records";

/** A paginated list, newest items first, with bounds for reading it. */
export interface NewestFirstList<Item, Kept> {
  readonly name: string;
  readonly fetchPage: (page: number) => Promise<Page<Item>>;
  readonly maxPages: number;
  readonly getId: (item: Item) => string;
  /** Reduces an item to the data to keep. */
  readonly transform: (item: Item) => Kept;
  /** Aborts when the time budget is used up. */
  readonly deadline: AbortSignal;
}

/** The items that were read, without duplicates. */
export interface NewestItems<Kept> {
  readonly items: readonly Kept[];
  /** The time of the oldest item; present if items are missing but all later ones were read. */
  readonly completeSince?: string;
  /** Sentences that say what is missing and why; undefined if everything was read. */
  readonly missing?: string;
}

/**
 * Reads the newest items page by page until a bound. Never throws: a failure returns the items read so far, with the reason. New items
 * shift the pages during the read, so duplicates are dropped.
 */
export async function readNewestItems<Item, Kept extends { readonly time?: string }>(
  list: NewestFirstList<Item, Kept>,
): Promise<NewestItems<Kept>> {
  const items: Kept[] = [];
  const seenIds = new Set<string>();
  const pageOrder = new PageOrder();
  let count = 0;
  let totals: { first: number | undefined; last: number | undefined } | undefined;
  let stopReason: string | undefined;
  for (let page = 1; ; page += 1) {
    if (page > list.maxPages) {
      stopReason = `The limit is ${list.maxPages} ${list.maxPages === 1 ? "page" : "pages"}.`;
      break;
    }
    let pageResult: Page<Item>;
    try {
      pageResult = await runBeforeDeadline(list.deadline, () => list.fetchPage(page));
    } catch (error) {
      stopReason = formatFailureReason(error);
      break;
    }
    totals = { first: totals === undefined ? pageResult.total : totals.first, last: pageResult.total };
    count += pageResult.items.length;
    const newItems: Kept[] = [];
    for (const item of pageResult.items) {
      const id = list.getId(item);
      if (seenIds.has(id)) continue;
      seenIds.add(id);
      newItems.push(list.transform(item));
    }
    for (const newItem of newItems) items.push(newItem);
    pageOrder.addPage(newItems);
    if (pageResult.items.length === 0 || (pageResult.total !== undefined && count >= pageResult.total)) break;
    if (newItems.length === 0) {
      stopReason = `Page ${page} contained nothing new.`;
      break;
    }
  }
  return buildReadResult(list.name, items, pageOrder, totals, stopReason);
}

function buildReadResult<Kept>(
  name: string,
  items: readonly Kept[],
  pageOrder: PageOrder,
  totals: { first: number | undefined; last: number | undefined } | undefined,
  stopReason: string | undefined,
): NewestItems<Kept> {
  if (totals === undefined) return { items, missing: `The ${name} could not be read. ${stopReason}` };
  // New items are only in the last total; items that left the window only in the first.
  const total = Math.min(totals.first ?? items.length, totals.last ?? items.length);
  if (stopReason === undefined && items.length >= total) return { items };
  const totalText = totals.last === undefined ? "" : ` of ${Math.max(totals.last, items.length)}`;
  const newestText = pageOrder.oldest === undefined ? "" : "the newest ";
  const reason = stopReason ?? "The list changed while it was read.";
  return {
    items,
    ...(pageOrder.oldest === undefined ? {} : { completeSince: pageOrder.oldest }),
    missing: `Of the ${name}, only ${newestText}${items.length}${totalText} were read. ${reason}`,
  };
}

/** Tracks whether each page is older than the previous one. Only then are all items later than the oldest one known. */
class PageOrder {
  #oldest: { time: string; instant: number } | undefined;
  #newestOfPreviousPage = Number.POSITIVE_INFINITY;
  #isOrdered = true;

  addPage(page: readonly { readonly time?: string }[]): void {
    let newest = Number.NEGATIVE_INFINITY;
    for (const { time } of page) {
      const instant = parseInstant(time);
      if (time === undefined || instant === undefined) continue;
      newest = Math.max(newest, instant);
      if (this.#oldest === undefined || instant < this.#oldest.instant) this.#oldest = { time, instant };
    }
    if (newest > this.#newestOfPreviousPage) this.#isOrdered = false;
    if (newest !== Number.NEGATIVE_INFINITY) this.#newestOfPreviousPage = newest;
  }

  get oldest(): string | undefined {
    return this.#isOrdered ? this.#oldest?.time : undefined;
  }
}

/** Returns the response, or rejects when the time is up; a late response is ignored. */
async function runBeforeDeadline<T>(deadline: AbortSignal, request: () => Promise<T>): Promise<T> {
  if (deadline.aborted) throw new DeadlineError();
  return await new Promise((resolve, reject) => {
    const rejectLate = (): void => reject(new DeadlineError());
    deadline.addEventListener("abort", rejectLate, { once: true });
    void request()
      .then(resolve, reject)
      .finally(() => deadline.removeEventListener("abort", rejectLate));
  });
}

class DeadlineError extends Error {
  override readonly message = "The time limit was reached.";
}

function formatFailureReason(error: unknown): string {
  const message = excerpt(getErrorMessage(error), MAX_REASON_LENGTH).trim();
  return /[.!?…]$/.test(message) ? message : `${message}.`;
}

const MAX_REASON_LENGTH = 400;
