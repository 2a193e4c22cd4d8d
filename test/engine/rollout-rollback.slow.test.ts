import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ServiceRequest } from "../../provider/sandbox";
import { runCli } from "../support/cli";
import { expectExample } from "../support/error-coverage";
import { Fleet, formatTenantSettings, listStartedTenants } from "../support/fleet";

/*
 * A faulty rollout is rolled back, so that each tenant has its earlier entries again. Runs through the real command and
 * the real engine.
 */

let fleet: Fleet;

const OLDEST = ["evil0.example", "oldest.example"];
const V1 = ["evil0.example", "evil1.example"];
const BAD = "bad.example";

/** Returns the entries of every tenant. */
const listHeldByTenant = (): Record<string, string[]> =>
  Object.fromEntries(fleet.names.map((name) => [name, fleet.listContents(name)]));

/** Writes a baseline with an allow that shouldn't exist, a missing domain and a wrong comment. */
async function writeWrongBaseline(): Promise<void> {
  await fleet.write(
    "settings/baseline.yaml",
    `version: 1\nallow:\n  - ${BAD}\ndeny:\n  - { value: evil0.example, comment: wrong }\n`,
  );
}

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: 3,
    formatTenantOptions: (_name, number) => `{ labels: { ring: ${number === 0 ? "canary" : "rest"} } }`,
    waves: "waves:\n  - { name: canary, match: { ring: canary } }\n  - { name: rest, maxConcurrent: 2 }\n",
  });
  await fleet.writeBaseline(OLDEST);
  await fleet.commitAll("the oldest");
  await fleet.writeBaseline(V1);
  fleet.runGit("commit", "--quiet", "-a", "-m", "the first");
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

