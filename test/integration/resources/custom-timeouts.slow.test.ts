import { expect, it } from "vitest";
import { startBlockingTenant } from "../../support/blocking-tenant";
import { ManagedResource } from "../../support/managed-resource";
import { PROVIDER_KIND } from "../../support/provider-process";
import { startSandboxTenant } from "../../support/sandbox-tenant";

/**
 * The timeout, in seconds, of operations that must time out. Their requests are held until the test
 * releases them.
 */
const SHORT_TIMEOUT_S = 1;
/** The timeout for operations that include the first requests of a process, which take longer. */
const LONG_TIMEOUT_S = 15;

const entry = { list: "deny", value: "evil.example", comment: "INC-7" } as const;

it("completes operations within their timeouts", async () => {
  await using tenant = await startSandboxTenant();
  const resource = tenant.provider.getResource("allowDenyEntry");
  const { inputs } = await resource.check(entry);
  const { id, properties } = await resource.create(inputs, { seconds: 60 });
  const changed = await resource.update(id, properties, { ...inputs, comment: "INC-8" }, inputs, {
    seconds: 60,
  });
  await tenant.provider.startNextRun();
  await tenant.provider.getResource("allowDenyEntry").delete(id, changed, inputs, 60);
  expect(tenant.writes()).toHaveLength(3);
});

it("applies separate timeouts to update and delete", async () => {
  await using tenant = await startBlockingTenant(({ method }) => method === "PATCH" || method === "DELETE");
  const resource = tenant.provider.getResource("allowDenyEntry");
  const { id, properties, inputs } = await resource.declare(entry);
  await expect(
    resource.update(id, properties, { ...inputs, comment: "INC-8" }, inputs, { seconds: SHORT_TIMEOUT_S }),
  ).rejects.toThrow(/customTimeouts\.update of this AllowDenyEntry was exceeded during PATCH .* may have taken effect/);
  await tenant.provider.startNextRun();
  await expect(
    tenant.provider.getResource("allowDenyEntry").delete(id, properties, inputs, LONG_TIMEOUT_S),
  ).rejects.toThrow(
    /customTimeouts\.delete of this AllowDenyEntry was exceeded during DELETE .* may have taken effect/,
  );
  tenant.releaseRequests();
  await expect.poll(() => tenant.sandbox.allowDenyEntries("acme")).toEqual([]);
  // A delete that timed out earlier may have taken effect.
  await tenant.provider.startNextRun();
  await tenant.provider.getResource("allowDenyEntry").delete(id, properties, inputs);
});

it.runIf(PROVIDER_KIND === "native")("applies a timeout to a refresh", async () => {
  await using tenant = await startBlockingTenant(({ method }) => method === "GET");
  const state = { ...entry, entryType: "domain", verdictScope: "global" };
  await expect(
    tenant.provider.getResource("allowDenyEntry").read("ade_1", state, entry, SHORT_TIMEOUT_S),
  ).rejects.toThrow(/customTimeouts\.read of this AllowDenyEntry was exceeded/);
  tenant.releaseRequests();
});

it("keeps completed entries in state when a list times out", async () => {
  let posts = 0;
  await using tenant = await startBlockingTenant(({ method }) => {
    if (method === "POST") posts += 1;
    return method === "POST" && posts > 40;
  });
  const entries = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`bad-${index}.example`, "deny: x"]));
  const list = new ManagedResource(tenant, "allowDenyList");
  const up = await list.up({ entries }, LONG_TIMEOUT_S);
  expect(up.outcome).toBe("partial");
  const reasons = up.reasons.join("\n");
  expect(reasons).toMatch(/deny bad-\d+\.example.*customTimeouts\.create of this AllowDenyList was exceeded/);
  expect(reasons).toContain("[ERR_NOT_ATTEMPTED]");
  const kept = Object.keys(list.properties?.["entries"] as object);
  expect(kept).toHaveLength(40);
  const sent = posts;
  tenant.releaseRequests();
  await expect.poll(() => tenant.sandbox.allowDenyEntries("acme").length).toBe(sent);

  // A write that timed out took effect, and isn't sent again.
  tenant.trace();
  expect((await list.up({ entries })).outcome).toBe("updated");
  expect(tenant.writes()).toHaveLength(200 - sent);
  expect((await list.up({ entries })).outcome).toBe("same");
});

it("times out one VIP of a batch without affecting the others", async () => {
  await using tenant = await startBlockingTenant(({ method }) => method !== "GET");
  const [brief, other] = ["brief", "other"].map((name) => tenant.provider.getResource("vipEmployee", name));
  if (brief === undefined || other === undefined) throw new Error("expected two resources");
  const [{ inputs }, { inputs: others }] = await Promise.all([
    brief.check({ email: "yuki.sato@acme.example" }),
    other.check({ email: "diego.santos@acme.example" }),
  ]);
  await brief.read("none", inputs);
  const otherCreated = other.create(others);
  await expect(brief.create(inputs, { seconds: SHORT_TIMEOUT_S })).rejects.toThrow(
    /customTimeouts\.create of this VipEmployee was exceeded during POST .*, which may have taken effect/,
  );
  expect(tenant.heldCount()).toBe(1);
  tenant.releaseRequests();
  await otherCreated;
  expect(tenant.writes()).toHaveLength(1);
  await tenant.provider.startNextRun();
  await tenant.provider.getResource("vipEmployee", "brief").declare({ email: "yuki.sato@acme.example" });
  expect(tenant.writes()).toEqual([]);
});

it("doesn't exclude a VIP whose queued removal timed out", async () => {
  await using tenant = await startBlockingTenant(({ path }) => path.endsWith("/remove"));
  const { provider } = tenant;
  const people = ["yuki.sato@acme.example", "diego.santos@acme.example"] as const;
  const vips = await Promise.all(
    people.map(async (email) => {
      const resource = provider.getResource("vipEmployee", email);
      return { email, resource, ...(await resource.declare({ email })) };
    }),
  );
  const [first, second] = vips;
  if (first === undefined || second === undefined) throw new Error("expected two resources");
  await provider.startNextRun();
  const removal = provider.getResource("vipEmployee", first.email).delete(first.id, first.properties, first.inputs);
  await expect.poll(() => tenant.heldCount()).toBe(1);
  const brief = provider.getResource("vipEmployee", second.email);
  await expect(brief.delete(second.id, second.properties, second.inputs, SHORT_TIMEOUT_S)).rejects.toThrow(
    /customTimeouts\.delete of this VipEmployee was exceeded, and no write was sent/,
  );
  tenant.releaseRequests();
  await removal;
  expect(tenant.sandbox.exclusions("acme")).toEqual([first.email]);
  // The second entry isn't mistaken for the one being removed.
  await brief.create(second.inputs);
  await brief.delete(second.id, second.properties, second.inputs);
});
