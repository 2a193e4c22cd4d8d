import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { ListUnstableError } from "../../../provider/client";
import { VirtualTime } from "../../support/virtual-time";
import {
  type Answerer,
  buildEntry,
  buildListBody,
  ENTRIES,
  getPageNumber,
  getRejection,
  RecordingService,
  respondWithJson,
  TestClient,
  VIPS,
} from "./service";

const buildEntries = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => buildEntry(first + index));

/** Returns an answerer that pages through `rows` correctly. */
function createPagedAnswerer(rows: readonly unknown[]): Answerer {
  return (request, response) => {
    const query = new URL(request.url, "http://x").searchParams;
    const [page, size] = [Number(query.get("page")), Number(query.get("page_size"))];
    respondWithJson(
      response,
      200,
      buildListBody(rows.slice((page - 1) * size, page * size), { page: page, page_size: size, total: rows.length }),
    );
  };
}

describe("requests for a complete list", () => {
  test.each([
    [0, 1],
    [1, 1],
    [199, 1],
    [200, 1],
    [201, 2],
    [400, 2],
    [401, 3],
  ])("reads %i entries in %i requests", async (count, requests) => {
    const rows = buildEntries(0, count);
    await using service = await RecordingService.start(createPagedAnswerer(rows));
    await using client = new TestClient(service);
    const read = await client.allowDenyEntries.readAll("deny");
    expect(read.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    expect(service.trace).toEqual(
      Array.from({ length: requests }, (_, index) => `GET ${ENTRIES}?list=deny&page=${index + 1}&page_size=200`),
    );
  });

  test("keeps every VIP without a mailbox", async () => {
    const rows = [
      ...Array.from({ length: 150 }, (_, index) => ({ email: `jane-${index}@example.com` })),
      ...Array.from({ length: 100 }, () => ({ email: null })),
    ];
    await using service = await RecordingService.start(createPagedAnswerer(rows));
    await using client = new TestClient(service);
    const read = await client.vipEmployees.readAll();
    expect(read.map(({ email }) => email ?? null)).toEqual(rows.map(({ email }) => email));
    expect(service.trace).toEqual([`GET ${VIPS}?page=1&page_size=200`, `GET ${VIPS}?page=2&page_size=200`]);
  });
});

test.each([
  ["answers 503", (response: ServerResponse) => respondWithJson(response, 503, { error: "busy" })],
  ["breaks the connection", (response: ServerResponse) => response.destroy()],
])("reads a long list although the service %s for a second", async (_label, fail) => {
  const rows = buildEntries(0, 2_000);
  const time = new VirtualTime();
  let failsUntil: number | undefined;
  await using service = await RecordingService.start((request, response, index) => {
    if (getPageNumber(request) === 3) failsUntil ??= time.atMs + 1_000;
    if (time.atMs < (failsUntil ?? 0)) fail(response);
    else createPagedAnswerer(rows)(request, response, index);
  });
  await using client = new TestClient(service, { time, retries: true });
  expect(await client.allowDenyEntries.readAll("deny")).toHaveLength(rows.length);
  expect(service.received).toHaveLength(10 + 3);
});

describe("list that changes while it is read", () => {
  test.each<[string, readonly unknown[], number[]]>([
    // Each case: the pages in the order of the requests, and the requested page numbers.
    [
      "its total grows",
      [buildListBody(buildEntries(0, 200), { total: 201 }), buildListBody(buildEntries(200, 1), { total: 202 })],
      [1, 2, 1, 2],
    ],
    [
      "its total shrinks",
      [buildListBody(buildEntries(0, 200), { total: 202 }), buildListBody(buildEntries(200, 1), { total: 201 })],
      [1, 2, 1, 2],
    ],
    [
      "its total disappears",
      [buildListBody(buildEntries(0, 200), { total: 202 }), buildListBody(buildEntries(200, 1), { total: null })],
      [1, 2, 1, 2],
    ],
    [
      "an entry is listed twice",
      [buildListBody(buildEntries(0, 200), { total: 201 }), buildListBody(buildEntries(199, 1), { total: 201 })],
      [1, 2, 1, 2],
    ],
    [
      "it has fewer rows than its total",
      [
        buildListBody(buildEntries(0, 200), { total: 300 }),
        buildListBody(buildEntries(200, 99), { total: 300 }),
        buildListBody([], { total: 300 }),
      ],
      [1, 2, 3, 1, 2],
    ],
    [
      "it has more rows than its total",
      [buildListBody(buildEntries(0, 200), { total: 201 }), buildListBody(buildEntries(200, 2), { total: 201 })],
      [1, 2, 1, 2],
    ],
  ])("is read again from the first page if %s", async (_name, moving, pages) => {
    const settled = createPagedAnswerer(buildEntries(0, 201));
    await using service = await RecordingService.start((request, response, index) => {
      const first = moving[index];
      if (first === undefined) settled(request, response, index);
      else respondWithJson(response, 200, first);
    });
    await using client = new TestClient(service);
    const read = await client.allowDenyEntries.readAll("deny");
    expect(read.map(({ id }) => id)).toEqual(buildEntries(0, 201).map(({ id }) => id));
    expect(service.received.map(getPageNumber)).toEqual(pages);
  });
});

describe("list that never settles", () => {
  test.each<[string, Answerer, RegExp, number]>([
    [
      "a total that changes with every page",
      (request, response, index) =>
        respondWithJson(
          response,
          200,
          buildListBody(buildEntries((getPageNumber(request) - 1) * 200, 200), { total: 1000 + index }),
        ),
      /its total changed from 1008 to 1009/,
      10,
    ],
    [
      "a total that is too large",
      (request, response) =>
        respondWithJson(
          response,
          200,
          buildListBody(getPageNumber(request) === 1 ? buildEntries(0, 3) : [], { total: 1e9 }),
        ),
      /its pages have 3 items, but its total is 1000000000/,
      10,
    ],
    [
      "a total that is too small",
      (_request, response) => respondWithJson(response, 200, buildListBody(buildEntries(0, 3), { total: 1 })),
      /its pages have 3 items, but its total is 1\b/,
      5,
    ],
    [
      "one page that repeats forever",
      (_request, response) => respondWithJson(response, 200, buildListBody(buildEntries(7, 200), { total: 1e9 })),
      /7 was listed twice/,
      10,
    ],
    [
      "one page that repeats forever without a total",
      (_request, response) => respondWithJson(response, 200, { results: { items: buildEntries(7, 2), total: null } }),
      /7 was listed twice/,
      10,
    ],
  ])("raises ListUnstableError after five attempts: %s", async (_name, answer, reasonPattern, requests) => {
    await using service = await RecordingService.start(answer);
    await using client = new TestClient(service);
    const error = await getRejection(client.allowDenyEntries.readAll("deny"));
    expect(error).toBeInstanceOf(ListUnstableError);
    expect(error).toMatchObject({ code: "ERR_LIST_UNSTABLE", message: expect.stringMatching(reasonPattern) });
    expect((error as Error).message).toMatch(
      /^The deny list could not be read consistently in 5 attempts: .*\. Someone may be changing it; run again later\.$/,
    );
    expect(service.received).toHaveLength(requests);
  });

  test.each([1e9, null])("detects a repeated page of VIPs without a mailbox, total %j", async (total) => {
    const rows = [{ full_name: "Room Berlin" }, { full_name: "Room Paris" }];
    await using service = await RecordingService.start((_request, response) =>
      respondWithJson(response, 200, buildListBody(rows, { total })),
    );
    await using client = new TestClient(service);
    expect(await getRejection(client.vipEmployees.readAll())).toMatchObject({
      code: "ERR_LIST_UNSTABLE",
      message: expect.stringContaining("page 2 is the same as page 1"),
    });
    expect(service.received).toHaveLength(10);
  });
});

describe("service with its own way of paging", () => {
  const rows = buildEntries(0, 120);

  test.each<[string, (items: unknown[], index: number) => unknown, number]>([
    [
      "pages of 50 regardless of the requested size",
      (items, index) => buildListBody(items, { page: index, page_size: 50, total: 120 }),
      3,
    ],
    ["pages of 50 without a page size", (items, index) => buildListBody(items, { page: index, total: 120 }), 3],
    ["no total", (items, index) => ({ results: { items, page: index, page_size: 50 } }), 4],
    ["a wrong page size and no total", (items) => ({ results: { items, page_size: 200 } }), 4],
    ["null for every number", (items) => buildListBody(items, { page: null, page_size: null, total: null }), 4],
  ])("is read completely with %s", async (_name, body, requests) => {
    await using service = await RecordingService.start((request, response) => {
      const page = getPageNumber(request);
      respondWithJson(response, 200, body(rows.slice((page - 1) * 50, page * 50), page));
    });
    await using client = new TestClient(service);
    expect(await client.allowDenyEntries.readAll("deny")).toHaveLength(120);
    expect(service.received).toHaveLength(requests);
  });

  test("returns up to 50,000 items on one page", async () => {
    const rows = Array.from({ length: 50_000 }, () => ({}));
    await using service = await RecordingService.start((_request, response) =>
      respondWithJson(response, 200, buildListBody(rows)),
    );
    await using client = new TestClient(service);
    expect(await client.vipEmployees.readAll()).toHaveLength(50_000);
    expect(service.received).toHaveLength(1);
    rows.push({});
    expect(await getRejection(client.vipEmployees.readAll())).toMatchObject({
      code: "ERR_RESPONSE_TOO_LARGE",
      message: expect.stringContaining(
        "returned 200, but it lists 50001 items, but a page has at most 200; the client reads at most 50000",
      ),
    });
  });

  test("may repeat identical rows on one page", async () => {
    const rows = [buildEntry("a"), buildEntry("b"), buildEntry("a")];
    await using service = await RecordingService.start((_request, response) =>
      respondWithJson(response, 200, buildListBody(rows)),
    );
    await using client = new TestClient(service);
    expect(await client.allowDenyEntries.readAll("deny")).toHaveLength(3);
    const other = { ...buildEntry("a"), value: "other.example" };
    rows[2] = other;
    expect(await getRejection(client.allowDenyEntries.readAll("deny"))).toMatchObject({
      message: expect.stringContaining("a was listed twice"),
    });
  });
});
