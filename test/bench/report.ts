import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Point, writeGraph } from "#bench/graphs";
import type { MachineFacts } from "#bench/machine";
import type { Observation, Operation } from "#bench/measurement";
import { buildMeasurementRows, computeRatio, groupItems, type MeasurementRow } from "#bench/measurement-rows";
import { getFloorPeer, peers } from "#bench/peers";
import { formatDecimal, formatTable, formatWhole } from "#bench/table";
import { evaluateTargets, type TargetResult } from "#bench/targets";

const RESULTS = fileURLToPath(new URL("results.md", import.meta.url));
const README = fileURLToPath(new URL("../../README.md", import.meta.url));
const PAGE = fileURLToPath(new URL("../../docs/reference/speed.md", import.meta.url));
/** The operations that have no column in the main table. */
const APART: readonly Operation[] = ["import", "start", "lint", "plan"];
const PROVIDERS = /(<!-- bench-providers:start -->\n)[\s\S]*?(<!-- bench-providers:end -->)/;
const BRIEF = /(<!-- bench-brief:start -->\n)[\s\S]*?(<!-- bench-brief:end -->)/;
const MARKED = /(<!-- bench:start -->\n)[\s\S]*?(<!-- bench:end -->)/;

/** The peers whose rows the README shows, each with its number of entries. */
const BRIEF_PEERS: ReadonlyMap<string, number> = new Map([
  ["floor", 5_000],
  ["list", 5_000],
  ["nothing-entries", 2_000],
  ["entries", 2_000],
  ["naive", 2_000],
]);

/** The results, as Markdown. */
export interface BenchReport {
  /** One row per peer, for the docs. */
  readonly main: string;
  /** The subset of rows that the README shows. */
  readonly brief: string;
  /** The time of a list by its number of entries, in seconds. */
  readonly growth: readonly Point[];
  readonly all: string;
}

export function renderReport(observations: readonly Observation[], facts: MachineFacts, runs: number): BenchReport {
  const rows = buildMeasurementRows(observations).toSorted((a, b) => getPlace(a.peer) - getPlace(b.peer));
  const isGrowth = ({ peer }: MeasurementRow): boolean => peer === "growth" || peer === "native-growth";
  const rest = rows.filter((row) => !isGrowth(row));
  const operations = rest.filter(({ operation }) => !APART.includes(operation));
  const main = `${mainTable(operations)}\n\n${formatFacts(facts)}`;
  const briefTable = mainTable(operations.filter(({ peer, count }) => BRIEF_PEERS.get(peer) === count));
  const brief = `${briefTable}\n\n${facts.date}, commit ${facts.commit}.`;
  const parts = [
    "# Benchmark results",
    formatExplanation(runs),
    main,
    "## Targets",
    renderTargets(evaluateTargets(rows)),
    "## Every measurement",
    renderRows(rest),
    ...renderGrowth(rows.filter(isGrowth)),
    ...renderFailures(observations),
  ];
  return { main, brief, growth: listGrowthPoints(rows.filter(isGrowth)), all: `${parts.join("\n\n")}\n` };
}

function formatExplanation(runs: number): string {
  return [
    `Written by \`npm run bench\`. Every operation is a command of the real engine, with \`--skip-preview\` and a file backend. It has a new stack and a
new sandbox, which is a separate process. Times are from the start to the end of the command: the median of ${runs} runs, in which the peers take
turns. Operations that take minutes run once, as the tables show.`,
    `- **The floor** is the same command on a program with one resource that does nothing, plus the same requests alone, 16 at a time.
- **A minimal dynamic provider** follows Pulumi's documentation, with one resource per entry. The service can't look up one entry by its id, so
  its \`read\` searches the list.
- **Terraform** also has one resource per entry. Its provider must read one entry, so the sandbox gets an additional endpoint that the service
  doesn't have. Its "first up" is an apply, and its \`up\` with nothing to do is a plan.
- **State** is the size that one more entry adds: exported without white space, and in the backend's file.
- **MB** is the peak memory of the provider, or of the command if no provider runs.`,
  ].join("\n\n");
}

