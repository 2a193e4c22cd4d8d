import { expect, test } from "vitest";
import {
  type JournalRollouts,
  mergeRecentRollouts,
  type StackOutcome,
} from "../../../../provider/rollout/history/recent-rollouts";

interface StartedRollout {
  readonly id: string;
  readonly seq: number;
  /** The clock of the machine that started it. */
  readonly hour: number;
  /** Default: `acme`. */
  readonly stack?: string;
}

/** Builds a journal's result, with its rollouts from the oldest to the newest. */
function buildJournal(started: readonly StartedRollout[], older = 0): JournalRollouts {
  const newestFirst = started.toReversed().map((rollout) => ({ stack: "acme", ...rollout }));
  const formatHour = (hour: number): string => new Date(Date.UTC(2026, 10, 21, hour)).toISOString();
  const rollouts = newestFirst.map(({ id, hour, stack }) => ({
    report: { id, createdAt: formatHour(hour), tenants: [{ stack }] },
  }));
  const outcomes = newestFirst.map(
    ({ id, hour, stack }) =>
      ({ rollout: id, time: formatHour(hour), stack }) as unknown as StackOutcome & { stack: string },
  );
  return {
    rollouts: rollouts as unknown as JournalRollouts["rollouts"],
    order: new Map(
      started.map(({ id, seq, hour }) => [id, { id, seq, startedAtMs: Date.UTC(2026, 10, 21, hour) }] as const),
    ),
    stacks: Map.groupBy(outcomes, ({ stack }) => stack),
    older,
  };
}

const listIds = (merged: ReturnType<typeof mergeRecentRollouts>): string[] =>
  merged.rollouts.map(({ report }) => report.id);
const listAcmeRollouts = (merged: ReturnType<typeof mergeRecentRollouts>): (string | undefined)[] | undefined =>
  merged.stacks.get("acme")?.map(({ rollout }) => rollout);

test("merges the rollouts of two journals, newest first", () => {
  const merged = mergeRecentRollouts([
    buildJournal([{ id: "a", seq: 1, hour: 8 }], 1),
    buildJournal([{ id: "b", seq: 2, hour: 9 }], 2),
  ]);
  expect([listIds(merged), listAcmeRollouts(merged), merged.older]).toEqual([["b", "a"], ["b", "a"], 3]);
});

test("lists a rollout once that is in both journals", () => {
  const copy = buildJournal([{ id: "a", seq: 1, hour: 8 }]);
  const merged = mergeRecentRollouts([copy, copy]);
  expect([listIds(merged), listAcmeRollouts(merged)]).toEqual([["a"], ["a"]]);
});

test("orders rollouts of one stack by sequence, despite a clock that is behind", () => {
  const merged = mergeRecentRollouts([
    buildJournal([{ id: "first", seq: 7, hour: 12 }]),
    buildJournal([{ id: "hotfix", seq: 8, hour: 11 }]),
  ]);
  expect([listIds(merged), listAcmeRollouts(merged)]).toEqual([
    ["hotfix", "first"],
    ["hotfix", "first"],
  ]);
});

test("keeps the order of each journal, despite a clock that is behind", () => {
  const merged = mergeRecentRollouts([
    buildJournal([
      { id: "eu-1", seq: 1, hour: 12, stack: "eu-a" },
      { id: "eu-2", seq: 2, hour: 11, stack: "eu-b" },
    ]),
    buildJournal([{ id: "us-1", seq: 1, hour: 10, stack: "us" }]),
  ]);
  expect(listIds(merged)).toEqual(["eu-2", "eu-1", "us-1"]);
});

test("orders rollouts of unrelated journals by start time", () => {
  const merged = mergeRecentRollouts([
    buildJournal([{ id: "eu", seq: 90, hour: 8, stack: "eu" }]),
    buildJournal([{ id: "us", seq: 2, hour: 9, stack: "us" }]),
  ]);
  expect(listIds(merged)).toEqual(["us", "eu"]);
});
