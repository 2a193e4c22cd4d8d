import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  evaluateFormula,
  type ScarceResource,
  type SimulationParameters,
  simulateRollout,
  USUAL,
} from "#bench/rollout-simulation";
import { formatTable, formatWhole } from "#bench/table";
import { openSqlite } from "../../provider/dist/rollout/database/sqlite-database.js";
import { Journal } from "../../provider/dist/rollout/journal/journal.js";
import { chooseNextStep } from "../../provider/dist/rollout/model/next-step.js";
import type { TenantReport } from "../../provider/rollout/model/rollout-report.js";
import type { Target } from "../../provider/rollout/model/target.js";

const MANY = 10_000;

/** Simulates rollouts of up to 10,000 tenants in virtual time, and reports tables and the first bottleneck. */
export async function reportSimulation(): Promise<string> {
  const startedAt = performance.now();
  const parts = [renderGrowth(), renderRates(), renderMachines(), renderTroubles(), renderLimits(), await ownCosts()];
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  return [...parts, `Simulated and measured in ${seconds} s.`].join("\n\n");
}

function renderGrowth(): string {
  const rows = [10, 300, 1_000, MANY].flatMap((tenants) =>
    [1, 8, 32, 64].map((concurrent) => {
      const parameters = { ...USUAL, tenants, concurrent };
      const {
        planningMs,
        changingMs,
        requests,
        maxInProgress: mostUnderWay,
      } = simulateRollout(chooseNextStep, parameters);
      const paper = evaluateFormula(parameters);
      const onPaperMs = paper.planningMs + paper.changingMs;
      return [
        formatWhole(tenants),
        formatWhole(concurrent),
        formatSimulatedDuration(planningMs),
        formatSimulatedDuration(changingMs),
        formatSimulatedDuration(onPaperMs),
        formatWhole(requests),
        (requests / ((planningMs + changingMs) / 1_000)).toFixed(0),
        `${((mostUnderWay * parameters.engineMb) / 1_000).toFixed(1)} GB`,
        formatScarcest(parameters, mostUnderWay),
      ];
    }),
  );
  const head = ["tenants", "at once", "planned in", "changed in", "both on paper", "requests", "a second"];
  return `Each tenant with ${USUAL.deny} deny and ${USUAL.allow} allow entries, ${USUAL.vips} VIPs and one new deny; ${formatMachine(USUAL)}.\n${formatTable(
    [...head, "memory", "scarce"],
    rows,
    0,
  )}`;
}

function renderRates(): string {
  const head = ["requests a second, each", "1 address", "4 addresses"];
  const rows = [10, 20, 50, 100].map((requestsPerSecond) => [
    String(requestsPerSecond),
    ...[1, 4].map((addresses) => {
      const parameters = { ...USUAL, tenants: MANY, concurrent: 64, cores: 32, requestsPerSecond, addresses };
      const { planningMs, changingMs } = simulateRollout(chooseNextStep, parameters);
      return formatSimulatedDuration(planningMs + changingMs);
    }),
  ]);
  return `${formatWhole(MANY)} tenants, planned and changed, 64 at once on 32 cores:\n${formatTable(head, rows, 0)}`;
}

function renderMachines(): string {
  const head = ["at once", "2 cores", "8 cores", "32 cores"];
  const rows = [1, 8, 32, 64].map((concurrent) => [
    String(concurrent),
    ...[2, 8, 32].map((cores) => {
      const parameters = { ...USUAL, tenants: MANY, concurrent, cores, requestsPerSecond: 100, addresses: 4 };
      const { planningMs, changingMs } = simulateRollout(chooseNextStep, parameters);
      const isTooMuch = concurrent > evaluateFormula(parameters).breaksAt.memory;
      return `${formatSimulatedDuration(planningMs + changingMs)}${isTooMuch ? " (no memory)" : ""}`;
    }),
  ]);
  return `${formatWhole(MANY)} tenants, 4 addresses of 100 requests a second each:\n${formatTable(head, rows, 0)}`;
}

function renderTroubles(): string {
  const head = ["attempts that fail", "a worker dies every", "ends", "after", "done", "failed", "begun", "deaths"];
  const rows = [0, 1, 5].flatMap((failurePercent) =>
    [undefined, 600_000, 60_000, 15_000].map((crashEveryMs) => {
      const parameters = { ...USUAL, tenants: MANY, concurrent: 32, cores: 32, addresses: 4 };
      const run = simulateRollout(chooseNextStep, { ...parameters, failurePercent, crashEveryMs });
      return [
        `${failurePercent} %`,
        crashEveryMs === undefined ? "never" : `${crashEveryMs / 1_000} s`,
        run.state,
        formatSimulatedDuration(run.planningMs + run.changingMs),
        ...[run.done, run.failed, run.attempts, run.crashes].map(formatWhole),
      ];
    }),
  );
  return `${formatWhole(MANY)} tenants, 32 at once on 32 cores, 4 addresses of 50 requests a second, ${USUAL.toleratedPercent} % of a wave tolerated, lease 10 s:\n${formatTable(head, rows, 0)}`;
}

