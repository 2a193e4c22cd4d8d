import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { requireEngine } from "pulumi-email-security/engine";
import { repeatRequests } from "#bench/bare-requests";
import { createBenchDirectory } from "#bench/bench-directory";
import { run } from "#bench/command";
import { buildNoOpProgram } from "#bench/floor";
import { currentLoad } from "#bench/machine";
import { computeMedian, groupItems } from "#bench/measurement-rows";
import { buildPlainEnvironment } from "#bench/pulumi-project";
import { BenchService, formatDeniedDomain } from "#bench/service";
import { runEmailSecurity } from "#bench/settings-file";
import { formatDecimal, formatTable, formatWhole } from "#bench/table";
import { runStep } from "../support/github/workflow-run.ts";
import { getPreparationSteps, readWorkflow, type WorkflowStep } from "../support/pipeline-files.ts";

const ENTRIES = 500;
const SERVICE = { latencyMs: 50, threats: 1_500, employees: 100 };
/** The client's own maximum of requests at once. */
const WIDTH = 64;
/** The goal for the steps of a job without npm, in seconds. */
const GOAL = 20;

/** The variables of this machine's caches, and of the `npm run` that started the bench. */
const OWN_VARIABLES = /^(?:npm_|XDG_|EMAIL_SECURITY_|NODE_COMPILE_CACHE)/;

/** The change of the pull request. */
const CHANGE = `  - value: added.example
    comment: Sends invoices with another account number
allow:
  - value: news@partner.example
    comment: Sales reads it
    ticket: CHG-12
    owner: Greta Nilsen
    approvedBy: Dana Reyes
    expires: never
`;

const JOBS = ["pull request", "merge"] as const;

/** A measured step of a job, or a part of such a step. */
interface StepMeasurement {
  readonly job: (typeof JOBS)[number];
  readonly kind: "npm" | "step" | "part";
  readonly label: string;
  readonly seconds: number;
  /** The processor time of all its processes. Undefined for requests alone. */
  readonly processorSeconds?: number | undefined;
  readonly requests?: number | undefined;
}

/** Measures the jobs of a pull request and its merge, with the scripts that `init` writes and the packed package. */
export async function reportPipeline(runs: number): Promise<string> {
  const loads = [currentLoad()];
  const measured: StepMeasurement[] = [];
  for (let index = 1; index <= runs; index++) {
    for await (const item of measureJobs()) {
      measured.push(item);
      console.log(`run ${index} of ${runs}  ${item.job}, ${item.label}: ${formatDecimal(item.seconds)} s`);
    }
    loads.push(currentLoad());
  }
  const sum = (job: string): number =>
    groupItems(
      measured.filter((item) => item.job === job && item.kind === "step"),
      ({ label }) => label,
    ).reduce((seconds, step) => seconds + computeMedian(step.map((item) => item.seconds)), 0);
  return [
    `A tenant with ${ENTRIES} entries; each answer came ${SERVICE.latencyMs} ms late. The medians of ${runs}; the machine's load was ${loads.join(", ")} on ${availableParallelism()} processors.`,
    formatPhases(measured),
    JOBS.map((job) => `${job}: ${formatDecimal(sum(job))} s without npm; the goal is ${GOAL} s`).join("\n"),
  ].join("\n\n");
}

function formatPhases(measured: readonly StepMeasurement[]): string {
  const rows = groupItems(measured, ({ job, label }) => `${job}, ${label}`).map((items) => {
    const median = (
      getNumber: (item: StepMeasurement) => number | undefined,
      format: (value: number) => string,
    ): string => {
      const values = items.flatMap((item) => getNumber(item) ?? []);
      return values.length === 0 ? "" : format(computeMedian(values));
    };
    const [{ job, label, kind } = { job: "", label: "", kind: "" }] = items;
    return [
      job,
      kind === "part" ? `— ${label}` : label,
      median(({ seconds }) => seconds, formatDecimal),
      median(({ processorSeconds }) => processorSeconds, formatDecimal),
      median(({ requests }) => requests, formatWhole),
    ];
  });
  return formatTable(["job", "step", "seconds", "processor seconds", "requests"], rows, 2);
}

