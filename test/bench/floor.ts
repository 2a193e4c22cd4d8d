import { sendAll } from "#bench/bare-requests";
import { buildBenchEntries } from "#bench/entries";
import type { Operation, Peer } from "#bench/measurement";
import { BenchProject } from "#bench/pulumi-project";
import { BenchService } from "#bench/service";

const CONCURRENCY = 16;
const PAGE_SIZE = 200;
const PATH = "/api/v1/settings/allow_deny_entries";

/** Returns a program with `count` resources that do nothing. */
export function buildNoOpProgram(count: number): string {
  return `
import * as pulumi from "@pulumi/pulumi";

class NothingProvider implements pulumi.dynamic.ResourceProvider {
  async create(): Promise<pulumi.dynamic.CreateResult> {
    return { id: "nothing", outs: {} };
  }

  async read(id: string, props: object): Promise<pulumi.dynamic.ReadResult> {
    return { id, props };
  }
}

class Nothing extends pulumi.dynamic.Resource {
  constructor(name: string) {
    super(new NothingProvider(), name, {});
  }
}

for (let index = 0; index < ${count}; index++) new Nothing("nothing-" + index);
`;
}

/**
 * The time of the engine with one dynamic resource that does nothing, as in Pulumi's documentation, plus the time of
 * the HTTP requests alone.
 */
export const floor: Peer = {
  name: "floor",
  title: "the floor",
  isSlow: false,
  async measure(bench) {
    bench.log("the engine with a resource that does nothing");
    await using project = await BenchProject.create(buildNoOpProgram(1), {});
    const engine: Partial<Record<Operation, number>> = {
      "first up": (await project.up()).seconds,
      "no-op up": (await project.upUnchanged()).seconds,
      "looking up": (await project.upAfterRefresh()).seconds,
      refresh: (await project.refresh()).seconds,
    };
    for (const count of new Set([bench.manyEntries, bench.singleEntries])) {
      bench.log(`${count} entries by HTTP alone`);
      await using service = await BenchService.start();
      const writing = await postAll(service, count);
      const reading = await getAll(service, count);
      const alone = {
        "first up": { seconds: writing + reading, reads: countPages(count), writes: count },
        "no-op up": { seconds: 0, reads: 0, writes: 0 },
        "looking up": { seconds: reading, reads: countPages(count), writes: 0 },
        refresh: { seconds: reading, reads: countPages(count), writes: 0 },
      };
      for (const [operation, { seconds, reads, writes }] of Object.entries(alone)) {
        bench.record({
          operation: operation as Operation,
          count,
          seconds: (engine[operation as Operation] ?? Number.NaN) + seconds,
          requests: { reads, writes },
        });
      }
    }
  },
};

/** Counts the pages of both lists. The empty allow list is one page too. */
function countPages(count: number): number {
  return Math.ceil(count / PAGE_SIZE) + 1;
}

async function postAll(service: BenchService, count: number): Promise<number> {
  const requests = buildBenchEntries(count).map((entry) => {
    return { method: "POST", path: PATH, body: { ...entry, entry_type: "domain", verdict_scope: "global" } };
  });
  return await sendAll(service.url, requests, CONCURRENCY);
}

async function getAll(service: BenchService, count: number): Promise<number> {
  const pages = Array.from({ length: countPages(count) - 1 }, (_, index) => `deny&page=${index + 1}`);
  const requests = [...pages, "allow&page=1"].map((page) => {
    return { method: "GET", path: `${PATH}?list=${page}&page_size=${PAGE_SIZE}` };
  });
  return await sendAll(service.url, requests, CONCURRENCY);
}
