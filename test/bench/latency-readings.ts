import { sendAll } from "#bench/bare-requests";
import { computeMedian, groupItems } from "#bench/measurement-rows";
import { API_KEY, BenchService } from "#bench/service";
import { formatDecimal, formatTable, formatWhole } from "#bench/table";
import { SettingsClient } from "../../provider/dist/client/index.js";
import { openInMemory } from "../../provider/dist/rollout/database/sqlite-database.js";
import { RateLimitBroker } from "../../provider/dist/rollout/rate-limit/rate-limit-broker.js";

/** The rate limit of the service, in requests per second. */
const RATE = 20;

/** A reading of a list by the client, and its peers. */
export interface Reading {
  readonly count: number;
  readonly requests: number;
  readonly seconds: number;
  /** The same pages by bare undici, one after another. */
  readonly sequentialSeconds: number;
  /** The same reading at a service with a rate limit that the client knows. */
  readonly limited: { readonly seconds: number; readonly requests: number; readonly refusals: number };
  /** The time that the rate limit allows for the requests. */
  readonly allowedSeconds: number;
}

/** Measures the reading of a list of `count` entries. */
export async function measureReadings(count: number, latencyMs: number): Promise<Reading> {
  await using service = await BenchService.start({ entries: count, latencyMs });
  const seconds = await measureReadSeconds(service, count);
  const trace = await service.trace();
  const pages = trace.map(({ method, path, query }) => ({ method, path: `${path}?${new URLSearchParams(query)}` }));
  const sequentialSeconds = await sendAll(service.url, pages, 1);
  const limited = await readAtRate(count, latencyMs);
  const allowedSeconds = (limited.requests - 1) / RATE + latencyMs / 1_000;
  return { count, requests: pages.length, seconds, sequentialSeconds, limited, allowedSeconds };
}

async function readAtRate(count: number, latencyMs: number): Promise<Reading["limited"]> {
  await using service = await BenchService.start({ entries: count, latencyMs, requestsPerSecond: RATE });
  const broker = new RateLimitBroker(await openInMemory());
  try {
    const limiter = broker.getTokens(service.url, { requestsPerSecond: RATE });
    const seconds = await measureReadSeconds(service, count, { limiter });
    const trace = await service.trace();
    return { seconds, requests: trace.length, refusals: trace.filter(({ status }) => status === 429).length };
  } finally {
    await broker.close();
  }
}

async function measureReadSeconds(
  { url }: BenchService,
  count: number,
  options: Partial<ConstructorParameters<typeof SettingsClient>[0]> = {},
): Promise<number> {
  const client = new SettingsClient({ baseUrl: url, apiKey: API_KEY, ...options });
  try {
    const startedAt = performance.now();
    const { length } = await client.allowDenyEntries.readAll("deny");
    if (length !== count) throw new Error(`${length} entries of ${count} were read`);
    return (performance.now() - startedAt) / 1_000;
  } finally {
    await client.close();
  }
}

export function readingTable(readings: readonly Reading[]): string {
  const rows = groupItems(readings, ({ count }) => String(count)).map((group) => {
    const median = (getValue: (reading: Reading) => number): number => computeMedian(group.map(getValue));
    return [
      `reading of ${formatWhole(median(({ count }) => count))} entries`,
      formatWhole(median(({ requests }) => requests)),
      formatDecimal(median(({ seconds }) => seconds)),
      formatDecimal(median(({ sequentialSeconds }) => sequentialSeconds)),
      `${median(({ seconds, sequentialSeconds }) => seconds / sequentialSeconds).toFixed(2)} ×`,
      formatDecimal(median(({ limited }) => limited.seconds)),
      `${median(({ limited, allowedSeconds }) => limited.seconds / allowedSeconds).toFixed(2)} ×`,
      `${median(({ limited }) => (100 * limited.refusals) / limited.requests).toFixed(1)} %`,
    ];
  });
  const limited = [`seconds at ${RATE} requests per second`, "× the allowed time", "429s"];
  return formatTable(["", "requests", "seconds", "one after another", "× that", ...limited], rows);
}
