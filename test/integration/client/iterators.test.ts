import { describe, expect, test } from "vitest";
import type { SettingsClient } from "../../../provider/client";
import { findEndpoint } from "./endpoints";
import { type Answerer, getPageNumber, getRejection, RecordingService, respondWithJson, TestClient } from "./service";

/* The iterator over each paged list in the reference: its exact requests, and its behavior when the list changes. */

interface IteratorCase {
  readonly name: string;
  readonly path: string;
  readonly iterate: (client: SettingsClient) => AsyncGenerator<unknown, void, undefined>;
  /** The same with all filters in the reference. */
  readonly narrowed: (client: SettingsClient) => AsyncGenerator<unknown, void, undefined>;
  /** The queries of a page, for both iterators. */
  readonly queries: readonly [(page: number) => string, (page: number) => string];
  /** Returns an item as the service sends it, identified by `id`. */
  readonly item: (id: string) => Record<string, unknown>;
  readonly getId: (item: never) => unknown;
  readonly called: string;
}

const ITERATED: readonly IteratorCase[] = [
  {
    name: "threats.list",
    path: "/api/v1/threats",
    iterate: ({ threats }) => threats.iterate(),
    narrowed: ({ threats }) => threats.iterate({ minutes_ago: 60, page_size: 100, extra: { q: "x" } }),
    queries: [(page) => `page=${page}`, (page) => `minutes_ago=60&page=${page}&page_size=100&q=x`],
    item: (id) => ({ id }),
    getId: ({ id }: { id: string }) => id,
    called: "list of threats",
  },
  {
    name: "phishingReports.list",
    path: "/api/v1/sonar/phishing-reports",
    iterate: ({ phishingReports }) => phishingReports.iterate(),
    narrowed: ({ phishingReports }) => phishingReports.iterate({ minutes_ago: 60, extra: { q: "x" } }),
    queries: [(page) => `page=${page}`, (page) => `minutes_ago=60&page=${page}&q=x`],
    item: (id) => ({ id }),
    getId: ({ id }: { id: string }) => id,
    called: "list of phishing reports",
  },
  {
    name: "metrics.threatsOverTime",
    path: "/api/v1/metrics/threats_over_time",
    iterate: ({ metrics }) => metrics.iterateThreatsOverTime(),
    narrowed: ({ metrics }) => metrics.iterateThreatsOverTime({ days: 30, extra: { q: "x" } }),
    queries: [(page) => `page=${page}`, (page) => `days=30&page=${page}&q=x`],
    item: (id) => ({ date: id, count_threats: 1 }),
    getId: ({ date }: { date: string }) => date,
    called: "list of threats over time",
  },
  {
    name: "vipEmployees.list",
    path: "/api/v1/settings/vip_employees",
    iterate: ({ vipEmployees }) => vipEmployees.iterate(),
    narrowed: ({ vipEmployees }) => vipEmployees.iterate({ q: "x", sort: "asc" }),
    queries: [(page) => `page=${page}&page_size=200`, (page) => `page=${page}&page_size=200&q=x&sort=asc`],
    item: (id) => ({ email: `${id}@example.com`, source: "manual" }),
    getId: ({ email }: { email: string }) => email.replace("@example.com", ""),
    called: "VIP list",
  },
  {
    name: "allowDenyEntries.list",
    path: "/api/v1/settings/allow_deny_entries",
    iterate: ({ allowDenyEntries }) => allowDenyEntries.iterate(),
    narrowed: ({ allowDenyEntries }) => allowDenyEntries.iterate({ list: "deny", q: "x" }),
    queries: [(page) => `page=${page}&page_size=200`, (page) => `list=deny&page=${page}&page_size=200&q=x`],
    item: (id) => ({ id, list: "deny", entry_type: "domain", value: `${id}.example` }),
    getId: ({ id }: { id: string }) => id,
    called: "allow/deny list",
  },
];

const SIZE = 2;

/** Starts a service with pages of two items, whose list may differ at each request. */
async function startListService(
  { name, item }: IteratorCase,
  listAt: (request: number) => readonly string[],
  computeTotal: (list: readonly string[]) => number | null = (list) => list.length,
): Promise<RecordingService> {
  const { envelope } = findEndpoint(name);
  const answerPage: Answerer = (request, response, index) => {
    const list = listAt(index);
    const page = getPageNumber(request);
    const items = list.slice((page - 1) * SIZE, page * SIZE).map(item);
    const numbers = { page, page_size: items.length, total: computeTotal(list) };
    const inside = { status: 200, results: { items, ...numbers } };
    respondWithJson(
      response,
      200,
      envelope === "paginated" ? { status: 200, pagination: numbers, results: { items } } : inside,
    );
  };
  return await RecordingService.start(answerPage);
}

