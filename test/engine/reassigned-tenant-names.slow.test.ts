import { afterEach, beforeEach, expect, it } from "vitest";
import { collapseSpaces } from "../support/collapse-spaces";
import { Fleet, getStates, listStartedTenants, summarizeRun } from "../support/fleet";

/*
 * One edit of the targets file removes a tenant and gives its name to another one, which keeps its stack. Runs through
 * the real command and the real engine.
 */

let fleet: Fleet;
let id: string;

/** A rollout changes `t0`, `t1` and `t2`. Then `t1` is removed, and `t2` is called `t1`. */
beforeEach(async () => {
  fleet = await Fleet.start({ tenants: 3, entries: 2 });
  const run = await fleet.runRollout("--yes");
  expect(run.code, run.output).toBe(0);
  ({ id } = run.report());
  await renameTenant();
  fleet.takeRequests();
});

afterEach(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

async function renameTenant(): Promise<void> {
  const targets = await fleet.read("tenants.yaml");
  const renamed = "  t1: { stack: t2, key: { environment: T2_KEY }, settings: settings/t2.yaml }\n";
  await fleet.write("tenants.yaml", targets.replace("  t1: {}\n  t2: {}\n", renamed));
}

it("doesn't hide that a rollback leaves the removed tenant out", async () => {
  const before = fleet.listContents("t1");
  const plan = await fleet.runRollout("rollback");
  expect(collapseSpaces(plan.output)).toMatch(/t1, since .*: its stack is now "t2"/);
  const run = await fleet.runRollout("rollback", "--yes");
  expect([run.code, listStartedTenants(run)], run.output).toEqual([2, ["t0", "t1"]]);
  expect([fleet.listContents("t0"), fleet.listContents("t1"), fleet.listContents("t2")]).toEqual([[], before, []]);
  expect(getStates(run.report())).toEqual({ t0: "done", t1: "done" });
  expect(run.report().skipped).toMatchObject([{ name: "t1", stack: "t1" }]);
  const status = await fleet.start({}, "rollout", "status").result;
  expect(collapseSpaces(status.stdout)).toContain("2 tenants match their state before");
  expect(status.stdout).not.toContain("All ");
  expect(status.code).toBe(2);
});

it("rolls back the tenant that has a selected name now", async () => {
  const run = await fleet.runRollout("rollback", "--yes", "--only", "t1");
  expect(summarizeRun(run), run.output).toEqual([0, ["t1"]]);
  expect([fleet.listContents("t1"), fleet.listContents("t2")]).toEqual([
    fleet.listDeclaredContents("t1", ["evil0.example", "evil1.example"]),
    [],
  ]);
});

it("leaves out the tenant that has an excepted name now", async () => {
  const before = [fleet.listContents("t1"), fleet.listContents("t2")];
  const run = await fleet.runRollout("rollback", "--yes", "--except", "t1");
  expect(summarizeRun(run), run.output).toEqual([2, ["t0"]]);
  expect([fleet.listContents("t1"), fleet.listContents("t2")]).toEqual(before);
  expect(run.report().skipped).toMatchObject([{ name: "t1", stack: "t1" }]);
});

it("refuses a former name in a selection", async () => {
  for (const option of ["--only", "--except"]) {
    const run = await fleet.runRollout("rollback", "--yes", option, "t2");
    expect(summarizeRun(run)).toEqual([1, []]);
    expect(run.output).toContain('No tenant is called "t2"');
    expect(run.output).toContain('"t2" is now called "t1".');
  }
});

it("refuses a rollback with both names of a changed tenant", async () => {
  await fleet.writeBaseline(["evil9.example"]);
  expect(await fleet.runRollout("--yes", "--only", "t1")).toMatchObject({ code: 0 });
  const run = await fleet.runRollout("rollback", "--yes", id);
  expect(summarizeRun(run)).toEqual([1, []]);
  expect(run.output).toMatch(/The rollout \S+ has changed "t1" \(then "t2"\) since/);
});

it("names the removed tenant as the rest of a complete rollback", async () => {
  expect(await fleet.runRollout("rollback", "--yes")).toMatchObject({ code: 2 });
  const again = await fleet.runRollout("rollback", "--yes", id);
  expect(summarizeRun(again), again.output).toEqual([1, []]);
  expect(collapseSpaces(again.output)).toContain('but not in "t1" (its stack is now "t2"');
});

it("advises unskipping a renamed tenant by its name now", async () => {
  expect(await fleet.runRollout("skip", "t1", "--reason", "later")).toMatchObject({ code: 0 });
  expect(await fleet.runRollout("rollback", "--yes")).toMatchObject({ code: 2 });
  const commands = (await fleet.report(id)).advice.map(({ command }) => command);
  expect(commands).toContain("email-security rollout unskip t1");
});
