import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { expect, it } from "vitest";
import { RateLimitedError } from "../../../provider/client";
import type { ServiceRequest } from "../../../provider/sandbox";
import { formatPersonAddress } from "../../support/people";
import { buildDenyBody, startTenantService } from "./service";

it("sends at most 16 writes concurrently at first", async () => {
  let underWay = 0;
  let most = 0;
  let release = () => {};
  const blocker = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using acme = await startTenantService({
    people: 10,
    vips: 10,
    intercept: async ({ method }) => {
      if (method === "GET") return;
      underWay += 1;
      most = Math.max(most, underWay);
      if (underWay === 16) setTimeout(release, 50);
      await blocker;
      underWay -= 1;
      return undefined;
    },
  });
  const { tenant, sandbox, trace } = acme;
  const edits = Array.from({ length: 10 }, (_, index) => tenant.editVipComment(formatPersonAddress(index), "Again"));
  const creations = Array.from({ length: 12 }, (_, index) => tenant.createEntry(buildDenyBody(index)));
  await Promise.all([...edits, ...creations]);
  expect(most).toBe(16);
  expect(trace()).toHaveLength(22);
  expect(sandbox.allowDenyEntries("acme")).toHaveLength(12);
});

it.each(["seconds", "date", "none"] as const)(
  "completes all writes despite a rate limit (Retry-After: %s)",
  async (retryAfter) => {
    const refusedAt: number[] = [];
    await using acme = await startTenantService({
      rateLimit: { perSecond: 10, burst: 10, retryAfter },
      afterHandle: (_request, { status }) => {
        if (status === 429) refusedAt.push(acme.time.atMs);
        return undefined;
      },
    });
    const { tenant, sandbox, time } = acme;
    const starts: { atMs: number; underWay: number }[] = [];
    let underWay = 0;
    const countStart = () => {
      underWay += 1;
      starts.push({ atMs: time.atMs, underWay });
    };
    const countEnd = () => {
      underWay -= 1;
    };
    subscribe("undici:request:create", countStart);
    subscribe("undici:request:trailers", countEnd);
    const created = await Promise.all(
      Array.from({ length: 100 }, (_, index) => tenant.createEntry(buildDenyBody(index))),
    );
    unsubscribe("undici:request:create", countStart);
    unsubscribe("undici:request:trailers", countEnd);
    expect(created.every(({ isNew }) => isNew)).toBe(true);
    expect(sandbox.allowDenyEntries("acme")).toHaveLength(100);
    expect(refusedAt.length).toBeGreaterThan(0);
    // 90 requests beyond the burst, at 10 per second.
    expect(time.atMs).toBeGreaterThanOrEqual(9_000);
    const computePeak = (some: typeof starts) => Math.max(...some.map((start) => start.underWay));
    expect(computePeak(starts.filter(({ atMs }) => atMs === 0))).toBe(16);
    expect(computePeak(starts.filter(({ atMs }) => atMs > 0))).toBe(8);
    expect(starts.at(-1)?.underWay).toBe(1);
    // No request starts during the pause after a 429.
    const pauseMs = retryAfter === "seconds" ? 1_000 : 250;
    const tooEarly = starts.filter(({ atMs }) => refusedAt.some((timeMs) => atMs > timeMs && atMs < timeMs + pauseMs));
    expect(tooEarly).toEqual([]);
  },
);

it("retries a rejected page instead of the full list", async () => {
  const rejectedPages = new Set(["deny 2", "deny 3"]);
  const rejectOnce = ({ query }: ServiceRequest) =>
    rejectedPages.delete(`${query["list"]} ${query["page"]}`)
      ? { status: 429, headers: { "Retry-After": "3" }, body: { error: "too many" } }
      : undefined;
  await using acme = await startTenantService({ denied: 600, intercept: rejectOnce });
  expect(await acme.tenant.readAllEntries()).toHaveLength(600);
  expect(acme.trace().filter((line) => line.startsWith("deny"))).toEqual([
    "deny 1 200",
    "deny 2 429",
    "deny 2 200",
    "deny 3 429",
    "deny 3 200",
  ]);
  expect(acme.time.atMs).toBe(6_000);
});

it("retries a rejected batch unchanged", async () => {
  let refusals = 2;
  await using acme = await startTenantService({
    people: 3,
    intercept: () => {
      refusals -= 1;
      return refusals < 0 ? undefined : { status: 429, body: { error: "too many" } };
    },
  });
  await Promise.all([0, 1, 2].map((index) => acme.tenant.addVip(formatPersonAddress(index), "Board")));
  expect(acme.trace()).toEqual(["add 3 Board 429", "add 3 Board 429", "add 3 Board 200"]);
  expect(acme.time.sleeps).toEqual([250, 500]);
});

it("gives up after eight attempts with the service's message", async () => {
  await using acme = await startTenantService({ intercept: () => ({ status: 429, body: { error: "closed today" } }) });
  const failure = await acme.tenant.createEntry(buildDenyBody(1)).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RateLimitedError);
  expect(failure).toMatchObject({ serviceMessage: "closed today" });
  expect(acme.trace()).toHaveLength(8);
});
