import { besideReadings, CONCURRENCY, ENTRIES } from "#bench/beside-readings";
import { deniedDomain } from "#bench/service";
import { findInFleet } from "../../provider/dist/fleet/find-in-fleet.js";
import { readEach } from "../../provider/dist/fleet/read-each.js";
import { Matcher } from "../../provider/dist/gitops/find/matcher.js";
import { wantedOf } from "../../provider/dist/gitops/find/wanted.js";

/** `find` over a fleet beside the reading of all its lists alone, in turns. */
export async function findReport(): Promise<string> {
  const matcher = new Matcher(wantedOf([deniedDomain(7)]));
  return await besideReadings("find", {
    reading: async ({ targets, reach }) => {
      let rows = 0;
      await readEach(targets, {
        reach,
        concurrency: CONCURRENCY,
        read: async (client) =>
          await Promise.all([
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
      const found = await findInFleet(matcher, targets, { reach, concurrency: CONCURRENCY });
      return found.filter(({ found: [one] }) => one?.state === "agrees").length;
    },
  });
}
