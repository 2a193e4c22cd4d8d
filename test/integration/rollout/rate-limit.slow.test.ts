import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RequestLimiter } from "../../../provider/client";
import type { Database } from "../../../provider/rollout/database/database";
import { openPostgres } from "../../../provider/rollout/database/postgres-database";
import { ADDRESSES_TABLE } from "../../../provider/rollout/database/tables";
import { AddressLimiter, TOKEN_GRACE_MS } from "../../../provider/rollout/rate-limit/address-limiter";
import { startPostgres } from "../../support/postgres";
import { startCoordinator, startCountingService, startTenantProcess } from "./rate-limit-processes";

let directory: string;
let journal: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-limiter-"));
  journal = join(directory, "journal.db");
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const PATIENT = { timeout: 60_000, interval: 20 };

describe("rate limit servers and tenants in separate processes", () => {
  it("stops a tenant's requests when its rate limit server dies", async () => {
    const { service, countRequestsBy } = await startCountingService();
    await using _service = service;
    const options = { journal, service: service.url, limit: {} };
    await using program = await startCoordinator(options);
    await using other = await startCoordinator(options);
    const endless = { service: service.url, requests: Number.MAX_SAFE_INTEGER, concurrency: 4 };
    await using acme = startTenantProcess({ ...endless, name: "acme", tokenAddress: await program.firstLine });
    await using globex = startTenantProcess({ ...endless, name: "globex", tokenAddress: await program.firstLine });
    await using initech = startTenantProcess({ ...endless, name: "initech", tokenAddress: await other.firstLine });
    for (const name of ["acme", "globex", "initech"])
      await expect.poll(() => countRequestsBy(name), PATIENT).toBeGreaterThan(20);

    program.tell("acme");
    expect(await acme.firstLine).toBe("ERR_NO_TOKEN");
    other.sendSignal("SIGKILL");
    expect(await initech.firstLine).toBe("ERR_NO_TOKEN");
    const [acmeTimes, initechTimes, globexTimes] = [
      countRequestsBy("acme"),
      countRequestsBy("initech"),
      countRequestsBy("globex"),
    ];
    await expect.poll(() => countRequestsBy("globex"), PATIENT).toBeGreaterThan(globexTimes + 100);
    expect([countRequestsBy("acme"), countRequestsBy("initech")]).toEqual([acmeTimes, initechTimes]);
    program.sendSignal("SIGKILL");
    expect(await globex.firstLine).toBe("ERR_NO_TOKEN");
  });

  it("discards a token that arrived while the process was suspended", async () => {
    const { service, countRequestsBy } = await startCountingService();
    await using _service = service;
    const options = { journal, service: service.url, limit: { requestsPerSecond: 0.2 } };
    await using coordinator = await startCoordinator(options);
    const slow = { service: service.url, requests: 100, concurrency: 1 };
    await using acme = startTenantProcess({ ...slow, name: "acme", tokenAddress: await coordinator.firstLine });
    await expect.poll(() => countRequestsBy("acme"), PATIENT).toBe(1);
    // The process has requested its next token, which is issued five seconds after the first.
    await sleep(300);
    acme.sendSignal("SIGSTOP");
    await sleep(5_500);
    expect(countRequestsBy("acme")).toBe(1);
    coordinator.sendSignal("SIGKILL");
    await sleep(100);
    acme.sendSignal("SIGCONT");
    expect(await acme.firstLine).toBe("ERR_NO_TOKEN");
    expect(countRequestsBy("acme")).toBe(1);
  });
});

it("shares one rate limit across machines whose clocks differ", async () => {
  await using postgres = await startPostgres();
  const databases = [await openPostgres(postgres.url), await openPostgres(postgres.url)] as const;
  await databases[0].query(ADDRESSES_TABLE);
  const address = "https://mail-security.example";
  const limits = new Map([[address, { requestsPerSecond: 50 }]]);
  let slowestMs = 0;
  const measureQueries =
    (database: Database): Database["query"] =>
    async (...statement) => {
      const startedAt = performance.now();
      const rows = await database.query(...statement);
      slowestMs = Math.max(slowestMs, performance.now() - startedAt);
      return rows;
    };
  const [a, b] = [0, 3_600_000].map((ahead, index) => {
    const time = { now: () => Date.now() + ahead, sleep };
    const database = { dialect: "postgres", query: measureQueries(databases[index] ?? databases[0]) } as const;
    return new AddressLimiter({ database, limits, time }).getTokens(address);
  }) as [RequestLimiter, RequestLimiter];
  const cameAt: number[] = [];
  const takeAll = async (tokens: RequestLimiter, count: number) => {
    const takeToken = () => tokens.acquire().then(() => void cameAt.push(performance.now()));
    await Promise.all(Array.from({ length: count }, takeToken));
  };
  await Promise.all([takeAll(a, 40), takeAll(b, 40)]);
  // All tokens of both but the first are due after it, 20 ms apart. The last can arrive early by at most the delay of
  // the first.
  const tookMs = Math.max(...cameAt) - Math.min(...cameAt);
  expect(tookMs).toBeGreaterThan((79 * 1_000) / 50 - TOKEN_GRACE_MS - slowestMs);

  const refusedAt = performance.now();
  a.reportThrottled(1_500);
  await sleep(400);
  await Promise.all([takeAll(a, 1), takeAll(b, 1)]);
  expect(Math.min(...cameAt.filter((atMs) => atMs > refusedAt)) - refusedAt).toBeGreaterThan(1_450);
  for (const database of databases) await database.close();
});
