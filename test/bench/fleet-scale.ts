import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collectMachineFacts } from "#bench/machine";
import { readFileOrEmpty } from "#bench/memory";
import { BenchService, formatDeniedDomain } from "#bench/service";
import { formatDecimal, formatTable, formatWhole } from "#bench/table";
import { openSqlite } from "../../provider/dist/rollout/database/sqlite-database.js";
import { pruneRollout } from "../../provider/dist/rollout/history/prune-rollout.js";
import { Journal } from "../../provider/dist/rollout/journal/journal.js";
import { readLastApplied } from "../../provider/dist/rollout/journal/last-applied.js";
import { resolveStateBackend } from "../../provider/dist/rollout/stack/state-backend.js";
import type { Database } from "../../provider/rollout/database/database.js";
import type { Target } from "../../provider/rollout/model/target.js";

/** The name of the stand-in's only tenant. The stand-in replaces it with each tenant's own name. */
export const PLACEHOLDER = "placeholder";

/** Returns the domain at an index (from 0) that only one tenant denies. */
export function ownDomain(index: number, name: string): string {
  return `own${index}-${name}.example`;
}

/** The number of each tenant's entries that come from a baseline that all tenants include. */
const SHARED = 480;
const OWN = 20;
/**
 * Plausible rate limits of an address, in requests per second. They are a lower bound on the time to read many tenants.
 */
const RATES = [10, 50];
/**
 * The number of rollouts of each kind in five years, and how many of them are younger than the 90 days for which
 * everything is kept.
 */
const KINDS = [
  { label: "a week's rollout that changes all", share: 1, count: 261, young: 13 },
  { label: "a night in which 1 in 100 tenants is changed", share: 0.01, count: 1_826, young: 90 },
];

/**
 * Measures `fleet status` and `fleet site` over fleets of these sizes, each command in its own process, and the size of
 * the journal that rollouts over them leave.
 */
