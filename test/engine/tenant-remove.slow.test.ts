import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Fleet, getKeyVariable } from "../support/fleet";
import { getFleetLockDirectory, listLocks, NOBODY, runInEmptyDirectory, writeLock } from "../support/stack-locks";

/* Removing a tenant: with its stack, or also with everything that the stack declared at the service. */

it("destroys only what the stack declared", async () => {
  await using fleet = await Fleet.start({ tenants: 3, entries: 2 });
  await fleet.commitAll("All tenants");
  const removeTenant = async (...args: string[]) => await fleet.start({}, "tenant", "remove", ...args).result;
  const first = await fleet.runRollout("--only", "t0", "t1", "--yes");
  expect(first.code, first.output).toBe(0);
  const manualEntry = { list: "allow", value: "by-hand.example", entry_type: "domain", verdict_scope: "global" };
  await fleet.sendFromConsole("t0", "POST", "/allow_deny_entries", { ...manualEntry, comment: "" });
  const before = fleet.listContents("t0");
  const files = await fleet.read("tenants.yaml");
  fleet.takeRequests();

  // Without `--yes`, the plan is printed and nothing is done.
  const preview = await removeTenant("t0", "--destroy");
  expect(preview.code, preview.output).toBe(2);
  expect(preview.stdout).toContain("3 to remove");
  expect(preview.stderr).toContain("Nothing was done. To do it, run the same command with --yes t0");
  expect(fleet.listContents("t0")).toEqual(before);
  expect(await fleet.read("tenants.yaml")).toBe(files);
  expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);

  // Nothing is done either if there is no stack, for example in another state backend.
  const unknown = await removeTenant("t2", "--destroy");
  expect([unknown.code, unknown.stdout]).toEqual([2, expect.stringContaining("There is no stack t2")]);
  expect(await fleet.read("tenants.yaml")).toBe(files);

  const done = await removeTenant("t0", "--destroy", "--yes", "t0");
  expect(done.code, done.output).toBe(0);
  expect(fleet.listContents("t0")).toEqual(["allow by-hand.example"]);
  expect(await fleet.read("tenants.yaml")).toBe(files.replace("  t0: {}\n", ""));
  expect(existsSync(join(fleet.directory, "settings/t0.yaml"))).toBe(false);
  expect(done.output).not.toContain(fleet.environment[getKeyVariable("t0")]);

  // The files are restored, as after a kill before they were written. The second run only has to update them again.
  fleet.runGit("checkout", "--quiet", "--", "tenants.yaml", "settings/t0.yaml");
  const again = await removeTenant("t0", "--destroy", "--yes", "t0");
  expect(again.stdout).toContain("There is no stack t0");
  expect(again.code, again.output).toBe(0);
  expect(await fleet.read("tenants.yaml")).toBe(files.replace("  t0: {}\n", ""));

  // Protected entries can't be removed, but the stack alone can.
  const settings = await fleet.read("settings/t1.yaml");
  await fleet.write("settings/t1.yaml", `${settings}lists: { entries: { protect: [evil0.example] } }\n`);
  const rejection = await removeTenant("t1", "--destroy", "--yes", "t1");
  expect(rejection.code, rejection.output).toBe(3);
  const forgot = await removeTenant("t1", "--forget-stack", "--yes", "t1");
  expect(forgot.code, forgot.output).toBe(0);
  expect(fleet.listContents("t1")).toEqual(fleet.listDeclaredContents("t1"));
  expect((await fleet.startPulumi("t1", "stack", "export").ended).output).toContain("no stack named");
  // Git doesn't have this version of the file.
  expect(forgot.stdout).toContain("settings/t1.yaml is kept");
});

it("refuses removal during an open rollout", async () => {
  const waves = "waves:\n  - { name: canary, limit: 1, gate: true }\n  - { name: rest }\n";
  await using fleet = await Fleet.start({ tenants: 3, entries: 1, waves });
  await fleet.commitAll("All tenants");
  const removeTenant = async (...args: string[]) => await fleet.start({}, "tenant", "remove", ...args).result;
  const destroyTenant = async (...args: string[]) => await removeTenant("t0", "--destroy", "--yes", "t0", ...args);
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 2 });
  const files = await fleet.read("tenants.yaml");
  const before = fleet.listContents("t0");
  fleet.takeRequests();

  const named = await removeTenant("t1", "--destroy", "--yes", "t1", "--database", "nowhere.db");
  expect([named.code, named.stderr]).toEqual([1, expect.stringContaining('no rollout journal at "nowhere.db"')]);
  await rename(join(fleet.directory, ".email-security"), join(fleet.directory, ".elsewhere"));
  for (const more of [[], ["--destroy", "--yes", "t1"], ["--forget-stack", "--yes", "t1"]]) {
    const open = await removeTenant("t1", ...more);
    expect([open.code, open.stderr]).toEqual([
      1,
      expect.stringMatching(/may still have to change "t1".*ERR_ROLLOUT_BUSY/),
    ]);
  }
  expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);

  // The rollout is done with t0, but a removal of t0 was killed while it held the stack's lock.
  const locks = getFleetLockDirectory(fleet, "t0");
  await writeLock(locks, { host: "runner-7", pid: 1 });
  const blockedRun = await destroyTenant();
  expect([blockedRun.code, blockedRun.stderr]).toEqual([1, expect.stringContaining("ci@runner-7 (pid 1)")]);
  expect(fleet.listContents("t0")).toEqual(before);
  expect(await fleet.read("tenants.yaml")).toBe(files);
  await runInEmptyDirectory(fleet, /`([^`]+ cancel [^`]+)`/.exec(blockedRun.stderr)?.[1] ?? "");
  expect(listLocks(locks)).toEqual([]);

  await writeLock(locks);
  const done = await destroyTenant();
  expect(done.code, done.output).toBe(0);
  expect(done.stderr).toContain(`left behind by ci@${hostname()} (pid ${NOBODY}), since`);
  expect(fleet.listContents("t0")).toEqual([]);
});

