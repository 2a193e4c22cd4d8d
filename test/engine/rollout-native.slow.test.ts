import { afterAll, beforeAll, expect, it } from "vitest";
import { Fleet, getStates, listStartedTenants } from "../support/fleet";

/*
 * Rollouts with the native plugin next to dynamic resources. rollout-rollback.slow.test.ts kills and rolls back a
 * rollout with the plugin.
 */

let fleet: Fleet;

const WAVES = "waves:\n  - { name: canary, match: { ring: canary }, gate: true }\n  - { name: rest }\n";

/** Writes the targets file with the provider of each tenant. Undefined: none is declared. */
async function setProviders(t0: string | undefined, t1: string | undefined): Promise<void> {
  const formatProviderField = (providerKind: string | undefined): string =>
    providerKind === undefined ? "" : `, provider: ${providerKind}`;
  await fleet.writeTargets({
    formatTenantOptions: (_name, number) =>
      number === 0
        ? `{ labels: { ring: canary }${formatProviderField(t0)} }`
        : `{ labels: { ring: rest }${formatProviderField(t1)} }`,
    waves: WAVES,
  });
}

/** Returns the providers of the lists in a tenant's stack, as type prefixes. */
async function listProviders(name: string): Promise<string[]> {
  const types = (await fleet.read(`.state/.pulumi/stacks/fleet/${name}.json`)).matchAll(
    /"type": ?"([^"]*):(?:AllowDenyList|VipList)"/g,
  );
  return [...new Set([...types].map(([, providerKind = ""]) => providerKind))];
}

beforeAll(async () => {
  fleet = await Fleet.start({ tenants: 2 });
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

it("enforces the plan of a native stack", async () => {
  await setProviders(undefined, "native");
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(2);
  expect(getStates(first.report())).toEqual({ t0: "done", t1: "pending" });
  // After the plan, a colleague has created the entry that the rollout was about to create.
  const values = { list: "deny", entry_type: "domain", value: "only-t1.example", comment: "a colleague's" };
  await fleet.sendFromConsole("t1", "POST", "/allow_deny_entries", values);
  const moved = await fleet.runRollout("resume");
  expect(moved.code, moved.output).toBe(1);
  const error = moved.report().tenants.find(({ name }) => name === "t1")?.error;
  expect(error?.code).toBe("ERR_PLAN_STALE");
  // Only the list reports the error, not the resources that depend on it.
  expect(error?.message).not.toContain("shut down");
  expect(fleet.listContents("t1")).toEqual(["deny only-t1.example a colleague's"]);

  const [row] = fleet.sandbox.allowDenyEntries("t1");
  await fleet.sendFromConsole("t1", "DELETE", `/allow_deny_entries/${row?.id}`);
  const resumed = await fleet.runRollout("resume");
  expect(resumed.code, resumed.output).toBe(0);
  expect(fleet.listContents("t1")).toEqual(fleet.listDeclaredContents("t1"));
  expect(await listProviders("t0")).toEqual(["pulumi-nodejs:dynamic/email-security"]);
  expect(await listProviders("t1")).toEqual(["email-security:index"]);
});

it("moves only the requested dynamic stack to native, without a write", async () => {
  fleet.takeRequests();
  // Without a declared provider, a stack keeps its own. An unchanged tenant doesn't start an engine.
  await setProviders("native", undefined);
  const moving = await fleet.runRollout("--yes");
  expect(getStates(moving.report())).toEqual({ t0: "done", t1: "unchanged" });
  const rest = moving.code === 2 ? await fleet.runRollout("resume") : moving;
  expect(rest.code, rest.output).toBe(0);
  expect(listStartedTenants(moving)).toEqual(["t0"]);
  expect(await listProviders("t0")).toEqual(["email-security:index"]);
  expect(await listProviders("t1")).toEqual(["email-security:index"]);
  expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);
  expect(fleet.listContents("t0")).toEqual(fleet.listDeclaredContents("t0"));
});
