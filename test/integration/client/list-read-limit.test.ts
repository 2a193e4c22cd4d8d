import { describe, expect, test } from "vitest";
import type { SettingsClient } from "../../../provider/client";
import { VirtualTime } from "../../support/virtual-time";
import { drained, entry, failure, json, RecordingService, TestClient } from "./service";

const MINUTE = 60_000;

const READINGS: Readonly<Record<string, (client: SettingsClient) => Promise<unknown[]>>> = {
  "deny list": ({ allowDenyEntries }) => allowDenyEntries.readAll("deny"),
  "VIP list": ({ vipEmployees }) => vipEmployees.readAll(),
  "allow/deny list": ({ allowDenyEntries }) => drained(allowDenyEntries.iterate()),
  "list of threats": ({ threats }) => drained(threats.iterate()),
  "list of phishing reports": ({ phishingReports }) => drained(phishingReports.iterate()),
  "list of threats over time": ({ metrics }) => drained(metrics.iterateThreatsOverTime()),
};

/** Starts a service with a list of `total` items, one per page. Each request takes a minute. */
async function itemByItem(time: VirtualTime, total: number): Promise<RecordingService> {
  return await RecordingService.start(({ url }, response) => {
    time.atMs += MINUTE;
    const page = Number(new URL(url, "http://x").searchParams.get("page") ?? 1);
    const item = {
      ...entry(page),
      email: `vip-${page}@company.example`,
      date: `day ${page}`,
      count_threats: 1,
    };
    const numbers = { page, page_size: 1, total };
    const results = { items: [item] };
    if (url.includes("/settings/")) json(response, 200, { results: { ...results, ...numbers } });
    else json(response, 200, { results, pagination: numbers });
  });
}

describe("list reads that exceed 30 minutes", () => {
  test.each(Object.entries(READINGS))("stops reading the %s", async (name, read) => {
    const time = new VirtualTime();
    await using service = await itemByItem(time, 1_000_000);
    await using client = new TestClient(service, { time });
    expect(await failure(read(client))).toMatchObject({
      code: "ERR_LIST_UNSTABLE",
      message: `Reading the ${name} was stopped, because it did not end within 30 minutes. It returned 31 pages with 31 items of the announced 1000000, which are not used. The service is too slow, or its paging is broken; run again later.`,
    });
    expect(service.received).toHaveLength(31);
  });

  test("applies the limit to all attempts together", async () => {
    const time = new VirtualTime();
    // The list changes at every request.
    await using service = await RecordingService.start(({ url }, response, index) => {
      time.atMs += 4 * MINUTE;
      const page = Number(new URL(url, "http://x").searchParams.get("page"));
      json(response, 200, { results: { items: [entry(page)], page, total: 9 + index } });
    });
    await using client = new TestClient(service, { time });
    expect(await failure(client.allowDenyEntries.readAll("deny"))).toMatchObject({
      message: expect.stringContaining("did not end within 30 minutes"),
    });
    expect(service.received).toHaveLength(8);
  });
});

test("excludes rate-limit waits and item processing from the limit", async () => {
  const time = new VirtualTime();
  await using service = await itemByItem(time, 5);
  const tokens = {
    acquire: async () => {
      time.atMs += 20 * MINUTE;
    },
    reportThrottled: () => {},
  };
  await using client = new TestClient(service, { time, limiter: tokens });
  expect(await client.allowDenyEntries.readAll("deny")).toHaveLength(5);
  let count = 0;
  for await (const _item of client.vipEmployees.iterate()) {
    time.atMs += 40 * MINUTE;
    count += 1;
  }
  expect(count).toBe(5);
});
