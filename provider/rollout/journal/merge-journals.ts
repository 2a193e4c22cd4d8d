import { withoutUndefined } from "../../settings/without-undefined";
import type { Reached, StackReach } from "./reached";
import { compareRollouts, type RolloutOrder } from "./rollout-order";

/** Merges the progress of stacks in several journals, such as one per region. */
export function mergeReached(journals: readonly Reached[]): Reached {
  const rows = journals.flatMap(({ stacks }) => [...stacks]);
  const owners = new Map(
    journals.flatMap((journal) =>
      [...journal.stacks.values()].flatMap(({ last }) => (last ? [[last.rollout, journal] as const] : [])),
    ),
  );
  return {
    stacks: new Map(
      [...Map.groupBy(rows, ([stack]) => stack)].map(([stack, same]) => [
        stack,
        mergeStack(same.map(([, reach]) => reach)),
      ]),
    ),
    skips: new Map(journals.flatMap(({ skips }) => [...skips])),
    rollouts: sum(journals.map(({ rollouts }) => rollouts)),
    elsewhere: sum(journals.map(({ elsewhere }) => elsewhere)),
    files: async (rollout) => {
      const owner = owners.get(rollout);
      if (owner === undefined) throw new Error(`No journal has brought a stack to the rollout ${rollout}.`);
      return await owner.files(rollout);
    },
    earlier: async (stack) => {
      const read = await Promise.all(journals.map(async ({ earlier }) => await earlier(stack)));
      return read.flat().sort(({ order: [one, at] }, { order: [other, than] }) => one - other || at - than);
    },
  };
}

function mergeStack(reaches: readonly StackReach[]): StackReach {
  const last = latest(reaches.map((reach) => reach.last));
  const next = latest(reaches.map((reach) => reach.next));
  const isSuperseded =
    last !== undefined && next !== undefined && compareRollouts(last.order, next.order) > 0;
  return withoutUndefined({ last, next: isSuperseded ? undefined : next });
}

function latest<One extends { readonly order: RolloutOrder }>(
  all: readonly (One | undefined)[],
): One | undefined {
  return all
    .filter((one) => one !== undefined)
    .sort((one, other) => compareRollouts(other.order, one.order))
    .at(0);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
