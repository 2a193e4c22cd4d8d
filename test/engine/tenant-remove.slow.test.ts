import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Fleet, keyVariable } from "../support/fleet";

/* A tenant that goes: with its stack, or with what that has declared at the service as well. */

it("removes at the service what the stack declared and nothing else, and goes on where it was interrupted", async () => {
  await using fleet = await Fleet.start({ tenants: 3, entries: 2 });
  await fleet.commitAll("All tenants");
  const remove = async (...args: string[]) => await fleet.begin({}, "tenant", "remove", ...args).ended;
  const first = await fleet.rollout("--only", "t0", "t1", "--yes");
  expect(first.code, first.output).toBe(0);
  const byHand = { list: "allow", value: "by-hand.example", entry_type: "domain", verdict_scope: "global" };
  await fleet.console("t0", "POST", "/allow_deny_entries", { ...byHand, comment: "" });
  const before = fleet.holds("t0");
  const files = await fleet.read("tenants.yaml");
  fleet.take();

  // It is told, and nothing is done.
  const told = await remove("t0", "--destroy");
  expect(told.code, told.output).toBe(2);
  expect(told.stdout).toContain("-3 remove");
  expect(told.stderr).toContain("Nothing was done. To do it: the same with --yes t0");
  expect(fleet.holds("t0")).toEqual(before);
  expect(await fleet.read("tenants.yaml")).toBe(files);
  expect(fleet.take().filter(({ method }) => method !== "GET")).toEqual([]);

  const done = await remove("t0", "--destroy", "--yes", "t0");
  expect(done.code, done.output).toBe(0);
  expect(fleet.holds("t0")).toEqual(["allow by-hand.example"]);
  expect(await fleet.read("tenants.yaml")).toBe(files.replace("  t0: {}\n", ""));
  expect(existsSync(join(fleet.folder, "settings/t0.yaml"))).toBe(false);
  expect(done.output).not.toContain(fleet.environment[keyVariable("t0")]);

  // The files came back, as by a kill before they were written: nothing is left to do but them.
  fleet.git("checkout", "--quiet", "--", "tenants.yaml", "settings/t0.yaml");
  const again = await remove("t0", "--destroy", "--yes", "t0");
  expect(again.stdout).toContain("There is no stack t0");
  expect(again.code, again.output).toBe(0);
  expect(await fleet.read("tenants.yaml")).toBe(files.replace("  t0: {}\n", ""));

  // What the settings protect is not removed; the stack alone goes all the same.
  const settings = await fleet.read("settings/t1.yaml");
  await fleet.write("settings/t1.yaml", `${settings}lists: { entries: { protect: [evil0.example] } }\n`);
  const refused = await remove("t1", "--destroy", "--yes", "t1");
  expect(refused.code, refused.output).toBe(3);
  const forgot = await remove("t1", "--forget-stack", "--yes", "t1");
  expect(forgot.code, forgot.output).toBe(0);
  expect(fleet.holds("t1")).toEqual(fleet.declared("t1"));
  expect((await fleet.pulumi("t1", "stack", "export").ended).output).toContain("no stack named");
  // Git does not have it as it is.
  expect(forgot.stdout).toContain("settings/t1.yaml stays");
});