async function collectIds(items: AsyncIterable<unknown>, { getId }: IteratorCase): Promise<unknown[]> {
  const ids: unknown[] = [];
  for await (const item of items) ids.push(getId(item as never));
  return ids;
}

const formatTrace = ({ path }: IteratorCase, query: (page: number) => string, pages: readonly number[]) =>
  pages.map((page) => `GET ${path}?${query(page)}`);

describe.each(ITERATED.map((list) => [list.name, list] as const))("iterator of %s", (_name, list) => {
  const { iterate, narrowed, queries } = list;

  test.each<[string[], number[]]>([
    [[], [1]],
    [["a"], [1]],
    [["a", "b"], [1]],
    [
      ["a", "b", "c"],
      [1, 2, 1, 2],
    ],
    [
      ["a", "b", "c", "d", "e"],
      [1, 2, 3, 1, 2, 3],
    ],
  ])("yields %j in order, requesting the pages %j", async (ids, pages) => {
    for (const [index, reading] of [iterate, narrowed].entries()) {
      await using service = await startListService(list, () => ids);
      await using client = new TestClient(service);
      expect(await collectIds(reading(client), list)).toEqual(ids);
      expect(service.trace).toEqual(formatTrace(list, queries[index] as (page: number) => string, pages));
    }
  });

  test("stops at an empty page when there is no total", async () => {
    await using service = await startListService(
      list,
      () => ["a", "b", "c"],
      () => null,
    );
    await using client = new TestClient(service);
    expect(await collectIds(iterate(client), list)).toEqual(["a", "b", "c"]);
    expect(service.trace).toEqual(formatTrace(list, queries[0], [1, 2, 3, 1, 2, 3]));
  });

  test("requests a page only when the caller needs it", async () => {
    await using service = await startListService(list, () => ["a", "b", "c", "d"]);
    await using client = new TestClient(service);
    const items = iterate(client);
    expect(service.received).toEqual([]);
    await items.next();
    await items.next();
    expect(service.trace).toEqual(formatTrace(list, queries[0], [1]));
    await items.return();
    expect(await items.next()).toEqual({ done: true, value: undefined });
    for await (const _ of iterate(client)) break;
    await expect(
      (async () => {
        for await (const _ of iterate(client)) throw new Error("enough");
      })(),
    ).rejects.toThrow("enough");
    expect(service.trace).toEqual(formatTrace(list, queries[0], [1, 1, 1]));
  });

  test.each<[string, string[][], string[], number[]]>([
    // The list at each request (the last one stays), the yielded items, and the requested pages.
    [
      "one is added at the top",
      [
        ["a", "b", "c"],
        ["x", "a", "b", "c"],
      ],
      ["a", "b", "x", "c"],
      [1, 2, 1, 2, 1, 2],
    ],
    [
      "one is added at the top as the last one goes: the total stays, an item comes twice",
      [
        ["a", "b", "c", "d"],
        ["x", "a", "b", "c"],
      ],
      ["a", "b", "x", "c"],
      [1, 2, 1, 2, 1, 2],
    ],
    [
      "one of a page already read is deleted",
      [
        ["a", "b", "c", "d", "e"],
        ["b", "c", "d", "e"],
      ],
      ["a", "b", "c", "d", "e"],
      [1, 2, 1, 2, 1, 2],
    ],
    [
      "one of a page still to read is deleted",
      [
        ["a", "b", "c", "d", "e"],
        ["a", "b", "c", "e"],
      ],
      ["a", "b", "c", "e"],
      [1, 2, 1, 2, 1, 2],
    ],
    [
      "one is added at the end",
      [
        ["a", "b", "c"],
        ["a", "b", "c", "x"],
      ],
      ["a", "b", "c", "x"],
      [1, 2, 1, 2, 1, 2],
    ],
    [
      "one of a page already read is deleted as one is added at the end: only a second reading finds the one skipped",
      [
        ["a", "b", "c", "d"],
        ["b", "c", "d", "x"],
      ],
      ["a", "b", "d", "x", "c"],
      [1, 2, 1, 2, 1, 2],
    ],
    [
      "it moves again during the second read",
      [
        ["a", "b", "c", "d"],
        ["b", "c", "d"],
        ["b", "c", "d"],
        ["c", "d"],
        ["c", "d"],
      ],
      ["a", "b", "c", "d"],
      [1, 2, 1, 2, 1],
    ],
    ["all of it goes", [["a", "b", "c"], []], ["a", "b"], [1, 2, 1]],
  ])("yields each item once when this happens: %s", async (_name, lists, calls, pages) => {
    await using service = await startListService(list, (request) => lists[request] ?? lists.at(-1) ?? []);
    await using client = new TestClient(service);
    expect(await collectIds(iterate(client), list)).toEqual(calls);
    expect(service.trace).toEqual(formatTrace(list, queries[0], pages));
  });

  test.each<[string, (request: number) => string[], (list: readonly string[]) => number | null, string, number]>([
    [
      "a list that grows with every request",
      (request) => ["a", "b", "c", ...Array.from({ length: request }, (_, index) => `x${index}`)].reverse(),
      (list) => list.length,
      "its total changed from 11 to 12",
      10,
    ],
    ["a total that nothing holds", () => ["a"], () => 7, "its pages have 1 items, but its total is 7", 10],
    ["a total that is too small", () => ["a", "b"], () => 1, "its pages have 2 items, but its total is 1", 5],
  ])("raises ERR_LIST_UNSTABLE for %s", async (_name, listAt, computeTotal, reason, requests) => {
    await using service = await startListService(list, listAt, computeTotal);
    await using client = new TestClient(service);
    const received: unknown[] = [];
    const reading = (async () => {
      for await (const item of iterate(client)) received.push(list.getId(item as never));
    })();
    expect(await getRejection(reading)).toMatchObject({
      name: "ListUnstableError",
      code: "ERR_LIST_UNSTABLE",
      message: `The ${list.called} could not be read consistently in 5 attempts: ${reason}. Someone may be changing it; run again later.`,
    });
    expect(new Set(received).size).toBe(received.length);
    expect(service.received).toHaveLength(requests);
  });

  test.each([1000, null])("stops when one page repeats forever with total %j", async (total) => {
    const { envelope } = findEndpoint(list.name);
    const items = ["a", "b"].map(list.item);
    await using service = await RecordingService.start((_request, response) =>
      respondWithJson(
        response,
        200,
        envelope === "paginated" ? { pagination: { total }, results: { items } } : { results: { items, total } },
      ),
    );
    await using client = new TestClient(service);
    expect(await getRejection(collectIds(iterate(client), list))).toMatchObject({
      code: "ERR_LIST_UNSTABLE",
      message: expect.stringContaining("was listed twice"),
    });
    expect(service.trace).toEqual(formatTrace(list, queries[0], [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]));
  });

  test("fails with the error of a failed page, without another request", async () => {
    const items = ["a", "b"].map(list.item);
    const page1 =
      findEndpoint(list.name).envelope === "paginated"
        ? { pagination: { total: 3 }, results: { items } }
        : { results: { items, total: 3 } };
    await using service = await RecordingService.start((request, response) => {
      if (getPageNumber(request) === 2) respondWithJson(response, 429, { error: "slow down" });
      else respondWithJson(response, 200, page1);
    });
    await using client = new TestClient(service);
    const received: unknown[] = [];
    const reading = (async () => {
      for await (const item of iterate(client)) received.push(list.getId(item as never));
    })();
    expect(await getRejection(reading)).toMatchObject({ code: "ERR_RATE_LIMITED" });
    expect(received).toEqual(["a", "b"]);
    expect(service.trace).toEqual(formatTrace(list, queries[0], [1, 2]));
  });
});

