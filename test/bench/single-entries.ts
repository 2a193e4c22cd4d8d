import { entriesSource } from "#bench/entries";
import type { Peer } from "#bench/observation";
import { measureOperations } from "#bench/operations";

function program(count: number): string {
  return `
import { AllowDenyEntry } from "pulumi-email-security";

for (const entry of ${entriesSource(count)}) new AllowDenyEntry(entry.value, entry);
`;
}

/** A resource an entry. */
export const singleEntries: Peer = {
  name: "entries",
  title: "an `AllowDenyEntry` an entry",
  isSlow: true,
  async measure(bench) {
    const count = bench.singleEntries;
    await measureOperations(bench, { count, program, repeats: bench.runs });
  },
};

/** The same, where the engine writes its state once, at the end. */
export const singleEntriesWithoutCheckpoints: Peer = {
  name: "entries-without-checkpoints",
  title: "an `AllowDenyEntry` an entry, with `PULUMI_SKIP_CHECKPOINTS=true`",
  isSlow: false,
  async measure(bench) {
    const count = bench.singleEntries;
    const environment = { PULUMI_SKIP_CHECKPOINTS: "true" };
    await measureOperations(bench, { count, program, environment });
  },
};
