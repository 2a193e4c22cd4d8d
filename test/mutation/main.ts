/**
 * `npm run test:mutation`: mutates the sources that protect users, and checks that tests fail. A stopped run continues
 * where it left off; results.md shows the results.
 *
 *   npm run test:mutation                      all parts, for hours
 *   npm run test:mutation -- risk next-step    some parts
 */
import { parseArgs } from "node:util";
import { MUTATION_PARTS, selectParts } from "#mutation/parts";
import { formatScore, getScore, storeResult } from "#mutation/results";
import { runPart } from "#mutation/run-part";

/** The minimum share of killed mutants. */
const GOAL = 0.85;

try {
  for (const name of selectParts(parseArgs({ allowPositionals: true }).positionals)) {
    console.log(`${name}: ${MUTATION_PARTS[name].aim}`);
    const result = await runPart(name, MUTATION_PARTS[name]);
    storeResult(name, result, MUTATION_PARTS);
    console.log(`${name}: ${formatScore(result)} killed, ${result.survivors.length} survived.`);
    if (getScore(result) < GOAL) process.exitCode = 1;
  }
  console.log("See test/mutation/results.md.");
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
