import { expect, it } from "vitest";
import { ManagedResource } from "../../support/managed-resource";
import { startSandboxTenant } from "../../support/sandbox-tenant";

const evil = { list: "deny", value: "evil.example" };

it("waits for the longest of several Retry-After values", async () => {
  const requestTimes: number[] = [];
  await using tenant = await startSandboxTenant({
    intercept: ({ method }) => {
      if (method !== "POST") return undefined;
      requestTimes.push(performance.now());
      const headers = { "Retry-After": "0, 1" };
      return requestTimes.length === 1 ? { status: 429, headers, body: { error: "slow down" } } : undefined;
    },
  });
  expect((await new ManagedResource(tenant, "allowDenyEntry").up(evil)).outcome).toBe("created");
  const [first = 0, second = 0] = requestTimes;
  expect(requestTimes).toHaveLength(2);
  // Timers may fire slightly early.
  expect(second - first).toBeGreaterThan(990);
});

it.each([
  ["a number too large for any clock", "99999999999999999999"],
  ["a date of another century", "Wed, 21 Oct 2099 07:28:00 GMT"],
])("fails at once with the end of the wait when Retry-After is %s", async (_name, value) => {
  let requestCount = 0;
  await using tenant = await startSandboxTenant({
    intercept: ({ method }) => {
      if (method === "GET") return undefined;
      requestCount += 1;
      return { status: 429, headers: { "Retry-After": value }, body: { error: "slow down" } };
    },
  });
  const { outcome, failures } = await new ManagedResource(tenant, "allowDenyEntry").up(evil);
  expect(outcome).toBe("failed");
  expect(failures[""]).toMatch(
    /Too many requests; wait 604800 s \(at least until \d{4}-.*Z\), which is longer than a run waits, then run again\. \[ERR_RATE_LIMITED\]/,
  );
  expect(requestCount).toBe(1);
});
