import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { requireEngine } from "pulumi-email-security/engine";
import type { RecordedRequest } from "pulumi-email-security/sandbox";
import { repeatRequests } from "#bench/bare-requests";
import { createBenchDirectory } from "#bench/bench-directory";
import type { CompletedCommand } from "#bench/command";
import { writeBaseline, writeFleet } from "#bench/fleet-files";
import { buildNoOpProgram } from "#bench/floor";
import { measureReadings, type Reading, readingTable } from "#bench/latency-readings";
import { listProgram } from "#bench/list-resource";
import { currentLoad } from "#bench/machine";
import { computeMedian, groupItems } from "#bench/measurement-rows";
import { BenchProject, buildPlainEnvironment } from "#bench/pulumi-project";
import { BenchService, type BenchServiceOptions } from "#bench/service";
import { runEmailSecurity, writeLargeSettings } from "#bench/settings-file";
import { formatDecimal, formatTable, formatWhole } from "#bench/table";

/** How many requests at once the floor sends. The first is the client's own maximum. */
const WIDTHS = [64, 256] as const;
const FLEET = { tenants: 300, entries: 500 };
const CHANGED_FLEET = { tenants: 10, entries: 500 };
/** The mail that `add` searches for evidence. */
const MAIL = { threats: 1_500, employees: 100 };

export interface LatencyOptions {
  /** The delay before each answer of the service, in milliseconds. */
  readonly latencyMs: number;
  /** The number of entries of a list. */
  readonly entries: number;
  readonly runs: number;
}

/** A measurement of one command. */
interface LatencyMeasurement {
  readonly label: string;
  readonly seconds: number;
  /** The time of the same command without any requests. */
  readonly startSeconds: number;
  readonly requests: readonly RecordedRequest[];
  /** The time of the requests alone at each of the {@link WIDTHS}. */
  readonly aloneSeconds: readonly number[];
}

/** Measures commands at a slow service, next to the same requests by bare undici in the same run. */
export async function latencyReport(options: LatencyOptions): Promise<string> {
  const { latencyMs, entries, runs } = options;
  const loads = [currentLoad()];
  const measured: LatencyMeasurement[] = [];
  const readings: Reading[] = [];
  for (let run = 1; run <= runs; run++) {
    const log = (label: string): void => console.log(`run ${run} of ${runs}  ${label}`);
    for await (const command of measureCommands(options)) {
      measured.push(command);
      log(
        `${command.label}: ${formatDecimal(command.seconds)} s, floor ${listFloors(command).map(formatDecimal).join(" or ")} s`,
      );
    }
    for (const count of [entries, 10 * entries]) {
      readings.push(await measureReadings(count, latencyMs));
      log(`the reading of ${formatWhole(count)} entries`);
    }
    loads.push(currentLoad());
  }
  return [
    `Each answer came ${latencyMs} ms late. The medians of ${runs}; the machine's load was ${loads.join(", ")} on ${availableParallelism()} processors.`,
    commandTable(measured),
    readingTable(readings),
  ].join("\n\n");
}

async function* measureCommands({
  latencyMs,
  entries,
}: LatencyOptions): AsyncGenerator<LatencyMeasurement, void, undefined> {
  yield* measureList({ latencyMs }, entries);
  yield* measureTenant({ latencyMs, entries, ...MAIL });
  yield* measureFleet({ latencyMs, ...FLEET });
  yield* measureChange({ latencyMs, ...CHANGED_FLEET });
}

async function* measureList(
  options: BenchServiceOptions,
  count: number,
): AsyncGenerator<LatencyMeasurement, void, undefined> {
  for (const providerKind of ["dynamic", "native"] as const) {
    // Measured for each provider, because the machine's load changes meanwhile.
    await using idle = await BenchProject.create(buildNoOpProgram(1), {});
    const idleUp = await idle.up();
    const idleRefresh = await idle.refresh();
    await using service = await BenchService.start(options);
    await using project = await BenchProject.create(listProgram(count, { providerKind }), service.environment);
    const listLabel = `of a list of ${formatWhole(count)}${providerKind === "native" ? ", native plugin" : ""}`;
    yield await measure(`first \`up\` ${listLabel}`, { service, options, idle: idleUp, work: () => project.up() });
    yield await measure(`\`refresh\` ${listLabel}`, {
      service,
      options,
      idle: idleRefresh,
      work: () => project.refresh(),
    });
  }
}