export async function reportFleetScale(sizes: readonly number[]): Promise<string> {
  const facts = await collectMachineFacts(new Date().toISOString().slice(0, 10));
  const stand = ["fleet-stand-in.ts", JSON.stringify({ shared: SHARED, own: OWN })] as const;
  await using service = await BenchService.startScript(...stand);
  const readings: string[][] = [];
  const journals: string[][] = [];
  for (const tenants of sizes) {
    const directory = mkdtempSync(join(tmpdir(), "email-security-bench-scale-"));
    try {
      const environment = createFleet(directory, tenants, service.url);
      const plan = await createPlan(directory, environment);
      for (const kind of KINDS) {
        journals.push(await measureJournal(directory, tenants, plan, kind));
        printNewestRow(journals);
      }
      for (const args of [
        ["fleet", "status"],
        ["fleet", "site", "site"],
      ]) {
        const before = await service.countRequests();
        const { seconds, processor, memory } = await measureCommand(directory, environment, args);
        const requests = (await service.countRequests()).reads - before.reads;
        const atLimits = RATES.map((rate) => formatDuration(requests / rate));
        const written = args[1] === "site" ? formatMegabytes(measureDirectory(join(directory, "site"))) : "";
        const costs = [formatDuration(seconds), formatDuration(processor), formatMegabytes(memory), written];
        readings.push([args.slice(0, 2).join(" "), formatWhole(tenants), formatWhole(requests), ...atLimits, ...costs]);
        printNewestRow(readings);
      }
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }
  return [
    `Each tenant denies ${SHARED} domains of a baseline that all include, and ${OWN} of its own; one address, ${facts.cpu}; ${facts.date}, commit ${facts.commit}.`,
    formatTable(
      [
        ...["", "tenants", "requests"],
        ...RATES.map((rate) => `these at ${rate} a second`),
        ...["took", "of its processor", "memory", "written"],
      ],
      readings,
    ),
    formatTable(
      [
        "in the journal",
        "tenants",
        "whole",
        "pruned",
        "five years",
        "with `rollout prune`",
        "what all brought, known in",
      ],
      journals,
    ),
  ].join("\n\n");
}

/** Prints the newest row as soon as it is measured, because the bench runs for a long time. */
function printNewestRow(rows: readonly (readonly string[])[]): void {
  console.error((rows.at(-1) ?? []).join(" | "));
}

const cli = createRequire(import.meta.url)
  .resolve("pulumi-email-security/package.json")
  .replace(/package\.json$/, "dist/commands/main.js");

function formatScaleTenantName(index: number): string {
  return `t${String(index).padStart(5, "0")}`;
}

/**
 * Creates a fleet in a directory, with actual state that matches its files. Returns the environment for the commands.
 */
function createFleet(directory: string, tenants: number, url: string): NodeJS.ProcessEnv {
  const names = Array.from({ length: tenants }, (_, index) => formatScaleTenantName(index));
  for (const name of ["settings", ".state", ".email-security"]) mkdirSync(join(directory, name));
  writeFileSync(join(directory, "settings/baseline.yaml"), formatBaseline());
  for (const name of names) writeFileSync(join(directory, `settings/${name}.yaml`), formatScaleSettings(name));
  const key = 'key: { environment: "{NAME}_KEY" }';
  const defaults = `defaults: { baseUrl: "${url}", settings: "settings/{name}.yaml", ${key} }`;
  const listed = names.map((name) => `  ${name}: {}\n`).join("");
  const text = `version: 1\nproject: bench\n${defaults}\ntenants:\n${listed}waves: [{ name: all }]\n`;
  writeFileSync(join(directory, "tenants.yaml"), text);
  const variables = names.map((name) => [`${name.toUpperCase()}_KEY`, `sandbox-${name}-ci`] as const);
  return {
    ...process.env,
    ...Object.fromEntries(variables),
    EMAIL_SECURITY_KEY_VARIABLES: variables.map(([variable]) => variable).join(","),
    ...buildBackendVariables(directory),
    EMAIL_SECURITY_BASE_URL: url,
    EMAIL_SECURITY_API_KEY: `sandbox-${names[0]}-ci`,
  };
}

function buildBackendVariables(directory: string): NodeJS.ProcessEnv {
  return { PULUMI_BACKEND_URL: `file://${join(directory, ".state")}` };
}

function formatBaseline(): string {
  const denied = Array.from({ length: SHARED }, (_, index) => `  - ${formatDeniedDomain(index)}\n`);
  return `version: 1\ndeny:\n${denied.join("")}`;
}

function formatScaleSettings(name: string, more = ""): string {
  const own = Array.from({ length: OWN }, (_, index) => `  - ${ownDomain(index, name)}\n`);
  return `version: 1\ninclude: [baseline.yaml]\ndeny:\n${own.join("")}${more}`;
}

interface Cost {
  readonly seconds: number;
  /** CPU time, in seconds. */
  readonly processor: number;
  /** Peak memory, in bytes. */
  readonly memory: number;
}

/** Runs a command to completion and samples its cost while it runs, if there is a /proc. */
async function measureCommand(directory: string, env: NodeJS.ProcessEnv, args: readonly string[]): Promise<Cost> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [cli, ...args], {
    cwd: directory,
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let [processor, memory, output] = [0, 0, ""];
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const sampleCost = (): void => {
    const [user = 0, system = 0] = (/\) (.*)$/s.exec(readFileOrEmpty(`/proc/${child.pid}/stat`))?.[1] ?? "")
      .split(" ")
      .slice(11, 13)
      .map(Number);
    // Linux reports CPU time in ticks of 1/100 s on every common platform.
    processor = Math.max(processor, (user + system) / 100);
    memory = Math.max(
      memory,
      Number(/^VmHWM:\s*(\d+) kB/m.exec(readFileOrEmpty(`/proc/${child.pid}/status`))?.[1] ?? 0) * 1024,
    );
  };
  const timer = setInterval(sampleCost, 50);
  const code = await new Promise<number | null>((done, failed) => child.once("error", failed).once("close", done));
  clearInterval(timer);
  // A plan with changes exits with 2.
  if (code !== 0 && code !== 2)
    throw new Error(`email-security ${args.join(" ")} ended with ${code}:\n${output.slice(0, 2_000)}`);
  return { seconds: (performance.now() - startedAt) / 1_000, processor, memory };
}

