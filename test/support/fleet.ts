import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { requireEngine } from "../../provider/engine";
import type { RolloutEvent } from "../../provider/rollout/model/rollout-event";
import type { RolloutReport } from "../../provider/rollout/model/rollout-report";
import {
  type RecordedRequest,
  type Sandbox,
  type SandboxOptions,
  type ScenarioTenant,
  startSandbox,
} from "../../provider/sandbox";
import type { CliResult } from "./cli";
import { COMMAND } from "./command-process";
import { linkPackages } from "./program-packages";
import { removeDeveloperVariables } from "./run-environment";
import { buildTenant } from "./scenario-tenant";
import { click } from "./tenant-console";
import { unwrapError } from "./unwrap-error";

export interface FleetOptions {
  readonly tenants: number;
  /** The number of entries that the baseline denies; every tenant's settings include it. Default: 3. */
  readonly entries?: number;
  readonly sandbox?: SandboxOptions;
  /** The lines after the tenants, such as waves. Default: one wave, two tenants at a time. */
  readonly waves?: string;
  /** Returns more settings of a tenant, as a YAML mapping on one line: `{ labels: { ring: canary } }`. */
  readonly formatTenantOptions?: (name: string, number: number) => string;
  /** Returns more properties of a tenant in the sandbox, such as its employees. */
  readonly scenario?: (name: string) => Partial<ScenarioTenant>;
  /** Tenants at the service that `tenants.yaml` doesn't name. */
  readonly others?: readonly ScenarioTenant[];
  /** Additional environment variables of the command, such as another state backend. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** A finished run of `email-security`. */
export interface FleetCliResult extends CliResult {
  /** All events, as `--events` prints them. */
  readonly events: readonly RolloutEvent[];
  /** Returns the JSON report that a finished rollout wrote. */
  readonly report: () => RolloutReport;
}

/** A run of `email-security` in progress. */
export interface RunningCommand {
  readonly process: ChildProcess;
  /** The events so far, as `--events` prints them. */
  readonly events: readonly RolloutEvent[];
  /** Returns all output so far. */
  readonly output: () => string;
  /**
   * Resolves to the first matching event.
   *
   * @throws if the command ends first.
   */
  waitForEvent(isMatch: (event: RolloutEvent) => boolean): Promise<RolloutEvent>;
  /**
   * Resolves once the text was printed.
   *
   * @throws if the command ends first.
   */
  waitForOutput(text: string): Promise<void>;
  readonly result: Promise<FleetCliResult>;
}

/**
 * Everything that a rollout needs: a sandbox with many tenants, a directory with `tenants.yaml` and one settings file
 * per tenant that includes a shared baseline, and a file backend. The directory is also the project of a plain `pulumi
 * up`.
 */
export class Fleet implements AsyncDisposable {
  readonly directory: string;
  readonly sandbox: Sandbox;
  readonly names: readonly string[];
  /** The command's environment, including all keys. */
  readonly environment: NodeJS.ProcessEnv;
  readonly #pulumi: string;
  readonly #options: FleetOptions;
  readonly #startedProcesses: ChildProcess[] = [];
  #reports = 0;

  private constructor(
    directory: string,
    sandbox: Sandbox,
    environment: NodeJS.ProcessEnv,
    pulumi: string,
    options: FleetOptions,
  ) {
    this.directory = directory;
    this.sandbox = sandbox;
    this.names = sandbox.tenants.slice(0, options.tenants).map(({ name }) => name);
    this.environment = environment;
    this.#pulumi = pulumi;
    this.#options = options;
  }

  static async start(options: FleetOptions): Promise<Fleet> {
    const directory = await mkdtemp(join(tmpdir(), "email-security-fleet-"));
    const sandbox = await startSandbox({
      scenario: {
        name: "fleet",
        tenants: [
          ...Array.from({ length: options.tenants }, (_, number) => buildScenarioTenant(`t${number}`, options)),
          ...(options.others ?? []),
        ],
      },
      ...options.sandbox,
    });
    const engine = await requireEngine();
    const keys = sandbox.tenants
      .slice(0, options.tenants)
      .map(({ name, apiKeys }) => [getKeyVariable(name), apiKeys.ci] as const);
    const fleet = new Fleet(
      directory,
      sandbox,
      {
        ...engine.environment(removeDeveloperVariables(process.env)),
        PULUMI_BACKEND_URL: `file://${join(directory, ".state")}`,
        PULUMI_CONFIG_PASSPHRASE: "a passphrase for tests",
        PULUMI_HOME: join(directory, ".home"),
        PULUMI_NODEJS_TRANSPILE_ONLY: "true",
        ...Object.fromEntries(keys),
        EMAIL_SECURITY_KEY_VARIABLES: keys.map(([variable]) => variable).join(","),
        ...options.environment,
      },
      engine.command,
      options,
    );
    await fleet.#layOut();
    return fleet;
  }

