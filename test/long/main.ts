/**
 * `npm run test:long`: runs the long matrices in full, in shards, one shard per core at a time. A journal stores what
 * has passed, so a stopped run continues where it left off; results.md shows the progress.
 *
 *   npm run test:long                      all parts, for hours: those with the least progress first
 *   npm run test:long -- kills faults      some parts
 *   npm run test:long -- kills:40          one case, or a shard (kills:40+10), shown as by `npm test` and not stored
 *   EMAIL_SECURITY_TEST_SEED=2 npm run …   with other sequences, and cases in another order
 */
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { getCacheDirectory } from "pulumi-email-security/engine";
import { ShardJournal } from "#long/journal";
import { PARTS, type PartName } from "#long/parts";
import { formatMatrixResults } from "#long/results";
import { runShards } from "#long/run";
import { showShard } from "#long/run-shard";
import { parseShardSelection } from "#long/shards";

const RESULTS = fileURLToPath(new URL("results.md", import.meta.url));

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { parts, shards } = parseShardSelection(parseArgs({ allowPositionals: true }).positionals);
  const seed = Number(process.env["EMAIL_SECURITY_TEST_SEED"] ?? 1);
  if (!Number.isInteger(seed)) throw new Error("EMAIL_SECURITY_TEST_SEED isn't a whole number. Nothing was run.");
  for (const shard of shards) {
    if ((await showShard(shard, PARTS[shard.part as PartName], seed)) !== 0) process.exitCode = 1;
  }
  if (parts.length === 0) return;

  const journal = new ShardJournal(join(getCacheDirectory(), "long", "journal.json"));
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => stopping.abort());
  const { passed, failed, remaining } = await runShards(Object.fromEntries(parts.map((name) => [name, PARTS[name]])), {
    seed,
    journal,
    concurrency: availableParallelism(),
    log: (line) => console.log(line),
    onKept: () => writeFileSync(RESULTS, formatMatrixResults(PARTS, journal.readEntries())),
    signal: stopping.signal,
  });
  console.log(`${passed} shards have passed, ${failed} have failed, ${remaining} are left. See test/long/results.md.`);
  if (remaining > 0) console.log("`npm run test:long` continues.");
  if (failed + remaining > 0) process.exitCode = 1;
}