test.each<[string, (client: SettingsClient) => AsyncGenerator<unknown>, string]>([
  ["threats", (c) => c.threats.iterate({ minutes_ago: 0 }), "minutes_ago must be a whole number"],
  ["pages of threats", (c) => c.threats.iterate({ page_size: 101 }), "page_size must be a whole number"],
  ["a page of threats", (c) => c.threats.iterate({ extra: { page: 2 } }), 'extra contains "page"'],
  ["reports", (c) => c.phishingReports.iterate({ minutes_ago: 1.5 }), "minutes_ago must be a whole number"],
  ["days", (c) => c.metrics.iterateThreatsOverTime({ days: -1 }), "days must be a whole number"],
  ["VIPs", (c) => c.vipEmployees.iterate({ sort: "up" as "asc" }), "sort must be"],
  ["threats of null", (c) => c.threats.iterate(null as never), "query must be an object, not null"],
  ["page two", (c) => c.threats.iterate({ page: 2 } as never), 'query contains "page"'],
  ["reports of a text", (c) => c.phishingReports.iterate("x" as never), "query must be an object"],
  ["days of a list", (c) => c.metrics.iterateThreatsOverTime([] as never), "query must be an object"],
  ["VIPs of null", (c) => c.vipEmployees.iterate(null as never), "query must be an object"],
  ["VIPs by no text", (c) => c.vipEmployees.iterate({ q: 5 as never }), "q must be a string, not 5"],
  ["entries of null", (c) => c.allowDenyEntries.iterate(null as never), "query must be an object"],
  ["entries", (c) => c.allowDenyEntries.iterate({ list: "block" as "deny" }), "list must be"],
])("rejects an invalid query before any request: %s", async (_name, iterate, message) => {
  await using service = await RecordingService.start((_request, response) => respondWithJson(response, 200, {}));
  await using client = new TestClient(service);
  expect(await getRejection(iterate(client).next())).toMatchObject({
    code: "ERR_INVALID_ARGUMENT",
    message: expect.stringContaining(message),
  });
  expect(service.received).toEqual([]);
});

