import { entriesSource } from "#bench/entries";
import { type Front, packageOf } from "#bench/front";
import type { Peer } from "#bench/observation";
import { measureOperations } from "#bench/operations";

export function entriesProgram(count: number, front: Front): string {
  return `
import { AllowDenyEntry } from "${packageOf(front)}";

for (const entry of ${entriesSource(count)}) new AllowDenyEntry(entry.value, entry);
`;
}

/** The engine writes its state once, at the end. */
export const WITHOUT_CHECKPOINTS = { PULUMI_SKIP_CHECKPOINTS: "true" };

/** A resource an entry. */
export const singleEntries: Peer = {
  name: "entries",
  title: "an `AllowDenyEntry` an entry",
  isSlow: true,
  async measure(bench) {
    const program = (count: number): string => entriesProgram(count, "dynamic");
    await measureOperations(bench, { count: bench.singleEntries, program, repeats: bench.runs });
  },
};

/** The same by the native plugin. */
export const nativeSingleEntries: Peer = {
  name: "native-entries",
  title: "an `AllowDenyEntry` an entry, native plugin",
  isSlow: true,
  async measure(bench) {
    const program = (count: number): string => entriesProgram(count, "native");
    await measureOperations(bench, { count: bench.singleEntries, program, repeats: bench.runs });
  },
};

/** The same, where the engine writes its state once, at the end. */
export const singleEntriesWithoutCheckpoints: Peer = {
  name: "entries-without-checkpoints",
  title: "an `AllowDenyEntry` an entry, with `PULUMI_SKIP_CHECKPOINTS=true`",
  isSlow: false,
  async measure(bench) {
    const program = (count: number): string => entriesProgram(count, "dynamic");
    await measureOperations(bench, { count: bench.singleEntries, program, environment: WITHOUT_CHECKPOINTS });
  },
};

/** The same by the native plugin. */
export const nativeSingleEntriesWithoutCheckpoints: Peer = {
  name: "native-entries-without-checkpoints",
  title: "an `AllowDenyEntry` an entry, native plugin, with `PULUMI_SKIP_CHECKPOINTS=true`",
  isSlow: false,
  async measure(bench) {
    const program = (count: number): string => entriesProgram(count, "native");
    await measureOperations(bench, { count: bench.singleEntries, program, environment: WITHOUT_CHECKPOINTS });
  },
};
