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
import { COMMAND, type CommandRun } from "./command-line";
import { click } from "./console";
import { linkPackages } from "./program-packages";
import { tenantWith } from "./scenario-tenant";

export interface FleetOptions {
  readonly tenants: number;
  /** How many entries the baseline denies, which every tenant's settings include. Default: 3. */
  readonly entries?: number;
  readonly sandbox?: SandboxOptions;
  /** The lines after the tenants, such as waves. Default: one wave, two at once. */
  readonly waves?: string;
  /** More about a tenant, as a YAML mapping in one line: `{ labels: { ring: canary } }`. */
  readonly about?: (name: string, number: number) => string;
  /** More of a tenant in the sandbox, such as its employees. */
  readonly scenario?: (name: string) => Partial<ScenarioTenant>;
  /** Tenants of the service that `tenants.yaml` doesn't name. */
  readonly others?: readonly ScenarioTenant[];
  /** More of the command's environment, such as another state backend. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** A run of `email-security` that has ended. */
export interface EndedCommand extends CommandRun {
  /** All events, as `--events` prints them. */
  readonly events: readonly RolloutEvent[];
  /** The JSON report that it wrote: of a run of a rollout that came to its end. */
  readonly report: () => RolloutReport;
}

/** A run of `email-security` that goes on. */
export interface RunningCommand {
  readonly process: ChildProcess;
  /** The events so far, as `--events` prints them. */
  readonly events: readonly RolloutEvent[];
  /** All that was printed so far. */
  readonly output: () => string;
  /** Done when an event is there; fails when the command ends before. */
  seen(which: (event: RolloutEvent) => boolean): Promise<RolloutEvent>;
  /** Done when a text was printed; fails when the command ends before. */
  waitForOutput(text: string): Promise<void>;
  readonly ended: Promise<EndedCommand>;
}

/**
 * A sandbox with many tenants, a folder with `tenants.yaml` and a settings file for each that includes one baseline, and
 * a file backend: all that a rollout takes. The folder is also the project of a plain `pulumi up`.
 */
export class Fleet implements AsyncDisposable {
  readonly directory: string;
  readonly sandbox: Sandbox;
  readonly names: readonly string[];
  /** The command's environment, with all keys. */
  readonly environment: NodeJS.ProcessEnv;
  readonly #pulumi: string;
  readonly #options: FleetOptions;
  readonly #begun: ChildProcess[] = [];
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
          ...Array.from({ length: options.tenants }, (_, number) => tenantOf(`t${number}`, options)),
          ...(options.others ?? []),
        ],
      },
      ...options.sandbox,
    });
    const engine = await requireEngine();
    const keys = sandbox.tenants
      .slice(0, options.tenants)
      .map(({ name, apiKeys }) => [keyVariable(name), apiKeys.ci] as const);
    const fleet = new Fleet(
      directory,
      sandbox,
      {
        ...engine.environment(withoutOwnSettings(process.env)),
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

  /** Replaces a file of the folder. */
  async write(path: string, text: string): Promise<void> {
    await writeFile(join(this.directory, path), text);
  }

  async read(path: string): Promise<string> {
    return await readFile(join(this.directory, path), "utf8");
  }

  /** Replaces the baseline: what every tenant denies. */
  async baseline(values: readonly string[]): Promise<void> {
    await this.write("settings/baseline.yaml", `version: 1\ndeny:\n${values.map((one) => `  - ${one}\n`).join("")}`);
  }

  /** Replaces `tenants.yaml`. */
  async targets(options: Partial<Pick<FleetOptions, "waves" | "about">> = {}): Promise<void> {
    const { waves = ONE_WAVE, about = () => "{}" } = { ...this.#options, ...options };
    const tenants = this.names.map((name, number) => `  ${name}: ${about(name, number)}\n`).join("");
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

  /** Runs `email-security rollout` to its end, telling its events. */
  async rollout(...args: string[]): Promise<EndedCommand> {
    return await this.begin({}, "rollout", ...args).ended;
  }

  /** Begins `email-security`, and answers while it goes on; a process group of its own, as in a terminal. */
  begin(environment: Record<string, string | undefined>, ...args: string[]): RunningCommand {
    const isRun = args[0] === "rollout" && !["status", "stop", "abandon", "skip", "unskip"].includes(args[1] ?? "");
    const own = `.reports/${++this.#reports}.json`;
    const report = args.find((arg, at) => args[at - 1] === "--output" && arg.endsWith(".json")) ?? own;
    const telling = report === own ? [...args, "--output", own] : args;
    const child = spawn(process.execPath, [COMMAND, ...(isRun ? [...telling, "--events"] : args)], {
      cwd: this.directory,
      env: { ...this.environment, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    this.#begun.push(child);
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
          for (const one of lines) if (one.startsWith('{"seq":')) events.push(JSON.parse(one) as RolloutEvent);
        }
        for (const look of waiting) look();
      });
    }
    const ended = new Promise<EndedCommand>((done, fail) => {
      child.once("error", fail);
      child.once("close", (code) => {
        isOver = true;
        for (const look of waiting) look();
        const reported = (): RolloutReport => {
          const file = join(this.directory, report);
          if (!existsSync(file)) throw new Error(`no report:\n${texts.output}`);
          return JSON.parse(readFileSync(file, "utf8")) as RolloutReport;
        };
        done({ code: code ?? -1, ...texts, events, report: reported });
      });
    });
    const until = async <T>(find: () => T | undefined): Promise<T> =>
      await new Promise((done, fail) => {
        const look = (): void => {
          const found = find();
          if (found === undefined && !isOver) return;
          waiting.delete(look);
          if (found !== undefined) done(found);
          else fail(new Error(`the command ended without it:\n${texts.output}`));
        };
        waiting.add(look);
        look();
      });
    return {
      process: child,
      events,
      output: () => texts.output,
      seen: async (which) => await until(() => events.find(which)),
      waitForOutput: async (text) => void (await until(() => texts.output.includes(text) || undefined)),
      ended,
    };
  }

  /** The report of the newest rollout, or of one, as `rollout status` tells it. */
  async report(...id: string[]): Promise<RolloutReport> {
    const { stdout, output } = await this.begin({}, "rollout", "status", ...id, "--format", "json").ended;
    try {
      return JSON.parse(stdout) as RolloutReport;
    } catch {
      throw new Error(`no report:\n${output}`);
    }
  }

  /** The state of each tenant in the newest rollout. */
  async states(): Promise<Record<string, string>> {
    return statesIn(await this.report());
  }

  /** Runs git in the folder; what it commits is always the same author's. */
  git(...args: string[]): string {
    const who = ["AUTHOR", "COMMITTER"].flatMap((role) => [
      [`GIT_${role}_NAME`, "a"],
      [`GIT_${role}_EMAIL`, "a@a.example"],
    ]);
    const env = { ...process.env, ...Object.fromEntries(who) };
    return execFileSync("git", args, { cwd: this.directory, encoding: "utf8", env }).trim();
  }

  /** Makes the folder a repository, with all that a rollout is made of in its first commit. */
  async commitAll(message: string): Promise<void> {
    await this.write(".gitignore", "/.*\n/node_modules\n");
    this.git("init", "--quiet");
    this.git("add", "settings", "tenants.yaml", "Pulumi.yaml");
    this.git("commit", "--quiet", "-m", message);
  }

  /** Runs the CLI of Pulumi on a tenant's stack in the folder's project, as a person would. */
  pulumi(name: string, ...args: string[]): { process: ChildProcess; ended: Promise<CommandRun> } {
    const child = spawn(this.#pulumi, ["--non-interactive", "--color", "never", ...args, "--stack", name], {
      cwd: this.directory,
      env: {
        ...this.environment,
        EMAIL_SECURITY_BASE_URL: this.sandbox.url,
        EMAIL_SECURITY_API_KEY: this.environment[keyVariable(name)],
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#begun.push(child);
    const texts = { stdout: "", stderr: "", output: "" };
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream].setEncoding("utf8").on("data", (text: string) => {
        texts[stream] += text;
        texts.output += text;
      });
    }
    const ended = new Promise<CommandRun>((done, fail) => {
      child.once("error", fail);
      child.once("close", (code) => done({ code: code ?? -1, ...texts }));
    });
    return { process: child, ended };
  }

  /** A key of a tenant of the service. */
  keyOf(name: string, label: "ci" | "console" = "ci"): string {
    return this.sandbox.tenants.find((one) => one.name === name)?.apiKeys[label] ?? "";
  }

  /** What a tenant holds: `deny evil0.example`, sorted. */
  holds(name: string): string[] {
    const entries = this.sandbox
      .allowDenyEntries(name)
      .map(({ list, value, comment }) => `${list} ${value} ${comment}`.trim());
    const vips = this.sandbox
      .vips(name)
      .filter(({ source }) => source === "manual")
      .map(({ email }) => `VIP ${email}`);
    return [...entries, ...vips].sort();
  }

  /** What the settings files of {@link start} make of a tenant, with a baseline of so many or of these. */
  declared(name: string, baseline: readonly string[] = baselineOf(this.#options.entries)): string[] {
    return [...baseline, `only-${name}.example`].map((value) => `deny ${value}`).sort();
  }

  /** The requests since the last call, oldest first. */
  take(): RecordedRequest[] {
    const requests = [...this.sandbox.requests];
    this.sandbox.clearRequests();
    return requests;
  }

  /** A request of a colleague in the console. */
  async console(name: string, method: string, path: string, body?: unknown): Promise<void> {
    await click(this.sandbox, method, path, body, name);
  }

  /**
   * The processes that work on this fleet now, whoever started them: all have the home of its engine in their environment. Not
   * all have its state backend there: a process that runs engines is told of one with each tenant.
   */
  processes(): FleetProcess[] {
    const mark = `PULUMI_HOME=${join(this.directory, ".home")}`;
    return readdirSync("/proc")
      .filter((id) => /^\d+$/.test(id) && Number(id) !== process.pid)
      .flatMap((id) => {
        try {
          const commandNow = (): string => readFileSync(`/proc/${id}/cmdline`, "utf8").replaceAll("\0", " ").trim();
          let [command, environment] = [commandNow(), readFileSync(`/proc/${id}/environ`, "utf8")];
          // One that becomes another program in between has the environment of one and the command of the other.
          for (let next = commandNow(); next !== command; next = commandNow())
            [command, environment] = [next, readFileSync(`/proc/${id}/environ`, "utf8")];
          if (!environment.includes(mark)) return [];
          // One that has ended, and that nobody has looked after yet, has no command.
          return command === "" ? [] : [{ id: Number(id), command, environment }];
        } catch {
          return [];
        }
      });
  }

  /** Done when no process works on this fleet any more; fails when one still does after so long. */
  async quiet(withinMs = 30_000): Promise<void> {
    const until = Date.now() + withinMs;
    while (this.processes().length > 0) {
      if (Date.now() > until) {
        const left = this.processes().map(({ id, command }) => `${id} ${command}`);
        throw new Error(`still at it after ${withinMs / 1_000} s:\n${left.join("\n")}`);
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
    await this.baseline(baselineOf(this.#options.entries));
    for (const name of this.names) await this.write(`settings/${name}.yaml`, settingsOf(name));
    await this.targets();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#begun) if (child.exitCode === null) child.kill("SIGKILL");
    await this.sandbox.close();
    await this.quiet();
    await rm(this.directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** The tenants that a run began, in their order. */
export function begun({ events }: Pick<EndedCommand, "events">): string[] {
  return events.flatMap((event) => (event.kind === "tenant-started" ? [event.tenant] : []));
}

/** How a run ended, and whom it began. */
export function summarizeRun(run: EndedCommand): readonly [code: number, begun: readonly string[]] {
  return [run.code, begun(run)];
}

/** The state of each tenant in a report. */
export function statesIn({ tenants }: RolloutReport): Record<string, string> {
  return Object.fromEntries(tenants.map(({ name, state }) => [name, state]));
}

export interface FleetProcess {
  readonly id: number;
  readonly command: string;
  /** NAME=value, with a null character after each. */
  readonly environment: string;
}

/** A tenant's settings file: the baseline, and an entry of its own. */
export function settingsOf(name: string, more = ""): string {
  return `version: 1\ninclude: [baseline.yaml]\ndeny:\n  - only-${name}.example\n${more}`;
}

export function baselineOf(entries = 3): string[] {
  return Array.from({ length: entries }, (_, number) => `evil${number}.example`);
}

const ONE_WAVE = "waves:\n  - { name: all, maxConcurrent: 2 }\n";

/** What a person has who runs Pulumi without this package's command. */
const PROGRAM = `
import * as pulumi from "@pulumi/pulumi";
import { TenantSettings } from "pulumi-email-security";
const name = pulumi.getStack();
new TenantSettings(name, { file: \`settings/\${name}.yaml\` });
`;

export function keyVariable(name: string): string {
  return `${name.toUpperCase()}_KEY`;
}

function tenantOf(name: string, { scenario }: FleetOptions): ScenarioTenant {
  return { ...tenantWith(name, []), ...scenario?.(name) };
}

/** The developer's own tenant and Pulumi account are no business of a test. */
function withoutOwnSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = /^(PULUMI_|EMAIL_SECURITY_)/;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !own.test(name)));
}
