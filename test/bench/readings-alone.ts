/**
 * Reads all lists of the tenants of `tenants.yaml` in the working folder, so many tenants at once, and does nothing with them: the
 * least that a rollout with nothing to do can take.
 *
 *   node test/bench/readings-alone.ts 2
 */
import { readLists } from "#bench/beside-readings";
import { UNLIMITED_PERMITS } from "../../provider/dist/client/permits.js";
import { readTargets } from "../../provider/dist/rollout/targets/read-targets.js";

const { targets } = readTargets("tenants.yaml");
const reach = { environment: process.env, getTokens: () => UNLIMITED_PERMITS };
console.log(await readLists({ targets, reach }, Number(process.argv[2]), true));
