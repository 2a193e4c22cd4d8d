import { omitUndefined } from "../../model/omit-undefined";
import { selectValidIdentities } from "../targets/tenant-conflicts";
import type { AppliedRollout, LastAppliedRollouts, StackRollouts } from "./last-applied";
import { compareRollouts } from "./rollout-order";

/** Merges the progress of stacks in several journals, such as one per region. */
export function mergeLastApplied(sources: readonly LastAppliedRollouts[]): LastAppliedRollouts {
  const rows = sources.flatMap(({ stacks }) => [...stacks]);
  const sourceByRollout = new Map(
    sources.flatMap((journal) =>
      [...journal.stacks.values()].flatMap(({ applied }) => (applied ? [[applied.rollout, journal] as const] : [])),
    ),
  );
  return {
    stacks: new Map(
      [...Map.groupBy(rows, ([stack]) => stack)].map(([stack, stackRows]) => [
        stack,
        mergeStackStates(stackRows.map(([, state]) => state)),
      ]),
    ),
    skips: new Map(sources.flatMap(({ skips }) => [...skips])),
    rollouts: new Set(sources.flatMap(({ rollouts }) => [...rollouts])),
    otherBackendCount: sumNumbers(sources.map(({ otherBackendCount }) => otherBackendCount)),
    readFiles: async (rollout) => {
      const source = sourceByRollout.get(rollout);
      if (source === undefined) throw new Error(`No journal has applied a stack of the rollout ${rollout}.`);
      return await source.readFiles(rollout);
    },
    readEarlier: async (stack) => {
      const read = await Promise.all(sources.map(async ({ readEarlier }) => await readEarlier(stack)));
      return selectValidIdentities(read.flat());
    },
  };
}

function mergeStackStates(states: readonly StackRollouts[]): StackRollouts {
  const lastRollout = findLatest(
    states.map((state) => state.applied),
    compareApplied,
  );
  const pendingRollout = findLatest(
    states.map((state) => state.pending),
    (a, b) => compareRollouts(a.order, b.order),
  );
  const isSuperseded =
    lastRollout !== undefined &&
    pendingRollout !== undefined &&
    compareRollouts(lastRollout.order, pendingRollout.order) > 0;
  return omitUndefined({ applied: lastRollout, pending: isSuperseded ? undefined : pendingRollout });
}

/** Compares rollouts of two journals. One that left the stack unchanged is later than the change that it found there. */
function compareApplied(a: AppliedRollout, b: AppliedRollout): number {
  return (
    a.stackSeq - b.stackSeq ||
    Number(a.state === "unchanged") - Number(b.state === "unchanged") ||
    compareRollouts(a.order, b.order)
  );
}

function findLatest<One>(
  candidates: readonly (One | undefined)[],
  compare: (a: One, b: One) => number,
): One | undefined {
  return candidates
    .filter((candidate) => candidate !== undefined)
    .sort((a, b) => compare(b, a))
    .at(0);
}

function sumNumbers(numbers: readonly number[]): number {
  return numbers.reduce((total, value) => total + value, 0);
}
