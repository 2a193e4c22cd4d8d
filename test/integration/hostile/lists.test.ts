import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { sized, timeLimit } from "../../support/scale";
import { entry, failure, json, type Received, Service, TestClient } from "../client/service";
import { runClient } from "./client-process";

/** What reading a whole list may cost, however long the service makes it. */
const MOST_GROWTH_MIB = 420;

const pageAsked = ({ url }: Pick<Received, "url">) =>
  Number(new URL(url, "http://x").searchParams.get("page") ?? 1);

/** A page in the envelope of its endpoint. */
function answerPage(
  { url }: Received,
  response: ServerResponse,
  items: readonly unknown[],
  total: unknown,
): void {
  const numbers = { page: pageAsked({ url }), page_size: items.length, total };
  if (url.includes("/settings/")) json(response, 200, { results: { items, ...numbers } });
  else json(response, 200, { results: { items }, pagination: numbers });
}

/** Items of whatever list is asked for, numbered. */
function itemsOf({ url }: Pick<Received, "url">, first: number, count: number, text = ""): unknown[] {
  const make = (at: number) => {
    if (url.includes("vip_employees")) return { email: `vip-${at}@company.example`, comment: text };
    if (url.includes("threats_over_time")) return { date: `day ${at}`, count_threats: 1 };
    if (url.includes("allow_deny")) return entry(at, { comment: text });
    return { id: `item-${at}`, subject: text };
  };
  return Array.from({ length: count }, (_, at) => make(first + at));
}

const READINGS = ["allowDenyEntries.readAll", "vipEmployees.readAll"];
const ITERATORS = [
  "allowDenyEntries.iterate",
  "vipEmployees.iterate",
  "threats.iterate",
  "phishingReports.iterate",
  "metrics.iterateThreatsOverTime",
];

describe("a list that does not end is given up, at a cost that is bounded", () => {
  interface Endless {
    readonly name: string;
    readonly perPage: number;
    readonly text?: string;
    readonly total?: unknown;
    readonly calls: readonly string[];
    readonly bound: string;
    readonly mostRequests: number;
  }
  const CASES: readonly Endless[] = [
    {
      name: "ever new items, and no total",
      perPage: 10_000,
      calls: sized("hostile-lists", [...READINGS, ...ITERATORS], ["allowDenyEntries.readAll"]),
      bound: "500000 items",
      mostRequests: 51,
    },
    {
      name: "ever new items, and a total that is never reached",
      perPage: 10_000,
      total: Number.MAX_SAFE_INTEGER,
      calls: sized("hostile-lists", [...READINGS, ...ITERATORS], ["threats.iterate"]),
      bound: "500000 items",
      mostRequests: 51,
    },
    {
      name: "items that are large",
      perPage: 12,
      text: "x".repeat(1024 * 1024),
      total: 1e9,
      calls: sized("hostile-lists", READINGS, ["allowDenyEntries.readAll"]),
      bound: "134217728 characters",
      mostRequests: 12,
    },
  ];

  test.for(CASES)(
    "$name",
    { timeout: timeLimit(120_000) },
    async ({ perPage, text = "", total, calls, bound, mostRequests }) => {
      await using service = await Service.start((request, response) => {
        answerPage(request, response, itemsOf(request, pageAsked(request) * perPage, perPage, text), total);
      });
      const run = await runClient({ baseUrl: service.url, calls });
      expect([run.exitCode, run.complaints]).toEqual([0, ""]);
      for (const outcome of run.outcomes) {
        expect(outcome).toMatchObject({
          code: "ERR_LIST_UNSTABLE",
          message: expect.stringContaining(`within ${bound};`),
        });
      }
      expect(run.outcomes).toHaveLength(calls.length);
      expect(service.received.length).toBeLessThanOrEqual(calls.length * mostRequests);
      expect(run.grownMiB).toBeLessThan(MOST_GROWTH_MIB);
    },
  );

  test("what is given out is not held: items may be large where they are iterated over", async () => {
    const pages = 12;
    await using service = await Service.start((request, response) => {
      const items =
        pageAsked(request) > pages
          ? []
          : itemsOf(request, pageAsked(request) * 12, 12, "x".repeat(1024 * 1024));
      answerPage(request, response, items, pages * 12);
    });
    const run = await runClient({ baseUrl: service.url, calls: ["threats.iterate"] });
    expect(run.outcomes).toEqual([{ name: "threats.iterate", length: String(pages * 12).length }]);
    expect(run.grownMiB).toBeLessThan(MOST_GROWTH_MIB);
  });
});

