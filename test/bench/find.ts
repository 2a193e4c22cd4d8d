import { CONCURRENCY, compareWithListReads } from "#bench/list-read-comparison";
import { formatDeniedDomain } from "#bench/service";
import { findInFleet } from "../../provider/dist/commands/find/find-in-fleet.js";
import { parseQueries } from "../../provider/dist/commands/find/parse-queries.js";
import { QueryMatcher } from "../../provider/dist/commands/find/query-matcher.js";

/** Compares `find` over a fleet with reading only the fleet's lists, in alternating turns. */
export async function findReport(): Promise<string> {
  const matcher = new QueryMatcher(parseQueries([formatDeniedDomain(7)]));
  return await compareWithListReads("find", {
    readsVips: false,
    work: async ({ targets, requestContext }) => {
      const results = await findInFleet(matcher, targets, { requestContext, concurrency: CONCURRENCY });
      return results.filter(({ matches: [item] }) => item?.state === "agrees").length;
    },
  });
}
