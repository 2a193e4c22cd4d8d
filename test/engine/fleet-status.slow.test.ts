import { rename } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type FleetStatus, statusSchema } from "../../provider/fleet/status/status-schema";
import { Fleet } from "../support/fleet";

/* `fleet status` after real rollouts, and after changes between them. */

async function readStatus(fleet: Fleet): Promise<{ readonly code: number; readonly status: FleetStatus }> {
  const { code, stdout, output } = await fleet.start({}, "fleet", "status", "--format", "json").result;
  if (!stdout.startsWith("{")) throw new Error(output);
  return { code, status: statusSchema.parse(JSON.parse(stdout)) };
}

const summarizeTenants = ({ tenants }: Pick<FleetStatus, "tenants">) =>
  tenants.map(({ name, syncStatus, drift, pendingChanges }) => [
    name,
    syncStatus,
    drift.map(({ driftKind, value }) => `${driftKind} ${value}`),
    pendingChanges.map(({ driftKind, value }) => `${driftKind} ${value}`),
  ]);

it("distinguishes console drift from pending and rolled-back changes", async () => {
  await using fleet = await Fleet.start({ tenants: 1, entries: 1 });
  const [own = "", shared = ""] = ["only-t0.example", fleet.listDeclaredContents("t0")[0]?.replace("deny ", "")];
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(0);
  const { id } = first.report();
  const after = await readStatus(fleet);
  expect(summarizeTenants(after.status)).toEqual([["t0", "in-sync", [], []]]);
  expect(after.status.tenants[0]?.lastRollout).toMatchObject({ id, state: "done" });
  expect(after.code).toBe(0);

  // The files change, and so does the tenant, through the console.
  await fleet.writeBaseline(["more.example"]);
  const entry = fleet.sandbox.allowDenyEntries("t0").find(({ value }) => value === own);
  await fleet.sendFromConsole("t0", "DELETE", `/allow_deny_entries/${entry?.id}`);
  const between = await readStatus(fleet);
  expect(summarizeTenants(between.status)).toEqual([
    ["t0", "drifted", [`missing ${own}`], ["missing more.example", `pending-removal ${shared}`]],
  ]);
  expect(between.code).toBe(2);

  // The rollback restores the earlier entries, but the files still declare the change.
  const back = await fleet.runRollout("rollback", id, "--yes");
  expect(back.code, back.output).toBe(0);
  const { tenants } = (await readStatus(fleet)).status;
  expect(summarizeTenants({ tenants })).toEqual([["t0", "behind", [], ["missing more.example", `missing ${own}`]]]);
  expect(tenants[0]?.lastRollout?.id).toBe(back.report().id);
});

it("distinguishes a never rolled-out tenant from a drifted one", async () => {
  await using fleet = await Fleet.start({ tenants: 2, entries: 1 });
  const [shared = ""] = fleet.listDeclaredContents("t1").map((content) => content.replace("deny ", ""));
  const first = await fleet.runRollout("--only", "t0", "--yes");
  expect(first.code, first.output).toBe(0);
  const manualEntry = { list: "allow", value: "legacy.example", entry_type: "domain", verdict_scope: "global" };
  await fleet.sendFromConsole("t1", "POST", "/allow_deny_entries", { ...manualEntry, comment: "" });
  const { status } = await readStatus(fleet);
  expect(summarizeTenants(status)).toEqual([
    ["t0", "in-sync", [], []],
    ["t1", "never-rolled-out", [], []],
  ]);
  expect(status.tenants[1]?.unclassified?.map(({ driftKind, value }) => `${driftKind} ${value}`)).toEqual([
    "added legacy.example",
    `missing ${shared}`,
    "missing only-t1.example",
  ]);
  const text = await fleet.start({}, "fleet", "status").result;
  expect(text.stdout).toContain("Never rolled out, and different from their files (1 tenant):");
  expect(text.stdout).not.toContain("Drifted");

  // Without the journal, a clone reads the last rollout's declarations from the stack.
  await rename(join(fleet.directory, ".email-security"), join(fleet.directory, ".elsewhere"));
  await fleet.writeBaseline(["more.example"]);
  await fleet.sendFromConsole("t0", "POST", "/allow_deny_entries", { ...manualEntry, comment: "" });
  const clone = (await readStatus(fleet)).status;
  expect(summarizeTenants(clone)).toEqual([
    ["t0", "drifted", ["added legacy.example"], ["missing more.example", `pending-removal ${shared}`]],
    ["t1", "never-rolled-out", [], []],
  ]);
  // If the stacks can't be read either, the status is unknown.
  const blind = await fleet.start({ PULUMI_BACKEND_URL: "s3://elsewhere" }, "fleet", "status", "--format", "json")
    .result;
  expect(statusSchema.parse(JSON.parse(blind.stdout)).tenants).toMatchObject([
    { syncStatus: "unknown", drift: [], pendingChanges: [] },
    { syncStatus: "unknown", drift: [], pendingChanges: [] },
  ]);
});