describe("VIP rows that are hard to distinguish", () => {
  const vips = ITERATED.find(({ name }) => name === "vipEmployees.list") as IteratorCase;
  const twice = [
    { email: "Jane@example.com", source: "auto" },
    { email: "jane@Example.com", source: "manual" },
    { full_name: "Room Berlin" },
    { full_name: "Room Berlin" },
  ];

  /** Starts a service with four rows in pages of two. A row is added before the page of the given request. */
  const serveRows = (movesAt: number) =>
    RecordingService.start((request, response, index) => {
      const rows = index < movesAt ? twice : [...twice, { full_name: "Room Paris" }];
      const page = getPageNumber(request);
      const items = rows.slice((page - 1) * SIZE, page * SIZE);
      respondWithJson(response, 200, { results: { items, total: rows.length } });
    });

  test("yields every row as often as it is listed", async () => {
    await using service = await serveRows(9);
    await using client = new TestClient(service);
    expect(await collectIds(vips.iterate(client), { ...vips, getId: (vip) => vip })).toEqual(twice);
    expect(service.received.map(getPageNumber)).toEqual([1, 2, 1, 2]);
  });

  test.each([1, 2])("yields no extra rows when the list changes before request %i", async (movesAt) => {
    await using service = await serveRows(movesAt);
    await using client = new TestClient(service);
    const received = await collectIds(vips.iterate(client), { ...vips, getId: (vip) => vip });
    expect(received).toEqual([...twice, { full_name: "Room Paris" }]);
  });

  test.each([
    ["white space", ["jane@example.com", " jane@example.com"]],
    ["case", ["jane@example.com", "JANE@example.com"]],
    ["the form of Unicode", ["jos\u00e9@example.com", "jose\u0301@example.com"]],
  ])("yields both spellings of a mailbox that differ in %s", async (_label, emails) => {
    const items = emails.map((email) => ({ email, source: "manual" }));
    await using service = await RecordingService.start((_request, response) =>
      respondWithJson(response, 200, { results: { items, total: 2 } }),
    );
    await using client = new TestClient(service);
    expect((await client.vipEmployees.readAll()).map(({ email }) => email)).toEqual(emails);
    expect(service.received).toHaveLength(1);
  });

  test("names the mailbox and its source in an error", async () => {
    for (const [source, named] of [
      ["auto", "jane@example.com (auto)"],
      [undefined, "jane@example.com"],
    ]) {
      const items = [
        { email: "jane@example.com", source, comment: "one" },
        { email: "jane@example.com", source, comment: "two" },
      ];
      await using service = await RecordingService.start((_request, response) =>
        respondWithJson(response, 200, { results: { items, total: 2 } }),
      );
      await using client = new TestClient(service);
      expect(await getRejection(collectIds(vips.iterate(client), vips))).toMatchObject({
        message: expect.stringContaining(`in 5 attempts: ${named} was listed twice. `),
      });
    }
  });
});