/** Renders the comparison of the dynamic provider and the native plugin, for the docs. */
export function renderProvidersReport(observations: readonly Observation[], facts: MachineFacts, runs: number): string {
  const rows = buildMeasurementRows(observations).toSorted((a, b) => getPlace(a.peer) - getPlace(b.peer));
  const formatMedian = (row: MeasurementRow): string => row.seconds?.median.toFixed(2) ?? "";
  const alone = rows
    .filter(({ operation }) => APART.includes(operation))
    .map((row) => [
      getTitle(row.peer),
      row.operation === "start" ? "" : formatWhole(row.count),
      `${formatMedian(row)} s${row.requests === undefined ? "" : `, ${row.requests.reads} requests`}`,
    ]);
  return [
    mainTable(rows.filter(({ operation, peer }) => !APART.includes(operation) && peer !== "native-import")),
    formatTable(["", "entries", "time"], alone),
    `The median of ${runs}. ${formatFacts(facts)}`,
    ...renderFailures(observations),
  ].join("\n\n");
}

/** Writes the docs' table that compares the dynamic provider and the native plugin. */
export async function writeProvidersReport(providers: string): Promise<void> {
  await rewritePage(PROVIDERS, providers);
}

/**
 * Writes results.md, the main table between the markers of the docs' page, its graph, and the README's subset of rows.
 */
export async function writeReport({ main, brief, growth, all }: BenchReport): Promise<void> {
  await writeFile(RESULTS, all);
  await rewritePage(MARKED, main);
  await writeGraph("list-growth", growth, { x: "entries", y: "seconds", scale: "linear" });
  const readme = await readFile(README, "utf8");
  const updated = readme.replace(BRIEF, (_all, start: string, end: string) => `${start}${brief}\n${end}`);
  if (updated !== readme) await writeFile(README, updated);
}

async function rewritePage(marked: RegExp, text: string): Promise<void> {
  const page = await readFile(PAGE, "utf8");
  const updated = page.replace(marked, (_all, start: string, end: string) => `${start}${text}\n${end}`);
  if (updated !== page) await writeFile(PAGE, updated);
}

function mainTable(rows: readonly MeasurementRow[]): string {
  const programs = groupItems(rows, ({ peer, count }) => JSON.stringify([count, peer]));
  const lines = programs.map((programRows) => {
    const formatCell = (operation: Operation, show: (row: MeasurementRow) => string): string => {
      const row = programRows.find((measurementRow) => measurementRow.operation === operation);
      return row ? show(row) : "";
    };
    const formatTime = (row: MeasurementRow): string => (row.seconds ? `${formatDecimal(row.seconds.median)} s` : "");
    const [{ peer, count } = { peer: "", count: 0 }] = programRows;
    return {
      count,
      cells: [
        getTitle(peer),
        formatWhole(count),
        formatCell("first up", formatTime),
        formatCell("no-op up", formatTime),
        formatCell("looking up", formatTime),
        formatCell("refresh", (row) => `${formatTime(row)}, ${formatWhole(row.requests?.reads ?? 0)}`),
        formatCell("state", (row) => `${formatWhole(row.stateAnEntry?.compactBytes ?? 0)} bytes`),
      ],
    };
  });
  return formatTable(
    ["", "entries", "first `up`", "no-op `up`", "with `refresh: always`", "`refresh`, requests", "state per entry"],
    lines.toSorted((a, b) => b.count - a.count).map(({ cells }) => cells),
  );
}

