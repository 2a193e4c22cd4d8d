import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { MutationPart } from "#mutation/parts";
import { formatTable, formatWhole } from "../bench/table.ts";
import { formatSeconds } from "../long/results.ts";

/** A mutant that no test noticed. */
export interface Survivor {
  readonly file: string;
  readonly line: number;
  readonly mutator: string;
  readonly replacement: string;
}

/** The result of a part's last complete run. */
export interface PartResult {
  readonly killed: number;
  readonly timedOut: number;
  /** The number of mutants that comments in the sources exclude. */
  readonly excluded: number;
  readonly survivors: readonly Survivor[];
  /** The commit, with a `+` if uncommitted files were tested. */
  readonly commit: string;
  readonly date: string;
  readonly seconds: number;
}

export type PartResults = Readonly<Record<string, PartResult>>;

const HEAD = `# Results of mutation testing

Written by \`npm run test:mutation\`. It changes the sources in one place at a time, and runs the tests of the part with each change (a mutant).
A mutant is killed if a test fails or exceeds its time limit. The score is the share of killed mutants; the goal is at least 85 %. A mutant is
excluded if it can't change the behaviour; a comment in the source gives the reason. Tests of the built package don't take part. A \`+\` after
the commit means a work tree with changes on top of it. A later run tests only mutants whose source or tests have changed, so its time is
shorter than that of a first run.`;

const DATA = fileURLToPath(new URL("results.json", import.meta.url));
const PAGE = fileURLToPath(new URL("results.md", import.meta.url));

/** Stores a part's result next to those of the other parts. */
export function storeResult(name: string, result: PartResult, parts: Readonly<Record<string, MutationPart>>): void {
  const results = { ...(JSON.parse(readFileSync(DATA, "utf8")) as PartResults), [name]: result };
  writeFileSync(DATA, `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(PAGE, formatMutationResults(parts, results));
}

/** Formats the results as Markdown: a row for each part, and a list of the surviving mutants. */
export function formatMutationResults(parts: Readonly<Record<string, MutationPart>>, results: PartResults): string {
  const rows = Object.entries(parts).map(([name, { aim }]) => [name, aim, ...formatCells(results[name])]);
  const head = ["part", "sources", "commit", "date", "time", "mutants", "killed", "survived", "excluded", "score"];
  const sections = Object.entries(parts).flatMap(([name, part]) =>
    formatSurvivors(name, part, results[name]?.survivors ?? []),
  );
  const survivorSection = sections.length === 0 ? [] : ["## Surviving mutants", ...sections];
  return `${[HEAD, formatTable(head, rows, 5), ...survivorSection].join("\n\n")}\n`;
}

/** Returns the share of mutants that were killed or exceeded a time limit. */
export function getScore({ killed, timedOut, survivors }: PartResult): number {
  const all = killed + timedOut + survivors.length;
  return all === 0 ? 1 : (killed + timedOut) / all;
}

export function formatScore(result: PartResult): string {
  // Rounded down, so that a missed goal never looks reached.
  return `${(Math.floor(getScore(result) * 1_000) / 10).toFixed(1)} %`;
}

function formatCells(result: PartResult | undefined): string[] {
  if (result === undefined) return ["not run", "", "", "", "", "", "", ""];
  const { commit, date, seconds, killed, timedOut, survivors, excluded } = result;
  const counts = [killed + timedOut + survivors.length, killed + timedOut, survivors.length, excluded];
  return [`\`${commit}\``, date, formatSeconds(seconds), ...counts.map(formatWhole), formatScore(result)];
}

function formatSurvivors(name: string, { survivorsReason }: MutationPart, survivors: readonly Survivor[]): string[] {
  if (survivors.length === 0) return [];
  const lines = survivors.map(
    ({ file, line, mutator, replacement }) => `    ${file}:${line}  ${mutator}  ${shorten(replacement)}`,
  );
  return [`### ${name}`, ...(survivorsReason === undefined ? [] : [survivorsReason]), lines.join("\n")];
}

function shorten(code: string): string {
  const text = code.replaceAll(/\s+/g, " ").trim();
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`;
}
