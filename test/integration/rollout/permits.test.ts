import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Permits } from "../../../provider/client";
import type { Database } from "../../../provider/rollout/journal/database";
import { openPostgres } from "../../../provider/rollout/journal/postgres-database";
import { openSqlite } from "../../../provider/rollout/journal/sqlite-database";
import { ADDRESSES_TABLE, AddressLimiter, LATE_MS } from "../../../provider/rollout/permits/address-limiter";
import { type PermitServer, startPermitServer } from "../../../provider/rollout/permits/permit-server";
import { permitsOf, STALE_MS } from "../../../provider/tenant/asked-permits";
import { startPostgres } from "../../support/postgres";
import { sandboxTenant } from "../../support/sandbox-tenant";
import { type Answerer, always, json, page, Service } from "../client/service";
import { startCoordinator, startTenant } from "./permit-processes";

let folder: string;
let journal: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "email-security-permits-"));
  journal = join(folder, "journal.db");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const nobody = page([]);

const PATIENT = { timeout: 60_000, interval: 20 };

/** A service that notes when whose requests came, by its own clock. */
async function countingService(answer: Answerer = always(200, nobody)) {
  const came: { atMs: number; who: string }[] = [];
  const service = await Service.start((request, response, index) => {
    came.push({ atMs: performance.now(), who: String(request.headers["x-api-key"]) });
    answer(request, response, index);
  });
  const of = (who: string) => came.filter((one) => one.who === who).length;
  return { service, came, of };
}

describe("one address, two processes that give permits, and three tenants in processes of their own", () => {
  it("keep one rate together, and pause together when one of them is refused", async () => {
    const perSecond = 40;
    let refusedAtMs = 0;
    const { service, came, of } = await countingService((request, response, index) => {
      if (index !== 40) return always(200, nobody)(request, response, index);
      refusedAtMs = performance.now();
      json(response, 429, { error: "too many" }, { "retry-after": "3" });
    });
    await using _service = service;
    const options = { journal, service: service.url, limit: { requestsPerSecond: perSecond } };
    await using one = await startCoordinator(options);
    await using other = await startCoordinator(options);
    const lag = monitorEventLoopDelay({ resolution: 5 });
    lag.enable();
    const all = { service: service.url, requests: 40, atOnce: 10 };
    await using acme = startTenant({ ...all, name: "acme", permits: await one.said });
    await using globex = startTenant({ ...all, name: "globex", permits: await one.said });
    await using initech = startTenant({ ...all, name: "initech", permits: await other.said });
    expect(await Promise.all([acme.said, globex.said, initech.said])).toEqual(["done", "done", "done"]);
    lag.disable();
    expect([came.length, of("acme") + of("globex") + of("initech")]).toEqual([121, 121]);

    // In any second no more than the limit, but for those that were given late, were used late, or were noted late.
    const lateMs = LATE_MS + STALE_MS + lag.max / 1e6;
    const most = Math.max(
      ...came.map(({ atMs: from }) => came.filter(({ atMs }) => atMs >= from && atMs < from + 1_000).length),
    );
    expect(most).toBeLessThanOrEqual(perSecond * (1 + lateMs / 1_000) + 1);
    // They are told within a quarter of a second; the rest of the first second is for a machine that is busy.
    const meanwhile = came.filter(
      ({ atMs }) => atMs > refusedAtMs + 1_000 + lag.max / 1e6 && atMs < refusedAtMs + 2_990,
    );
    expect(meanwhile).toEqual([]);
  });

  it("send nothing more once who gives them permits is dead, or says that the tenant is another's", async () => {
    const { service, of } = await countingService();
    await using _service = service;
    const options = { journal, service: service.url, limit: {} };
    await using one = await startCoordinator(options);
    await using other = await startCoordinator(options);
    const endless = { service: service.url, requests: Number.MAX_SAFE_INTEGER, atOnce: 4 };
    await using acme = startTenant({ ...endless, name: "acme", permits: await one.said });
    await using globex = startTenant({ ...endless, name: "globex", permits: await one.said });
    await using initech = startTenant({ ...endless, name: "initech", permits: await other.said });
    for (const name of ["acme", "globex", "initech"])
      await expect.poll(() => of(name), PATIENT).toBeGreaterThan(20);

    one.tell("acme");
    expect(await acme.said).toBe("ERR_NO_PERMIT");
    other.signal("SIGKILL");
    expect(await initech.said).toBe("ERR_NO_PERMIT");
    const [ofAcme, ofInitech, ofGlobex] = [of("acme"), of("initech"), of("globex")];
    await expect.poll(() => of("globex"), PATIENT).toBeGreaterThan(ofGlobex + 100);
    expect([of("acme"), of("initech")]).toEqual([ofAcme, ofInitech]);
    one.signal("SIGKILL");
    expect(await globex.said).toBe("ERR_NO_PERMIT");
  });

  it("a tenant's process that was asleep does not use the permit that came meanwhile", async () => {
    const { service, of } = await countingService();
    await using _service = service;
    const options = { journal, service: service.url, limit: { requestsPerSecond: 1 } };
    await using coordinator = await startCoordinator(options);
    const slow = { service: service.url, requests: 100, atOnce: 1 };
    await using acme = startTenant({ ...slow, name: "acme", permits: await coordinator.said });
    await expect.poll(() => of("acme"), PATIENT).toBe(1);
    // It has asked for the next, which it will be given in a second.
    await sleep(300);
    acme.signal("SIGSTOP");
    await sleep(1_500);
    expect(of("acme")).toBe(1);
    coordinator.signal("SIGKILL");
    await sleep(100);
    acme.signal("SIGCONT");
    expect(await acme.said).toBe("ERR_NO_PERMIT");
    expect(of("acme")).toBe(1);
  });
});

