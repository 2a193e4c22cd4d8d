import { buildNoOpProgram } from "#bench/floor";
import { measureOperations } from "#bench/measure-operations";
import type { Peer } from "#bench/measurement";
import { SKIP_CHECKPOINTS } from "#bench/single-entries";

/**
 * The same number of dynamic resources that do nothing, as in Pulumi's documentation. The state of each contains its
 * provider's code and Pulumi's traces, which other resources can do without.
 */
export const noOpEntries: Peer = {
  name: "nothing-entries",
  title: "a no-op dynamic resource per entry",
  isSlow: true,
  async measure(bench) {
    const count = bench.singleEntries;
    await measureOperations(bench, { count, program: buildNoOpProgram });
  },
};

/** The same, but the engine writes its state only once, at the end. */
export const nothingEntriesWithoutCheckpoints: Peer = {
  name: "nothing-entries-without-checkpoints",
  title: "a no-op dynamic resource per entry, with `PULUMI_SKIP_CHECKPOINTS=true`",
  isSlow: false,
  async measure(bench) {
    const count = bench.singleEntries;
    await measureOperations(bench, { count, program: buildNoOpProgram, environment: SKIP_CHECKPOINTS });
  },
};
