import { describe, expect, test } from "vitest";
import { getRejection, RecordingService, TestClient } from "../client/service";

import { answerPage, assertReadStopped, buildListItems, ENDLESS, parsePageNumber } from "./invalid-lists";

describe("endless lists", () => {
  test.for(ENDLESS.slice(0, 1))("are read only up to their limit: $name", { timeout: 120_000 }, assertReadStopped);
});

describe("wrong totals", () => {
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

  test.for(Object.entries(CODES))("rejects total %s for three items", async ([total, code]) => {
    await using service = await RecordingService.start((request, response) => {
      const items = JSON.stringify(parsePageNumber(request) === 1 ? buildListItems(request, 0, 3) : []);
      const numbers = `"page": ${parsePageNumber(request)}, "total": ${total}`;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        request.url.includes("/settings/")
          ? `{"results": {"items": ${items}, ${numbers}}}`
          : `{"results": {"items": ${items}}, "pagination": {${numbers}}}`,
      );
    });
    await using client = new TestClient(service);
    const drainItems = async (items: AsyncIterable<unknown>) => {
      for await (const _item of items);
    };
    const readings: Promise<unknown>[] = [
      client.allowDenyEntries.readAll("deny"),
      client.vipEmployees.readAll(),
      drainItems(client.allowDenyEntries.iterate()),
      drainItems(client.vipEmployees.iterate()),
      drainItems(client.threats.iterate()),
      drainItems(client.phishingReports.iterate()),
      drainItems(client.metrics.iterateThreatsOverTime()),
    ];
    for (const error of await Promise.all(readings.map(getRejection))) expect(error).toMatchObject({ code });
    // Five attempts of two pages each.
    expect(service.received.length).toBeLessThanOrEqual(readings.length * 10);
  });
});

describe("repeating pages", () => {
  test.each([
    ["one page", 1],
    ["two pages in turns", 2],
    ["seven pages in turns", 7],
  ])("are detected for %s", async (_name, turns) => {
    await using service = await RecordingService.start((request, response) => {
      answerPage(request, response, buildListItems(request, (parsePageNumber(request) % turns) * 50, 50), 1e6);
    });
    await using client = new TestClient(service);
    const readings = [client.allowDenyEntries.readAll("deny"), client.vipEmployees.readAll()];
    for (const error of await Promise.all(readings.map(getRejection))) {
      expect(error).toMatchObject({
        code: "ERR_LIST_UNSTABLE",
        message: expect.stringContaining("was listed twice"),
      });
    }
    expect(service.received).toHaveLength(2 * 5 * (turns + 1));
  });
});

describe("ignored page size", () => {
  test.each([1, 25, 199, 201, 1000])("reads pages of %i items completely, each item once", async (perPage) => {
    const count = perPage * 3 + 1;
    await using service = await RecordingService.start((request, response) => {
      const first = (parsePageNumber(request) - 1) * perPage;
      answerPage(
        request,
        response,
        buildListItems(request, first, Math.max(0, Math.min(perPage, count - first))),
        count,
      );
    });
    await using client = new TestClient(service);
    const expected = Array.from({ length: count }, (_, index) => String(index));
    expect((await client.allowDenyEntries.readAll("deny")).map(({ id }) => id)).toEqual(expected);
    expect(await client.vipEmployees.readAll()).toHaveLength(count);
    expect(service.received).toHaveLength(8);
    const seen = new Set<string>();
    for await (const { id } of client.threats.iterate()) seen.add(id);
    expect(seen.size).toBe(count);
  });
});