it("keeps one rate, and one pause, over machines whose clocks differ, by the clock of PostgreSQL", async () => {
  await using postgres = await startPostgres();
  const databases = [await openPostgres(postgres.url), await openPostgres(postgres.url)] as const;
  await databases[0].query(ADDRESSES_TABLE);
  const address = "https://mail-security.example";
  const limits = new Map([[address, { requestsPerSecond: 50 }]]);
  let slowestMs = 0;
  const timed =
    (database: Database): Database["query"] =>
    async (...statement) => {
      const startedAt = performance.now();
      const rows = await database.query(...statement);
      slowestMs = Math.max(slowestMs, performance.now() - startedAt);
      return rows;
    };
  const [one, other] = [0, 3_600_000].map((ahead, index) => {
    const time = { now: () => Date.now() + ahead, sleep };
    const database = { dialect: "postgres", query: timed(databases[index] ?? databases[0]) } as const;
    return new AddressLimiter({ database, limits, time }).permitsFor(address);
  }) as [Permits, Permits];
  const cameAt: number[] = [];
  const takeAll = async (permits: Permits, count: number) => {
    const take = () => permits.take().then(() => void cameAt.push(performance.now()));
    await Promise.all(Array.from({ length: count }, take));
  };
  await Promise.all([takeAll(one, 40), takeAll(other, 40)]);
  // All permits of both but the first are due after it, a fiftieth of a second each; the last can't come earlier by more
  // than the first came late.
  const tookMs = Math.max(...cameAt) - Math.min(...cameAt);
  expect(tookMs).toBeGreaterThan((79 * 1_000) / 50 - LATE_MS - slowestMs);

  const refusedAt = performance.now();
  one.refused(1_500);
  await sleep(400);
  await Promise.all([takeAll(one, 1), takeAll(other, 1)]);
  expect(Math.min(...cameAt.filter((atMs) => atMs > refusedAt)) - refusedAt).toBeGreaterThan(1_450);
  for (const database of databases) await database.close();
});