describe("a total that lies", () => {
  const CODES: Readonly<Record<string, string>> = {
    "-1": "ERR_INVALID_RESPONSE",
    "2.5": "ERR_INVALID_RESPONSE",
    '"3"': "ERR_INVALID_RESPONSE",
    "1e308": "ERR_INVALID_RESPONSE",
    "1e999": "ERR_INVALID_RESPONSE",
    "9007199254740993": "ERR_INVALID_RESPONSE",
    true: "ERR_INVALID_RESPONSE",
    "[]": "ERR_INVALID_RESPONSE",
    '{"__proto__": 3}': "ERR_INVALID_RESPONSE",
    "0": "ERR_LIST_UNSTABLE",
    "2": "ERR_LIST_UNSTABLE",
    "4": "ERR_LIST_UNSTABLE",
    "1000000000": "ERR_LIST_UNSTABLE",
    "9007199254740991": "ERR_LIST_UNSTABLE",
  };

  test.for(Object.entries(CODES))("%s, where there are three items", async ([total, code]) => {
    await using service = await Service.start((request, response) => {
      const items = JSON.stringify(pageAsked(request) === 1 ? itemsOf(request, 0, 3) : []);
      const numbers = `"page": ${pageAsked(request)}, "total": ${total}`;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        request.url.includes("/settings/")
          ? `{"results": {"items": ${items}, ${numbers}}}`
          : `{"results": {"items": ${items}}, "pagination": {${numbers}}}`,
      );
    });
    await using client = new TestClient(service);
    const drained = async (items: AsyncIterable<unknown>) => {
      for await (const _item of items);
    };
    const readings: Promise<unknown>[] = [
      client.allowDenyEntries.readAll("deny"),
      client.vipEmployees.readAll(),
      drained(client.allowDenyEntries.iterate()),
      drained(client.vipEmployees.iterate()),
      drained(client.threats.iterate()),
      drained(client.phishingReports.iterate()),
      drained(client.metrics.iterateThreatsOverTime()),
    ];
    for (const error of await Promise.all(readings.map(failure))) expect(error).toMatchObject({ code });
    // Five attempts of two pages each.
    expect(service.received.length).toBeLessThanOrEqual(readings.length * 10);
  });
});

describe("a page that comes again for ever, or in turns with another", () => {
  test.each([
    ["one page", 1],
    ["two pages in turns", 2],
    ["seven pages in turns", 7],
  ])("%s", async (_name, turns) => {
    await using service = await Service.start((request, response) => {
      answerPage(request, response, itemsOf(request, (pageAsked(request) % turns) * 50, 50), 1e6);
    });
    await using client = new TestClient(service);
    const readings = [client.allowDenyEntries.readAll("deny"), client.vipEmployees.readAll()];
    for (const error of await Promise.all(readings.map(failure))) {
      expect(error).toMatchObject({
        code: "ERR_LIST_UNSTABLE",
        message: expect.stringContaining("came twice"),
      });
    }
    expect(service.received).toHaveLength(2 * 5 * (turns + 1));
  });
});

describe("a page size that is ignored", () => {
  test.each([1, 25, 199, 201, 1000])("%i items a page are read whole, each once", async (perPage) => {
    const count = perPage * 3 + 1;
    await using service = await Service.start((request, response) => {
      const first = (pageAsked(request) - 1) * perPage;
      answerPage(
        request,
        response,
        itemsOf(request, first, Math.max(0, Math.min(perPage, count - first))),
        count,
      );
    });
    await using client = new TestClient(service);
    const expected = Array.from({ length: count }, (_, at) => String(at));
    expect((await client.allowDenyEntries.readAll("deny")).map(({ id }) => id)).toEqual(expected);
    expect(await client.vipEmployees.readAll()).toHaveLength(count);
    expect(service.received).toHaveLength(8);
    const seen = new Set<string>();
    for await (const { id } of client.threats.iterate()) seen.add(id);
    expect(seen.size).toBe(count);
  });
});