it("keeps a skip until its stack is removed", async () => {
  await using fleet = await Fleet.start({ tenants: 2, entries: 1 });
  await fleet.write("settings/t1.yaml", "version: 1\ninclude: [baseline.yaml]\nallow: [partner.example]\n");
  await fleet.commitAll("All tenants");
  // Unwraps long sentences.
  const runUnfolded = async (...args: string[]) => {
    const ended = await fleet.start({}, ...args).result;
    return { ...ended, stdout: ended.stdout.replaceAll(/\n {2}(?=\S)/g, " ") };
  };
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
  expect(await runUnfolded("rollout", "skip", "t1", "--reason", "its key is refused")).toMatchObject({ code: 0 });

  const renamed = await runUnfolded("tenant", "rename", "t1", "u1");
  expect(renamed.stdout).toContain("\nNext: email-security rollout unskip u1\nThen: email-security");
  expect(await runUnfolded("rollout", "skip")).toMatchObject({ stdout: expect.stringContaining("unskip u1") });
  fleet.runGit("checkout", "--quiet", "--", ".");

  const removed = await runUnfolded("tenant", "remove", "t1");
  expect(removed.code, removed.output).toBe(0);
  expect(removed.stdout).toMatch(
    /Rollouts still skip "t1", since .* \(its key is refused\): the skip is kept with its stack/,
  );
  const added = await runUnfolded("tenant", "add", "t1");
  expect(added.code, added.output).toBe(0);
  expect(added.stdout).toContain("Its stack t1 was kept: the next rollout continues with its declarations.");
  expect(added.stdout).toContain("That rollout would write nothing");
  expect(added.stdout).not.toContain("new stack");
  expect(added.stdout).toMatch(/Rollouts skip "t1", since .* \(its key is refused\)/);
  const commands = added.stdout.split("\n").filter((line) => /^(?:Next|Then): /.test(line));
  expect(commands).toEqual([
    "Next: email-security rollout unskip t1",
    "Then: email-security rollout tenants.yaml --only t1",
  ]);
  // The commands work exactly as printed.
  for (const command of commands) {
    const [, ...args] = command.replace(/^\w+: /, "").split(" ");
    const ended = await runUnfolded(...args, ...(args.includes("unskip") ? [] : ["--yes"]));
    expect(ended.code, ended.output).toBe(0);
  }

  // If the skip ends after the removal, the output doesn't recommend a rollout of a tenant that is no longer in the
  // file.
  fleet.runGit("add", "--all");
  fleet.runGit("commit", "--quiet", "--message", "Again");
  expect(await runUnfolded("rollout", "skip", "t1", "--reason", "leaves")).toMatchObject({ code: 0 });
  expect(await runUnfolded("tenant", "remove", "t1")).toMatchObject({ code: 0 });
  const late = await runUnfolded("rollout", "unskip", "t1");
  expect([late.code, late.stdout]).toEqual([0, expect.not.stringContaining("--only t1")]);

  fleet.runGit("checkout", "--quiet", "--", ".");
  expect(await runUnfolded("rollout", "skip", "t1", "--reason", "leaves for good")).toMatchObject({ code: 0 });
  const dryRun = await runUnfolded("tenant", "remove", "t1", "--forget-stack", "--yes", "t1", "--dry-run");
  expect([dryRun.code, dryRun.stdout]).toEqual([
    0,
    expect.stringContaining('Removing the stack also ends the skip of "t1"'),
  ]);
  const removal = await runUnfolded("tenant", "remove", "t1", "--forget-stack", "--yes", "t1");
  expect(removal.stdout).toMatch(/No longer skipped, because its stack is gone: "t1", since .* \(leaves for good\)/);
  expect(await runUnfolded("rollout", "skip")).toMatchObject({ stdout: "No tenant is skipped.\n" });
  const addRun = await runUnfolded("tenant", "add", "t1");
  expect(addRun.stdout).toContain("A first rollout, with a new stack, would write nothing");
  expect(addRun.stdout).toContain("\nNext: email-security rollout tenants.yaml --only t1\n");
});
