import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Fleet, getKeyVariable } from "../support/fleet";

/* Tenants whose name or key changes between two rollouts, with the real engine. */

const formatTargets = (name: string, sandbox: string): string => `version: 1
project: fleet
defaults: { baseUrl: "${sandbox}", settings: "settings/{name}.yaml" }
tenants:
  ${name}: { key: { environment: T0_KEY }, settings: settings/t0.yaml }
  t1: { key: { environment: T1_KEY } }
`;

it.each([
  { label: "in the same clone", forgets: [] },
  { label: "in a clone without the journal", forgets: [".email-security"] },
])("shows the removals of a tenant that was renamed by hand, $label", async ({ forgets }) => {
  await using fleet = await Fleet.start({ tenants: 2, entries: 2 });
  await fleet.write("tenants.yaml", formatTargets("t0", fleet.sandbox.url));
  const settings = await fleet.read("settings/t0.yaml");
  await fleet.write("settings/t0.yaml", `${settings}allow:\n  - partner.example\n`);
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(0);
  expect(fleet.listContents("t0")).toContain("allow partner.example");

  // One commit renames the tenant and removes the allow.
  await fleet.write("tenants.yaml", formatTargets("acme", fleet.sandbox.url));
  await fleet.write("settings/t0.yaml", settings);
  for (const path of forgets) await rm(join(fleet.directory, path), { recursive: true });
  fleet.takeRequests();
  const rejection = await fleet.runRollout("--yes");
  expect(rejection.code, rejection.output).toBe(3);
  expect(rejection.output.replaceAll(/\s+/g, " ")).toMatch(
    /acme \[renamed-tenant\].*looks like the tenant of the stack "t0".*declared allow partner\.example.*`email-security tenant rename t0 acme`/,
  );
  expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);

  const renamed = await fleet.start({}, "tenant", "rename", "t0", "acme").result;
  expect(renamed.code, renamed.output).toBe(0);
  expect(renamed.stdout).toContain("acme keeps the stack t0");
  const done = await fleet.runRollout("--yes");
  expect(done.code, done.output).toBe(0);
  expect(fleet.listContents("t0")).toEqual(fleet.listDeclaredContents("t0"));
});

it("keeps a skip of a tenant that was renamed by hand", async () => {
  await using fleet = await Fleet.start({ tenants: 2, entries: 2 });
  await fleet.write("tenants.yaml", formatTargets("t0", fleet.sandbox.url));
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
  expect(await fleet.runRollout("skip", "t0", "--reason", "its owner objects")).toMatchObject({ code: 0 });
  const before = fleet.listContents("t0");

  await fleet.write("tenants.yaml", formatTargets("acme", fleet.sandbox.url));
  await fleet.writeBaseline(["evil0.example", "evil1.example", "more.example"]);
  fleet.takeRequests();
  const rejection = await fleet.runRollout("--yes");
  expect(rejection.code, rejection.output).toBe(3);
  expect(rejection.output.replaceAll(/\s+/g, " ")).toMatch(
    /acme \[renamed-tenant\].*looks like the tenant of the stack "t0".*skip.*"t0", since .* \(its owner objects\).*`email-security tenant rename t0 acme`/,
  );
  expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);

  expect((await fleet.start({}, "tenant", "rename", "t0", "acme").result).code).toBe(0);
  const done = await fleet.runRollout("--yes");
  expect(done.code, done.output).toBe(0);
  expect(done.report().skipped).toMatchObject([{ name: "acme", stack: "t0" }]);
  expect(fleet.listContents("t0")).toEqual(before);
});

