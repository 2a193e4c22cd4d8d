/**
 * `npm run bench:rollouts` measures the cost of a rollout over many tenants, next to a shell loop of plain `pulumi up`
 * with the same parallelism. Both use the real engine and one sandbox for all tenants, in its own process. A rollout
 * with nothing to do is also compared with only reading all tenants.
 *
 *   npm run bench:rollouts                                      everything, about two hours; only printed, unless
 *   `--write` is given
 *   npm run bench:rollouts -- --tenants 10 --concurrent 2       a part, only printed
 *   npm run bench:rollouts -- --tenants 300 --loops 2           the loop at some parallelisms only
 *   npm run bench:rollouts -- --tenants 10 --unchanged 300      for 300 tenants, only the first rollout, those with
 *   nothing to do, and
 *                                                               one that changes each tenant
 */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { requireEngine } from "pulumi-email-security/engine";
import { run, stopCommands } from "#bench/command";
import { collectMachineFacts } from "#bench/machine";
import { watchTree } from "#bench/memory";
import { buildPlainEnvironment } from "#bench/pulumi-project";
import { AT_ONCE, writeRolloutResults } from "#bench/rollout-results";
import { BenchService, formatTenantName, type Requests } from "#bench/service";

const { values } = parseArgs({
  options: {
    tenants: { type: "string", default: "10,30,300" },
    entries: { type: "string", default: "500" },
    concurrent: { type: "string", default: "1,2,4,8" },
    loops: { type: "string" },
    unchanged: { type: "string" },
    "unchanged-loops": { type: "string" },
    date: { type: "string", default: new Date().toISOString().slice(0, 10) },
    write: { type: "boolean", default: false },
  },
});
const sizes = parseNumbers(values.tenants);
const [entries = 500] = parseNumbers(values.entries);
const concurrencies = parseNumbers(values.concurrent);
const loops = values.loops === undefined ? concurrencies : parseNumbers(values.loops);
const unchangedSizes = values.unchanged === undefined ? [] : parseNumbers(values.unchanged);
const unchangedLoops = values["unchanged-loops"] === undefined ? loops : parseNumbers(values["unchanged-loops"]);

/** One measurement of a rollout, the shell loop, or the reads alone. */
export interface RolloutMeasurement {
  readonly way: "rollout" | "loop" | "readings";
  readonly label: "first" | "nothing to do" | "one new deny each";
  readonly tenants: number;
  readonly concurrent: number;
  readonly seconds: number;
  readonly requests: Requests;
  /** Peak memory of the coordinator, and of all processes together, in bytes. Undefined if there is no /proc. */
  readonly memory: { readonly coordinator: number; readonly all: number } | undefined;
}

const READINGS = fileURLToPath(new URL("read-lists.ts", import.meta.url));

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stopCommands);

const measurements: RolloutMeasurement[] = [];
// Determined before the measurements, so that commits made meanwhile don't count.
const facts = await collectMachineFacts(values.date);
const engine = await requireEngine();
const cli = createRequire(import.meta.url)
  .resolve("pulumi-email-security/package.json")
  .replace(/package\.json$/, "dist/commands/main.js");
for (const tenants of sizes) await measureFleet(tenants, concurrencies, loops);
for (const tenants of unchangedSizes) await measureFleet(tenants, [AT_ONCE], unchangedLoops);
await writeRolloutResults(measurements, { facts, entries, isKept: values.write });