describe("the provider process", () => {
  it("asks for its permits, and sends nothing more when nobody gives them", async () => {
    await using permits = await permitServer();
    await using acme = await sandboxTenant({}, environmentFor(permits));
    const declare = (value: string) =>
      acme.provider.resource("allowDenyEntry").declare({ list: "deny", value });
    await declare("one.example");
    expect(acme.writes()).toHaveLength(1);
    permits.over.add("token");
    const why = "was not sent: this run may not change the tenant any more";
    await expect(declare("two.example")).rejects.toThrow(why);
    permits.over.clear();
    await declare("two.example");
    acme.trace();
    await permits.close();
    await expect(declare("three.example")).rejects.toThrow(
      "was not sent: the rollout that started this process is gone",
    );
    expect(acme.trace()).toEqual([]);
  });
});

describe("a permit server", () => {
  const ADDRESS = "https://mail-security.example";

  it("is open to this user alone, and leaves nothing behind", async () => {
    await using permits = await permitServer();
    const own = dirname(permits.address);
    expect(statSync(own).mode & 0o777).toBe(0o700);
    await permits.close();
    await permits.close();
    expect(existsSync(own)).toBe(false);
    await expect(permitsOf(environmentFor(permits), ADDRESS)?.take()).rejects.toThrow("is gone");
  });

  it("tells whoever waits, when it closes", async () => {
    await using permits = await permitServer({ requestsPerSecond: 0.001 });
    const asked = permitsOf(environmentFor(permits), ADDRESS);
    await asked?.take();
    const waiting = Promise.allSettled([asked?.take(), asked?.take()]);
    await sleep(50);
    await permits.close();
    expect((await waiting).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(asked?.take()).rejects.toThrow("is gone");
    asked?.refused(1_000);
  });

  it("gives nothing for a token that is none, and ends a connection that says what nobody says", async () => {
    await using permits = await permitServer();
    const asked = permitsOf({ EMAIL_SECURITY_PERMITS: permits.address }, ADDRESS);
    await expect(asked?.take()).rejects.toThrow("may not change the tenant any more");
    for (const text of [
      "t\n",
      "[]\n",
      '["token","nowhere"]\n',
      `["token","${ADDRESS}"]\nx\n`,
      "x".repeat(100_000),
    ]) {
      const socket = connect(permits.address);
      socket.on("error", () => {});
      socket.end(text);
      socket.resume();
      await new Promise((resolve) => socket.once("close", resolve));
    }
    await permitsOf(environmentFor(permits), ADDRESS)?.take();
  });

  it("is not asked where no rollout has started the process, and once a process and address where one has", async () => {
    await using permits = await permitServer();
    for (const environment of [{}, { EMAIL_SECURITY_PERMITS: "" }]) {
      expect(permitsOf(environment, ADDRESS)).toBeUndefined();
    }
    const asked = permitsOf(environmentFor(permits), ADDRESS);
    expect(permitsOf(environmentFor(permits), ADDRESS)).toBe(asked);
    expect(permitsOf(environmentFor(permits), `${ADDRESS}/eu`)).not.toBe(asked);
  });
});

/** A permit server of this process, whose token is "token". */
async function permitServer(
  limit: { readonly requestsPerSecond?: number } = {},
): Promise<PermitServer & AsyncDisposable & { readonly over: Set<string> }> {
  const database = await openSqlite(journal);
  await database.query(ADDRESSES_TABLE);
  const limits = new Map([["https://mail-security.example", limit]]);
  const over = new Set<string>();
  const isAllowed = (token: string) => token === "token" && !over.has(token);
  const server = await startPermitServer(new AddressLimiter({ database, limits }), { isAllowed });
  const dispose = async () => {
    await server.close();
    await database.close();
  };
  return { ...server, over, [Symbol.asyncDispose]: dispose };
}

function environmentFor({ address }: PermitServer): Record<string, string> {
  return { EMAIL_SECURITY_PERMITS: address, EMAIL_SECURITY_PERMITS_TOKEN: "token" };
}
