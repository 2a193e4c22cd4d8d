import { CONCURRENCY, compareWithListReads } from "#bench/list-read-comparison";
import { readFleetStatus } from "../../provider/dist/fleet/status/read-fleet-status.js";

const today = new Date().toISOString().slice(0, 10);

/** Compares `fleet status` with reading only the lists that it reads, in alternating turns. */
export async function reportFleet(): Promise<string> {
  return await compareWithListReads("fleet status", {
    readsVips: true,
    work: async ({ targets, requestContext }) => {
      const targetsFields = { file: "tenants.yaml", project: "bench", lastApplied: undefined, today, until: today };
      const { tenants } = await readFleetStatus(targets, {
        ...targetsFields,
        requestContext,
        concurrency: CONCURRENCY,
      });
      return tenants.filter(({ syncStatus }) => syncStatus === "in-sync").length;
    },
  });
}