/** @param changedAt the concurrencies at which each tenant is also changed */
async function measureFleet(tenants: number, changedAt: readonly number[], loopsAt: readonly number[]): Promise<void> {
  await using service = await BenchService.start({ tenants });
  const directory = await mkdtemp(join(tmpdir(), "email-security-bench-"));
  try {
    const names = Array.from({ length: tenants }, (_, index) => formatTenantName(index));
    const env = await writeProject(directory, names, service.url);
    const recordRollout = async (
      way: RolloutMeasurement["way"],
      label: RolloutMeasurement["label"],
      concurrent: number,
      command: string,
      args: readonly string[],
    ): Promise<void> => {
      const before = await service.countRequests();
      const watch = watchTree();
      const { seconds } = await run(command, args, { cwd: directory, env });
      const memory = watch?.stop();
      const after = await service.countRequests();
      const requests = { reads: after.reads - before.reads, writes: after.writes - before.writes };
      measurements.push({ way, label, tenants, concurrent, seconds, requests, memory });
      console.log(
        `${way} ${label}: ${tenants} tenants, ${concurrent} at once: ${seconds.toFixed(1)} s, ${requests.reads} reads, ${requests.writes} writes, ${((memory?.all ?? 0) / 1e6).toFixed(0)} MB (${((memory?.coordinator ?? 0) / 1e6).toFixed(0)} MB the coordinator)`,
      );
    };
    const buildRolloutCommand = (concurrent: number): string[] => [
      cli,
      "rollout",
      "--yes",
      "--max-concurrent",
      String(concurrent),
      "--events",
    ];
    const buildLoopCommand = (concurrent: number): string[] => [
      "-c",
      `printf '%s\\n' ${names.join(" ")} | xargs -P ${concurrent} -I NAME sh -c 'EMAIL_SECURITY_API_KEY=sandbox-NAME-ci pulumi up --yes --skip-preview --refresh --stack NAME >/dev/null'`,
    ];
    await recordRollout("rollout", "first", 2, process.execPath, buildRolloutCommand(2));
    let denies = 0;
    for (const concurrent of concurrencies) {
      await recordRollout("rollout", "nothing to do", concurrent, process.execPath, buildRolloutCommand(concurrent));
      await recordRollout("readings", "nothing to do", concurrent, process.execPath, [READINGS, String(concurrent)]);
      if (loopsAt.includes(concurrent)) {
        await recordRollout("loop", "nothing to do", concurrent, "sh", buildLoopCommand(concurrent));
      }
      if (!changedAt.includes(concurrent)) continue;
      await writeGrownBaseline(directory, ++denies);
      await recordRollout(
        "rollout",
        "one new deny each",
        concurrent,
        process.execPath,
        buildRolloutCommand(concurrent),
      );
      if (!loopsAt.includes(concurrent)) continue;
      await writeGrownBaseline(directory, ++denies);
      await recordRollout("loop", "one new deny each", concurrent, "sh", buildLoopCommand(concurrent));
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Writes a project that works both for `pulumi up` on each stack and for a rollout over all of them. Returns the
 * environment for the commands.
 */
async function writeProject(directory: string, names: readonly string[], url: string): Promise<NodeJS.ProcessEnv> {
  await mkdir(join(directory, "settings"));
  await mkdir(join(directory, ".state"));
  await symlink(resolve("node_modules"), join(directory, "node_modules"));
  await writeGrownBaseline(directory, 0);
  for (const name of names) {
    await writeFile(
      join(directory, "settings", `${name}.yaml`),
      `version: 1\ninclude: [baseline.yaml]\ndeny:\n  - only-${name}.example\n`,
    );
  }
  const program = `const { getStack } = require("@pulumi/pulumi");
const { TenantSettings } = require("pulumi-email-security");
new TenantSettings(getStack(), { file: \`settings/\${getStack()}.yaml\` });
`;
  const files = {
    "Pulumi.yaml": "name: bench\nruntime:\n  name: nodejs\n  options: { typescript: false }\n",
    "package.json": '{ "name": "bench", "private": true, "main": "index.js" }',
    "index.js": program,
    "tenants.yaml": [
      "version: 1",
      "defaults:",
      `  baseUrl: ${url}`,
      '  key: { environment: "{NAME}_KEY" }',
      "  settings: settings/{name}.yaml",
      "tenants:",
      ...names.map((name) => `  ${name}: {}`),
      "waves:",
      "  - { name: all, maxConcurrent: 1 }",
      "",
    ].join("\n"),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return {
    ...buildPlainEnvironment(engine),
    ...Object.fromEntries(names.map((name) => [`${name.toUpperCase()}_KEY`, `sandbox-${name}-ci`])),
    EMAIL_SECURITY_KEY_VARIABLES: names.map((name) => `${name.toUpperCase()}_KEY`).join(","),
    EMAIL_SECURITY_BASE_URL: url,
    PULUMI_BACKEND_URL: `file://${join(directory, ".state")}`,
    PULUMI_CONFIG_PASSPHRASE: "",
    PULUMI_HOME: join(directory, ".home"),
  };
}

/** Writes the list that all tenants include, with `more` new denies. */
async function writeGrownBaseline(directory: string, more: number): Promise<void> {
  const values = [
    ...Array.from({ length: entries - 1 }, (_, index) => `evil-${index}.example`),
    ...Array.from({ length: more }, (_, index) => `new-${index}.example`),
  ];
  const text = `version: 1\ndeny:\n${values.map((value) => `  - ${value}\n`).join("")}`;
  await writeFile(join(directory, "settings", "baseline.yaml"), text);
}

function parseNumbers(text: string): number[] {
  return text.split(",").map((part) => {
    if (/^[1-9]\d*$/.test(part)) return Number(part);
    throw new Error(`${part} isn't a whole number above 0`);
  });
}
