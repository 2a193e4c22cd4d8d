import { describe, expect, it } from "vitest";
import type { ServiceRequest } from "../../../provider/sandbox";
import { listPeople } from "../../support/people";
import { buildDenyBody, formatDomain, startTenantService, type TenantService } from "./service";

const BOOM = { status: 502, body: { error: "boom" } };

type FailingService = TenantService & { fail(times: number): void };

/** Starts a service that fails the given number of writes, before or after they take effect. */
async function startFailingService(moment: "before" | "after", people = 0): Promise<FailingService> {
  let failuresLeft = 0;
  const failWrite = ({ method }: ServiceRequest) => {
    if (method === "GET" || failuresLeft === 0) return undefined;
    failuresLeft -= 1;
    return BOOM;
  };
  const acme = await startTenantService({
    people,
    ...(moment === "before" ? { intercept: failWrite } : { afterHandle: failWrite }),
  });
  return Object.assign(acme, {
    fail(times: number) {
      failuresLeft = times;
    },
  });
}

const READINGS = ["allow 1 200", "deny 1 200"];
/** Two reads must miss a row before its write is sent again, since a list may lag. */
const TWICE = [...READINGS, ...READINGS];

describe("entry creation with an unknown outcome", () => {
  it("succeeds when the list shows the entry", async () => {
    await using acme = await startFailingService("after");
    acme.fail(1);
    const { row, isNew } = await acme.tenant.createEntry(buildDenyBody(1));
    expect([row.value, isNew]).toEqual([formatDomain("deny", 1), false]);
    expect(acme.trace()).toEqual(["POST allow_deny_entries 502", ...READINGS]);
  });

  it("is retried when the list doesn't show the entry", async () => {
    await using acme = await startFailingService("before");
    acme.fail(1);
    const { isNew } = await acme.tenant.createEntry(buildDenyBody(1));
    expect(isNew).toBe(true);
    expect(acme.trace()).toEqual(["POST allow_deny_entries 502", ...TWICE, "POST allow_deny_entries 201"]);
  });

  it("is attempted three times, with two reads before each retry", async () => {
    await using acme = await startFailingService("before");
    acme.fail(99);
    await expect(acme.tenant.createEntry(buildDenyBody(1))).rejects.toMatchObject({
      code: "ERR_SERVER",
      outcomeUnknown: true,
    });
    const post = "POST allow_deny_entries 502";
    expect(acme.trace()).toEqual([post, ...TWICE, post, ...TWICE, post, ...READINGS]);
  });

  it("isn't retried when the list can't be read", async () => {
    await using acme = await startTenantService({ intercept: () => BOOM });
    const failure = await acme.tenant.createEntry(buildDenyBody(1)).catch((error: unknown) => error);
    expect(failure).toMatchObject({ request: { method: "POST" }, outcomeUnknown: true });
    expect(acme.trace().filter((line) => line.startsWith("POST"))).toHaveLength(1);
  });

  it("shares its reads with others that failed at once", async () => {
    await using acme = await startFailingService("after");
    acme.fail(16);
    await Promise.all(Array.from({ length: 16 }, (_, index) => acme.tenant.createEntry(buildDenyBody(index))));
    const lines = acme.trace();
    expect(lines.filter((line) => line.startsWith("POST"))).toHaveLength(16);
    expect(lines.length).toBeLessThanOrEqual(16 + 2 * READINGS.length);
    expect(acme.sandbox.allowDenyEntries("acme")).toHaveLength(16);
  });
});

describe("batch of VIPs with an unknown outcome", () => {
  it.each(["before", "after"] as const)("is verified before a retry (failed %s)", async (moment) => {
    await using acme = await startFailingService(moment, 300);
    acme.fail(1);
    const { tenant, sandbox, trace } = acme;
    const readings = ["vips 1 200", "vips 2 200"];
    await Promise.all(listPeople(300).map((email) => tenant.addVip(email, "Board")));
    const again = moment === "before";
    const missed = ["vips 1 200"];
    expect(trace()).toEqual(["add 300 Board 502", ...(again ? [...missed, "add 300 Board 200"] : readings)]);
    expect(sandbox.vips("acme")).toHaveLength(300);
  });

  it.each(["before", "after"] as const)("is verified for a removal too (failed %s)", async (moment) => {
    await using acme = await startFailingService(moment, 300);
    const { tenant, sandbox, trace } = acme;
    await acme.console("POST", "/vip_employees", { emails: listPeople(300), comment: "x" });
    acme.fail(1);
    await Promise.all(listPeople(300).map((email) => tenant.removeVip(email)));
    const removals = trace().filter((line) => line.startsWith("remove"));
    expect(removals).toEqual(moment === "before" ? ["remove 300 502", "remove 300 200"] : ["remove 300 502"]);
    expect(sandbox.vips("acme")).toEqual([]);
    expect(sandbox.exclusions("acme")).toHaveLength(300);
  });
});

it("reports its own deletion when a retry finds nothing", async () => {
  await using acme = await startFailingService("after");
  await acme.console("POST", "/allow_deny_entries", buildDenyBody(1));
  acme.fail(1);
  const [createdResource] = await acme.tenant.readAllEntries();
  acme.trace();
  expect(await acme.tenant.deleteEntry(createdResource?.id ?? "")).toBe("deleted");
  expect(acme.trace()).toHaveLength(2);
});

it.each([
  ["204", { status: 204 }, true, 1],
  ["an empty 200, after it was done", { status: 200, body: "" }, true, 2],
] as const)("accepts a deletion answered with %s", async (_label, answer, isDone, requests) => {
  let failuresLeft = 1;
  await using acme = await startTenantService({
    denied: 1,
    afterHandle: ({ method }) => (method === "DELETE" && failuresLeft-- > 0 ? answer : undefined),
  });
  const [entry] = await acme.tenant.readAllEntries();
  acme.trace();
  expect(await acme.tenant.deleteEntry(entry?.id ?? "")).toBe(isDone ? "deleted" : "gone");
  expect(acme.trace()).toHaveLength(requests);
  expect(acme.sandbox.allowDenyEntries("acme")).toEqual([]);
});

it("retries a deletion that an empty 200 didn't do", async () => {
  let failuresLeft = 1;
  await using acme = await startTenantService({
    denied: 1,
    intercept: ({ method }) => (method === "DELETE" && failuresLeft-- > 0 ? { status: 200, body: "" } : undefined),
  });
  const [entry] = await acme.tenant.readAllEntries();
  expect(await acme.tenant.deleteEntry(entry?.id ?? "")).toBe("deleted");
  expect(acme.sandbox.allowDenyEntries("acme")).toEqual([]);
});
