import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { noticeSchema } from "../../provider/rollout/notify/notice";
import { Fleet, summarizeRun } from "../support/fleet";
import { startHook } from "../support/webhook-receiver";

/*
 * Attempts to get around a closed gate, through the real command and the real engine.
 * rollout-gate-journals.slow.test.ts uses other journals.
 */

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

it("passes no closed gate by a rerun or without its journal", async () => {
  await using hook = await startHook();
  const notified = { EMAIL_SECURITY_NOTIFY_WEBHOOK: hook.url };
  const first = await fleet.start(notified, "rollout", "--yes").result;
  expect(summarizeRun(first)).toEqual([2, ["t0"]]);
  const { id } = first.report();
  const [waitingNotice, ...more] = hook.received.map(({ body }) => noticeSchema.parse(JSON.parse(body)));
  expect(more).toEqual([]);
  expect(waitingNotice).toMatchObject({ kind: "waiting", rollout: { id, wave: "canary", done: 1, remaining: 1 } });
  expect(waitingNotice?.advice[0]?.command).toContain(`rollout resume ${id}`);
  // A rerun has nothing left to do in the first wave, but still must not pass the gate.
  const again = await fleet.runRollout("--yes");
  expect(summarizeRun(again)).toEqual([1, []]);
  expect(again.output).toMatch(/waits for approval.*rollout resume.*\[ERR_ROLLOUT_BUSY\]/);
  // Without its journal, the rollout still holds the gate until it is abandoned. A new rollout waits at the gate again.
  await rm(join(fleet.directory, ".email-security"), { recursive: true });
  const journallessRun = await fleet.runRollout("--yes");
  expect(summarizeRun(journallessRun)).toEqual([1, []]);
  expect(journallessRun.output).toMatch(new RegExp(`${id} has not changed these stacks yet \\("t1"\\)`));
  expect((await fleet.runRollout("abandon", id)).output).toMatch(/of another journal is abandoned/);
  const waiting = await fleet.runRollout("--yes");
  expect(waiting.code, waiting.output).toBe(2);
  expect(summarizeRun(waiting)).toEqual([2, []]);
  expect(fleet.listContents("t1")).toEqual([]);
});
