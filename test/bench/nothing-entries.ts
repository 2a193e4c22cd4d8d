import { nothingProgram } from "#bench/floor";
import type { Peer } from "#bench/observation";
import { measureOperations } from "#bench/operations";
import { WITHOUT_CHECKPOINTS } from "#bench/single-entries";

/**
 * As many dynamic resources that do nothing, as Pulumi's documentation shows one. Each is written with its provider's code and Pulumi's
 * traces, which others can do without.
 */
export const nothingEntries: Peer = {
  name: "nothing-entries",
  title: "a dynamic resource an entry that does nothing",
  isSlow: true,
  async measure(bench) {
    const count = bench.singleEntries;
    await measureOperations(bench, { count, program: nothingProgram });
  },
};

/** The same, where the engine writes its state once, at the end. */
export const nothingEntriesWithoutCheckpoints: Peer = {
  name: "nothing-entries-without-checkpoints",
  title: "a dynamic resource an entry that does nothing, with `PULUMI_SKIP_CHECKPOINTS=true`",
  isSlow: false,
  async measure(bench) {
    const count = bench.singleEntries;
    await measureOperations(bench, { count, program: nothingProgram, environment: WITHOUT_CHECKPOINTS });
  },
};
