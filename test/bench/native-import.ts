import { type BenchEntry, entries } from "#bench/entries";
import { counted } from "#bench/measure-operations";
import type { Peer } from "#bench/measurement";
import { BenchProject } from "#bench/pulumi-project";
import { BenchService } from "#bench/service";
import { entriesProgram, WITHOUT_CHECKPOINTS } from "#bench/single-entries";

/** Measures importing existing entries into a new stack, one resource per entry, all in one `pulumi import`. */
export const nativeImport: Peer = {
  name: "native-import",
  title: "`pulumi import --file` of one `AllowDenyEntry` per entry, native plugin, with `PULUMI_SKIP_CHECKPOINTS=true`",
  isSlow: false,
  async measure(bench) {
    const count = bench.singleEntries;
    await using service = await BenchService.start();
    const program = entriesProgram(count, "native");
    await using maker = await BenchProject.create(program, service.environment);
    await maker.up({ environment: WITHOUT_CHECKPOINTS });
    await using project = await BenchProject.create(program, service.environment);
    const file = { resources: entries(count).map(importOf) };
    const options = { environment: WITHOUT_CHECKPOINTS };
    const { seconds, requests } = await counted(service, () => project.importAll(file, options));
    bench.record({ operation: "import", count, seconds, requests });
  },
};

function importOf({ value }: BenchEntry): object {
  return { type: "email-security:index:AllowDenyEntry", name: value, id: `deny:${value}` };
}
