import { type BenchEntry, buildBenchEntries } from "#bench/entries";
import { countRequests } from "#bench/measure-operations";
import type { Peer } from "#bench/measurement";
import { BenchProject } from "#bench/pulumi-project";
import { BenchService } from "#bench/service";
import { buildEntriesProgram, SKIP_CHECKPOINTS } from "#bench/single-entries";

/** Measures importing existing entries into a new stack, one resource per entry, all in one `pulumi import`. */
export const nativeImport: Peer = {
  name: "native-import",
  title: "`pulumi import --file` of one `AllowDenyEntry` per entry, native plugin, with `PULUMI_SKIP_CHECKPOINTS=true`",
  isSlow: false,
  async measure(bench) {
    const count = bench.singleEntries;
    await using service = await BenchService.start();
    const program = buildEntriesProgram(count, "native");
    await using maker = await BenchProject.create(program, service.environment);
    await maker.up({ environment: SKIP_CHECKPOINTS });
    await using project = await BenchProject.create(program, service.environment);
    const file = { resources: buildBenchEntries(count).map(buildImport) };
    const options = { environment: SKIP_CHECKPOINTS };
    const { seconds, requests } = await countRequests(service, () => project.importAll(file, options));
    bench.record({ operation: "import", count, seconds, requests });
  },
};

function buildImport({ value }: BenchEntry): object {
  return { type: "email-security:index:AllowDenyEntry", name: value, id: `deny:${value}` };
}
