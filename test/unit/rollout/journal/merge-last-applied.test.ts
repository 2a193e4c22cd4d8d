import { expect, test } from "vitest";
import { buildTenantIdentity } from "../../../../provider/model/tenant-identity";
import type {
  AppliedRollout,
  LastAppliedRollouts,
  PendingRollout,
  StackRollouts,
} from "../../../../provider/rollout/journal/last-applied";
import { mergeLastApplied } from "../../../../provider/rollout/journal/merge-last-applied";

function buildAppliedRollout(rollout: string, seq: number, overrides: Partial<AppliedRollout> = {}): AppliedRollout {
  return {
    stackSeq: seq,
    ...overrides,
    rollout,
    name: "acme",
    order: { id: rollout, seq, startedAtMs: 0 },
    wave: "all",
    state: overrides.state ?? "done",
    atMs: 0,
    today: "2026-11-11",
    settings: "settings/acme.yaml",
  };
}

function buildPendingRollout(rollout: string, seq: number): PendingRollout {
  const order = { id: rollout, seq, startedAtMs: 0 };
  return {
    rollout,
    name: "acme",
    order,
    wave: "all",
    state: "failed",
    rolloutState: "stopped",
    isStarted: true,
  };
}

function buildJournal(stacks: Readonly<Record<string, StackRollouts>>): LastAppliedRollouts {
  return {
    stacks: new Map(Object.entries(stacks)),
    skips: new Map(),
    rollouts: new Set(Object.values(stacks).flatMap(({ applied }) => applied?.rollout ?? [])),
    otherBackendCount: 2,
    readEarlier: async () => [],
    readFiles: async (rollout) => ({ bundle: new Map([[rollout, Buffer.from("")]]), directory: "." }),
  };
}

test("finds the files of each journal's rollouts", async () => {
  const merged = mergeLastApplied([
    buildJournal({ acme: { applied: buildAppliedRollout("in-eu", 1) } }),
    buildJournal({ globex: { applied: buildAppliedRollout("in-us", 1) } }),
  ]);
  expect([...merged.stacks].map(([stack, { applied }]) => [stack, applied?.rollout])).toEqual([
    ["acme", "in-eu"],
    ["globex", "in-us"],
  ]);
  expect([[...merged.rollouts], merged.otherBackendCount]).toEqual([["in-eu", "in-us"], 4]);
  expect([...(await merged.readFiles("in-us")).bundle.keys()]).toEqual(["in-us"]);
});

test("takes the rollout with the higher sequence for a shared stack", () => {
  const older = buildJournal({
    acme: { applied: buildAppliedRollout("z-older", 3), pending: buildPendingRollout("z-failed", 4) },
  });
  const newer = buildJournal({
    acme: { applied: buildAppliedRollout("a-newer", 5), pending: buildPendingRollout("a-failed", 6) },
  });
  for (const journals of [
    [older, newer],
    [newer, older],
  ]) {
    const { applied, pending } = mergeLastApplied(journals).stacks.get("acme") ?? {};
    expect([applied?.rollout, pending?.rollout]).toEqual(["a-newer", "a-failed"]);
  }
});

test("takes another journal's change over a rollout that left the stack unchanged before it", () => {
  const unchanged = buildJournal({
    acme: { applied: buildAppliedRollout("unchanged", 3, { state: "unchanged", stackSeq: 1 }) },
  });
  const changed = buildJournal({ acme: { applied: buildAppliedRollout("changed", 2) } });
  const lastApplied = buildJournal({
    acme: { applied: buildAppliedRollout("found", 4, { state: "unchanged", stackSeq: 2 }) },
  });
  expect(mergeLastApplied([unchanged, changed]).stacks.get("acme")?.applied?.rollout).toBe("changed");
  expect(mergeLastApplied([lastApplied, changed]).stacks.get("acme")?.applied?.rollout).toBe("found");
});

test("drops the readings before an acceptance in another journal", async () => {
  const buildSnapshot = (seq: number, isAccepted = false) => ({
    ...{ order: [seq, 0] as const, isAccepted },
    identity: buildTenantIdentity("https://a.example", { rows: [], mailboxes: [`ceo@a${seq}.example`] }),
  });
  const [a, b] = [
    [buildSnapshot(1), buildSnapshot(4)],
    [buildSnapshot(2), buildSnapshot(3, true)],
  ];
  const merged = mergeLastApplied([a, b].map((read) => ({ ...buildJournal({}), readEarlier: async () => read })));
  expect((await merged.readEarlier("acme")).map(({ order: [seq] }) => seq)).toEqual([3, 4]);
});

test("drops a failed rollout that another journal's later rollout supersedes", () => {
  const failed = buildJournal({ acme: { pending: buildPendingRollout("failed", 4) } });
  const done = buildJournal({ acme: { applied: buildAppliedRollout("done", 5) } });
  expect(mergeLastApplied([failed, done]).stacks.get("acme")).toEqual({ applied: buildAppliedRollout("done", 5) });
  const earlier = buildJournal({ acme: { applied: buildAppliedRollout("earlier", 3) } });
  expect(mergeLastApplied([failed, earlier]).stacks.get("acme")?.pending?.rollout).toBe("failed");
});
