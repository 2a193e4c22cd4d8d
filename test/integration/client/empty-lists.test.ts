import { describe, expect, test } from "vitest";
import type { SettingsClient } from "../../../provider/client";
import { collectItems, getRejection, RecordingService, respondWithJson, TestClient } from "./service";

/*
 * Resources are created and removed from the state because a list is empty. So an empty list must be unambiguous: a
 * success status everywhere, no items, and a total of zero.
 */

const READINGS: Readonly<Record<string, (client: SettingsClient) => Promise<unknown[]>>> = {
  "the deny list": ({ allowDenyEntries }) => allowDenyEntries.readAll("deny"),
  "the VIP list": ({ vipEmployees }) => vipEmployees.readAll(),
  threats: ({ threats }) => collectItems(threats.iterate()),
  "phishing reports": ({ phishingReports }) => collectItems(phishingReports.iterate()),
  "threats over time": ({ metrics }) => collectItems(metrics.iterateThreatsOverTime()),
};

/**
 * Starts a service with the same response for every list. Page data is inside or next to `results`, depending on the
 * endpoint.
 */
async function startEmptyService(numbers: object, results: object, more: object = {}, status = 200) {
  return await RecordingService.start(({ url }, response) =>
    respondWithJson(
      response,
      status,
      url.includes("/settings/")
        ? { ...more, results: { ...numbers, ...results } }
        : { ...more, results, pagination: numbers },
    ),
  );
}

const NONE = { page: 1, page_size: 200, total: 0 };

describe("valid empty lists", () => {
  test.each<[string, object, object, object?]>([
    ["that follows the reference", NONE, { items: [] }, { status: 200 }],
    ["with null for its items", NONE, { items: null }],
    ['with a status of "success"', NONE, { items: [] }, { status: "success" }],
    ["with a null error", NONE, { items: [] }, { status: 200, error: null }],
    ["without a total", { ...NONE, total: null }, { items: [] }],
  ])("reads a list %s as empty", async (_name, numbers, results, more) => {
    await using service = await startEmptyService(numbers, results, more);
    await using client = new TestClient(service);
    for (const [name, read] of Object.entries(READINGS)) expect(await read(client), name).toEqual([]);
    expect(service.received).toHaveLength(5);
  });
});

describe("responses that only look like an empty list", () => {
  const EMPTY = { items: [] };
  test.each<[string, object, object, object, string, RegExp, number?]>([
    ["its own status", NONE, EMPTY, { status: 500 }, "ERR_WRONG_ENVELOPE", /`status` in its body is 500/],
    ["its own status as a numeric string", NONE, EMPTY, { status: "503" }, "ERR_WRONG_ENVELOPE", /body is "503"/],
    ["its own status in words", NONE, EMPTY, { status: "error" }, "ERR_WRONG_ENVELOPE", /body is "error"/],
    ["a redirect by its status", NONE, EMPTY, { status: 302 }, "ERR_WRONG_ENVELOPE", /body is 302/],
    [
      "an error next to the results",
      NONE,
      EMPTY,
      { error: "index is rebuilt" },
      "ERR_WRONG_ENVELOPE",
      /has `error` in addition to `results`; the service reports: index is rebuilt/,
    ],
    [
      "an error that isn't a string",
      NONE,
      EMPTY,
      { error: { code: 7 } },
      "ERR_WRONG_ENVELOPE",
      /`error` in addition to/,
    ],
    ["an error inside the results", NONE, { items: [], error: "late" }, {}, "ERR_WRONG_ENVELOPE", /`error` inside/],
    ["no items", NONE, {}, {}, "ERR_INVALID_RESPONSE", /results\.items/],
    ["no items but a total", { ...NONE, total: 3 }, { items: null }, {}, "ERR_INVALID_RESPONSE", /received null/],
    ["null, and no total", { ...NONE, total: null }, { items: null }, {}, "ERR_INVALID_RESPONSE", /results\.items/],
    ["a total that is a string", { ...NONE, total: "0" }, EMPTY, {}, "ERR_INVALID_RESPONSE", /total: /],
    ["a negative total", { ...NONE, total: -1 }, EMPTY, {}, "ERR_INVALID_RESPONSE", /total: /],
    ["a nonzero total", { ...NONE, total: 3 }, EMPTY, {}, "ERR_LIST_UNSTABLE", /have 0 items, but its total is 3/],
    ["another page", { ...NONE, page: 2 }, EMPTY, {}, "ERR_LIST_UNSTABLE", /for page 1, it returned page 2/],
    ["status 404", NONE, EMPTY, { error: "no such list" }, "ERR_NOT_FOUND", /returned 404: no such list/, 404],
  ])("rejects a response with %s", async (_name, numbers, results, more, code, reasonPattern, status) => {
    await using service = await startEmptyService(numbers, results, more, status);
    await using client = new TestClient(service);
    for (const [name, read] of Object.entries(READINGS)) {
      const error = await getRejection(read(client));
      expect([name, error]).toMatchObject([name, { code, message: expect.stringMatching(reasonPattern) }]);
    }
  });

  test("rejects conflicting totals in `results` and `pagination`", async () => {
    await using service = await RecordingService.start((_request, response) =>
      respondWithJson(response, 200, { results: { items: [], ...NONE }, pagination: { ...NONE, total: 3 } }),
    );
    await using client = new TestClient(service);
    for (const read of Object.values(READINGS)) {
      expect(await getRejection(read(client))).toMatchObject({
        code: "ERR_WRONG_ENVELOPE",
        message: expect.stringContaining("its two totals, inside and outside `results`, are different"),
      });
    }
  });

  test.each([204, 205])("rejects status %i without a body", async (status) => {
    await using service = await RecordingService.start((_request, response) => response.writeHead(status).end());
    await using client = new TestClient(service);
    for (const read of Object.values(READINGS)) {
      expect(await getRejection(read(client))).toMatchObject({ code: "ERR_EMPTY_BODY" });
    }
  });
});

test("reports an unknown outcome when a write's body contradicts its status", async () => {
  await using service = await RecordingService.start((_request, response) =>
    respondWithJson(response, 200, { status: 500, error: "audit log is down", results: { id: "e1", deleted: true } }),
  );
  await using client = new TestClient(service);
  expect(await getRejection(client.allowDenyEntries.delete("e1"))).toMatchObject({
    code: "ERR_WRONG_ENVELOPE",
    outcomeUnknown: true,
    serviceMessage: "audit log is down",
  });
});
