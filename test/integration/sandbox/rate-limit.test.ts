import { expect, test } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { ENTRIES, type Json, NOW, startService, THREATS, VIPS } from "./service";

// "Requests are rate limited. Numeric rate limits and the response when a limit is exceeded: not shown."

async function startLimitedService(rateLimit: {
  perSecond: number;
  burst?: number;
  retryAfter?: "seconds" | "date" | "none";
}) {
  let now = Date.parse(NOW);
  const service = await startService({ rateLimit, clock: () => new Date(now) });
  return {
    ...service,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

test("answers 429 with Retry-After above the limit", async () => {
  await using service = await startLimitedService({ perSecond: 3 });
  const { acme, pass, sandbox } = service;
  const collectStatuses = async (count: number) => {
    const all: number[] = [];
    for (let n = 0; n < count; n += 1) all.push((await acme.get(VIPS)).status);
    return all;
  };
  expect(await collectStatuses(5)).toEqual([200, 200, 200, 429, 429]);
  const { body, headers } = await acme.get(THREATS);
  expect([body, headers.get("Retry-After")]).toEqual([{ error: expect.stringContaining("3 per second") }, "1"]);
  pass(333);
  expect(await collectStatuses(1)).toEqual([429]);
  pass(1);
  expect(await collectStatuses(2)).toEqual([200, 429]);
  pass(60_000);
  expect(await collectStatuses(4)).toEqual([200, 200, 200, 429]);
  expect(sandbox.requests.filter(({ status }) => status === 429)).toHaveLength(6);
});

test("performs no write that it rejects", async () => {
  await using service = await startLimitedService({ perSecond: 1 });
  const { acme, sandbox } = service;
  await acme.get(VIPS);
  const entry = { list: "deny", entry_type: "domain", value: "a.example" };
  expect((await acme.post(ENTRIES, entry)).status).toBe(429);
  expect(sandbox.audit("acme")).toEqual([]);
});

test("applies the limit per tenant, across its keys", async () => {
  await using service = await startLimitedService({ perSecond: 1 });
  const { acme, acmeConsole, globex, stranger } = service;
  const getStatus = async (caller: Json, path: string) => (await caller.get(path)).status;
  expect(await getStatus(acme, VIPS)).toBe(200);
  expect(await getStatus(acmeConsole, VIPS)).toBe(429);
  expect(await getStatus(globex, VIPS)).toBe(200);
  expect(await getStatus(stranger, VIPS)).toBe(401);
  expect(await getStatus(acme, "/openapi.json")).toBe(200);
  expect(await getStatus(acme, "/sandbox/audit")).toBe(200);
  expect(await getStatus(acme, "/sandbox/requests")).toBe(200);
});

test("refills one token at a time after a burst", async () => {
  await using service = await startLimitedService({ perSecond: 2 / 60, burst: 2 });
  const { acme, pass } = service;
  expect([(await acme.get(VIPS)).status, (await acme.get(VIPS)).status]).toEqual([200, 200]);
  pass(100);
  const rejection = await acme.get(VIPS);
  expect([rejection.status, rejection.headers.get("Retry-After")]).toEqual([429, "30"]);
  pass(29_899);
  expect((await acme.get(VIPS)).status).toBe(429);
  pass(1);
  expect((await acme.get(VIPS)).status).toBe(200);
});

test("sends Retry-After as configured", async () => {
  await using dated = await startLimitedService({ perSecond: 0.4, retryAfter: "date" });
  await dated.acme.get(VIPS);
  dated.pass(1);
  const date = (await dated.acme.get(VIPS)).headers.get("Retry-After") ?? "";
  expect(date).toBe("Thu, 15 Jan 2026 12:00:03 GMT");
  dated.pass(Date.parse(date) - Date.parse(NOW) - 1);
  expect((await dated.acme.get(VIPS)).status).toBe(200);

  await using silent = await startLimitedService({ perSecond: 1, retryAfter: "none" });
  await silent.acme.get(VIPS);
  const rejection = await silent.acme.get(VIPS);
  expect([rejection.status, rejection.headers.get("Retry-After")]).toEqual([429, null]);
});

test.each([
  { perSecond: 0 },
  { perSecond: -1 },
  { perSecond: Number.NaN },
  { perSecond: Number.POSITIVE_INFINITY },
  { perSecond: 1, burst: 0 },
])("rejects the rate limit %j", async (rateLimit) => {
  await expect(startSandbox({ rateLimit })).rejects.toMatchObject({ code: "ERR_SANDBOX_OPTION" });
});