async function* measureTenant(options: BenchServiceOptions): AsyncGenerator<LatencyMeasurement, void, undefined> {
  const { entries = 0 } = options;
  await using service = await BenchService.start(options);
  using temporary = createBenchDirectory();
  const directory = temporary.path;
  await writeLargeSettings(directory, entries);
  const idle = await runEmailSecurity(directory, ["--version"], {});
  const commands = {
    plan: ["plan"],
    export: ["export", "--to", "exported"],
    add: ["add", "deny", "bad.example", "--for", "30d"],
  };
  for (const [name, args] of Object.entries(commands)) {
    const work = () => runEmailSecurity(directory, args, service.environment);
    yield await measure(`\`${name}\` with ${formatWhole(entries)} entries`, { service, options, idle, work });
  }
}

async function* measureFleet(
  options: typeof FLEET & BenchServiceOptions,
): AsyncGenerator<LatencyMeasurement, void, undefined> {
  await using service = await BenchService.start(options);
  using temporary = createBenchDirectory();
  const directory = temporary.path;
  const environment = writeFleet(directory, { ...options, url: service.url });
  const idle = await runEmailSecurity(directory, ["--version"], {});
  const work = () => runEmailSecurity(directory, ["fleet", "status"], environment);
  yield await measure(`\`fleet status\` of ${options.tenants} tenants`, { service, options, idle, work });
}

/** One new deny for each tenant of a fleet. The floor doesn't include the engine of each tenant. */
async function* measureChange(
  options: typeof CHANGED_FLEET & BenchServiceOptions,
): AsyncGenerator<LatencyMeasurement, void, undefined> {
  await using service = await BenchService.start(options);
  using temporary = createBenchDirectory();
  const directory = temporary.path;
  await mkdir(join(directory, ".state"));
  const environment = {
    ...buildPlainEnvironment(await requireEngine()),
    ...writeFleet(directory, { ...options, url: service.url }),
    PULUMI_BACKEND_URL: `file://${join(directory, ".state")}`,
    PULUMI_CONFIG_PASSPHRASE: "bench",
    PULUMI_HOME: join(directory, ".home"),
  };
  const work = () =>
    runEmailSecurity(directory, ["rollout", "--yes", "--events", "--max-concurrent", "2"], environment);
  await work();
  writeBaseline(directory, options.entries, "  - bad.example\n");
  const idle = await runEmailSecurity(directory, ["--version"], {});
  yield await measure(`\`rollout\` of one deny to ${options.tenants} tenants`, { service, options, idle, work });
}

interface Subject {
  readonly service: BenchService;
  /** The options of the service. */
  readonly options: BenchServiceOptions;
  /** The same command without any requests. */
  readonly idle: CompletedCommand;
  work(): Promise<CompletedCommand>;
}

async function measure(label: string, { service, options, idle, work }: Subject): Promise<LatencyMeasurement> {
  const before = (await service.trace()).length;
  const { seconds } = await work();
  const requests = (await service.trace()).slice(before);
  const aloneSeconds: number[] = [];
  for (const width of WIDTHS) aloneSeconds.push(await repeatRequests(requests, width, { service, options }));
  return { label, seconds, startSeconds: idle.seconds, requests, aloneSeconds };
}

/** The floor at each of the {@link WIDTHS}. */
function listFloors({ startSeconds, aloneSeconds }: LatencyMeasurement): number[] {
  return aloneSeconds.map((seconds) => startSeconds + seconds);
}

function commandTable(measured: readonly LatencyMeasurement[]): string {
  const rows = groupItems(measured, ({ label }) => label).map((group) => {
    const [{ label, requests } = { label: "", requests: [] }] = group;
    const median = (getValue: (item: LatencyMeasurement) => number): number => computeMedian(group.map(getValue));
    const reads = requests.filter(({ method }) => method === "GET").length;
    return [
      label,
      `${formatWhole(reads)} + ${formatWhole(requests.length - reads)}`,
      formatDecimal(median(({ seconds }) => seconds)),
      formatDecimal(median(({ startSeconds }) => startSeconds)),
      ...WIDTHS.flatMap((_width, index) => [
        formatDecimal(median(({ aloneSeconds }) => aloneSeconds[index] ?? Number.NaN)),
        `${median((item) => item.seconds / (listFloors(item)[index] ?? Number.NaN)).toFixed(2)} ×`,
      ]),
    ];
  });
  const widths = WIDTHS.flatMap((width) => [`requests alone, ${width} at once`, "× floor"]);
  return formatTable(["", "reads + writes", "seconds", "without requests", ...widths], rows);
}
