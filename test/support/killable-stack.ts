import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EngineProject, type PulumiResult, type RunningPulumi } from "./engine-project";
import { type FaultyProxy, type ProxiedRequest, startFaultyProxy } from "./faulty-proxy";
import { SandboxProcess } from "./sandbox-process";

export const VICTIMS = ["provider", "engine", "engine without checkpoints", "service"] as const;
export type Victim = (typeof VICTIMS)[number];

export const MOMENTS = ["before the service sees", "before the answer to", "after the answer to"] as const;
export type KillMoment = (typeof MOMENTS)[number];

/** The providers that can manage the program's resources. */
export const PROVIDERS = ["dynamic", "native"] as const;
export type KillableProviderKind = (typeof PROVIDERS)[number];

/** The process to kill, and the moment. */
export interface Kill {
  readonly victim: Victim;
  readonly moment: KillMoment;
  /** The index of the run's request, counted from 0. */
  readonly requestIndex: number;
}

/** The tenant's contents and the changes that led to them, as text without ids and dates. */
export interface StackContent {
  readonly holds: readonly string[];
  readonly changes: readonly string[];
}

const QUIET_ARGS = ["--yes", "--skip-preview"];
const UP = ["up", ...QUIET_ARGS];
const REFRESH = ["refresh", ...QUIET_ARGS, "--clear-pending-creates"];

/**
 * A stack whose provider process, engine and service can be killed at request boundaries, and which can be restored to
 * an earlier point: both its state and the tenant.
 *
 * The program is fixed; each run passes its declarations in the environment variable `DECLARED`.
 */
export class KillableStack implements AsyncDisposable {
  readonly proxy: FaultyProxy;
  readonly #directory: string;
  readonly #sandbox: SandboxProcess;
  readonly #project: EngineProject;
  readonly #providerKind: KillableProviderKind;
  /** The provider process of the run in which a process was killed. */
  #provider: number | undefined;

  private constructor(
    directory: string,
    proxy: FaultyProxy,
    sandbox: SandboxProcess,
    project: EngineProject,
    providerKind: KillableProviderKind,
  ) {
    this.#directory = directory;
    this.proxy = proxy;
    this.#sandbox = sandbox;
    this.#project = project;
    this.#providerKind = providerKind;
  }

