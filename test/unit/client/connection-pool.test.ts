import { expect, it } from "vitest";
import { RateLimitedError, ServerError } from "../../../provider/client";
import { ConnectionPool } from "../../../provider/client/connection-pool";
import { RequestScheduler, type ScheduledCall } from "../../../provider/client/request-scheduler";
import { runReadyTasks, VirtualTime } from "../../support/virtual-time";

const ADDRESS = "https://mail.example";
const request = { method: "GET", path: "/api/v1/x" };
const read: ScheduledCall = { request, requestText: "GET /api/v1/x", kind: "read" };

interface OpenCall {
  answer(): void;
  reject(error: Error): void;
}

/** Creates tenants of one address. Their calls stay pending until the test answers them. */
function createTenants(count: number) {
  const connections = new ConnectionPool().getAddress(ADDRESS);
  const open: OpenCall[] = [];
  const tenants = Array.from({ length: count }, () => {
    const scheduler = new RequestScheduler({ time: new VirtualTime(), retries: false, timeoutMs: 30_000, connections });
    return async () =>
      await scheduler.send(
        read,
        () => new Promise<void>((resolve, reject) => void open.push({ answer: resolve, reject })),
      );
  });
  return { connections, open, tenants };
}

/** Answers all calls in flight, until none is left. Returns the number in each round trip. */
async function countPerRoundTrip(open: OpenCall[]): Promise<number[]> {
  const widths: number[] = [];
  await runReadyTasks();
  while (open.length > 0) {
    const answered = open.splice(0);
    widths.push(answered.length);
    for (const { answer } of answered) answer();
    await runReadyTasks();
  }
  return widths;
}

it("grows from 48 to 64 requests of all tenants together", async () => {
  const { open, tenants } = createTenants(400);
  const reads = tenants.map((send) => send());
  expect(await countPerRoundTrip(open)).toEqual([48, 52, 56, 60, 64, 64, 56]);
  await Promise.all(reads);
});

it("halves the limit once for concurrent refusals of several tenants", async () => {
  const { connections, open, tenants } = createTenants(100);
  const reads = tenants.map((send) => send());
  const settled = Promise.allSettled(reads);
  await runReadyTasks();
  const refused = open.splice(0);
  for (const { reject } of refused) {
    reject(new RateLimitedError("ERR_RATE_LIMITED", "too many", { request, retryAfterMs: 0, isTransient: true }));
  }
  await runReadyTasks();
  expect([refused.length, connections.concurrency, open.length]).toEqual([48, 24, 24]);
  await countPerRoundTrip(open);
  await settled;
});

it.each([
  ["a server error", new ServerError("ERR_SERVER", "down", { request, isTransient: true }), 24],
  ["an aborted request", new Error("the response is no longer needed"), 48],
])("after %s, allows %3$d requests", async (_name, error, limit) => {
  const { connections, open, tenants } = createTenants(1);
  const settled = Promise.allSettled(tenants.map((send) => send()));
  await runReadyTasks();
  open[0]?.reject(error);
  await settled;
  expect(connections.concurrency).toBe(limit);
});

it("gives each address its own limit", () => {
  const pool = new ConnectionPool();
  expect(pool.getAddress(`${ADDRESS}/a`)).toBe(pool.getAddress(`${ADDRESS}/b`));
  expect(pool.getAddress(ADDRESS)).not.toBe(pool.getAddress("https://other.example"));
});
