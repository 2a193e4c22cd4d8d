import { expect, test } from "vitest";
import { readWholeList } from "../../../provider/client/paging";

test("gives up on an endless list without rereading it", async () => {
  let pages = 0;
  const endless = readWholeList({
    name: "deny list",
    fetchPage: async (page) => {
      pages += 1;
      return { items: [`item-${page}`], page, page_size: 1, total: undefined };
    },
    getIdentity: (item) => item,
  });
  await expect(endless).rejects.toMatchObject({
    code: "ERR_LIST_UNSTABLE",
    message: "The deny list did not end within 10000 pages; the service's paging seems to be broken.",
  });
  expect(pages).toBe(10_000);
});

test("rethrows a page's error without retrying", async () => {
  const error = new Error("the connection broke");
  const requestedPages: number[] = [];
  const reading = readWholeList({
    name: "deny list",
    fetchPage: async (page) => {
      requestedPages.push(page);
      if (page === 2) throw error;
      return { items: ["a"], page, page_size: 1, total: 2 };
    },
    getIdentity: (item) => item,
  });
  await expect(reading).rejects.toBe(error);
  expect(requestedPages).toEqual([1, 2]);
});

test("reads past the page limit when the total requires it", async () => {
  const total = 10_500;
  const items = await readWholeList({
    name: "deny list",
    fetchPage: async (page) => ({ items: [`item-${page}`], page, page_size: 1, total }),
    getIdentity: (item) => item,
  });
  expect(items).toHaveLength(total);
});

test("gives up on a total that is never reached", async () => {
  let pages = 0;
  const endless = readWholeList<{ page: number }>({
    name: "deny list",
    fetchPage: async (page) => {
      pages += 1;
      const items = page === 1 ? Array.from({ length: 100 }, () => ({ page })) : [{ page }];
      return { items, page, page_size: 100, total: 100_000 };
    },
    getIdentity: () => undefined,
  });
  await expect(endless).rejects.toMatchObject({
    message: "The deny list did not end within 11000 pages; the service's paging seems to be broken.",
  });
  expect(pages).toBe(11_000);
});

test("returns only the items that the filter keeps", async () => {
  const requestedPages: number[] = [];
  let total = 401;
  const readMatching = (keep: (item: string) => boolean) =>
    readWholeList(
      {
        name: "deny list",
        fetchPage: async (page) => {
          requestedPages.push(page);
          // The list changes once, before its third page.
          if (requestedPages.length === 3) total = 402;
          const items = Array.from(
            { length: Math.max(0, Math.min(200, total - (page - 1) * 200)) },
            (_, index) => `item-${(page - 1) * 200 + index}`,
          );
          return { items, page, page_size: 200, total };
        },
        getIdentity: (item) => item,
      },
      { keep },
    );
  expect(await readMatching((item) => item.endsWith("99"))).toEqual(["item-99", "item-199", "item-299", "item-399"]);
  expect(requestedPages).toEqual([1, 2, 3, 1, 2, 3]);
  requestedPages.length = 0;
  expect(await readMatching(() => false)).toEqual([]);
});