async function* measureJobs(): AsyncGenerator<StepMeasurement, void, undefined> {
  using temporary = createBenchDirectory();
  await using service = await BenchService.start(SERVICE);
  const jobs = await createJobs(temporary.path, service);
  const { lint, plan } = readWorkflow("pull-request").jobs;
  const { apply } = readWorkflow("merge").jobs;
  const install = readScript("Install", getPreparationSteps());
  const startScript = "npx --no email-security -- --version";

  const pullRequest = await jobs.checkOut("pull request");
  yield await pullRequest.measure("npm", "install", install);
  yield await pullRequest.measure("step", "lint", readScript("Lint", lint?.steps));
  yield await pullRequest.measure("part", "start of npx and the command", startScript);
  yield* pullRequest.measureWithRequests("plan, with evidence", readScript("Plan", plan?.steps));

  const merge = await jobs.checkOut("merge");
  yield await merge.measure("npm", "install", install);
  await cp(join(pullRequest.workspace, "plan"), join(merge.workspace, "plan"), { recursive: true });
  const applyScript = readScript("Apply", apply?.steps);
  // Without --yes, it exits with 2 because there are changes.
  const check = await merge.measure("part", "plan check", `(${applyScript.replace(" --yes", "")}) || [ $? = 2 ]`);
  yield* merge.measureWithRequests("plan check and apply", applyScript);
  yield check;
  yield await merge.measureEngine();
}

/** Returns the script of a workflow's step. */
function readScript(name: string, steps: readonly WorkflowStep[] = []): string {
  const script = steps.find((step) => step.name === name)?.run;
  if (script === undefined || script.includes("${{")) throw new Error(`the step ${name} doesn't run by itself`);
  return script;
}

/** Creates a repository with `init`, and applies it to the tenant. */
async function createJobs(directory: string, service: BenchService): Promise<Jobs> {
  const repository = join(directory, "repository");
  const { output } = await run("npm", ["pack", "--json", `--pack-destination=${directory}`], {
    cwd: resolve("provider"),
    env: process.env,
  });
  const [{ filename }] = JSON.parse(output) as [{ filename: string }];
  await runEmailSecurity(directory, ["init", repository, "--name", "acme", "--ci", "github"], {});
  const manifest = join(repository, "package.json");
  const { dependencies, ...others } = JSON.parse(await readFile(manifest, "utf8")) as { dependencies: object };
  const packed = { "pulumi-email-security": `file:${join(directory, filename)}` };
  await writeFile(manifest, JSON.stringify({ ...others, dependencies: { ...dependencies, ...packed } }));
  await writeSettings(repository);
  await mkdir(join(directory, "state"));
  const jobs = new Jobs(directory, repository, service);
  await jobs.run(
    repository,
    `npm install --package-lock-only --ignore-scripts
npm ci --ignore-scripts
pulumi stack init production
pulumi up --yes --skip-preview
git init --quiet
git add --all
git -c user.name=bench -c user.email=bench@acme.example commit --quiet --message Settings`,
  );
  return jobs;
}

async function writeSettings(directory: string, change = ""): Promise<void> {
  const entries = Array.from(
    { length: ENTRIES },
    (_, index) => `  - value: ${formatDeniedDomain(index)}\n    comment: Sends phishing\n`,
  );
  const text = `version: 1\ninclude: [baseline.yaml]\nownDomains: [acme.example]\ndeny:\n${entries.join("")}${change}`;
  await writeFile(join(directory, "settings", "acme.yaml"), text);
}

/** The jobs of a repository. Each step runs with an empty home, so that it finds no cache. */
class Jobs {
  readonly #directory: string;
  readonly #repository: string;
  readonly #service: BenchService;
  #homes = 0;