function renderRows(rows: readonly MeasurementRow[]): string {
  const formatRatio = (ratio: number | undefined): string => (ratio === undefined ? "" : `${ratio.toFixed(2)} ×`);
  return formatTable(
    [
      "peer",
      "what",
      "entries",
      "runs",
      "seconds",
      "spread",
      "floor",
      "minimal",
      "reads",
      "writes",
      "bytes",
      "in file",
      "MB",
    ],
    rows.map((row) => [
      getTitle(row.peer),
      `${row.operation}${row.variant ? `, ${row.variant}` : ""}`,
      formatWhole(row.count),
      String(row.runs),
      row.seconds ? row.seconds.median.toFixed(2) : "",
      row.seconds && row.runs > 1 ? `${row.seconds.min.toFixed(2)} to ${row.seconds.max.toFixed(2)}` : "",
      formatRatio(row.peer === "terraform" ? undefined : computeRatio(getFloorPeer(row.peer), row, rows)),
      formatRatio(computeRatio("naive", row, rows)),
      row.requests ? formatWhole(row.requests.reads) : "",
      row.requests ? formatWhole(row.requests.writes) : "",
      row.stateAnEntry ? formatWhole(row.stateAnEntry.compactBytes) : "",
      row.stateAnEntry ? formatWhole(row.stateAnEntry.fileBytes) : "",
      row.peakBytes ? formatWhole(row.peakBytes / 1e6) : "",
    ]),
    2,
  );
}

function renderGrowth(rows: readonly MeasurementRow[]): string[] {
  if (rows.length === 0) return [];
  const operations: Operation[] = ["first up", "no-op up", "refresh", "three changes"];
  const lines = groupItems(rows, ({ peer, count }) => JSON.stringify([peer, count])).map((sizeRows) => {
    const { peer = "", count = 0 } = sizeRows[0] ?? {};
    const cells = operations.map((operation) => {
      const { seconds, peakBytes } = sizeRows.find((row) => row.operation === operation) ?? {};
      if (seconds === undefined) return "";
      const memory = peakBytes === undefined ? "" : `, ${formatWhole(peakBytes / 1e6)} MB`;
      return `${formatDecimal(seconds.median)} s${memory}`;
    });
    return [getTitle(peer), formatWhole(count), ...cells];
  });
  const head = ["", "entries", ...operations.map((operation) => `\`${operation}\`, the provider's memory`)];
  return ["## How one list grows", formatTable(head, lines)];
}

const GROWTH: ReadonlyMap<Operation, string> = new Map([
  ["first up", "first up"],
  ["no-op up", "nothing to do"],
  ["refresh", "refresh"],
]);

function listGrowthPoints(rows: readonly MeasurementRow[]): Point[] {
  return rows.flatMap(({ peer, operation, count, seconds }) => {
    const growthLabel = GROWTH.get(operation);
    if (growthLabel === undefined || seconds === undefined) return [];
    return { line: peer === "growth" ? growthLabel : `${growthLabel}, native plugin`, x: count, y: seconds.median };
  });
}

function renderTargets(verdicts: readonly TargetResult[]): string {
  return formatTable(
    ["target", "at most", "measured", ""],
    verdicts.map(({ label, limit, unit, measured }) => [
      label,
      `${formatNumber(limit)} ${unit}`,
      measured === undefined ? "" : formatNumber(measured),
      measured === undefined ? "not measured" : measured <= limit ? "met" : "MISSED",
    ]),
  );
}

function formatNumber(value: number): string {
  return value < 10 ? value.toFixed(2) : formatWhole(value);
}

function renderFailures(observations: readonly Observation[]): string[] {
  const failed = observations.flatMap((observation) => ("failure" in observation ? [observation] : []));
  if (failed.length === 0) return [];
  const formatFailure = ({ peer, failure }: (typeof failed)[number]): string => {
    const lines = failure.split("\n").map((text) => text.trim());
    return `- ${getTitle(peer)}: ${lines.findLast((text) => /error\b/i.test(text)) ?? lines.join(" ")}`;
  };
  return ["## What could not be measured", [...new Set(failed.map(formatFailure))].join("\n")];
}

function getPlace(name: string): number {
  return peers.findIndex((peer) => peer.name === name);
}

function getTitle(name: string): string {
  return peers.find((peer) => peer.name === name)?.title ?? name;
}

function formatFacts({ date, commit, cpu, cores, memoryGb, system, node, pulumi }: MachineFacts): string {
  return `${date}, commit ${commit}; ${cpu}, ${cores} cores, ${memoryGb} GB; ${system}; Node.js ${node}; Pulumi ${pulumi}.`;
}