  /** Replaces a file in the directory. */
  async write(path: string, text: string): Promise<void> {
    await writeFile(join(this.directory, path), text);
  }

  async read(path: string): Promise<string> {
    return await readFile(join(this.directory, path), "utf8");
  }

  /** Replaces the baseline, with the values that every tenant denies. */
  async writeBaseline(values: readonly string[]): Promise<void> {
    await this.write(
      "settings/baseline.yaml",
      `version: 1\ndeny:\n${values.map((value) => `  - ${value}\n`).join("")}`,
    );
  }

  /** Replaces `tenants.yaml`. */
  async writeTargets(options: Partial<Pick<FleetOptions, "waves" | "formatTenantOptions">> = {}): Promise<void> {
    const { waves = ONE_WAVE, formatTenantOptions = () => "{}" } = { ...this.#options, ...options };
    const tenants = this.names.map((name, number) => `  ${name}: ${formatTenantOptions(name, number)}\n`).join("");
    await this.write(
      "tenants.yaml",
      `version: 1
project: fleet
defaults:
  baseUrl: ${this.sandbox.url}
  key: { environment: "{NAME}_KEY" }
  settings: settings/{name}.yaml
tenants:
${tenants}${waves}`,
    );
  }

  /** Runs `email-security rollout` to its end and collects its events. */
  async runRollout(...args: string[]): Promise<FleetCliResult> {
    return await this.start({}, "rollout", ...args).result;
  }

  /** Starts `email-security` and returns while it runs, in its own process group as in a terminal. */
  start(environment: Record<string, string | undefined>, ...args: string[]): RunningCommand {
    const isRun = args[0] === "rollout" && !["status", "stop", "abandon", "skip", "unskip"].includes(args[1] ?? "");
    const own = `.reports/${++this.#reports}.json`;
    const report = args.find((arg, index) => args[index - 1] === "--output" && arg.endsWith(".json")) ?? own;
    const telling = report === own ? [...args, "--output", own] : args;
    const child = spawn(process.execPath, [COMMAND, ...(isRun ? [...telling, "--events"] : args)], {
      cwd: this.directory,
      env: { ...this.environment, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    this.#startedProcesses.push(child);
    const events: RolloutEvent[] = [];
    const texts = { stdout: "", stderr: "", output: "" };
    const waiting = new Set<() => void>();
    let isOver = false;
    let line = "";
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        texts[name] += text;
        texts.output += text;
        if (name === "stdout") {
          const lines = `${line}${text}`.split("\n");
          line = lines.pop() ?? "";
          for (const item of lines) if (item.startsWith('{"seq":')) events.push(JSON.parse(item) as RolloutEvent);
        }
        for (const look of waiting) look();
      });
    }
    const result = new Promise<FleetCliResult>((done, fail) => {
      child.once("error", fail);
      child.once("close", (code) => {
        isOver = true;
        for (const look of waiting) look();
        const readReport = (): RolloutReport => {
          const file = join(this.directory, report);
          if (!existsSync(file)) throw new Error(`no report:\n${texts.output}`);
          return JSON.parse(readFileSync(file, "utf8")) as RolloutReport;
        };
        const stderr = unwrapError(texts.stderr);
        const output = unwrapError(texts.output);
        done({ code: code ?? -1, stdout: texts.stdout, stderr, output, events, report: readReport });
      });
    });
    const waitUntilFound = async <T>(find: () => T | undefined): Promise<T> =>
      await new Promise((done, fail) => {
        const look = (): void => {
          const match = find();
          if (match === undefined && !isOver) return;
          waiting.delete(look);
          if (match !== undefined) done(match);
          else fail(new Error(`the command ended without it:\n${texts.output}`));
        };
        waiting.add(look);
        look();
      });
    return {
      process: child,
      events,
      output: () => texts.output,
      waitForEvent: async (isMatch) => await waitUntilFound(() => events.find(isMatch)),
      waitForOutput: async (text) => void (await waitUntilFound(() => texts.output.includes(text) || undefined)),
      result,
    };
  }

  /** Returns the report of the newest or the given rollout, as `rollout status` prints it. */
  async report(...id: string[]): Promise<RolloutReport> {
    const { stdout, output } = await this.start({}, "rollout", "status", ...id, "--format", "json").result;
    try {
      return JSON.parse(stdout) as RolloutReport;
    } catch {
      throw new Error(`no report:\n${output}`);
    }
  }

  /** Returns the state of each tenant in the newest rollout. */
  async readStates(): Promise<Record<string, string>> {
    return getStates(await this.report());
  }

  /** Runs git in the directory. All commits have the same author. */
  runGit(...args: string[]): string {
    const authorVariables = ["AUTHOR", "COMMITTER"].flatMap((role) => [
      [`GIT_${role}_NAME`, "a"],
      [`GIT_${role}_EMAIL`, "a@a.example"],
    ]);
    const env = { ...process.env, ...Object.fromEntries(authorVariables) };
    return execFileSync("git", args, { cwd: this.directory, encoding: "utf8", env }).trim();
  }

  /** Makes the directory a Git repository, with all files of a rollout in its first commit. */
  async commitAll(message: string): Promise<void> {
    await this.write(".gitignore", "/.*\n/node_modules\n");
    this.runGit("init", "--quiet");
    this.runGit("add", "settings", "tenants.yaml", "Pulumi.yaml");
    this.runGit("commit", "--quiet", "-m", message);
  }

  /** Runs Pulumi's CLI on a tenant's stack in the directory's project, as a person would. */
  startPulumi(name: string, ...args: string[]): { process: ChildProcess; ended: Promise<CliResult> } {
    const child = spawn(this.#pulumi, ["--non-interactive", "--color", "never", ...args, "--stack", name], {
      cwd: this.directory,
      env: {
        ...this.environment,
        EMAIL_SECURITY_BASE_URL: this.sandbox.url,
        EMAIL_SECURITY_API_KEY: this.environment[getKeyVariable(name)],
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#startedProcesses.push(child);
    const texts = { stdout: "", stderr: "", output: "" };
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream].setEncoding("utf8").on("data", (text: string) => {
        texts[stream] += text;
        texts.output += text;
      });
    }
    const ended = new Promise<CliResult>((done, fail) => {
      child.once("error", fail);
      child.once("close", (code) => done({ code: code ?? -1, ...texts }));
    });
    return { process: child, ended };
  }

  /** Returns a key of a tenant at the service. */
  getServiceKey(name: string, label: "ci" | "console" = "ci"): string {
    return this.sandbox.tenants.find((tenant) => tenant.name === name)?.apiKeys[label] ?? "";
  }

  /** Returns the contents of a tenant: `deny evil0.example`, sorted. */
  listContents(name: string): string[] {
    const entries = this.sandbox
      .allowDenyEntries(name)
      .map(({ list, value, comment }) => `${list} ${value} ${comment}`.trim());
    const vips = this.sandbox
      .vips(name)
      .filter(({ source }) => source === "manual")
      .map(({ email }) => `VIP ${email}`);
    return [...entries, ...vips].sort();
  }

  /**
   * Returns the contents that the settings files of {@link start} declare for a tenant, with the default baseline or
   * the given one.
   */
  listDeclaredContents(
    name: string,
    baseline: readonly string[] = buildBaselineValues(this.#options.entries),
  ): string[] {
    return [...baseline, `only-${name}.example`].map((value) => `deny ${value}`).sort();
  }

  /** Returns the requests since the last call, oldest first. */
  takeRequests(): RecordedRequest[] {
    const requests = [...this.sandbox.requests];
    this.sandbox.clearRequests();
    return requests;
  }

  /** Sends a colleague's request in the console. */
  async sendFromConsole(name: string, method: string, path: string, body?: unknown): Promise<void> {
    await click(this.sandbox, method, path, body, name);
  }

  /**
   * Returns the processes that currently work on this fleet, no matter who started them. All have the fleet's engine
   * home in their environment. Not all have its state backend there: a process that runs engines receives the backend
   * with each tenant.
   */
  listProcesses(): FleetProcess[] {
    const mark = `PULUMI_HOME=${join(this.directory, ".home")}`;
    return readdirSync("/proc")
      .filter((id) => /^\d+$/.test(id) && Number(id) !== process.pid)
      .flatMap((id) => {
        try {
          const readCommandLine = (): string =>
            readFileSync(`/proc/${id}/cmdline`, "utf8").replaceAll("\0", " ").trim();
          let [command, environment] = [readCommandLine(), readFileSync(`/proc/${id}/environ`, "utf8")];
          // A process that execs another program between the two reads would pair one program's environment with the
          // other's command.
          for (let next = readCommandLine(); next !== command; next = readCommandLine())
            [command, environment] = [next, readFileSync(`/proc/${id}/environ`, "utf8")];
          if (!environment.includes(mark)) return [];
          // A process that has ended and wasn't reaped yet has no command.
          return command === "" ? [] : [{ id: Number(id), command, environment }];
        } catch {
          return [];
        }
      });
  }

  /**
   * Resolves when no process works on this fleet any more.
   *
   * @throws if one still does after half a minute.
   */
  async waitForQuiet(): Promise<void> {
    const deadlineMs = performance.now() + 30_000;
    while (this.listProcesses().length > 0) {
      if (performance.now() > deadlineMs) {
        const leftoverProcesses = this.listProcesses().map(({ id, command }) => `${id} ${command}`);
        throw new Error(`still running after 30 s:\n${leftoverProcesses.join("\n")}`);
      }
      await sleep(100);
    }
  }

  async #layOut(): Promise<void> {
    for (const directory of ["settings", ".state", ".reports"]) await mkdir(join(this.directory, directory));
    await linkPackages(this.directory);
    await this.write("Pulumi.yaml", "name: fleet\nruntime: nodejs\n");
    await this.write("package.json", '{ "name": "fleet", "private": true, "main": "index.ts" }');
    await this.write("index.ts", PROGRAM);
    await this.writeBaseline(buildBaselineValues(this.#options.entries));
    for (const name of this.names) await this.write(`settings/${name}.yaml`, formatTenantSettings(name));
    await this.writeTargets();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#startedProcesses) if (child.exitCode === null) child.kill("SIGKILL");
    await this.sandbox.close();
    await this.waitForQuiet();
    await rm(this.directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** Returns the tenants that a run started, in order. */
export function listStartedTenants({ events }: Pick<FleetCliResult, "events">): string[] {
  return events.flatMap((event) => (event.kind === "tenant-started" ? [event.tenant] : []));
}

/** Returns the exit code of a run and the tenants that it started. */
export function summarizeRun(run: FleetCliResult): readonly [code: number, startedTenants: readonly string[]] {
  return [run.code, listStartedTenants(run)];
}

/** Returns the state of each tenant in a report. */
export function getStates({ tenants }: RolloutReport): Record<string, string> {
  return Object.fromEntries(tenants.map(({ name, state }) => [name, state]));
}

export interface FleetProcess {
  readonly id: number;
  readonly command: string;
  /** NAME=value pairs, each followed by a null character. */
  readonly environment: string;
}

/** Formats a tenant's settings file: the baseline, and an entry of its own. */
export function formatTenantSettings(name: string, more = ""): string {
  return `version: 1\ninclude: [baseline.yaml]\ndeny:\n  - only-${name}.example\n${more}`;
}

export function buildBaselineValues(entries = 3): string[] {
  return Array.from({ length: entries }, (_, number) => `evil${number}.example`);
}

const ONE_WAVE = "waves:\n  - { name: all, maxConcurrent: 2 }\n";

/** The program of a user who runs Pulumi without this package's command. */
const PROGRAM = `
import * as pulumi from "@pulumi/pulumi";
import { TenantSettings } from "pulumi-email-security";
const name = pulumi.getStack();
new TenantSettings(name, { file: \`settings/\${name}.yaml\` });
`;

export function getKeyVariable(name: string): string {
  return `${name.toUpperCase()}_KEY`;
}

function buildScenarioTenant(name: string, { scenario }: FleetOptions): ScenarioTenant {
  return { ...buildTenant(name, []), ...scenario?.(name) };
}