it("keeps a skip of a tenant that was renamed by hand before its first rollout", async () => {
  await using fleet = await Fleet.start({ tenants: 2, entries: 2 });
  await fleet.write("tenants.yaml", formatTargets("t0", fleet.sandbox.url));
  expect(await fleet.runRollout("--yes", "--only", "t1")).toMatchObject({ code: 0 });
  expect(await fleet.runRollout("skip", "t0", "--reason", "its owner objects")).toMatchObject({ code: 0 });

  await fleet.write("tenants.yaml", formatTargets("acme", fleet.sandbox.url));
  fleet.takeRequests();
  const rejection = await fleet.runRollout("--yes");
  expect(rejection.code, rejection.output).toBe(3);
  expect(rejection.output.replaceAll(/\s+/g, " ")).toMatch(
    /acme \[renamed-tenant\].*"t0", since .* \(its owner objects\).*`email-security tenant rename t0 acme`.*`email-security rollout unskip t0`/,
  );
  expect(fleet.listContents("t0")).toEqual([]);

  const targets = await fleet.read("tenants.yaml");
  expect((await fleet.start({}, "tenant", "rename", "t0", "acme").result).code).toBe(0);
  const skipping = await fleet.runRollout("--yes");
  expect([skipping.code, fleet.listContents("t0")], skipping.output).toEqual([0, []]);
  expect(skipping.report().skipped).toMatchObject([{ name: "acme", stack: "t0" }]);

  // It is another tenant.
  await fleet.write("tenants.yaml", targets);
  expect(await fleet.runRollout("unskip", "t0")).toMatchObject({ code: 0 });
  const done = await fleet.runRollout("--yes");
  expect(done.code, done.output).toBe(0);
  expect(fleet.listContents("t0")).toEqual(fleet.listDeclaredContents("t0"));
});

it("keeps the stack of a tenant renamed by `tenant rename`", async () => {
  await using fleet = await Fleet.start({ tenants: 3, entries: 2 });
  await fleet.commitAll("All tenants");
  const first = await fleet.runRollout("--only", "t0", "t1", "--yes");
  expect(first.code, first.output).toBe(0);
  const renamed = await fleet.start({}, "tenant", "rename", "t0", "acme").result;
  expect(renamed.code, renamed.output).toBe(0);
  expect(await fleet.read("tenants.yaml")).toContain(
    "  acme: { stack: t0, key: { environment: T0_KEY }, settings: settings/t0.yaml }\n",
  );
  await fleet.write("settings/t0.yaml", "version: 1\ninclude: [baseline.yaml]\n");
  const removed = await fleet.start({}, "tenant", "remove", "t1").result;
  expect(removed.code, removed.output).toBe(0);
  // The stack of t1 declared the same baseline as t2, which is new now.
  const next = await fleet.runRollout("--yes");
  expect(next.code, next.output).toBe(0);
  expect(fleet.listContents("t0")).toEqual(["deny evil0.example", "deny evil1.example"]);
  expect(fleet.listContents("t2")).toEqual(fleet.listDeclaredContents("t2"));
});

it("refuses a second key of another tenant before the first write", async () => {
  await using fleet = await Fleet.start({ tenants: 2, entries: 2 });
  for (const name of fleet.names) {
    const settings = await fleet.read(`settings/${name}.yaml`);
    await fleet.write(`settings/${name}.yaml`, `${settings}lists: { entries: { mode: exclusive } }\n`);
  }
  const first = await fleet.runRollout("--only", "t0", "--yes");
  expect(first.code, first.output).toBe(0);
  fleet.takeRequests();
  const secondKey = fleet.sandbox.tenants.find(({ name }) => name === "t0")?.apiKeys.console;
  for (const selection of [[], ["--only", "t1"]]) {
    const keys = { [getKeyVariable("t1")]: secondKey };
    const run = await fleet.start(keys, "rollout", "--yes", ...selection).result;
    expect(run.code, run.output).toBe(3);
    expect(run.output).toContain(selection.length === 0 ? "[ERR_SAME_TENANT]" : "[ERR_OTHER_TENANT]");
    expect(run.output).toMatch(/"t0" \(tenants\.yaml:8/);
    expect(run.output).toMatch(/"t1" \(tenants\.yaml:9; key from the environment variable T1_KEY\)/);
  }
  expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);
  expect(fleet.listContents("t0")).toEqual(fleet.listDeclaredContents("t0"));
  // With the correct key, the rollout continues.
  const own = await fleet.runRollout("--yes");
  expect(own.code, own.output).toBe(0);
});

it("writes to an empty tenant by only one of its two keys", async () => {
  await using fleet = await Fleet.start({ tenants: 2, entries: 2 });
  await fleet.write("settings/t1.yaml", "version: 1\ndeny: [only-t1.example]\n");
  const secondKey = fleet.sandbox.tenants.find(({ name }) => name === "t0")?.apiKeys.console;
  const startedRun = fleet.start({ [getKeyVariable("t1")]: secondKey }, "rollout", "--yes", "--max-concurrent", "1");
  const run = await startedRun.result;
  expect(run.code, run.output).toBe(1);
  expect(run.output).toContain("ERR_OTHER_TENANT");
  expect(Object.values(await fleet.readStates())).toContain("failed");
  expect(fleet.listContents("t0")).toEqual(fleet.listDeclaredContents("t0"));
});
