import { expect, test } from "vitest";
import {
  mergeRecentRollouts,
  type RecentRollouts,
  type StackOutcome,
} from "../../../../provider/rollout/history/recent-rollouts";

/** Builds a journal's result with one rollout, started at the given hour. */
function journal(id: string, hour: string, older: number): RecentRollouts {
  const time = `2026-11-21T${hour}:00:00.000Z`;
  const outcome: StackOutcome = {
    rollout: id,
    wave: "all",
    state: "done",
    time,
    planned: { added: 1, changed: 0, removed: 0 },
  } as StackOutcome;
  const rollouts = [{ report: { id, createdAt: time } }] as unknown as RecentRollouts["rollouts"];
  return { rollouts, stacks: new Map([["acme", [outcome]]]), older };
}

test("merges the rollouts of two journals, newest first", () => {
  const merged = mergeRecentRollouts([journal("a", "08", 1), journal("b", "09", 2)]);
  expect(merged.rollouts.map(({ report }) => report.id)).toEqual(["b", "a"]);
  expect(merged.stacks.get("acme")?.map(({ rollout }) => rollout)).toEqual(["b", "a"]);
  expect(merged.older).toBe(3);
});

test("lists a rollout once that is in both journals", () => {
  const merged = mergeRecentRollouts([journal("a", "08", 0), journal("a", "08", 0)]);
  expect(merged.rollouts).toHaveLength(1);
  expect(merged.stacks.get("acme")).toHaveLength(1);
});
