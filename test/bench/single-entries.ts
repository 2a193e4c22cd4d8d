import { entriesSource } from "#bench/entries";
import { measureOperations } from "#bench/measure-operations";
import type { Peer } from "#bench/measurement";
import { type BenchProviderKind, packageOf } from "#bench/provider-kind";

export function entriesProgram(count: number, providerKind: BenchProviderKind): string {
  return `
import { AllowDenyEntry } from "${packageOf(providerKind)}";

for (const entry of ${entriesSource(count)}) new AllowDenyEntry(entry.value, entry);
`;
}

/** Makes the engine write its state only once, at the end. */
export const WITHOUT_CHECKPOINTS = { PULUMI_SKIP_CHECKPOINTS: "true" };

/** One resource per entry. */
export const singleEntries = withCheckpoints("entries", "one `AllowDenyEntry` per entry", "dynamic");

/** The same with the native plugin. */
export const nativeSingleEntries = withCheckpoints(
  "native-entries",
  "one `AllowDenyEntry` per entry, native plugin",
  "native",
);

/** The dynamic resources again, but the engine writes its state only once, at the end. */
export const singleEntriesWithoutCheckpoints = withoutCheckpoints(
  "entries-without-checkpoints",
  "one `AllowDenyEntry` per entry, with `PULUMI_SKIP_CHECKPOINTS=true`",
  "dynamic",
);

/** The same with the native plugin. */
export const nativeSingleEntriesWithoutCheckpoints = withoutCheckpoints(
  "native-entries-without-checkpoints",
  "one `AllowDenyEntry` per entry, native plugin, with `PULUMI_SKIP_CHECKPOINTS=true`",
  "native",
);

function withCheckpoints(name: string, title: string, providerKind: BenchProviderKind): Peer {
  return {
    name,
    title,
    isSlow: true,
    floor: "nothing-entries",
    async measure(bench) {
      const program = (count: number): string => entriesProgram(count, providerKind);
      await measureOperations(bench, { count: bench.singleEntries, program });
    },
  };
}

function withoutCheckpoints(name: string, title: string, providerKind: BenchProviderKind): Peer {
  return {
    name,
    title,
    isSlow: false,
    floor: "nothing-entries-without-checkpoints",
    async measure(bench) {
      const program = (count: number): string => entriesProgram(count, providerKind);
      const environment = WITHOUT_CHECKPOINTS;
      await measureOperations(bench, { count: bench.singleEntries, program, environment });
    },
  };
}
