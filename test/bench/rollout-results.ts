import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { MachineFacts } from "#bench/machine";
import type { RolloutMeasurement } from "#bench/rollouts";
import { decimal, table, whole } from "#bench/table";

const RESULTS = fileURLToPath(new URL("rollouts.md", import.meta.url));
const PAGE = fileURLToPath(new URL("../../docs/reference/speed.md", import.meta.url));
const MARKED = /(<!-- bench-rollouts:start -->\n)[\s\S]*?(<!-- bench-rollouts:end -->)/;

interface Kept {
  readonly facts: MachineFacts;
  readonly entries: number;
  /** Whether the results are kept: in rollouts.md, and between the marks of the docs' page. */
  readonly isKept: boolean;
}

/** Prints what was measured, and keeps it where that is asked for. */
export async function writeRolloutResults(
  measurements: readonly RolloutMeasurement[],
  { facts, entries, isKept }: Kept,
): Promise<void> {
  const { date, cpu, cores, memoryGb, system, node, pulumi } = facts;
  const machine = `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}, Node.js ${node}, Pulumi ${pulumi}, ${date}. ${whole(entries)} entries a tenant; file backend, SQLite journal.`;
  const main = `${resultTable(measurements)}\n\n${machine}`;
  const all = `# What a rollout costs\n\n${EXPLANATION}\n\n${main}\n`;
  console.log(`\n${all}`);
  if (!isKept) return;
  await writeFile(RESULTS, all);
  const page = await readFile(PAGE, "utf8");
  await writeFile(
    PAGE,
    page.replace(MARKED, (_all, start: string, end: string) => `${start}${main}\n${end}`),
  );
}

const EXPLANATION = `Written by \`npm run bench:rollouts -- --write\`. A rollout is \`email-security rollout --yes\` as a
command, from its start to its end: keys, state and lists of all tenants are read, and what differs is changed through the
engine. The loop is \`xargs -P N pulumi up --yes --skip-preview --refresh\` over the same stacks, with a plain JavaScript
program. Memory is the most that all processes together held (proportional set size), without the sandbox.`;

function resultTable(measurements: readonly RolloutMeasurement[]): string {
  const rows = measurements
    .filter(({ way }) => way === "rollout")
    .map((one) => {
      const loop = measurements.find(
        (other) =>
          other.way === "loop" &&
          other.what === one.what &&
          other.tenants === one.tenants &&
          other.concurrent === one.concurrent,
      );
      const megabytes = (bytes: number | undefined): string =>
        bytes === undefined ? "" : `${whole(bytes / 1e6)} MB`;
      return [
        one.what,
        whole(one.tenants),
        whole(one.concurrent),
        `${decimal(one.seconds)} s`,
        `${whole(one.requests.reads)} + ${whole(one.requests.writes)}`,
        `${megabytes(one.memory?.all)} (${megabytes(one.memory?.coordinator)})`,
        loop === undefined ? "" : `${decimal(loop.seconds)} s`,
        loop === undefined ? "" : `${whole(loop.requests.reads)} + ${whole(loop.requests.writes)}`,
        loop === undefined ? "" : `${decimal(loop.seconds / one.seconds)}×`,
      ];
    });
  return table(
    [
      "rollout",
      "tenants",
      "at once",
      "takes",
      "reads + writes",
      "memory (coordinator)",
      "the loop takes",
      "reads + writes",
      "ahead",
    ],
    rows,
  );
}
