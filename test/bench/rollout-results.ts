import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Point, writeGraph } from "#bench/graphs";
import type { MachineFacts } from "#bench/machine";
import { simulateRollout, USUAL } from "#bench/rollout-simulation";
import type { RolloutMeasurement } from "#bench/rollouts";
import { formatDecimal, formatTable, formatWhole } from "#bench/table";
import { chooseNextStep } from "../../provider/dist/rollout/model/next-step.js";

const RESULTS = fileURLToPath(new URL("rollouts.md", import.meta.url));
const PAGE = fileURLToPath(new URL("../../docs/reference/speed.md", import.meta.url));
const MARKED = /(<!-- bench-rollouts:start -->\n)[\s\S]*?(<!-- bench-rollouts:end -->)/;

interface StoredResults {
  readonly facts: MachineFacts;
  readonly entries: number;
  /** Whether to write the results to rollouts.md and between the markers of the docs' page. */
  readonly isKept: boolean;
}

/** Prints the measurements, and writes them if requested. */
export async function writeRolloutResults(
  measurements: readonly RolloutMeasurement[],
  { facts, entries, isKept }: StoredResults,
): Promise<void> {
  const { date, commit, cpu, cores, memoryGb, system, node, pulumi } = facts;
  const machine = `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}, Node.js ${node}, Pulumi ${pulumi}, ${date}, commit ${commit}. ${formatWhole(entries)} entries a tenant; file backend, SQLite journal.`;
  const main = `${renderResults(measurements)}\n\n${machine}`;
  const all = `# Cost of a rollout\n\n${EXPLANATION}\n\n${main}\n`;
  console.log(`\n${all}`);
  if (!isKept) return;
  await writeFile(RESULTS, all);
  const axes = { x: "tenants", y: "seconds", scale: "log" } as const;
  await writeGraph("rollout-growth", listRolloutPoints(measurements, facts.cores), axes);
  const page = await readFile(PAGE, "utf8");
  await writeFile(
    PAGE,
    page.replace(MARKED, (_all, start: string, end: string) => `${start}${main}\n${end}`),
  );
}

/** The concurrency for measurements of growth. On a machine with two cores, a higher one isn't faster. */
export const AT_ONCE = 2;
/** Fleet sizes beyond the measured ones, simulated in virtual time. */
const SIMULATED = [1_000, 3_000, 10_000];

/**
 * Returns how the time of rollouts grows with the number of tenants: measured points, then simulated ones based on the
 * measured time per tenant.
 */
function listRolloutPoints(measurements: readonly RolloutMeasurement[], cores: number): Point[] {
  const listMeasured = (label: RolloutMeasurement["label"]): readonly RolloutMeasurement[] =>
    measurements
      .filter(
        (measurement) =>
          measurement.way === "rollout" && measurement.label === label && measurement.concurrent === AT_ONCE,
      )
      .toSorted((a, b) => a.tenants - b.tenants);
  const [unchangedRuns, changedRuns] = [listMeasured("nothing to do"), listMeasured("one new deny each")];
  const lookMs = computeMsPerTenant(unchangedRuns);
  const changeMs = Math.max(1, computeMsPerTenant(changedRuns) - lookMs);
  const places = Math.min(AT_ONCE, cores);
  const parameters = { ...USUAL, cores, concurrent: AT_ONCE, requestsPerSecond: 1e6, latencyMs: 0 };
  const work = {
    exportCpuMs: lookMs * places,
    engineCpuMs: changeMs * places,
    engineWallMs: changeMs * places,
  };
  return [unchangedRuns, changedRuns].flatMap((rows) => {
    const line = rows[0]?.label ?? "";
    const points = rows.map(({ tenants, seconds }) => ({ line, x: tenants, y: seconds }));
    const largest = points.at(-1);
    if (largest === undefined) return [];
    const simulated = SIMULATED.filter((tenants) => tenants > largest.x).map((tenants) => {
      const { planningMs, changingMs } = simulateRollout(chooseNextStep, { ...parameters, ...work, tenants });
      const ms = rows === unchangedRuns ? planningMs : planningMs + changingMs;
      return { line, x: tenants, y: ms / 1_000 };
    });
    return [...points, ...[largest, ...simulated].map((item) => ({ ...item, isSimulated: true }))];
  });
}

/**
 * Returns the time that one more tenant takes, from the difference between the smallest and the largest fleet, which
 * excludes the fixed cost of a rollout.
 */
function computeMsPerTenant(rows: readonly RolloutMeasurement[]): number {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return 0;
  const [seconds, tenants] =
    first === last ? [last.seconds, last.tenants] : [last.seconds - first.seconds, last.tenants - first.tenants];
  return (1_000 * seconds) / tenants;
}

const EXPLANATION = `Written by \`npm run bench:rollouts -- --write\`. A rollout is the command \`email-security rollout --yes\`, from its start to its end. It
reads the keys, the state and the lists of all tenants, and changes differences through the engine. The readings alone are reads of all lists
by a separate process, with the same concurrency. The loop is \`xargs -P N pulumi up --yes --skip-preview --refresh\` over the same stacks, with a
plain JavaScript program. Memory is the peak of all processes together (proportional set size), without the sandbox.`;

function renderResults(measurements: readonly RolloutMeasurement[]): string {
  const rows = measurements
    .filter(({ way }) => way === "rollout")
    .map((measurement) => {
      const [loop, readings] = (["loop", "readings"] as const).map((way) =>
        measurements.find(
          (other) =>
            other.way === way &&
            other.label === measurement.label &&
            other.tenants === measurement.tenants &&
            other.concurrent === measurement.concurrent,
        ),
      );
      const formatMegabytesIfKnown = (bytes: number | undefined): string =>
        bytes === undefined ? "" : `${formatWhole(bytes / 1e6)} MB`;
      return [
        measurement.label,
        formatWhole(measurement.tenants),
        formatWhole(measurement.concurrent),
        `${formatDecimal(measurement.seconds)} s`,
        `${formatWhole(measurement.requests.reads)} + ${formatWhole(measurement.requests.writes)}`,
        `${formatMegabytesIfKnown(measurement.memory?.all)} (${formatMegabytesIfKnown(measurement.memory?.coordinator)})`,
        readings === undefined ? "" : `${formatDecimal(readings.seconds)} s`,
        readings === undefined ? "" : `${(measurement.seconds / readings.seconds).toFixed(2)}×`,
        loop === undefined ? "" : `${formatDecimal(loop.seconds)} s`,
        loop === undefined ? "" : `${formatWhole(loop.requests.reads)} + ${formatWhole(loop.requests.writes)}`,
        loop === undefined ? "" : `${formatDecimal(loop.seconds / measurement.seconds)}×`,
      ];
    });
  return formatTable(
    [
      "rollout",
      "tenants",
      "at once",
      "takes",
      "reads + writes",
      "memory (coordinator)",
      "the readings alone",
      "versus the readings",
      "the loop takes",
      "reads + writes",
      "ahead",
    ],
    rows,
  );
}
