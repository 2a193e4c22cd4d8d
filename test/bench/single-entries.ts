import { formatEntriesSource } from "#bench/entries";
import { measureOperations } from "#bench/measure-operations";
import type { Peer } from "#bench/measurement";
import { type BenchProviderKind, getPackageName } from "#bench/provider-kind";

export function buildEntriesProgram(count: number, providerKind: BenchProviderKind): string {
  return `
import { AllowDenyEntry } from "${getPackageName(providerKind)}";

for (const entry of ${formatEntriesSource(count)}) new AllowDenyEntry(entry.value, entry);
`;
}

/** Makes the engine write its state only once, at the end. */
export const SKIP_CHECKPOINTS = { PULUMI_SKIP_CHECKPOINTS: "true" };

/** One resource per entry. */
export const singleEntries = buildCheckpointPeer("entries", "one `AllowDenyEntry` per entry", "dynamic");

/** The same with the native plugin. */
export const nativeSingleEntries = buildCheckpointPeer(
  "native-entries",
  "one `AllowDenyEntry` per entry, native plugin",
  "native",
);

/** The dynamic resources again, but the engine writes its state only once, at the end. */
export const singleEntriesWithoutCheckpoints = createCheckpointlessPeer(
  "entries-without-checkpoints",
  "one `AllowDenyEntry` per entry, with `PULUMI_SKIP_CHECKPOINTS=true`",
  "dynamic",
);

/** The same with the native plugin. */
export const nativeSingleEntriesWithoutCheckpoints = createCheckpointlessPeer(
  "native-entries-without-checkpoints",
  "one `AllowDenyEntry` per entry, native plugin, with `PULUMI_SKIP_CHECKPOINTS=true`",
  "native",
);

function buildCheckpointPeer(name: string, title: string, providerKind: BenchProviderKind): Peer {
  return {
    name,
    title,
    isSlow: true,
    floor: "nothing-entries",
    async measure(bench) {
      const buildProgram = (count: number): string => buildEntriesProgram(count, providerKind);
      await measureOperations(bench, { count: bench.singleEntries, program: buildProgram });
    },
  };
}

function createCheckpointlessPeer(name: string, title: string, providerKind: BenchProviderKind): Peer {
  return {
    name,
    title,
    isSlow: false,
    floor: "nothing-entries-without-checkpoints",
    async measure(bench) {
      const buildProgram = (count: number): string => buildEntriesProgram(count, providerKind);
      const environment = SKIP_CHECKPOINTS;
      await measureOperations(bench, { count: bench.singleEntries, program: buildProgram, environment });
    },
  };
}
