/**
 * `npm run test:stress`: runs the tests many times on a busy machine, in other environments and orders, and records each
 * red test. A stopped run continues where it left off; results.md shows the results.
 *
 *   npm run test:stress                                      20 runs of both tiers, for days
 *   npm run test:stress -- --runs 4 --tier test test/unit    some files of one tier, once in each environment
 *
 * --tier          `test` (`npm test`) or `all` (`npm run test:all`); may be repeated
 * --runs          the number of runs of each tier
 * --from          the number of the first run; a run's number is its seed, and selects its environment
 * --environment   `default`, `relocated`, `clock` or `relocated+clock`; may be repeated
 * --concurrency   the number of runs at once; default: 2
 * --load          the number of busy threads; default: one per core
 */
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getCacheDirectory } from "pulumi-email-security/engine";
import { CpuLoad } from "#stress/cpu-load";
import { formatStressResults, type StressResult } from "#stress/results";
import { runAll } from "#stress/run";
import { getRunKey, listRuns, parseOptions } from "#stress/runs";
import { ResultsFile } from "../long/results-file.ts";

const PAGE = fileURLToPath(new URL("results.md", import.meta.url));

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2), availableParallelism());
  const journal = new ResultsFile<StressResult>(join(getCacheDirectory(), "stress", "journal.json"), getRunKey);
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => stopping.abort());
  await using _load = new CpuLoad(options.load);
  const { green, red, remaining } = await runAll(listRuns(options), {
    ...options,
    journal,
    log: (line) => console.log(line),
    onResult: () => writeFileSync(PAGE, formatStressResults(journal.readEntries())),
    signal: stopping.signal,
  });
  console.log(`${green} runs were green, ${red} were red, ${remaining} are left. See test/stress/results.md.`);
  if (red + remaining > 0) process.exitCode = 1;
}
