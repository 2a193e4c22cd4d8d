import { findLastResult, type ShardResult } from "#long/journal";
import type { Part } from "#long/parts";
import { countCases, sumNumbers } from "#long/schedule";
import { listShards } from "#long/shards";
import { formatTable, formatWhole } from "../bench/table.ts";

const HEAD = `# Results of the long test matrices

Written by \`npm run test:long\`. It runs the matrices in shards, and continues where it was stopped. It repeats shards that failed, and shards
that passed with other sources than the current ones. \`npm test\` runs a sample of each matrix. The table counts the cases that passed, with
the commit of their last run; a \`+\` means a work tree with changes on top of that commit. The seed determines the order of the cases, so an
incomplete part has cases from the whole matrix. Times are for one core, with two runs at once on two cores.`;

/** Formats the results as Markdown: one row for each part and seed, by the last run of each shard. */
export function formatMatrixResults(parts: Readonly<Record<string, Part>>, entries: readonly ShardResult[]): string {
  const rows: string[][] = [];
  const failures: string[] = [];
  for (const [name, part] of Object.entries(parts)) {
    const seeds = [...new Set(entries.filter((entry) => entry.part === name).map(({ seed }) => seed))];
    for (const seed of seeds.length === 0 ? [undefined] : seeds.sort((a, b) => a - b)) {
      const run = listShards(name, part).flatMap((shard) =>
        seed === undefined ? [] : (findLastResult(shard, { entries, seed, caseCount: part.cases }) ?? []),
      );
      const failed = run.flatMap((entry) => entry.failures.map((failure) => ({ ...failure, entry })));
      rows.push([
        name,
        part.aCase,
        `${formatWhole(sumNumbers(run.map(({ done }) => done)))} of ${formatWhole(part.cases)}`,
        seed === undefined ? "" : String(seed),
        formatCommits(run),
        [...new Set(run.map(({ date }) => date))].sort().join(", "),
        formatSeconds(sumNumbers(run.map(({ seconds }) => seconds))),
        failed.length === 0 ? "" : String(failed.length),
      ]);
      for (const { again, name: partName, message, entry } of failed) {
        const command = `EMAIL_SECURITY_TEST_SEED=${entry.seed} npm run test:long -- ${again}`;
        failures.push(
          `### ${partName}\n\nAt \`${entry.commit}\`; to repeat it, run \`${command}\`:\n\n${quoteMarkdown(message)}`,
        );
      }
    }
  }
  const head = ["part", "one case", "cases", "seed", "commit", "date", "time", "failures"];
  const failureSection = failures.length === 0 ? [] : ["## Failures", ...failures];
  return `${[HEAD, formatTable(head, rows, head.length), ...failureSection].join("\n\n")}\n`;
}

/** Formats the commits, each with its number of cases if there are several. */
function formatCommits(run: readonly ShardResult[]): string {
  const byCommit = [...Map.groupBy(run, ({ commit }) => commit)];
  return byCommit
    .map(([commit, all]) => `\`${commit}\`${byCommit.length === 1 ? "" : ` ${formatWhole(countCases(all))}`}`)
    .join(", ");
}

/** Formats a duration: `35 s`, `1.7 min`, `12 min`, `3.4 h` */
export function formatSeconds(seconds: number): string {
  if (seconds === 0) return "";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = seconds / 60;
  if (minutes < 90) return `${minutes < 10 ? minutes.toFixed(1) : Math.round(minutes)} min`;
  return `${(minutes / 60).toFixed(1)} h`;
}

/** Quotes the message so that Markdown doesn't interpret it. */
export function quoteMarkdown(message: string): string {
  return message.replace(/^/gm, "    ");
}