  constructor(directory: string, repository: string, service: BenchService) {
    this.#directory = directory;
    this.#repository = repository;
    this.#service = service;
  }

  /** Clones the repository, and changes the settings as the pull request does. */
  async checkOut(name: (typeof JOBS)[number]): Promise<Job> {
    const workspace = join(this.#directory, name);
    await run("git", ["clone", "--quiet", this.#repository, workspace], { cwd: this.#directory, env: process.env });
    await writeSettings(workspace, CHANGE);
    return new Job(name, workspace, this, this.#service);
  }

  async run(directory: string, script: string): Promise<string> {
    const home = join(this.#directory, `home-${this.#homes++}`);
    await mkdir(home);
    const engine = buildPlainEnvironment(await requireEngine());
    const environment = {
      ...Object.fromEntries(Object.entries(engine).filter(([name]) => !OWN_VARIABLES.test(name))),
      CI: "true",
      HOME: home,
      GITHUB_OUTPUT: join(home, "output"),
      GITHUB_STEP_SUMMARY: join(home, "summary"),
      PULUMI_HOME: join(home, ".pulumi"),
      PULUMI_BACKEND_URL: `file://${join(this.#directory, "state")}`,
      // Replaces a key management service.
      PULUMI_CONFIG_PASSPHRASE: "bench",
      EMAIL_SECURITY_SERVICES: this.#service.url,
      ...this.#service.environment,
    };
    const { code, output } = await runStep({ run: script }, directory, environment);
    if (code !== 0) throw new Error(`${script} ended with ${code}:\n${output}`);
    return output;
  }
}

/** A job on its runner. */
class Job {
  readonly workspace: string;
  readonly #name: StepMeasurement["job"];
  readonly #jobs: Jobs;
  readonly #service: BenchService;

  constructor(name: StepMeasurement["job"], workspace: string, jobs: Jobs, service: BenchService) {
    this.#name = name;
    this.workspace = workspace;
    this.#jobs = jobs;
    this.#service = service;
  }

  async measure(kind: StepMeasurement["kind"], label: string, script: string): Promise<StepMeasurement> {
    const before = (await this.#service.trace()).length;
    const startedAt = performance.now();
    const output = await this.#jobs.run(this.workspace, `trap 'times >&2' EXIT\n${script}`);
    const seconds = (performance.now() - startedAt) / 1_000;
    const requests = (await this.#service.trace()).length - before;
    return { job: this.#name, kind, label, seconds, processorSeconds: parseTimes(output), requests };
  }

  /** Measures a step, and then its requests alone. */
  async *measureWithRequests(label: string, script: string): AsyncGenerator<StepMeasurement, void, undefined> {
    const before = (await this.#service.trace()).length;
    yield await this.measure("step", label, script);
    const requests = (await this.#service.trace()).slice(before);
    const seconds = await repeatRequests(requests, WIDTH, {
      service: this.#service,
      options: { ...SERVICE, entries: ENTRIES },
    });
    yield { job: this.#name, kind: "part", label: `requests of ${label}, alone`, seconds };
  }

  /** Measures the engine with a resource that does nothing. */
  async measureEngine(): Promise<StepMeasurement> {
    await writeFile(join(this.workspace, "index.ts"), buildNoOpProgram(1));
    await this.#jobs.run(this.workspace, "pulumi stack init nothing && pulumi up --yes --skip-preview");
    return await this.measure(
      "part",
      "engine with a resource that does nothing",
      "pulumi up --yes --skip-preview --refresh --stack nothing",
    );
  }
}

/** Parses the output of Bash's `times`: the user and system times of the shell, and then of its children. */
function parseTimes(output: string): number {
  const [, ...numbers] = /(\d+)m([\d.]+)s (\d+)m([\d.]+)s\s*$/.exec(output) ?? [];
  const [userMinutes = Number.NaN, user = 0, systemMinutes = 0, system = 0] = numbers.map(Number);
  return 60 * (userMinutes + systemMinutes) + user + system;
}
