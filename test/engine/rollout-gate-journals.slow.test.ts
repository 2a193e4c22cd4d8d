import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Fleet, summarizeRun } from "../support/fleet";

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: 2,
    waves: "waves:\n  - { name: canary, limit: 1, gate: true }\n  - { name: rest }\n",
  });
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

it("passes a closed gate only with resume, not from another journal", async () => {
  const first = await fleet.runRollout("--yes");
  expect(summarizeRun(first)).toEqual([2, ["t0"]]);
  const { id } = first.report();
  // A plan without `--yes` reports the waiting rollout.
  const pendingRun = await fleet.runRollout();
  expect(summarizeRun(pendingRun)).toEqual([2, []]);
  expect(pendingRun.stderr).toMatch(/Another rollout has to finish first\. .*waits for approval.*rollout resume/);
  expect(pendingRun.stderr).toContain(id);

  const elsewhere = { EMAIL_SECURITY_DATABASE: ".email-security/other.db" };
  const other = await fleet.start(elsewhere, "rollout", "--yes").result;
  expect(summarizeRun(other)).toEqual([1, []]);
  expect(other.output).toMatch(new RegExp(`${id} has not changed these stacks yet \\("t1"\\), and waits for approval`));
  // A rollout can be abandoned from another journal. Its own journal can't resume it afterwards.
  const stopped = await fleet.start(elsewhere, "rollout", "abandon", id).result;
  expect(stopped.output).toMatch(/of another journal is abandoned/);
  expect((await fleet.runRollout("resume")).output).toMatch(/abandoned without its journal/);
  expect(fleet.listContents("t1")).toEqual([]);

  await rm(join(fleet.directory, ".email-security"), { recursive: true });
  const waiting = await fleet.runRollout("--yes");
  expect(summarizeRun(waiting)).toEqual([2, []]);
  const through = await fleet.runRollout("resume");
  expect(through.stderr).toContain(
    `Resuming the rollout ${waiting.report().id} of tenants.yaml (journal: .email-security/rollouts.db). It passes this gate: The wave`,
  );
  expect(summarizeRun(through), through.output).toEqual([0, ["t1"]]);
  for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name));
});