  static async create(program: string, providerKind: KillableProviderKind): Promise<KillableStack> {
    const directory = await mkdtemp(join(tmpdir(), "email-security-"));
    await mkdir(join(directory, "tenant"));
    const sandbox = await SandboxProcess.start(join(directory, "tenant", "tenant.sqlite"));
    const proxy = await startFaultyProxy({ target: sandbox.url });
    const project = await EngineProject.create({
      program,
      plugin: providerKind === "native",
      environment: { EMAIL_SECURITY_BASE_URL: proxy.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    });
    return new KillableStack(directory, proxy, sandbox, project, providerKind);
  }

  /** Saves the current state and tenant under a name. */
  async keep(name: string): Promise<void> {
    await this.#sandbox.kill();
    await cp(join(this.#directory, "tenant"), join(this.#directory, name, "tenant"), { recursive: true });
    await cp(this.#state, join(this.#directory, name, "state"), { recursive: true });
    await this.#restartService();
  }

  /** Restores what was saved under this name. */
  async restore(name: string): Promise<void> {
    await this.#sandbox.kill();
    for (const [kept, now] of [
      ["tenant", join(this.#directory, "tenant")],
      ["state", this.#state],
    ] as const) {
      await rm(now, { recursive: true });
      await cp(join(this.#directory, name, kept), now, { recursive: true });
    }
    await this.#restartService();
    await this.proxy.removeFaults();
  }

  /** Runs `pulumi up` without killing anything. */
  async up(declared: unknown, ...args: string[]): Promise<PulumiResult> {
    return await this.#begin(declared, {}, [...UP, ...args]).result;
  }

  /**
   * Runs `pulumi up` and kills a process. A killed service is restarted after the run, or at once.
   *
   * @throws if nothing was killed because the run makes too few requests.
   */
  async killDuringUp(
    kill: Kill,
    declared: unknown,
    { isBackAtOnce }: { isBackAtOnce: boolean },
  ): Promise<PulumiResult> {
    const skip = kill.victim === "engine without checkpoints" ? { PULUMI_SKIP_CHECKPOINTS: "true" } : {};
    let killed = false;
    const createRequestHook = (moment: KillMoment) => async (request: ProxiedRequest) => {
      if (request.index !== kill.requestIndex || moment !== kill.moment) return undefined;
      this.#provider = findProviderProcess(run.pid, this.#providerKind);
      // After the last answer, the engine may have ended the provider already.
      killed = this.#provider !== undefined || moment === MOMENTS.at(-1);
      if (kill.victim === "provider") {
        if (this.#provider !== undefined && isProcessRunning(this.#provider)) process.kill(this.#provider, "SIGKILL");
      } else if (kill.victim === "service") await this.#sandbox.kill();
      else run.kill();
      if (kill.victim === "service" && isBackAtOnce) await this.#restartService();
      // A response that hasn't left a killed process never does.
      return kill.victim === "provider" || kill.victim === "service" ? "drop" : undefined;
    };
    if (kill.victim === "service" && kill.moment === "before the answer to") {
      this.proxy.inject({ nth: [kill.requestIndex + 1], fault: { forwarded: true, response: "reset" } });
    }
    const [before, commit, after] = MOMENTS.map(createRequestHook);
    Object.assign(this.proxy.hooks, { beforeForward: before, afterCommit: commit, afterAnswer: after });
    const run = this.#begin(declared, skip, UP);
    const ended = await run.result;
    await this.proxy.removeFaults();
    if (!killed) throw new Error(`nobody was killed; the run ended with ${ended.code}:\n${ended.output}`);
    if (!this.#sandbox.isRunning) await this.#restartService();
    return ended;
  }

  /**
   * Runs the commands that a person types after a killed run, until Pulumi asks for nothing more:
   *
   * - `pulumi up`, with or without a refresh before it.
   * - `pulumi cancel` if the stack is locked.
   * - A refresh that clears interrupted creations if Pulumi warns of them.
   * - Deleting the files that the how-to names if the backend's files can't be read.
   * - Allowing an empty tenant if the killed run had emptied it and the state doesn't record that.
   *
   * Returns all commands and their output.
   */
  async recover(declared: unknown, { refreshesFirst }: { refreshesFirst: boolean }): Promise<string> {
    let output = "";
    let environment: Record<string, string> = {};
    const type = async (...command: string[]): Promise<PulumiResult> => {
      const run = await this.#begin(declared, environment, command).result;
      output += `$ pulumi ${command.join(" ")}\n${run.output}\n`;
      return run;
    };
    const typeUnlocked = async (...command: string[]): Promise<string> => {
      let run = await type(...command);
      if (run.output.includes("failed to load checkpoint: EOF")) {
        output += `$ rm ${(await this.#removeEmptyAttributes()).join(" ")}\n`;
        run = await type(...command);
      }
      if (run.output.includes("the stack is currently locked")) {
        await type("cancel", "--yes");
        run = await type(...command);
      }
      if (run.output.includes("none of the elements in this stack's state exist")) {
        environment = { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "true" };
        run = await type(...command);
      }
      if (run.code === 0) return run.output;
      throw new Error(`no way back:\n${output}`);
    };
    if (refreshesFirst) await typeUnlocked(...REFRESH);
    const up = await typeUnlocked(...UP);
    if (up.includes("pending operations")) await typeUnlocked(...REFRESH);
    return output;
  }

  /** Resolves when the provider process of the killed run is gone. */
  async waitForProviderExit(): Promise<void> {
    while (this.#provider !== undefined && isProcessRunning(this.#provider)) await sleep(50);
  }

  /** Returns the tenant's contents, and the changes since a row of its audit log. */
  async readOutcome(since: number): Promise<StackContent> {
    const entries = await this.#get("/api/v1/settings/allow_deny_entries?page_size=200");
    const vips = await this.#get("/api/v1/settings/vip_employees?page_size=200");
    const audit = (await this.#audit()).filter(({ id }) => id > since);
    const texts = audit
      .map(({ action, before, after }) => [action, formatRow(before), formatRow(after)] as const)
      .filter(([, before, after]) => before !== after)
      .map(([action, before, after]) => `${action}: ${before} -> ${after}`);
    return { holds: [...entries, ...vips].map(formatRow).sort(), changes: texts.sort() };
  }

  /** Returns the last row of the tenant's audit log. */
  async readLastAuditId(): Promise<number> {
    return Math.max(0, ...(await this.#audit()).map(({ id }) => id));
  }

  async #audit(): Promise<readonly AuditRow[]> {
    return await this.#get("/sandbox/audit?limit=1000");
  }

  async #get<Row>(path: string): Promise<readonly Row[]> {
    const response = await fetch(`${this.#sandbox.url}${path}`, {
      headers: { "x-api-key": "sandbox-acme-console" },
    });
    const { results } = (await response.json()) as { results: { items: Row[] } };
    return results.items;
  }

  async #restartService(): Promise<void> {
    await this.#sandbox.restart();
    this.proxy.target = this.#sandbox.url;
  }

  /** Removes the empty attribute files that a backend leaves if it is killed while writing. */
  async #removeEmptyAttributes(): Promise<string[]> {
    const stacks = join(this.#state, ".pulumi", "stacks");
    const names = await readdir(stacks, { recursive: true });
    const files = names.filter((name) => name.endsWith(".attrs")).map((name) => join(stacks, name));
    const empty = files.filter((file) => statSync(file).size === 0);
    for (const file of empty) await rm(file);
    return empty;
  }

  get #state(): string {
    return join(this.#project.directory, ".state");
  }

  #begin(declared: unknown, environment: Record<string, string>, command: readonly string[]): RunningPulumi {
    return this.#project.start({ ...environment, DECLARED: JSON.stringify(declared) }, ...command);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#project[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
    await this.#sandbox[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

interface AuditRow {
  readonly id: number;
  readonly action: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Formats an entry or a VIP as returned by the service, without the fields that differ between runs. */
function formatRow(row: unknown): string {
  if (row === null) return "nothing";
  const { list, value, email, source, excluded, comment } = row as Record<string, unknown>;
  const words = [list, value, email, source, excluded === true ? "excluded" : undefined, comment];
  return words.filter((word) => word !== undefined && word !== "").join(" ");
}

export function isProcessRunning(id: number): boolean {
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
}

const PROVIDER_PROGRAMS = { dynamic: "cmd/dynamic-provider", native: "/pulumi-resource-email-security" } as const;

/** Returns the id of the process in which an engine runs a provider's resources; undefined if it has ended. */
export function findProviderProcess(engine: number, providerKind: KillableProviderKind): number | undefined {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" }).split("\n");
  const processes = lines.flatMap((line) => {
    const [, id, parent, command = ""] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return id === undefined ? [] : [{ id: Number(id), parent: Number(parent), command }];
  });
  // Pulumi starts dynamic providers through a shell.
  const children = processes.filter(({ parent }) => parent === engine).map(({ id }) => id);
  const parents = [engine, ...children];
  return processes.find(
    ({ parent, command }) => parents.includes(parent) && command.includes(PROVIDER_PROGRAMS[providerKind]),
  )?.id;
}