/** Renders the concurrency that exhausts each resource, and a sentence about the lowest one. */
function renderLimits(): string {
  const parameters = { ...USUAL, tenants: MANY };
  const sentences = [2, 8, 32].flatMap((cores) =>
    [1, 4].map((addresses) => {
      const { breaksAt } = evaluateFormula({ ...parameters, cores, addresses });
      const inOrder = (Object.entries(breaksAt) as [ScarceResource, number][]).sort(([, a], [, b]) => a - b);
      const [first, ...others] = inOrder.map(
        ([resource, count]) => `${NAMES[resource]} at ${count.toFixed(0)} at once`,
      );
      return `- ${cores} cores, ${addresses} ${addresses === 1 ? "address" : "addresses"} of ${parameters.requestsPerSecond} requests a second: first ${first}; then ${others.join(", ")}.`;
    }),
  );
  return `What breaks first:\n${sentences.join("\n")}`;
}

/** Measures costs that the simulation doesn't cover: the real journal, report and terminal output at these sizes. */
async function ownCosts(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "email-security-bench-"));
  try {
    const names = Array.from({ length: MANY }, (_, index) => `tenant-${index}`);
    const journal = await Journal.open(await openSqlite(join(directory, "journal.sqlite")));
    const plain = { maxConcurrent: 32, tolerated: 0, soakMs: 0, gate: false };
    const id = await journal.create(
      {
        source: "tenants.yaml",
        project: "bench",
        today: "2026-11-21",
        waves: [{ ...plain, name: "all", tenants: names }],
        services: [["https://service.example", { maxConcurrent: 32 }]],
        backend: "file",
      },
      names.map(buildBenchTarget),
    );
    await journal.start(id, { retry: false });
    await journal.setWaveState(id, 0, "running");
    const looks = 50;
    const startedAt = performance.now();
    for (let look = 0; look < looks; look++) chooseNextStep(await journal.readRunState(id, 32), 0);
    const lookMs = (performance.now() - startedAt) / looks;
    await journal.close();
    const { steps, statements, changingMs } = simulateRollout(chooseNextStep, {
      ...USUAL,
      tenants: MANY,
      concurrent: 32,
    });
    const minutes = (steps * lookMs) / 60_000;
    const reportMb = (JSON.stringify(buildTenantReport(1)).length * MANY) / 1e6;
    const mostMb = (JSON.stringify(buildTenantReport(20)).length * MANY) / 1e6;
    return [
      `The journal of ${formatWhole(MANY)} tenants: ${lookMs.toFixed(1)} ms a look (which counts them all, and reads the names in all waves), ${formatWhole(steps)} looks in a rollout: ${minutes.toFixed(1)} minutes of one core, of ${formatSimulatedDuration(changingMs)};`,
      `${formatWhole(statements)} statements, ${(statements / (changingMs / 1_000)).toFixed(0)} a second.`,
      `The report as JSON: ${reportMb.toFixed(0)} MB with a change a tenant, ${mostMb.toFixed(0)} MB with twenty. A terminal of 100 × 50 shows at most 5,000 tenants as a character each.`,
    ].join("\n");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const NAMES: Readonly<Record<ScarceResource, string>> = {
  "rate limit": "the rate limit",
  cores: "the cores",
  memory: "the memory",
  journal: "the journal's statements",
};

function formatScarcest(parameters: SimulationParameters, mostUnderWay: number): string {
  const used = (Object.entries(evaluateFormula(parameters).breaksAt) as [ScarceResource, number][])
    .filter(([, count]) => count <= mostUnderWay)
    .sort(([, a], [, b]) => a - b);
  return used[0]?.[0] ?? "places";
}

function formatMachine({ cores, addresses, requestsPerSecond }: SimulationParameters): string {
  return `${cores} cores, ${addresses} address of ${requestsPerSecond} requests a second`;
}

function formatSimulatedDuration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

function buildBenchTarget(name: string): Target {
  return {
    name,
    labels: { region: "eu" },
    baseUrl: "https://service.example",
    key: { from: "environment", variable: "KEY" },
    settings: `tenants/${name}.yaml`,
    stack: name,
    allowInsecureHttp: false,
    place: { file: "tenants.yaml", line: 1, column: 1 },
  };
}

function buildTenantReport(changes: number): TenantReport {
  const timestamp = new Date(0).toISOString();
  return {
    name: "tenant-1000",
    labels: { region: "eu", tier: "standard" },
    wave: "rest",
    state: "done",
    host: "service.example",
    address: "https://mail-security.example",
    keySource: "the environment variable EMAIL_SECURITY_API_KEY",
    stack: "tenant-1000",
    planned: { added: changes, changed: 0, removed: 0 },
    changes: Array.from({ length: changes }, () => ({
      operation: "add",
      kind: "entry",
      list: "deny",
      value: "a-domain-that-was-reported.example",
    })),
    severities: { danger: 0, warning: 0 },
    attempts: 1,
    worker: "worker-1:12345",
    startedAt: timestamp,
    finishedAt: timestamp,
    durationMs: 2_345,
  };
}
