import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RequestLimiter } from "../../../../provider/client";
import type { Database } from "../../../../provider/rollout/database/database";
import { openSqlite } from "../../../../provider/rollout/database/sqlite-database";
import { ADDRESSES_TABLE } from "../../../../provider/rollout/database/tables";
import { AddressLimiter, TOKEN_GRACE_MS } from "../../../../provider/rollout/rate-limit/address-limiter";
import { ScheduledTime } from "../../../support/scheduled-time";
import { runReadyTasks } from "../../../support/virtual-time";

const ADDRESS = "https://mail-security.example/eu";
const START = 1_763_769_600_000;

let directory: string;
const open: Database[] = [];
/** The statements run on all connections. */
let statements: string[];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "email-security-limiter-"));
  statements = [];
  const database = await openConnection();
  await database.query(ADDRESSES_TABLE);
  statements = [];
});

afterEach(async () => {
  for (const database of open.splice(0)) await database.close();
  rmSync(directory, { recursive: true, force: true });
});

type Connection = Pick<Database, "dialect" | "query">;

/** Opens a process's own connection to the shared file. */
async function openConnection(): Promise<Connection> {
  const database = await openSqlite(join(directory, "journal.db"));
  open.push(database);
  const runQuery: Database["query"] = async (sql, parameters) => {
    statements.push(sql.trim().split(/\s/, 1)[0] ?? "");
    return await database.query(sql, parameters);
  };
  return { dialect: "sqlite", query: runQuery };
}

/** Creates a limiter as each process has one; all share one clock. */
async function createLimiter(
  time: ScheduledTime,
  requestsPerSecond?: number,
  database?: Connection,
): Promise<AddressLimiter> {
  const limits = new Map([[ADDRESS, requestsPerSecond === undefined ? {} : { requestsPerSecond }]]);
  return new AddressLimiter({ database: database ?? (await openConnection()), limits, time });
}

/** Takes this many tokens at once. Returns when they were issued, in milliseconds from the start. */
async function takeAll(time: ScheduledTime, tokens: RequestLimiter, count: number): Promise<number[]> {
  const cameAt: number[] = [];
  const takeToken = () => tokens.acquire().then(() => void cameAt.push(time.atMs - START));
  const all = Promise.all(Array.from({ length: count }, takeToken));
  await time.advanceUntil(all);
  await all;
  return cameAt;
}

describe("a rate limit", () => {
  it("spaces tokens evenly without saving them up", async () => {
    const time = new ScheduledTime(START);
    const tokens = (await createLimiter(time, 10)).getTokens(ADDRESS);
    expect(await takeAll(time, tokens, 4)).toEqual([0, 100, 200, 300]);
    time.atMs = START + 60_000;
    expect(await takeAll(time, tokens, 3)).toEqual([60_000, 60_100, 60_200]);
  });

  it("may be below one per second", async () => {
    const time = new ScheduledTime(START);
    const tokens = (await createLimiter(time, 0.5)).getTokens(ADDRESS);
    expect(await takeAll(time, tokens, 3)).toEqual([0, 2_000, 4_000]);
  });

  it("applies to one address in any spelling", async () => {
    const time = new ScheduledTime(START);
    const limiter = await createLimiter(time, 1);
    expect(await takeAll(time, limiter.getTokens("https://MAIL-security.example:443/eu/"), 1)).toEqual([0]);
    expect(await takeAll(time, limiter.getTokens("https://mail-security.example/us"), 5)).toEqual([0, 0, 0, 0, 0]);
    expect(await takeAll(time, limiter.getTokens(ADDRESS), 1)).toEqual([1_000]);
    expect(() => limiter.getTokens("nowhere")).toThrow("isn't a valid URL");
  });

  it("needs few database statements", async () => {
    const time = new ScheduledTime(START);
    const [a, b] = [await createLimiter(time, 100), await createLimiter(time, 100)];
    const both = Promise.all([takeAll(time, a.getTokens(ADDRESS), 100), takeAll(time, b.getTokens(ADDRESS), 100)]);
    expect(Math.max(...(await both).flat())).toBe(1_990);
    // In two seconds: ten reservations per second, and four polls per second for each of the two.
    expect(statements.filter((statement) => statement === "INSERT")).toHaveLength(20);
    expect(statements.length).toBeLessThanOrEqual(20 + 16);
  });

  it("reserves tokens ahead for frequent sequential requests", async () => {
    const time = new ScheduledTime(START);
    const tokens = (await createLimiter(time, 100)).getTokens(ADDRESS);
    const cameAt: number[] = [];
    for (let n = 0; n < 100; n += 1) cameAt.push(...(await takeAll(time, tokens, 1)));
    expect(cameAt.at(-1)).toBe(990);
    expect(statements.filter((statement) => statement === "INSERT").length).toBeLessThan(30);
  });

  const plan = fc.record({
    perSecond: fc.oneof(fc.constantFrom(7, 10, 33, 100, 1_000), fc.integer({ min: 5, max: 500 })),
    // For each process: when it requests tokens, and how many at once.
    processes: fc.array(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 1, max: 16 })), {
        minLength: 1,
        maxLength: 4,
      }),
      { minLength: 1, maxLength: 4 },
    ),
    // Usually short, sometimes as long as in a starved process.
    lateness: fc.infiniteStream(
      fc.oneof(
        { weight: 12, arbitrary: fc.constantFrom(0, 0, 1, 5, 16) },
        { weight: 1, arbitrary: fc.integer({ min: 17, max: 400 }) },
      ),
    ),
  });

  it("is never exceeded, whatever the timing", async () => {
    const connections = [
      await openConnection(),
      await openConnection(),
      await openConnection(),
      await openConnection(),
    ];
    await fc.assert(
      fc.asyncProperty(plan, async ({ perSecond, processes, lateness }) => {
        await open[0]?.query("DELETE FROM rollout_addresses");
        const time = new ScheduledTime(START, () => lateness.next().value ?? 0);
        const cameAt: number[] = [];
        const requests = processes.map(async (asks, index) => {
          const tokens = (await createLimiter(time, perSecond, connections[index])).getTokens(ADDRESS);
          const takers = asks.map(async ([timeMs, count]) => {
            await time.sleep(timeMs);
            const takeToken = () => tokens.acquire().then(() => void cameAt.push(time.atMs));
            await Promise.all(Array.from({ length: count }, takeToken));
          });
          await Promise.all(takers);
        });
        await time.advanceUntil(Promise.all(requests));
        await Promise.all(requests);
        expect(cameAt).toHaveLength(processes.flat().reduce((sum, [, count]) => sum + count, 0));
        expect(computeLargestExcess(cameAt, perSecond)).toBeLessThanOrEqual(1 + 1e-6);
      }),
      { numRuns: 50 },
    );
  });

  /**
   * Returns the largest number of tokens above the rate in any window, with an allowance for late ones from before it.
   */
  function computeLargestExcess(cameAt: readonly number[], perSecond: number): number {
    const sorted = cameAt.toSorted((a, b) => a - b);
    const excess = sorted.flatMap((from, first) =>
      sorted.slice(first).map((to, index) => index + 1 - ((to - from + TOKEN_GRACE_MS) * perSecond) / 1_000),
    );
    return Math.max(...excess);
  }
});

