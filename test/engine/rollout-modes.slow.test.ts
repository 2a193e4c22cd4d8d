import { afterAll, beforeAll, expect, it } from "vitest";
import type { ServiceRequest } from "../../provider/sandbox";
import { Fleet, formatTenantSettings, getStates, listStartedTenants, summarizeRun } from "../support/fleet";
import { listWrites } from "../support/write-requests";

/*
 * Unattended rollouts, through the real command and the real engine: one removes expired entries, another reverts
 * console edits.
 */

let fleet: Fleet;
/** Called before each request to the service. */
let onRequest: (request: ServiceRequest) => void = () => {};

const PAST = "2026-01-02";
const REVERTING_SETTINGS = "onDrift: revert\nlists: { entries: { mode: exclusive } }\n";
const formatFloodEntry = (expires: string): string => `  - { value: flood.example, expires: ${expires} }\n`;

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: 3,
    formatTenantOptions: (_name, number) => `{ labels: { ring: ${number === 0 ? "canary" : "rest"} } }`,
    waves: "waves:\n  - { name: canary, match: { ring: canary } }\n  - { name: rest, maxConcurrent: 2 }\n",
    sandbox: {
      intercept: (request) => {
        onRequest(request);
        return undefined;
      },
    },
  });
  const today = new Date().toISOString().slice(0, 10);
  // t0 and t1 have an expiring entry, t2 has none. Only t1 reverts drift.
  await fleet.write("settings/t0.yaml", formatTenantSettings("t0", formatFloodEntry(today)));
  await fleet.write("settings/t1.yaml", formatTenantSettings("t1", formatFloodEntry(today) + REVERTING_SETTINGS));
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
  fleet.takeRequests();
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

/** Returns the output with line breaks collapsed. */
const collapseOutput = ({ output }: { readonly output: string }): string => output.replace(/\s+/g, " ");

const findRow = (name: string, value: string) =>
  fleet.sandbox.allowDenyEntries(name).find((entry) => entry.value === value);

it("removes only expired entries with --only-expired, through the waves", async () => {
  await fleet.write("settings/t0.yaml", formatTenantSettings("t0", `${formatFloodEntry(PAST)}  - pending.example\n`));
  await fleet.write("settings/t1.yaml", formatTenantSettings("t1", formatFloodEntry(PAST) + REVERTING_SETTINGS));
  await fleet.sendFromConsole("t1", "DELETE", `/allow_deny_entries/${findRow("t1", "evil0.example")?.id}`);
  fleet.takeRequests();
  const ids = ["t0", "t1"].map((name) => findRow(name, "flood.example")?.id);

  // Kills the command and its engine at the first deletion. The service executes it, but the state doesn't record it.
  onRequest = ({ method }) => {
    if (method === "DELETE") for (const { id } of fleet.listProcesses()) process.kill(id, "SIGKILL");
  };
  const killed = await fleet.runRollout("--only-expired", "--yes");
  onRequest = () => {};
  await fleet.waitForQuiet();
  expect(collapseOutput(killed)).toContain("it only removes expired entries");
  expect(collapseOutput(killed)).toMatch(/t0, t1: 1 other change that is pending/);
  const done = await fleet.runRollout("resume");
  expect(summarizeRun(done), done.output).toEqual([0, ["t0", "t1"]]);
  expect(getStates(done.report())).toEqual({ t0: "done", t1: "done", t2: "unchanged" });
  expect(done.report()).toMatchObject({ mode: "only-expired", counts: { done: 2, unchanged: 1 } });
  expect(listWrites(fleet.sandbox)).toEqual(ids.map((id) => `DELETE /allow_deny_entries/${id}`));
  // The pending changes in the files and the console edits are untouched.
  expect(fleet.listContents("t0")).toEqual(fleet.listDeclaredContents("t0"));
  expect(fleet.listContents("t1")).toEqual(
    fleet.listDeclaredContents("t1").filter((content) => content !== "deny evil0.example"),
  );

  const status = await fleet.start({}, "fleet", "status", "--format", "json").result;
  expect(JSON.parse(status.stdout)).toMatchObject({
    tenants: [{ syncStatus: "behind" }, { syncStatus: "drifted" }, { syncStatus: "in-sync" }],
  });
});

it("reverts console drift with --revert-drift only where the files allow it", async () => {
  for (const name of ["t0", "t2"]) {
    await fleet.sendFromConsole(name, "DELETE", `/allow_deny_entries/${findRow(name, "evil1.example")?.id}`);
  }
  for (const name of ["t0", "t1"]) {
    const added = { list: "deny", entry_type: "domain", value: "colleague.example" };
    await fleet.sendFromConsole(name, "POST", "/allow_deny_entries", added);
  }
  // t0 now reverts drift too, and its files have a pending change.
  await fleet.write(
    "settings/t0.yaml",
    formatTenantSettings("t0", `${formatFloodEntry(PAST)}  - pending.example\nonDrift: revert\n`),
  );
  const added = findRow("t1", "colleague.example")?.id;
  fleet.sandbox.clearRequests();
  const done = await fleet.runRollout("--revert-drift", "--yes");
  expect(summarizeRun(done), done.output).toEqual([0, ["t1"]]);
  expect(done.output).toContain("2 of 3 tenants have `onDrift: revert`");
  expect(collapseOutput(done)).toMatch(/t1: deny evil0\.example: removed from the tenant since the stack's last run/);
  expect(collapseOutput(done)).toContain(
    "1 change of the files is not rolled out (or a refresh has read console changes into the state); run `rollout` first",
  );
  expect(getStates(done.report())).toEqual({ t0: "unchanged", t1: "done" });
  expect(listWrites(fleet.sandbox).sort()).toEqual([`DELETE /allow_deny_entries/${added}`, "POST /allow_deny_entries"]);
  expect(collapseOutput(done)).toMatch(/t1: deny colleague\.example: added at the tenant, created by console on 2/);
  expect(collapseOutput(done)).toContain("t0: 1 undeclared at the tenant");
  expect(fleet.listContents("t1")).toEqual(fleet.listDeclaredContents("t1"));
  expect(fleet.listContents("t0")).toContain("deny colleague.example");
  expect(fleet.listContents("t0")).not.toContain("deny pending.example");
  expect(fleet.listContents("t2")).not.toContain("deny evil1.example");
  expect((await fleet.report(done.report().id)).mode).toBe("revert-drift");

  // `rollback` without an ID refers to the last rollout of the files, not to unattended ones.
  const back = await fleet.runRollout("rollback");
  expect(back.code, back.output).toBe(2);
  const list = (await fleet.runRollout("status", "--list")).stdout.trim().split("\n");
  expect(list.map((line) => /only (?:removes|reverts)[^,]*/.exec(line)?.[0])).toEqual([
    "only reverts drift",
    "only removes expired entries",
    undefined,
  ]);
  expect(collapseOutput(back)).toContain(`roll back the rollout ${list.at(-1)?.split(" ")[0]} of`);
  expect(listStartedTenants(back)).toEqual([]);
});
