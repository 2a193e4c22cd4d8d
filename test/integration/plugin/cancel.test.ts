import { setTimeout as sleep } from "node:timers/promises";
import { Empty } from "google-protobuf/google/protobuf/empty_pb.js";
import { expect, it } from "vitest";
import { ManagedResource } from "../../support/managed-resource";
import { call } from "../../support/provider-call";
import type { ProviderProcess } from "../../support/provider-process";
import { type ManagedSandboxTenant, startSandboxTenant } from "../../support/sandbox-tenant";

/** Cancels as the engine does on Ctrl-C: requests in flight may finish, and no new ones may start. */
async function cancelProvider(provider: ProviderProcess): Promise<void> {
  await call((done) => provider.client.cancel(new Empty(), done));
}

const entries = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`bad-${index}.example`, "deny: x"]));

it("ends a cancelled list as a partial failure that keeps completed entries", async () => {
  const release = Promise.withResolvers<void>();
  let isHolding = true;
  let posts = 0;
  await using tenant: ManagedSandboxTenant = await startSandboxTenant({
    async intercept({ method }) {
      if (method !== "POST") return undefined;
      posts += 1;
      if (isHolding && posts > 40) await release.promise;
      return undefined;
    },
  });
  const list = new ManagedResource(tenant, "allowDenyList");
  const running = list.up({ entries });
  // All requests in flight are held, so no more are sent until some of them are answered.
  await expect.poll(() => posts).toBeGreaterThan(40);
  let sent = 0;
  while (sent !== posts) {
    sent = posts;
    await sleep(300);
  }
  await cancelProvider(tenant.provider);
  isHolding = false;
  release.resolve();

  const up = await running;
  expect(up.outcome).toBe("partial");
  expect(up.reasons.join("\n")).toMatch(/The run was cancelled, so .* was not sent.*\[ERR_CANCELLED\]/);
  expect(up.reasons.join("\n")).not.toContain("ERR_NO_TOKEN");
  expect(posts).toBe(sent);
  const rows = tenant.sandbox.allowDenyEntries("acme").map(({ value }) => [value, "deny: x"]);
  expect(rows).toHaveLength(sent);
  expect(list.properties?.["entries"]).toEqual(Object.fromEntries(rows));

  tenant.trace();
  expect((await list.up({ entries })).outcome).toBe("updated");
  expect(tenant.writes()).toHaveLength(300 - sent);
  expect((await list.up({ entries })).outcome).toBe("same");
});

it("sends no request after a cancellation", async () => {
  await using tenant = await startSandboxTenant({ scenario: "acme" });
  const { provider } = tenant;
  await cancelProvider(provider);
  const calls = [
    provider.getResource("allowDenyEntry").create({ list: "deny", value: "evil.example" }),
    provider.getResource("allowDenyEntry").delete("ade_1", { list: "deny", value: "evil.example" }),
    provider.getResource("allowDenyList").read("allow-deny-list", { entries }),
    provider.getResource("vipEmployee").create({ email: "yuki.sato@acme.example" }),
    provider.getResource("vipList").read("vip-list"),
  ];
  for (const outcome of await Promise.allSettled(calls)) {
    expect(outcome).toMatchObject({
      status: "rejected",
      reason: {
        message: expect.stringMatching(/^The run was cancelled, so .* was not sent\. .*\[ERR_CANCELLED\]/s),
      },
    });
  }
  expect(tenant.trace()).toEqual([]);
});