describe("a rate-limit response", () => {
  it("pauses other processes at their next check", async () => {
    const time = new ScheduledTime(START);
    const [left, right] = [await createLimiter(time, 10), await createLimiter(time, 10)];
    expect(await takeAll(time, right.getTokens(ADDRESS), 1)).toEqual([0]);
    left.getTokens(ADDRESS).reportThrottled(5_000);
    await runReadyTasks();
    time.atMs += 250;
    const all = await Promise.all([
      takeAll(time, left.getTokens(ADDRESS), 2),
      takeAll(time, right.getTokens(ADDRESS), 2),
    ]);
    // After the pause, all together get the rate.
    expect(all.flat().toSorted((a, b) => a - b)).toEqual([5_000, 5_100, 5_200, 5_300]);
  });

  it("delays waiting requests by the longest pause", async () => {
    const time = new ScheduledTime(START);
    const [a, b] = [await createLimiter(time, 1), await createLimiter(time, 1)];
    const waiting = b.getTokens(ADDRESS);
    await time.advanceUntil(waiting.acquire());
    const next = waiting.acquire().then(() => time.atMs - START);
    for (const pauseMs of [3_000, 8_000, 4_000]) a.getTokens(ADDRESS).reportThrottled(pauseMs);
    await time.advanceUntil(next);
    expect(await next).toBe(8_000);
  });

  it("is shared without a rate and without a statement per request", async () => {
    const time = new ScheduledTime(START);
    const [a, b] = [await createLimiter(time), await createLimiter(time)];
    const tokens = b.getTokens(ADDRESS);
    for (let n = 0; n < 1_000; n += 1) await takeAll(time, tokens, 1);
    expect(statements).toEqual(["SELECT"]);
    a.getTokens(ADDRESS).reportThrottled(2_000);
    await runReadyTasks();
    time.atMs += 250;
    expect(await takeAll(time, tokens, 3)).toEqual([2_000, 2_000, 2_000]);
  });

  it("fails requests when the pause is longer than a run waits", async () => {
    const time = new ScheduledTime(START);
    const [a, b] = [await createLimiter(time, 10), await createLimiter(time, 10)];
    a.getTokens(ADDRESS).reportThrottled(1e15);
    await runReadyTasks();
    const reason = "the service at https://mail-security.example/eu asked its clients to wait for another 3600 s";
    await expect(a.getTokens(ADDRESS).acquire()).rejects.toThrow(reason);
    await expect(b.getTokens(ADDRESS).acquire()).rejects.toThrow(reason);
    time.atMs += 3_600_000;
    expect(await takeAll(time, b.getTokens(ADDRESS), 1)).toEqual([3_600_000]);
  });
});

describe("denial of tokens", () => {
  it("uses up no token once the run has lost its tenant", async () => {
    const time = new ScheduledTime(START);
    const limiter = await createLimiter(time, 1);
    let isAllowed = true;
    const lost = limiter.getTokens(ADDRESS, () => isAllowed);
    await takeAll(time, lost, 1);
    const rejections = Promise.allSettled([lost.acquire(), lost.acquire()]);
    const kept = limiter.getTokens(ADDRESS).acquire();
    await runReadyTasks();
    isAllowed = false;
    await time.advanceUntil(Promise.all([rejections, kept]));
    expect((await rejections).map((each) => each.status === "rejected" && each.reason.message)).toEqual(
      Array(2).fill(
        "this run isn't allowed to change the tenant any more, because it has ended or another run continues it",
      ),
    );
    expect(time.atMs - START).toBe(1_000);
    await expect(lost.acquire()).rejects.toThrow("isn't allowed to change the tenant");
  });

  it("applies while the database is unavailable", async () => {
    const time = new ScheduledTime(START);
    const limiter = await createLimiter(time, 10);
    await open.at(-1)?.close();
    await expect(limiter.getTokens(ADDRESS).acquire()).rejects.toMatchObject({ code: "ERR_ROLLOUT_JOURNAL" });
    limiter.getTokens(ADDRESS).reportThrottled(1_000);
  });
});