it("restores the earlier entries of each tenant", async () => {
  const oldest = fleet.runGit("rev-parse", "HEAD~1");
  // One tenant has a colleague's entry that isn't in any settings file.
  await fleet.sendFromConsole("t2", "POST", "/allow_deny_entries", {
    list: "deny",
    entry_type: "domain",
    value: "colleague.example",
  });
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
  const before = listHeldByTenant();
  await writeWrongBaseline();
  fleet.runGit("commit", "--quiet", "-a", "-m", "Allow a partner");
  const first = await fleet.runRollout("--yes", "--label", "ring=canary");
  expect(first).toMatchObject({ code: 0 });
  const canary = first.report().id;
  const after = await fleet.runRollout("--yes");
  expect(listStartedTenants(after)).toEqual(["t1", "t2"]);
  const { id, digest } = after.report();
  expect(fleet.listContents("t1")).toContain(`allow ${BAD}`);

  // A colleague has fixed one entry by hand in the meantime. The rollback keeps the fix.
  const [row] = fleet.sandbox.allowDenyEntries("t2").filter(({ value }) => value === BAD);
  await fleet.sendFromConsole("t2", "PATCH", `/allow_deny_entries/${row?.id}`, { list: "deny" });

  fleet.takeRequests();
  const preview = await fleet.runRollout("rollback");
  expect(preview).toMatchObject({ code: 2, events: [] });
  expect(preview.stderr).toContain(
    `Rolling back the rollout ${id} of tenants.yaml (journal: .email-security/rollouts.db).`,
  );
  expect(preview.output).toContain("To each tenant's previous state");
  expect(preview.output).toContain(`email-security rollout rollback ${canary}`);
  expect(preview.output).toMatch(/Not rolled back[^\n]*\n+.*allow bad\.example in t2/);
  expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);
  const back = await fleet.runRollout("rollback", "--yes");
  expect(back.code, back.output).toBe(0);
  expect(listStartedTenants(back)).toEqual(["t1", "t2"]);
  expect(new Set(fleet.takeRequests().map(({ tenant }) => tenant))).toEqual(new Set(["t1", "t2"]));
  const { t0, ...others } = listHeldByTenant();
  expect(others).toEqual({
    t1: before["t1"],
    t2: [...(before["t2"] ?? []), `deny ${BAD}`].sort(),
  });
  // The previous rollout changed the canary, so it must be rolled back by its own ID.
  expect(t0).toContain(`allow ${BAD}`);
  expect(await fleet.report(id)).toMatchObject({
    state: "rolled-back",
    reason: expect.stringMatching(/It was rolled back by \S+ in all 2 tenants/),
    advice: [],
  });
  const history = await runCli(fleet.directory, ["rollout", "history"], fleet.environment);
  expect(history.stdout).toMatch(new RegExp(`${id}.*rolled back`));
  expect((await fleet.runRollout("status", id)).output).toContain("ROLLED BACK");
  expect((await fleet.runRollout("resume", id)).output).toMatch(
    /can't be resumed: it is rolled back\. To apply the files: `email-security rollout tenants\.yaml` \[ERR_ROLLOUT_NOT_FOUND\]/,
  );
  const own = back.report();
  expect(own).toMatchObject({ rollsBack: id, state: "done", counts: { done: 2, failed: 0 } });
  const commit = fleet.runGit("log", "-1", "--format=%h");
  expect(own.advice.map(({ command }) => command)).toEqual([
    `email-security rollout rollback ${canary}`,
    `git revert --no-edit ${commit}`,
  ]);
  expect(await fleet.runRollout("rollback", "--yes", canary)).toMatchObject({ code: 0 });
  expect(fleet.listContents("t0")).toEqual(before["t0"]);
  expect((await fleet.runRollout("rollback", id)).output).toMatch(/already rolled back by \S+/);
  // A repeated `rollback` without an ID doesn't roll back the rollout before it.
  expect((await fleet.runRollout("rollback", "--yes")).output).toMatch(/was already rolled back/);

  // The files still declare the change. Applying it again requires the plan digest.
  await fleet.sendFromConsole("t2", "DELETE", `/allow_deny_entries/${row?.id}`);
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 3, events: [] });
  const again = await fleet.runRollout("--yes", "--only", "t1");
  expect(again).toMatchObject({ code: 3, events: [] });
  expect(again.output).toMatch(
    /rolled back changes that this plan would repeat.*allow bad\.example.*\[ERR_ROLLED_BACK\]/,
  );
  // The example in `email-security explain` shows one rollback, of another change.
  const asShown = again.stderr
    .replace(/\S+ and (?=\S+ rolled back changes that this plan)/, "")
    .replace(/(?<=would repeat \()[^;]*/, "deny wrong.example");
  expectExample("ERR_ROLLED_BACK", asShown);
  expect(fleet.listContents("t1")).toEqual(before["t1"]);
  const command = /--yes --plan-digest (r2-\w+)/.exec(again.output)?.[1] ?? "";
  expect(command).not.toBe(digest);
  // A plan with an additional new change is refused too.
  await fleet.write("settings/t1.yaml", formatTenantSettings("t1", "  - innocent.example\n"));
  expect((await fleet.runRollout("--yes", "--only", "t1")).output).toMatch(/allow bad\.example.*\[ERR_ROLLED_BACK\]/);
  fleet.runGit("checkout", "--quiet", "--", "settings/t1.yaml");
  // After the advised Git command, there is nothing left to write.
  execFileSync("sh", ["-c", own.advice.at(-1)?.command ?? "false"], {
    cwd: fleet.directory,
    env: {
      ...process.env,
      GIT_AUTHOR_NAME: "a",
      GIT_AUTHOR_EMAIL: "a@a.example",
      GIT_COMMITTER_NAME: "a",
      GIT_COMMITTER_EMAIL: "a@a.example",
    },
  });
  fleet.takeRequests();
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
  expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);
  fleet.runGit("revert", "--no-edit", "HEAD");
  const named = await fleet.runRollout("--yes", "--only", "t1", "--plan-digest", command);
  expect(named.code, named.output).toBe(0);
  expect(fleet.listContents("t1")).toContain(`allow ${BAD}`);
  // Rolls back to the files of a revision, regardless of the earlier entries.
  const unknown = await fleet.runRollout("rollback", "--to", "no-such-branch", "--yes");
  expect(unknown).toMatchObject({ code: 1, output: expect.stringContaining("no-such-branch") });
  const older = await fleet.runRollout("rollback", "--to", oldest, "--yes");
  expect(older.code, older.output).toBe(0);
  expect(listHeldByTenant()).toEqual({ ...before, t1: fleet.listDeclaredContents("t1", OLDEST) });
});

