import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { ADDRESSES_TABLE } from "../../../provider/rollout/database/tables";
import { AddressLimiter, TOKEN_GRACE_MS } from "../../../provider/rollout/rate-limit/address-limiter";
import { type RateLimitServer, startRateLimitServer } from "../../../provider/rollout/rate-limit/rate-limit-server";
import { getRateLimiter, STALE_TOKEN_MS } from "../../../provider/tenant/rate-limit-client";
import { startSandboxTenant } from "../../support/sandbox-tenant";
import { createFixedAnswerer, respondWithJson } from "../client/service";
import { nobody, startCoordinator, startCountingService, startTenantProcess } from "./rate-limit-processes";

let directory: string;
let journal: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-limiter-"));
  journal = join(directory, "journal.db");
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe("one address with two rate limit servers", () => {
  it("keeps one rate and one pause for all tenant processes", async () => {
    const perSecond = 40;
    let refusedAtMs = 0;
    const { service, came, countRequestsBy } = await startCountingService((request, response, index) => {
      if (index !== 40) return createFixedAnswerer(200, nobody)(request, response, index);
      refusedAtMs = performance.now();
      respondWithJson(response, 429, { error: "too many" }, { "retry-after": "3" });
    });
    await using _service = service;
    const options = { journal, service: service.url, limit: { requestsPerSecond: perSecond } };
    await using program = await startCoordinator(options);
    await using other = await startCoordinator(options);
    const lag = monitorEventLoopDelay({ resolution: 5 });
    lag.enable();
    const all = { service: service.url, requests: 40, concurrency: 10 };
    await using acme = startTenantProcess({ ...all, name: "acme", tokenAddress: await program.firstLine });
    await using globex = startTenantProcess({ ...all, name: "globex", tokenAddress: await program.firstLine });
    await using initech = startTenantProcess({ ...all, name: "initech", tokenAddress: await other.firstLine });
    expect(await Promise.all([acme.firstLine, globex.firstLine, initech.firstLine])).toEqual(["done", "done", "done"]);
    lag.disable();
    expect([came.length, countRequestsBy("acme") + countRequestsBy("globex") + countRequestsBy("initech")]).toEqual([
      121, 121,
    ]);

    // No second may exceed the limit, except for tokens that were issued, used or recorded late.
    const lateMs = TOKEN_GRACE_MS + STALE_TOKEN_MS + lag.max / 1e6;
    const most = Math.max(
      ...came.map(({ atMs: from }) => came.filter(({ atMs }) => atMs >= from && atMs < from + 1_000).length),
    );
    expect(most).toBeLessThanOrEqual(perSecond * (1 + lateMs / 1_000) + 1);
    // They get the refusal within 250 ms; the rest of the first second is tolerance for a busy machine.
    const meanwhile = came.filter(
      ({ atMs }) => atMs > refusedAtMs + 1_000 + lag.max / 1e6 && atMs < refusedAtMs + 2_990,
    );
    expect(meanwhile).toEqual([]);
  });
});

describe("the provider process", () => {
  it("sends nothing without a token", async () => {
    await using server = await startTokenServer();
    await using acme = await startSandboxTenant({}, buildLimiterEnvironment(server));
    const declareDeny = (value: string) => acme.provider.getResource("allowDenyEntry").declare({ list: "deny", value });
    await declareDeny("one.example");
    expect(acme.writes()).toHaveLength(1);
    server.over.add("token");
    const reason = "was not sent: this run isn't allowed to change the tenant any more";
    await expect(declareDeny("two.example")).rejects.toThrow(reason);
    server.over.clear();
    await declareDeny("two.example");
    acme.trace();
    await server.close();
    await expect(declareDeny("three.example")).rejects.toThrow(
      "was not sent: the rollout that started this process has ended",
    );
    expect(acme.trace()).toEqual([]);
  });
});

describe("a rate limit server", () => {
  const ADDRESS = "https://mail-security.example";

  it("is accessible to its own user only", async () => {
    await using server = await startTokenServer();
    const own = dirname(server.address);
    expect(statSync(own).mode & 0o777).toBe(0o700);
    await server.close();
    await server.close();
    expect(existsSync(own)).toBe(false);
    await expect(getRateLimiter(buildLimiterEnvironment(server), ADDRESS)?.acquire()).rejects.toThrow("has ended");
  });

  it("rejects waiting requests when it closes", async () => {
    await using server = await startTokenServer({ requestsPerSecond: 0.001 });
    const limiter = getRateLimiter(buildLimiterEnvironment(server), ADDRESS);
    await limiter?.acquire();
    const waiting = Promise.allSettled([limiter?.acquire(), limiter?.acquire()]);
    await sleep(50);
    await server.close();
    expect((await waiting).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(limiter?.acquire()).rejects.toThrow("has ended");
    limiter?.reportThrottled(1_000);
  });

  it("rejects invalid credentials and malformed messages", async () => {
    await using server = await startTokenServer();
    const limiter = getRateLimiter({ EMAIL_SECURITY_RATE_LIMITER: server.address }, ADDRESS);
    await expect(limiter?.acquire()).rejects.toThrow("isn't allowed to change the tenant any more");
    for (const text of ["t\n", "[]\n", '["token","nowhere"]\n', `["token","${ADDRESS}"]\nx\n`, "x".repeat(100_000)]) {
      const socket = connect(server.address);
      socket.on("error", () => {});
      socket.end(text);
      socket.resume();
      await new Promise((resolve) => socket.once("close", resolve));
    }
    await getRateLimiter(buildLimiterEnvironment(server), ADDRESS)?.acquire();
  });

  it("is used only by processes that a rollout started", async () => {
    await using server = await startTokenServer();
    for (const environment of [{}, { EMAIL_SECURITY_RATE_LIMITER: "" }]) {
      expect(getRateLimiter(environment, ADDRESS)).toBeUndefined();
    }
    const limiter = getRateLimiter(buildLimiterEnvironment(server), ADDRESS);
    expect(getRateLimiter(buildLimiterEnvironment(server), ADDRESS)).toBe(limiter);
    expect(getRateLimiter(buildLimiterEnvironment(server), `${ADDRESS}/eu`)).not.toBe(limiter);
  });
});

/** Starts a token server in this process, with the credential "token". */
async function startTokenServer(
  limit: { readonly requestsPerSecond?: number } = {},
): Promise<RateLimitServer & AsyncDisposable & { readonly over: Set<string> }> {
  const database = await openSqlite(journal);
  await database.query(ADDRESSES_TABLE);
  const limits = new Map([["https://mail-security.example", limit]]);
  const over = new Set<string>();
  const isAllowed = (token: string) => token === "token" && !over.has(token);
  const server = await startRateLimitServer(new AddressLimiter({ database, limits }), { isAllowed });
  const closeAll = async () => {
    await server.close();
    await database.close();
  };
  return { ...server, over, [Symbol.asyncDispose]: closeAll };
}

function buildLimiterEnvironment({ address }: RateLimitServer): Record<string, string> {
  return { EMAIL_SECURITY_RATE_LIMITER: address, EMAIL_SECURITY_RATE_LIMITER_TOKEN: "token" };
}
