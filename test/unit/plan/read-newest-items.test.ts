import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Page } from "../../../provider/client";
import { readNewestItems } from "../../../provider/plan/read-newest-items";

interface Item {
  readonly id: number;
  readonly time: string;
}

describe("readNewestItems", () => {
  it("reads every existing item once while new items arrive", async () => {
    const moves = fc.array(fc.nat(4), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(fc.nat(40), fc.integer({ min: 1, max: 10 }), moves, async (size, pageSize, arrivals) => {
        const list = Array.from({ length: size }, (_, index) => buildItem(size - index));
        let next = size + 1;
        const { items, missing } = await readNewestItems({
          ...reading,
          fetchPage: async (page) => {
            const answer = getPage(list, page, pageSize);
            for (let come = arrivals[page - 1] ?? 0; come > 0; come -= 1) list.unshift(buildItem(next++));
            return answer;
          },
        });
        const ids = items.map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        // A page that only repeats items looks like a service that always returns the same page, so the result reports
        // it.
        if (missing === undefined) expect(ids).toEqual(expect.arrayContaining(listRange(1, size)));
        else expect(missing).toContain("contained nothing new");
        if (arrivals.every((come) => come < pageSize)) expect(missing).toBeUndefined();
      }),
    );
  });

  it("reports the page limit and since when items are complete", async () => {
    const list = Array.from({ length: 30 }, (_, index) => buildItem(30 - index));
    const read = await readNewestItems({
      ...reading,
      maxPages: 2,
      fetchPage: async (page) => getPage(list, page, 10),
    });
    expect(read.items).toHaveLength(20);
    expect(read).toMatchObject({
      completeSince: buildItem(11).time,
      missing: "Of the things, only the newest 20 of 30 were read. The limit is 2 pages.",
    });
  });

  it("reports no completeness date for an unordered list", async () => {
    const list = Array.from({ length: 30 }, (_, index) => buildItem(index));
    const read = await readNewestItems({
      ...reading,
      maxPages: 2,
      fetchPage: async (page) => getPage(list, page, 10),
    });
    expect(read).not.toHaveProperty("completeSince");
    expect(read.missing).toBe("Of the things, only 20 of 30 were read. The limit is 2 pages.");
  });

  it("keeps earlier pages when a page fails", async () => {
    const list = Array.from({ length: 30 }, (_, index) => buildItem(30 - index));
    const read = await readNewestItems({
      ...reading,
      fetchPage: async (page) => {
        if (page === 2) throw new Error("it broke\u001b[31m");
        return getPage(list, page, 10);
      },
    });
    expect(read.items).toHaveLength(10);
    expect(read.missing).toBe("Of the things, only the newest 10 of 30 were read. it broke\\u{1b}[31m.");
  });

  it("detects a service that repeats one page forever", async () => {
    const list = [buildItem(2), buildItem(1)];
    const read = await readNewestItems({
      ...reading,
      fetchPage: async () => ({ ...getPage(list, 1, 2), total: undefined }),
    });
    expect(read.items).toEqual(list);
    expect(read.missing).toBe("Of the things, only the newest 2 were read. Page 2 contained nothing new.");
  });

  it("detects items lost between two pages", async () => {
    const list = Array.from({ length: 20 }, (_, index) => buildItem(20 - index));
    const read = await readNewestItems({
      ...reading,
      fetchPage: async (page) => {
        const answer = getPage(list, page, 10);
        // An item removed from the first page moves another from the second page to the first; an item added at the
        // same time keeps the total unchanged.
        if (page === 1) list.splice(0, 1);
        if (page === 1) list.push(buildItem(0));
        return page === 2 ? { ...answer, items: answer.items.slice(0, 9) } : answer;
      },
    });
    expect(read.missing).toMatch(/^Of the things, only the newest 19 of 20 were read\./);
  });
});

const reading = {
  name: "things",
  maxPages: 1_000,
  getId: ({ id }: Item) => String(id),
  transform: (item: Item) => item,
  deadline: new AbortController().signal,
};

function buildItem(id: number): Item {
  return { id, time: new Date(Date.UTC(2026, 0, 1) + id * 60_000).toISOString() };
}

function getPage(list: readonly Item[], page: number, pageSize: number): Page<Item> {
  const items = list.slice((page - 1) * pageSize, page * pageSize);
  return { items, page, page_size: items.length, total: list.length };
}

function listRange(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