/** Returns a plan that adds one deny entry at one tenant, as a rollout stores it. */
async function createPlan(directory: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const file = join(directory, `settings/${formatScaleTenantName(0)}.yaml`);
  writeFileSync(file, formatScaleSettings(formatScaleTenantName(0), "  - new.example\n"));
  await measureCommand(directory, environment, ["plan", file, "--no-evidence", "--output", "plan.json"]);
  writeFileSync(file, formatScaleSettings(formatScaleTenantName(0)));
  return readFileSync(join(directory, "plan.json"), "utf8");
}

/** Writes a rollout into a journal the way a real run does, then prunes it. */
async function measureJournal(
  directory: string,
  tenants: number,
  plan: string,
  { label, share, count, young }: (typeof KINDS)[number],
): Promise<string[]> {
  const file = join(directory, ".email-security/rollouts.db");
  for (const end of ["", "-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
  const database = await openSqlite(file);
  const journal = await Journal.open(database);
  // The bench measures the size of the journal, not the speed of the disk.
  await database.query("PRAGMA synchronous = OFF");
  const readDatabaseSize = async (): Promise<number> => {
    const [row] = await database.query(
      "SELECT (c.page_count - f.freelist_count) * s.page_size AS bytes FROM pragma_page_count() c, pragma_freelist_count() f, pragma_page_size() s",
    );
    return Number(row?.["bytes"]);
  };
  try {
    const empty = await readDatabaseSize();
    const changing = Math.max(1, Math.round(tenants * share));
    const id = await writeScaleRollout(journal, tenants, { directory, plan, changing });
    const full = (await readDatabaseSize()) - empty;
    if (!(await pruneRollout(database, id, Date.now()))) throw new Error("it was not pruned");
    const pruned = (await readDatabaseSize()) - empty;
    // The lookup needs a rollout that isn't pruned, so write another one.
    await writeScaleRollout(journal, tenants, { directory, plan, changing: 1 });
    const looking = await lookAtYears(database, journal, count);
    const fiveYears = [count * full, young * full + (count - young) * pruned];
    return [label, formatWhole(tenants), ...[full, pruned, ...fiveYears].map(formatMegabytes), formatDuration(looking)];
  } finally {
    await journal.close();
  }
}

/**
 * Returns the CPU time, in seconds, that `fleet status` needs to find each tenant's last applied state among `count`
 * rollouts. The older rollouts have no tenant rows, because nothing reads those; all copies are deleted afterwards.
 */
async function lookAtYears(database: Database, journal: Journal, count: number): Promise<number> {
  const [record] = await journal.listRollouts();
  if (record === undefined) throw new Error("there is no rollout");
  const { id, spec, startedAtMs = 0 } = record;
  const stacks = (await journal.listTenants(id)).map(({ target }) => target.stack);
  const copies = Array.from({ length: count - 1 }, (_, index) => `copy-${String(index).padStart(5, "0")}`);
  await database.transaction(async (transaction) => {
    for (const [index, copy] of copies.entries()) {
      const timeMs = startedAtMs - (index + 1) * 60_000;
      await transaction.query(
        "INSERT INTO rollouts SELECT $1, state, spec, digest, reason, until_wave, stop_requested, events, $2, $2, $2, $4 FROM rollouts WHERE id = $3",
        [copy, timeMs, id, -index],
      );
      if (index >= 9) continue;
      await transaction.query(
        "INSERT INTO rollout_tenants SELECT $1, name, wave, position, state, address, stack, target, digest, summary, plan, round, attempt, worker, error, started_at, finished_at FROM rollout_tenants WHERE rollout = $2",
        [copy, id],
      );
    }
  });
  const before = process.cpuUsage();
  const reached = await readLastApplied(database, { project: spec.project, backend: spec.backend, stacks });
  const { user, system } = process.cpuUsage(before);
  if (reached.stacks.size !== stacks.length) throw new Error(`${reached.stacks.size} of ${stacks.length}`);
  await database.transaction(async (transaction) => {
    for (const rows of ["rollouts WHERE id", "rollout_tenants WHERE rollout"])
      await transaction.query(`DELETE FROM ${rows} LIKE 'copy-%'`);
  });
  return (user + system) / 1_000_000;
}

/** Writes a rollout over all tenants that changes the first `changing` of them. Returns its ID. */
async function writeScaleRollout(
  journal: Journal,
  tenants: number,
  { directory, plan, changing }: { directory: string; plan: string; changing: number },
): Promise<string> {
  const backend = resolveStateBackend(buildBackendVariables(directory), directory).fingerprint;
  const names = Array.from({ length: tenants }, (_, index) => formatScaleTenantName(index));
  const wave = { name: "all", maxConcurrent: tenants, tolerated: 0, soakMs: 0, gate: false, tenants: names };
  const id = await journal.create(
    {
      ...{ source: "tenants.yaml", project: "bench", today: "2026-11-21", services: [], backend },
      waves: [wave],
    },
    names.map(buildBenchTarget),
  );
  const summary = {
    planned: { added: 1, changed: 0, removed: 0 },
    changes: [{ operation: "add", kind: "entry", list: "deny", value: "new.example" }],
    severities: { danger: 0, warning: 0 },
    resource: "settings",
    isStackThere: true,
  } as const;
  const none = { ...summary, planned: { added: 0, changed: 0, removed: 0 }, changes: [] };
  const digest = `v2-${"0".repeat(16)}`;
  await journal.recordPlans(
    id,
    names.map((name, index) =>
      index < changing
        ? { name, state: "pending", digest, summary, plan: plan.replaceAll(formatScaleTenantName(0), name) }
        : { name, state: "unchanged", digest, summary: none },
    ),
  );
  const bundle = new Map(names.map((name) => [`settings/${name}.yaml`, Buffer.from(formatScaleSettings(name))]));
  bundle.set("settings/baseline.yaml", Buffer.from(formatBaseline()));
  await journal.completePlanning(id, `r2-${"0".repeat(16)}`, { bundle, directory: "." });
  await journal.start(id, { retry: false, by: "ci@runner-7" });
  await journal.setWaveState(id, 0, "running");
  const changed = names.slice(0, changing);
  await journal.dispatch(id, 0, changed, { enqueue: async () => {}, start: () => {}, drain: async () => {} });
  for (const tenant of changed) {
    const claimed = await journal.claim({ rollout: id, wave: 0, tenant, retryRound: 0 }, "runner-7:4711");
    if (claimed === undefined) throw new Error(`${tenant} was not begun`);
    await journal.finish(claimed, undefined);
  }
  await journal.setWaveState(id, 0, "done");
  await journal.finishRollout(id);
  return id;
}

function buildBenchTarget(name: string): Target {
  return {
    name,
    labels: { region: "eu" },
    baseUrl: "https://service.example",
    key: { from: "environment", variable: `${name.toUpperCase()}_KEY` },
    settings: `settings/${name}.yaml`,
    stack: name,
    allowInsecureHttp: false,
    place: { file: "tenants.yaml", line: 1, column: 1 },
  };
}

function measureDirectory(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((dirent) => dirent.isFile())
    .reduce((sum, dirent) => sum + statSync(join(dirent.parentPath, dirent.name)).size, 0);
}

function formatMegabytes(bytes: number): string {
  return bytes >= 1e9 ? `${formatDecimal(bytes / 1e9)} GB` : `${formatDecimal(bytes / 1e6)} MB`;
}

function formatDuration(seconds: number): string {
  return seconds < 120 ? `${formatDecimal(seconds)} s` : `${formatWhole(seconds / 60)} min`;
}
