import { expect, it } from "vitest";
import { startBlockingTenant } from "../../support/blocking-tenant";

/**
 * The timeout, in seconds, of operations that must exceed it; the requests they wait for are held until the test
 * releases them.
 */
const BRIEF = 1;

const entry = { list: "deny", value: "evil.example", comment: "INC-7" } as const;

it("adopts an entry whose create timed out in the next run", async () => {
  await using tenant = await startBlockingTenant(({ method }) => method !== "GET");
  const resource = tenant.provider.getResource("allowDenyEntry");
  const { inputs } = await resource.check(entry);
  // The first request of a process takes longer.
  await resource.read("none", inputs);
  await expect(resource.create(inputs, { seconds: BRIEF })).rejects.toThrow(
    /^The operation timed out before the service responded: the timeout of 1 s of customTimeouts\.create of this AllowDenyEntry was exceeded during POST .*allow_deny_entries.*, which may have taken effect\. Nothing more is sent\. You can safely run again: .* \[ERR_CUSTOM_TIMEOUT\]$/,
  );
  tenant.releaseRequests();
  await expect.poll(() => tenant.sandbox.allowDenyEntries("acme")).toHaveLength(1);
  tenant.trace();
  await tenant.provider.startNextRun();
  await tenant.provider.getResource("allowDenyEntry").declare(entry);
  expect(tenant.writes()).toEqual([]);
});

it("never sends a create that timed out during a shared read", async () => {
  // The read fails after the short timeout has passed, so it is retried for the other operation only.
  await using tenant = await startBlockingTenant(({ method, query }) => method === "GET" && query["list"] === "deny", {
    status: 503,
    body: { error: "down" },
  });
  const brief = tenant.provider.getResource("allowDenyEntry", "brief");
  const other = tenant.provider.getResource("allowDenyEntry", "other");
  const [{ inputs }, { inputs: others }] = await Promise.all([
    brief.check(entry),
    other.check({ ...entry, value: "other.example" }),
  ]);
  const ended = expect(brief.create(inputs, { seconds: BRIEF })).rejects.toThrow(
    /before anything was changed: the timeout of 1 s of customTimeouts\.create .* no write was sent\./,
  );
  await expect.poll(() => tenant.heldCount()).toBe(1);
  const creation = other.create(others);
  await ended;
  tenant.releaseRequests();
  const { id, properties } = await creation;
  // Late enough that the abandoned request would have been sent by now.
  await other.delete(id, properties);
  expect(tenant.sandbox.allowDenyEntries("acme").map(({ value }) => value)).toEqual(["other.example"]);
});
