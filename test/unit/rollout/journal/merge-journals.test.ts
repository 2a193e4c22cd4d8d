import { expect, test } from "vitest";
import { mergeReached } from "../../../../provider/rollout/journal/merge-journals";
import type { NotReachedBy, Reached, ReachedBy, StackReach } from "../../../../provider/rollout/journal/reached";

function reachedBy(rollout: string, seq: number): ReachedBy {
  return {
    rollout,
    name: "acme",
    order: { id: rollout, seq, startedAtMs: 0 },
    wave: "all",
    state: "done",
    atMs: 0,
    today: "2026-11-11",
    settings: "settings/acme.yaml",
  };
}

function notReachedBy(rollout: string, seq: number): NotReachedBy {
  const order = { id: rollout, seq, startedAtMs: 0 };
  return {
    rollout,
    name: "acme",
    order,
    wave: "all",
    state: "failed",
    rolloutState: "stopped",
    isBegun: true,
  };
}

function journal(stacks: Readonly<Record<string, StackReach>>): Reached {
  return {
    stacks: new Map(Object.entries(stacks)),
    skips: new Map(),
    rollouts: 1,
    elsewhere: 2,
    earlier: async () => [],
    files: async (rollout) => ({ bundle: new Map([[rollout, Buffer.from("")]]), folder: "." }),
  };
}

test("keeps the stacks of each journal, and finds the files of their rollouts", async () => {
  const merged = mergeReached([
    journal({ acme: { last: reachedBy("in-eu", 1) } }),
    journal({ globex: { last: reachedBy("in-us", 1) } }),
  ]);
  expect([...merged.stacks].map(([stack, { last }]) => [stack, last?.rollout])).toEqual([
    ["acme", "in-eu"],
    ["globex", "in-us"],
  ]);
  expect([merged.rollouts, merged.elsewhere]).toEqual([2, 4]);
  expect([...(await merged.files("in-us")).bundle.keys()]).toEqual(["in-us"]);
});

test("takes the later rollout of a stack that two journals have changed, by sequence", () => {
  const older = journal({ acme: { last: reachedBy("z-older", 3), next: notReachedBy("z-failed", 4) } });
  const newer = journal({ acme: { last: reachedBy("a-newer", 5), next: notReachedBy("a-failed", 6) } });
  for (const journals of [
    [older, newer],
    [newer, older],
  ]) {
    const { last, next } = mergeReached(journals).stacks.get("acme") ?? {};
    expect([last?.rollout, next?.rollout]).toEqual(["a-newer", "a-failed"]);
  }
});

test("drops a failed rollout that another journal's later rollout supersedes", () => {
  const failed = journal({ acme: { next: notReachedBy("failed", 4) } });
  const done = journal({ acme: { last: reachedBy("done", 5) } });
  expect(mergeReached([failed, done]).stacks.get("acme")).toEqual({ last: reachedBy("done", 5) });
  const earlier = journal({ acme: { last: reachedBy("earlier", 3) } });
  expect(mergeReached([failed, earlier]).stacks.get("acme")?.next?.rollout).toBe("failed");
});
