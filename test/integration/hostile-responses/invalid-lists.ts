import type { ServerResponse } from "node:http";
import { expect } from "vitest";
import { selectSize } from "../../support/matrix-sampling";
import { buildEntry, type ReceivedRequest, RecordingService, respondWithJson } from "../client/service";
import { runClient } from "./client-process";

/** The limit on memory growth while reading a whole list, however long the service makes it. */
export const MOST_GROWTH_MIB = 420;

export const parsePageNumber = ({ url }: Pick<ReceivedRequest, "url">) =>
  Number(new URL(url, "http://x").searchParams.get("page") ?? 1);

/** Sends a page in the envelope of its endpoint. */
export function answerPage(
  { url }: ReceivedRequest,
  response: ServerResponse,
  items: readonly unknown[],
  total: unknown,
): void {
  const numbers = { page: parsePageNumber({ url }), page_size: items.length, total };
  if (url.includes("/settings/")) respondWithJson(response, 200, { results: { items, ...numbers } });
  else respondWithJson(response, 200, { results: { items }, pagination: numbers });
}

/** Returns numbered items of the requested list. */
export function buildListItems(
  { url }: Pick<ReceivedRequest, "url">,
  first: number,
  count: number,
  text = "",
): unknown[] {
  const buildItem = (index: number) => {
    if (url.includes("vip_employees")) return { email: `vip-${index}@company.example`, comment: text };
    if (url.includes("threats_over_time")) return { date: `day ${index}`, count_threats: 1 };
    if (url.includes("allow_deny")) return buildEntry(index, { comment: text });
    return { id: `item-${index}`, subject: text };
  };
  return Array.from({ length: count }, (_, index) => buildItem(first + index));
}

const READINGS = ["allowDenyEntries.readAll", "vipEmployees.readAll"];
const ITERATORS = [
  "allowDenyEntries.iterate",
  "vipEmployees.iterate",
  "threats.iterate",
  "phishingReports.iterate",
  "metrics.iterateThreatsOverTime",
];

export interface EndlessList {
  readonly name: string;
  readonly perPage: number;
  readonly text?: string;
  readonly total?: unknown;
  readonly calls: readonly string[];
  readonly bound: string;
  readonly mostRequests: number;
}
export const ENDLESS: readonly EndlessList[] = [
  {
    name: "endless new items without a total",
    perPage: 10_000,
    calls: selectSize("hostile-lists", [...READINGS, ...ITERATORS], ["allowDenyEntries.readAll"]),
    bound: "500000 items",
    mostRequests: 51,
  },
  {
    name: "endless new items below their total",
    perPage: 10_000,
    total: Number.MAX_SAFE_INTEGER,
    calls: selectSize("hostile-lists", [...READINGS, ...ITERATORS], ["threats.iterate"]),
    bound: "500000 items",
    mostRequests: 51,
  },
  {
    name: "large items",
    perPage: 12,
    text: "x".repeat(1024 * 1024),
    total: 1e9,
    calls: selectSize("hostile-lists", READINGS, ["allowDenyEntries.readAll"]),
    bound: "134217728 characters",
    mostRequests: 12,
  },
];

export async function assertReadStopped({
  perPage,
  text = "",
  total,
  calls,
  bound,
  mostRequests,
}: EndlessList): Promise<void> {
  await using service = await RecordingService.start((request, response) => {
    answerPage(request, response, buildListItems(request, parsePageNumber(request) * perPage, perPage, text), total);
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
}
