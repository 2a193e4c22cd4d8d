import { besideReadings, CONCURRENCY, ENTRIES } from "#bench/beside-readings";
import { readEach } from "../../provider/dist/fleet/read-each.js";
import { readFleetStatus } from "../../provider/dist/fleet/status/read-fleet-status.js";

const today = new Date().toISOString().slice(0, 10);

/** `fleet status` beside the reading of all that it reads, in turns. */
export async function fleetReport(): Promise<string> {
  return await besideReadings("fleet status", {
    reading: async ({ targets, reach }) => {
      let rows = 0;
      await readEach(targets, {
        reach,
        concurrency: CONCURRENCY,
        read: async (client) =>
          await Promise.all([
            client.vipEmployees.readAll(),
            client.allowDenyEntries.readAll("allow"),
            client.allowDenyEntries.readAll("deny"),
          ]),
        settled: (_target, { read }) => {
          for (const list of read ?? []) rows += list.length;
        },
      });
      return rows / ENTRIES;
    },
    measured: async ({ targets, reach }) => {
      const about = { file: "tenants.yaml", project: "bench", reached: undefined, today, until: today };
      const { tenants } = await readFleetStatus(targets, { ...about, reach, concurrency: CONCURRENCY });
      return tenants.filter(({ standing }) => standing === "in-step").length;
    },
  });
}
