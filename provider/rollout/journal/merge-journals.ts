import { withoutUndefined } from "../../settings/without-undefined";
import type { Reached, StackReach } from "./reached";
import { compareRollouts, type RolloutOrder } from "./rollout-order";

/** Merges the progress of stacks in several journals, such as one per region. */
export function mergeReached(sources: readonly Reached[]): Reached {
  const rows = sources.flatMap(({ stacks }) => [...stacks]);
  const sourceByRollout = new Map(
    sources.flatMap((journal) =>
      [...journal.stacks.values()].flatMap(({ last }) => (last ? [[last.rollout, journal] as const] : [])),
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
    rollouts: sumNumbers(sources.map(({ rollouts }) => rollouts)),
    elsewhere: sumNumbers(sources.map(({ elsewhere }) => elsewhere)),
    files: async (rollout) => {
      const source = sourceByRollout.get(rollout);
      if (source === undefined) throw new Error(`No journal has brought a stack to the rollout ${rollout}.`);
      return await source.files(rollout);
    },
    earlier: async (stack) => {
      const read = await Promise.all(sources.map(async ({ earlier }) => await earlier(stack)));
      return read.flat().sort(({ order: [one, at] }, { order: [other, than] }) => one - other || at - than);
    },
  };
}

function mergeStackStates(states: readonly StackReach[]): StackReach {
  const lastRollout = findLatest(states.map((state) => state.last));
  const pendingRollout = findLatest(states.map((state) => state.next));
  const isSuperseded =
    lastRollout !== undefined &&
    pendingRollout !== undefined &&
    compareRollouts(lastRollout.order, pendingRollout.order) > 0;
  return withoutUndefined({ last: lastRollout, next: isSuperseded ? undefined : pendingRollout });
}

function findLatest<One extends { readonly order: RolloutOrder }>(
  candidates: readonly (One | undefined)[],
): One | undefined {
  return candidates
    .filter((candidate) => candidate !== undefined)
    .sort((candidate, other) => compareRollouts(other.order, candidate.order))
    .at(0);
}

function sumNumbers(numbers: readonly number[]): number {
  return numbers.reduce((total, value) => total + value, 0);
}
