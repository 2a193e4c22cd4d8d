import type { RedTest, StressOutcome } from "#stress/outcome";
import { formatCommand, getRunKey, type StressRun, TIER_NAMES } from "#stress/runs";
import { formatTable, formatWhole } from "../bench/table.ts";
import { formatSeconds, quoteMarkdown } from "../long/results.ts";

/** The result of a run. */
export interface StressResult extends StressRun, StressOutcome {
  /** The number of busy threads, and of runs at once. */
  readonly load: number;
  readonly concurrency: number;
  /** A digest of all the files under test. */
  readonly sources: string;
  /** The commit, with a `+` if uncommitted files were tested. */
  readonly commit: string;
  readonly date: string;
  readonly seconds: number;
  /** Files in the directory for temporary files after the run, and processes that outlived it. */
  readonly leftovers: readonly string[];
}

const HEAD = `# Results of the stress tests

Written by \`npm run test:stress\`. It runs a tier of the tests several times, each time with the files in another order, while other threads keep
the cores busy. The column "load" counts the busy threads and the runs at once. The environment \`relocated\` has another home directory, another
directory for temporary files, the Turkish locale and the time zone of Chatham. In \`clock\`, the clock of Node.js jumps by minutes, forth and back.
A \`+\` after the commit means a work tree with changes on top of it.`;

/** Formats the results as Markdown: one row for each run, and one section for each red test. */
export function formatStressResults(results: readonly StressResult[]): string {
  const sorted = results.toSorted(
    (a, b) =>
      TIER_NAMES.indexOf(a.tier) - TIER_NAMES.indexOf(b.tier) ||
      a.number - b.number ||
      (getRunKey(a) < getRunKey(b) ? -1 : 1),
  );
  const head =
    "run, tier, files, seed, environment, load, commit, date, passed, failed, time, left behind, red tests".split(", ");
  const rows = sorted.map((result) => [
    String(result.number),
    result.tier,
    result.files.join(" "),
    String(result.seed),
    result.environment,
    `${result.load}, ${result.concurrency}`,
    `\`${result.commit}\``,
    result.date,
    formatWhole(result.passed),
    formatWhole(result.failed),
    formatSeconds(result.seconds),
    result.leftovers.map(escapeCell).join(", "),
    result.red.map(({ name }) => escapeCell(name)).join(", "),
  ]);
  const sections = formatRedTests(sorted);
  const redSection = sections.length === 0 ? [] : ["## Red tests", ...sections];
  return `${[HEAD, formatTable(head, rows, head.length), ...redSection].join("\n\n")}\n`;
}

function formatRedTests(results: readonly StressResult[]): string[] {
  const all = results.flatMap((run) => run.red.map((test) => ({ run, test })));
  return [...Map.groupBy(all, ({ test }) => test.name)].map(([name, redTests]) => {
    const [first] = redTests as [{ readonly run: StressResult; readonly test: RedTest }];
    const runs = redTests.map(({ run }) => `${run.tier} ${run.number} (${run.environment})`).join(", ");
    const command = formatCommand(first.run, first.test.file === undefined ? undefined : [first.test.file]);
    return `### ${name}\n\nRed in ${runs}. To repeat it, run \`${command}\`:\n\n${quoteMarkdown(first.test.message)}`;
  });
}

function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ");
}
