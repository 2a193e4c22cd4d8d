import { afterAll, beforeAll, expect, it } from "vitest";
import { Fleet, formatTenantSettings, getStates, summarizeRun } from "../support/fleet";

/* Unattended rollouts after somebody stopped a rollout at its gate, through the real command and the real engine. */

let fleet: Fleet;

const PAST = "2026-01-02";
const TODAY = new Date().toISOString().slice(0, 10);
const REVERT_DRIFT_SETTINGS = "onDrift: revert\nlists: { entries: { mode: exclusive } }\n";
const formatFloodEntry = (expires: string): string => `  - { value: flood.example, expires: ${expires} }\n`;
const NEWS = "  - news.example\n";

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: 3,
    waves: "waves:\n  - { name: canary, limit: 1, gate: true }\n  - { name: rest, maxConcurrent: 2 }\n",
  });
  await fleet.write("settings/t0.yaml", formatTenantSettings("t0", formatFloodEntry(TODAY)));
  await fleet.write("settings/t1.yaml", formatTenantSettings("t1", formatFloodEntry(TODAY)));
  await fleet.write("settings/t2.yaml", formatTenantSettings("t2", formatFloodEntry(TODAY) + REVERT_DRIFT_SETTINGS));
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 2 });
  expect(await fleet.runRollout("resume")).toMatchObject({ code: 0 });
  // A file change reached only the canary, because a person stopped the rollout at its gate.
  await fleet.write("settings/t0.yaml", formatTenantSettings("t0", formatFloodEntry(TODAY) + NEWS));
  await fleet.write("settings/t1.yaml", formatTenantSettings("t1", formatFloodEntry(PAST) + NEWS));
  const waitingRun = await fleet.runRollout("--yes");
  expect(summarizeRun(waitingRun), waitingRun.output).toEqual([2, ["t0"]]);
  expect(await fleet.runRollout("abandon")).toMatchObject({ code: 0 });
  fleet.takeRequests();
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

it("passes the gate of an unchanged wave with --only-expired", async () => {
  const nightly = await fleet.runRollout("--only-expired", "--yes");
  expect(summarizeRun(nightly), nightly.output).toEqual([0, ["t1"]]);
  expect(getStates(nightly.report())).toEqual({ t0: "unchanged", t1: "done", t2: "unchanged" });
  expect(fleet.listContents("t1")).not.toContain("deny flood.example");
});

it("passes the gate of an unchanged wave with --revert-drift", async () => {
  const entry = fleet.sandbox.allowDenyEntries("t2").find(({ value }) => value === "evil0.example");
  await fleet.sendFromConsole("t2", "DELETE", `/allow_deny_entries/${entry?.id}`);
  const nightly = await fleet.runRollout("--revert-drift", "--yes");
  expect(summarizeRun(nightly), nightly.output).toEqual([0, ["t2"]]);
  expect(fleet.listContents("t2")).toContain("deny evil0.example");
});

it("waits at the gate for an unreviewed change of the files", async () => {
  const waitingRun = await fleet.runRollout("--yes");
  expect(summarizeRun(waitingRun), waitingRun.output).toEqual([2, []]);
  expect(await fleet.runRollout("abandon")).toMatchObject({ code: 0 });
  expect(fleet.listContents("t1")).not.toContain("deny news.example");
});

it("waits again with --only-expired after an earlier stop at the gate", async () => {
  await fleet.write("settings/t0.yaml", formatTenantSettings("t0", formatFloodEntry(PAST) + NEWS));
  await fleet.write("settings/t2.yaml", formatTenantSettings("t2", formatFloodEntry(PAST) + REVERT_DRIFT_SETTINGS));
  const first = await fleet.runRollout("--only-expired", "--yes");
  expect(summarizeRun(first), first.output).toEqual([2, ["t0"]]);
  expect(await fleet.runRollout("abandon")).toMatchObject({ code: 0 });
  const second = await fleet.runRollout("--only-expired", "--yes");
  expect(summarizeRun(second), second.output).toEqual([2, []]);
  const resumedRun = await fleet.runRollout("resume");
  expect(summarizeRun(resumedRun), resumedRun.output).toEqual([0, ["t2"]]);
});
