import { describe, expect, test } from "vitest";
import type { SettingsClient } from "../../../provider/client";
import { VirtualTime } from "../../support/virtual-time";
import {
  type Answerer,
  buildEntry,
  createFixedAnswerer,
  ENTRIES,
  getRejection,
  RecordingService,
  respondWithJson,
  TestClient,
  VIPS,
} from "./service";

/** Every method that reads mail data. */
const MAIL_READS: readonly ((client: SettingsClient) => Promise<unknown>)[] = [
  ({ threats }) => threats.list(),
  ({ threats }) => threats.byInternetMessageId("<a@b>"),
  ({ metrics }) => metrics.threatsOverTime(),
  ({ metrics }) => metrics.topTargetedEntities(),
  ({ metrics }) => metrics.topThreatTypes(),
  ({ metrics }) => metrics.highlightedThreats(),
  ({ metrics }) => metrics.hoursSaved(),
  ({ metrics }) => metrics.protectedInboxes(),
  ({ phishingReports }) => phishingReports.list(),
  ({ phishingReports }) => phishingReports.get("r1"),
  ({ phishingReports }) => phishingReports.byReportInternetMessageId("<a@b>"),
  ({ phishingReports }) => phishingReports.meanTimeToAnalyze(),
];

/** Starts a service whose settings endpoints work, with the given responses for mail endpoints. */
async function startRecordingService(mail: Answerer): Promise<RecordingService> {
  return await RecordingService.start((request, response, index) => {
    if (!request.url.includes("/settings/")) mail(request, response, index);
    else if (request.method === "GET") respondWithJson(response, 200, { results: { items: [], page: 1, total: 0 } });
    else if (request.url.endsWith("/remove")) respondWithJson(response, 200, { results: { affected: 1 } });
    else respondWithJson(response, 200, { results: buildEntry("e1") });
  });
}

describe("failing mail endpoints", () => {
  test.each<[string, Answerer]>([
    ["invalid responses", createFixedAnswerer(200, { results: 7 })],
    ["responses with the wrong envelope", createFixedAnswerer(200, { error: "no" })],
    ["an HTML page", (_request, response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>")],
    ["failures", createFixedAnswerer(500, { error: "down" })],
    ["connections that break", (_request, response) => response.destroy()],
    ["a Retry-After of an hour", createFixedAnswerer(503, { error: "reindexing" }, { "retry-after": "3600" })],
  ])("leave settings requests untouched after %s", async (_name, mail) => {
    await using service = await startRecordingService(mail);
    const time = new VirtualTime();
    await using client = new TestClient(service, { time, retries: true });
    for (const read of [...MAIL_READS, ...MAIL_READS]) await getRejection(read(client));
    service.received.length = 0;
    await client.allowDenyEntries.readAll("deny");
    await client.allowDenyEntries.create({ list: "deny", entry_type: "domain", value: "evil.example" });
    await client.allowDenyEntries.update("e1", { comment: "x" });
    await client.vipEmployees.remove(["jane@company.example"]);
    expect(service.trace).toEqual([
      `GET ${ENTRIES}?list=deny&page=1&page_size=200`,
      `POST ${ENTRIES}`,
      `PATCH ${ENTRIES}/e1`,
      `POST ${VIPS}/remove`,
    ]);
    // They don't use up the retry budget of settings requests either.
    for (let index = 0; index < 10; index += 1) expect(client.consumeRetryBudget()).toBe(true);
  });

  test("open the circuit breaker when they only fail", async () => {
    await using service = await startRecordingService(createFixedAnswerer(500, { error: "down" }));
    await using client = new TestClient(service, { time: new VirtualTime(), retries: true });
    for (let index = 0; index < 100; index += 1) {
      expect(await getRejection(client.metrics.hoursSaved())).toMatchObject({
        code: index < 1 ? "ERR_SERVER" : "ERR_CIRCUIT_OPEN",
      });
      await client.vipEmployees.list();
    }
    expect(service.received.filter(({ url }) => url.includes("/metrics/"))).toHaveLength(6);
  });

  test("apply a 429 to settings requests too", async () => {
    await using service = await startRecordingService(
      createFixedAnswerer(429, { error: "slow down" }, { "retry-after": "3600" }),
    );
    await using client = new TestClient(service, { time: new VirtualTime(), retries: true });
    await getRejection(client.threats.list());
    expect(await getRejection(client.vipEmployees.list())).toMatchObject({ code: "ERR_RATE_LIMITED" });
    expect(service.received).toHaveLength(1);
  });
});
