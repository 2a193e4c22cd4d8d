import type { Finished } from "#bench/command";
import { listProgram } from "#bench/list-resource";
import { counted } from "#bench/measure-operations";
import type { Operation, Peer } from "#bench/measurement";
import type { BenchProviderKind } from "#bench/provider-kind";
import { BenchProject } from "#bench/pulumi-project";
import { BenchService } from "#bench/service";

/** Changes a comment, removes an entry and adds an entry. */
const THREE_CHANGES = `
entries[0]!.comment = "Confirmed";
entries.splice(1, 1);
entries.push({ list: "deny", value: "bad-new.example", comment: "INC-new" });
`;

/** Measures how the time and memory of one list grow with its number of entries. */
export const growth: Peer = growthOf("growth", "one `AllowDenyList`, as it grows", "dynamic");

/** The same with the native plugin. */
export const nativeGrowth: Peer = growthOf(
  "native-growth",
  "one `AllowDenyList`, native plugin, as it grows",
  "native",
);

function growthOf(name: string, title: string, providerKind: BenchProviderKind): Peer {
  return {
    name,
    title,
    isSlow: true,
    async measure(bench) {
      const memory = { memory: true };
      for (const count of bench.growth) {
        await using service = await BenchService.start();
        await using project = await BenchProject.create(listProgram(count, { providerKind }), service.environment);
        const measure = async (operation: Operation, work: () => Promise<Finished>): Promise<void> => {
          const { seconds, requests, peaks } = await counted(service, work);
          bench.record({ operation, count, seconds, requests, ...(peaks && { peakBytes: peaks.provider }) });
        };
        await measure("first up", () => project.up(memory));
        await measure("no-op up", () => project.upWithNothingToDo(memory));
        await measure("refresh", () => project.refresh(memory));
        await project.write(listProgram(count, { providerKind, changes: THREE_CHANGES }));
        await measure("three changes", () => project.up(memory));
      }
    },
  };
}
