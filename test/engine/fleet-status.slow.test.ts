import { expect, it } from "vitest";
import type { FleetStatus } from "../../provider/fleet/status/fleet-status";
import { statusSchema } from "../../provider/fleet/status/status-schema";
import { Fleet } from "../support/fleet";

/* What `fleet status` tells of real rollouts, and of what came between them. */

async function statusOf(fleet: Fleet): Promise<{ readonly code: number; readonly status: FleetStatus }> {
  const { code, stdout, output } = await fleet.begin({}, "fleet", "status", "--json").ended;
  if (!stdout.startsWith("{")) throw new Error(output);
  return { code, status: statusSchema.parse(JSON.parse(stdout)) };
}

const told = ({ tenants }: Pick<FleetStatus, "tenants">) =>
  tenants.map(({ name, standing, drift, behind }) => [
    name,
    standing,
    drift.map(({ what, value }) => `${what} ${value}`),
    behind.map(({ what, value }) => `${what} ${value}`),
  ]);

it("tells what a rollout brought from what the console changed since, and from what was taken back", async () => {
  await using fleet = await Fleet.start({ tenants: 1, entries: 1 });
  const [own = "", shared = ""] = ["only-t0.example", fleet.declared("t0")[0]?.replace("deny ", "")];
  const first = await fleet.rollout("--yes");
  expect(first.code, first.output).toBe(0);
  const { id } = first.report();
  const after = await statusOf(fleet);
  expect(told(after.status)).toEqual([["t0", "in-step", [], []]]);
  expect(after.status.tenants[0]?.lastRollout).toMatchObject({ id, state: "done" });
  expect(after.code).toBe(0);

  // The files go on, and the console does.
  await fleet.baseline(["more.example"]);
  const entry = fleet.sandbox.allowDenyEntries("t0").find(({ value }) => value === own);
  await fleet.console("t0", "DELETE", `/allow_deny_entries/${entry?.id}`);
  const between = await statusOf(fleet);
  expect(told(between.status)).toEqual([
    ["t0", "drifted", [`missing ${own}`], ["missing more.example", `leaving ${shared}`]],
  ]);
  expect(between.code).toBe(2);

  // It holds what it held before, and its files say otherwise still.
  const back = await fleet.rollout("rollback", id, "--yes");
  expect(back.code, back.output).toBe(0);
  const { tenants } = (await statusOf(fleet)).status;
  expect(told({ tenants })).toEqual([["t0", "behind", [], ["missing more.example", `missing ${own}`]]]);
  expect(tenants[0]?.lastRollout?.id).toBe(back.report().id);
});
