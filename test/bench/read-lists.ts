/**
 * Reads all lists of the tenants in `tenants.yaml` in the working directory, with the given number of tenants at once,
 * and discards them. This is the lower bound for a rollout with nothing to do.
 *
 *   node test/bench/read-lists.ts 2
 */
import { timeListReads } from "#bench/list-read-comparison";
import { UNLIMITED_REQUESTS } from "../../provider/dist/client/rate-limiter.js";
import { readTargets } from "../../provider/dist/rollout/targets/read-targets.js";

const { targets } = readTargets("tenants.yaml");
const requestContext = { environment: process.env, getTokens: () => UNLIMITED_REQUESTS };
console.log(await timeListReads({ targets, requestContext }, Number(process.argv[2]), true));
