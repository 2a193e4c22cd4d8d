import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { writeFleet } from "#bench/fleet-files";
import { currentLoad } from "#bench/machine";
import { BenchService } from "#bench/service";
import { formatTable } from "#bench/table";
import { UNLIMITED_REQUESTS } from "../../provider/dist/client/rate-limiter.js";
import { readEachTenant } from "../../provider/dist/fleet/read-each-tenant.js";
import type { Targets } from "../../provider/dist/rollout/model/target.js";
import type { RequestContext } from "../../provider/dist/rollout/probing/target-client.js";
import { readTargets } from "../../provider/dist/rollout/targets/read-targets.js";

const TENANTS = 300;
const ENTRIES = 500;
export const CONCURRENCY = 16;
const RUNS = 3;
/** The workload may take at most this many times as long as reading the lists. */
const LIMIT = 1.2;

/** A workload over a fleet. */
export interface FleetWorkload {
  /** Whether the workload reads the VIPs too, or only the entries. */
  readonly readsVips: boolean;
  /** Runs the workload and returns the number of tenants processed. */
  readonly work: (fleet: BenchFleet) => Promise<number>;
}

/** The fleet that a workload reads. */
export interface BenchFleet {
  readonly targets: Targets["targets"];
  readonly requestContext: RequestContext;
}

/**
 * Alternates between a workload over a fleet and reading only the fleet's lists, and returns a report that compares the
 * two.
 * @param name the name of the workload in the report
 */
export async function compareWithListReads(
  name: string,
  { readsVips, work: measured }: FleetWorkload,
): Promise<string> {
  await using service = await BenchService.start({ tenants: TENANTS, entries: ENTRIES });
  const directory = mkdtempSync(join(tmpdir(), "email-security-bench-fleet-"));
  const before = process.cwd();
  process.chdir(directory);
  try {
    const written = writeFleet(directory, { tenants: TENANTS, entries: ENTRIES, url: service.url });
    const environment = { ...process.env, ...written };
    const { targets } = readTargets("tenants.yaml");
    const fleet = { targets, requestContext: { environment, getTokens: () => UNLIMITED_REQUESTS } };
    const measureReading = async (fleet: BenchFleet): Promise<number> =>
      (await timeListReads(fleet, CONCURRENCY, readsVips)) / ENTRIES;
    const ways = { "reading the lists alone": measureReading, [name]: measured };
    const seconds = new Map<string, number[]>();
    const processor = new Map<string, number[]>();
    // The first turn is only a warm-up.
    for (let run = 0; run <= RUNS; run++) {
      for (const [way, work] of Object.entries(ways)) {
        const startedAt = performance.now();
        const before = process.cpuUsage();
        const tenants = await work(fleet);
        if (tenants !== TENANTS) throw new Error(`${way}: ${tenants} tenants of ${TENANTS}`);
        const { user, system } = process.cpuUsage(before);
        if (run === 0) continue;
        seconds.set(way, [...(seconds.get(way) ?? []), (performance.now() - startedAt) / 1_000]);
        processor.set(way, [...(processor.get(way) ?? []), (user + system) / 1_000_000]);
      }
    }
    const computeMedian = (measured: Map<string, number[]>, way: string): number =>
      (measured.get(way) ?? []).toSorted((a, b) => a - b)[Math.floor(RUNS / 2)] ?? Number.NaN;
    const rows = Object.keys(ways).map((way) => [
      way,
      computeMedian(seconds, way).toFixed(2),
      computeMedian(processor, way).toFixed(2),
    ]);
    const ratio = computeMedian(seconds, name) / computeMedian(seconds, "reading the lists alone");
    const conditions = `${TENANTS} tenants of ${ENTRIES} entries, ${CONCURRENCY} at once, the medians of ${RUNS}; the machine's load was ${currentLoad()} on ${availableParallelism()} processors`;
    return `${conditions}:\n${formatTable(["", "seconds", "of its processor"], rows, 0)}\n\n${ratio.toFixed(2)} ×, at most ${LIMIT}: ${ratio <= LIMIT ? "held" : "NOT HELD"}`;
  } finally {
    process.chdir(before);
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Reads the lists of all tenants and discards them.
 * @returns the number of rows read
 */
export async function timeListReads(
  { targets, requestContext }: BenchFleet,
  concurrency: number,
  includesVips: boolean,
): Promise<number> {
  let rows = 0;
  await readEachTenant(targets, {
    requestContext,
    concurrency,
    read: async (client) =>
      await Promise.all([
        ...(includesVips ? [client.vipEmployees.readAll()] : []),
        client.allowDenyEntries.readAll("allow"),
        client.allowDenyEntries.readAll("deny"),
      ]),
    onSettled: (_target, { value }) => {
      for (const list of value ?? []) rows += list.length;
    },
  });
  return rows;
}
