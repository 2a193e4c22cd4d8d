import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { noticeSchema } from "../../provider/rollout/notify/notice";
import { Fleet, summarizeRun } from "../support/fleet";
import { startHook } from "../support/webhook-receiver";

/* Attempts to get around a closed gate, through the real command and the real engine. */

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

it("passes no closed gate by rerun, clone or another journal", async () => {
  await using hook = await startHook();
  const notified = { EMAIL_SECURITY_NOTIFY_WEBHOOK: hook.url };
  const first = await fleet.start(notified, "rollout", "--yes").result;
  expect(summarizeRun(first)).toEqual([2, ["t0"]]);
  const { id } = first.report();
  const [waits, ...more] = hook.received.map(({ body }) => noticeSchema.parse(JSON.parse(body)));
  expect(more).toEqual([]);
  expect(waits).toMatchObject({ kind: "waiting", rollout: { id, wave: "canary", done: 1, remaining: 1 } });
  expect(waits?.advice[0]?.command).toContain(`rollout resume ${id}`);
  // A rerun has nothing left to do in the first wave, but still must not pass the gate.
  const again = await fleet.runRollout("--yes");
  expect(summarizeRun(again)).toEqual([1, []]);
  expect(again.output).toMatch(/waits for approval.*rollout resume.*\[ERR_ROLLOUT_BUSY\]/);
  // A plan without `--yes` reports the waiting rollout.
  const looked = await fleet.runRollout();
  expect(summarizeRun(looked)).toEqual([2, []]);
  expect(looked.stderr).toMatch(/Another rollout has to finish first\. .*waits for approval.*rollout resume/);
  expect(looked.stderr).toContain(id);

  const elsewhere = { EMAIL_SECURITY_DATABASE: ".email-security/other.db" };
  const other = await fleet.start(elsewhere, "rollout", "--yes").result;
  expect(summarizeRun(other)).toEqual([1, []]);
  expect(other.output).toMatch(new RegExp(`${id} has not changed these stacks yet \\("t1"\\), and waits for approval`));
  // A rollout can be abandoned from another journal. Its own journal can't resume it afterwards.
  const stopped = await fleet.start(elsewhere, "rollout", "abandon", id).result;
  expect(stopped.output).toMatch(/of another journal is abandoned/);
  expect((await fleet.runRollout("resume")).output).toMatch(/abandoned without its journal/);

  // A new rollout with an empty journal waits at the gate again.
  await rm(join(fleet.directory, ".email-security"), { recursive: true });
  const waiting = await fleet.runRollout("--yes");
  expect(waiting.code, waiting.output).toBe(2);
  expect(summarizeRun(waiting)).toEqual([2, []]);
  expect(fleet.listContents("t1")).toEqual([]);
  const through = await fleet.runRollout("resume");
  expect(through.stderr).toContain(
    `Resuming the rollout ${waiting.report().id} of tenants.yaml (journal: .email-security/rollouts.db). It passes this gate: The wave`,
  );
  expect(summarizeRun(through), through.output).toEqual([0, ["t1"]]);
  for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name));
});