it.each(["dynamic", "native"])(
  "rolls back an interrupted rollout and one that is not the newest (%s)",
  async (providerKind) => {
    let onRequest: (request: ServiceRequest) => undefined = () => undefined;
    await using fleet = await Fleet.start({
      tenants: 2,
      formatTenantOptions: () => `{ provider: ${providerKind} }`,
      sandbox: { intercept: (request) => onRequest(request) },
    });
    expect(await fleet.runRollout("--yes", "--only", "t1")).toMatchObject({ code: 0 });
    const before = fleet.listContents("t1");
    await fleet.write(
      "settings/t1.yaml",
      formatTenantSettings("t1", `  - ${BAD}\n  - worse.example\nallow:\n  - { value: ally.example }\n`),
    );
    // Kills the command and its engine at one of three writes. The service executes the write, but the state doesn't
    // record it.
    onRequest = ({ method, body }) => {
      if (method !== "POST" || (body as { value?: string }).value !== "ally.example") return undefined;
      for (const { id } of fleet.listProcesses()) process.kill(id, "SIGKILL");
      return undefined;
    };
    await fleet.start({}, "rollout", "--yes", "--only", "t1").result;
    onRequest = () => undefined;
    await fleet.waitForQuiet();
    expect(fleet.listContents("t1")).not.toEqual(before);
    const back = await fleet.runRollout("rollback", "--yes");
    expect(back.code, back.output).toBe(0);
    expect(fleet.listContents("t1")).toEqual(before);

    // The rest doesn't depend on the provider.
    if (providerKind === "native") return;

    // The rollback removes more than the removal guard allows, and there was another rollout in the meantime.
    await fleet.write(
      "settings/t1.yaml",
      formatTenantSettings("t1", Array.from({ length: 40 }, (_, n) => `  - many${n}.example\n`).join("")),
    );
    expect(await fleet.runRollout("--yes", "--only", "t1")).toMatchObject({ code: 0 });
    expect(await fleet.runRollout("--yes", "--only", "t0")).toMatchObject({ code: 0 });
    const [, many] = (await fleet.runRollout("status", "--list")).stdout.split("\n").map((line) => line.split(" ")[0]);
    const whole = await fleet.runRollout("rollback", many ?? "", "--yes", "--only", "t1");
    expect(whole.code, whole.output).toBe(0);
    expect(fleet.listContents("t1")).toEqual(before);
  },
);

it("advises to remove only the lines of tenants that were rolled back", async () => {
  await using fleet = await Fleet.start({ tenants: 2, entries: 2 });
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(0);
  for (const name of fleet.names) {
    const settings = await fleet.read(`settings/${name}.yaml`);
    await fleet.write(`settings/${name}.yaml`, `${settings}allow:\n  - mine-${name}.example\n`);
  }
  await fleet.commitAll("Allow a domain per tenant");
  const second = await fleet.runRollout("--yes");
  expect(second.code, second.output).toBe(0);
  const back = await fleet.runRollout("rollback", "--yes", "--only", "t0");
  expect(back.code, back.output).toBe(0);
  const advice = back.report().advice.map(({ reason, command = "" }) => `${reason} ${command}`);
  expect(advice.join("\n")).toMatch(
    /still in settings\/t0\.yaml:\d+ \(allow mine-t0\.example\)\. .*The rollback left out "t1"/,
  );
  expect(advice.join("\n")).not.toMatch(/mine-t1\.example|git .*revert/);
});

it("names the newer rollouts that it passes over", async () => {
  await using fleet = await Fleet.start({ tenants: 3 });
  await fleet.write("settings/t2.yaml", formatTenantSettings("t2", "onDrift: revert\n"));
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
  const before = fleet.listContents("t0");
  await fleet.write("settings/baseline.yaml", `version: 1\nallow:\n  - ${BAD}\n`);
  const wrong = await fleet.runRollout("--yes", "--only", "t0,t1");
  expect(wrong, wrong.output).toMatchObject({ code: 0 });
  const destroyed = await fleet.startPulumi("t1", "destroy", "--yes", "--skip-preview").ended;
  expect(destroyed.code, destroyed.output).toBe(0);
  const [row] = fleet.sandbox.allowDenyEntries("t2").filter(({ value }) => value === "evil0.example");
  await fleet.sendFromConsole("t2", "DELETE", `/allow_deny_entries/${row?.id}`);
  await fleet.writeBaseline(["evil0.example", "evil1.example", "evil2.example"]);
  const revertRun = await fleet.runRollout("--revert-drift", "--yes", "--only", "t2");
  expect(revertRun, revertRun.output).toMatchObject({ code: 0 });

  const [{ id }, nightly] = [wrong.report(), revertRun.report()];
  const preview = await fleet.runRollout("rollback");
  expect(preview.stderr).toContain(
    `note: The selected rollout is ${id}. Newer ones were not selected: ${nightly.id} (--revert-drift). To roll back the newest of them: \`email-security rollout rollback ${nightly.id}\``,
  );
  expect(preview.output).toMatch(/Not rolled back[^\n]*\n+.*everything \(its stack was destroyed\) in t1/);
  fleet.takeRequests();
  const back = await fleet.runRollout("rollback", "--yes");
  expect(back.code, back.output).toBe(0);
  expect(fleet.takeRequests().filter(({ method, tenant }) => method !== "GET" && tenant !== "t0")).toEqual([]);
  expect(fleet.listContents("t0")).toEqual(before);
  const statusRun = await fleet.runRollout("status", back.report().id);
  expect(statusRun.output.replace(/\s+/g, " ")).toContain(
    `1 of 2 tenants match their state before ${id}. t1 changed after the rollout; those changes stay.`,
  );
});
