import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import type { FleetStatus } from "../../provider/fleet/status/status-schema";
import type { RolloutReport } from "../../provider/rollout/model/rollout-report";
import { type Cli, type CliResult, createCli } from "../support/cli";
import { Fleet } from "../support/fleet";
import { buildConsoleEntry } from "../support/scenario-tenant";
import { buildShiftedClockEnvironment } from "../support/second-clone";
import { buildExecutive } from "../support/two-tenants";

/**
 * A tenant's declaration in `tenants.yaml`: the service's tenant whose key it uses, and the allows in its own settings
 * file.
 */
export interface TenantDeclaration {
  readonly service: string;
  /** Whether it uses that tenant's second key. Default: false. */
  readonly isSecondKey?: boolean;
  readonly allow: string;
  /** Its stack. Default: its name. */
  readonly stack?: string;
  /** Whether it reaches the service by another name of its host. Default: false. */
  readonly isRenamedHost?: boolean;
}

export type NamedTenants = ReadonlyMap<string, TenantDeclaration>;

interface TenantsFile {
  readonly tenants: Readonly<
    Record<
      string,
      {
        readonly key: { readonly environment: string };
        readonly settings?: string;
        readonly stack?: string;
        readonly baseUrl?: string;
      }
    >
  >;
}

interface CompanyClone {
  readonly directory: string;
  readonly run: Cli;
  /** Runs the same command, two days later. */
  readonly later: Cli;
  tenants: NamedTenants;
  /** The names under which stacks were skipped. Clones that share a journal share them. */
  readonly skipped: Map<string, string>;
}

const PRUNE = ["rollout", "prune", "--older-than", "1d", "--yes"];
const TWO_DAYS_MS = 2 * 86_400_000;
const REPORT = "report.json";

/** The service's tenants, each with its own people. */
export const SERVICES: readonly string[] = ["t0", "t1", "t2", "t3"];

const WAVES = "waves:\n  - { name: canary, limit: 1, gate: true }\n  - { name: rest }\n";
const OVERVIEW = "deny: [evil.example]\n";

/**
 * Two clones of a repository, each with its own journal, over one state backend. These invariants hold whatever happens
 * to the set of tenants:
 *
 * - A service tenant is only written to under the name of a tenant that the clone's file declares, with that tenant's
 *   key.
 * - A tenant that a journal's rollouts skip is not written to with that journal.
 * - With one stack, only one service tenant is ever written to, whatever the tenant is called.
 * - After a successful rollout, each of its tenants holds what its files declare, and nothing else that a rollout has
 *   added, except what a tenant held when it left all files.
 * - After a rollback that reports all tenants as restored, each of them holds what it held before the rollout, and the
 *   rollout's report names the rollback. If it does, every tenant that the rollout wrote to is restored.
 * - A tenant reported as in sync was read, and holds what its files declare.
 * - Pruning a journal sends no request to the service and doesn't change the above.
 */
export class CompanyFleet implements AsyncDisposable {
  readonly #fleet: Fleet;
  readonly #clones: readonly CompanyClone[];
  /** The service tenant that was first written to with each stack. */
  readonly #first = new Map<string, string>();
  /** The contents of service tenants before each rollout first wrote to them, by rollout and service tenant. */
  readonly #before = new Map<string, Map<string, readonly string[]>>();
  /** The contents of each service tenant when it left all files. */
  readonly #left = new Map<string, readonly string[]>();
  readonly #log: string[] = [];

  private constructor(fleet: Fleet, clones: readonly CompanyClone[]) {
    this.#fleet = fleet;
    this.#clones = clones;
  }

  /**
   * @param hasPeople whether the tenants have VIPs. Without them, the clones share a journal, which alone can recognize
   * a tenant.
   */
  static async start(hasPeople = true): Promise<CompanyFleet> {
    const buildScenario = (name: string) =>
      hasPeople
        ? { employees: [buildExecutive(`${name}.example`)] }
        : { entries: [buildConsoleEntry("deny", `own-${name}.example`)] };
    const variables = SERVICES.flatMap((name) => [getKeyVariableName(name), getKeyVariableName(name, true)]);
    const environment = {
      EMAIL_SECURITY_KEY_VARIABLES: variables.join(","),
      ...Object.fromEntries(SERVICES.map((name) => [getKeyVariableName(name, true), `sandbox-${name}-console`])),
    };
    const fleet = await Fleet.start({ tenants: SERVICES.length, scenario: buildScenario, environment });
    if (!hasPeople) fleet.environment["EMAIL_SECURITY_DATABASE"] = join(fleet.directory, "journal.db");
    const sharedSkips = new Map<string, string>();
    const clones = await Promise.all(
      [".one", ".two"].map(async (name): Promise<CompanyClone> => {
        const directory = join(fleet.directory, name);
        await mkdir(join(directory, "settings"), { recursive: true });
        const later = { ...fleet.environment, ...buildShiftedClockEnvironment(-TWO_DAYS_MS) };
        return {
          directory,
          run: createCli(directory, fleet.environment),
          later: createCli(directory, later),
          tenants: new Map(),
          skipped: hasPeople ? new Map<string, string>() : sharedSkips,
        };
      }),
    );
    const company = new CompanyFleet(fleet, clones);
    company.#noteLeft();
    return company;
  }

  /** The steps so far. */
  get stepLog(): string {
    return this.#log.join("\n");
  }

  getTenants(index: number): NamedTenants {
    return this.#clone(index).tenants;
  }

  /** Edits a clone's files by hand; the other clone's too if it pulls. */
  async edit(index: number, tenants: NamedTenants, isPulled: boolean): Promise<void> {
    const named = [...tenants].map(
      ([name, { service, isSecondKey, allow, stack, isRenamedHost = false }]) =>
        `${name}: ${getKeyVariableName(service, isSecondKey)}, ${allow}${stack === undefined ? "" : `, stack ${stack}`}${isRenamedHost ? ", at localhost" : ""}`,
    );
    this.#log.push(`clone ${index}${isPulled ? " and the other" : ""}: tenants.yaml names ${named.join("; ")}`);
    for (const clone of isPulled ? this.#clones : [this.#clone(index)]) await this.#write(clone, tenants);
    this.#noteLeft();
  }

  /** Restores the clones' files to an earlier state. */
  async revert(before: readonly NamedTenants[]): Promise<void> {
    this.#log.push("both clones: the files as they were");
    for (const [index, tenants] of before.entries()) await this.#write(this.#clone(index), tenants);
    this.#noteLeft();
  }

  async run(index: number, ...args: string[]): Promise<CliResult> {
    return await this.#run(index, this.#clone(index).run, args);
  }

  /** Prunes everything that may be pruned, with a clock that makes every rollout old. */
  async prune(index: number): Promise<void> {
    const { code } = await this.#run(index, this.#clone(index).later, PRUNE);
    const { length } = this.#fleet.sandbox.requests;
    if (length > 0) this.#fail(`prune sent ${length} requests to the service`);
    if (code !== 0 && existsSync(join(this.#clone(index).directory, ".email-security")))
      this.#fail(`prune ended with ${code}`);
  }

  async #run(index: number, command: Cli, args: readonly string[]): Promise<CliResult> {
    const clone = this.#clone(index);
    this.#fleet.takeRequests();
    const contents = new Map(SERVICES.map((service) => [service, this.#fleet.listContents(service)]));
    await rm(join(clone.directory, REPORT), { force: true });
    const run = await command(...args, ...(isRolloutRun(args) ? ["--output", REPORT] : []));
    const id = (await readReport(clone))?.id;
    this.#log.push(
      `clone ${index}: email-security ${args.join(" ")}\n${indentText(run.output)}\n  exit code ${run.code}`,
    );
    for (const { method, tenant, keyLabel } of this.#fleet.sandbox.requests) {
      if (method === "GET" || tenant === undefined) continue;
      const isSecond = keyLabel === "console";
      const names = [...clone.tenants].flatMap(([name, { service, isSecondKey = false }]) =>
        service === tenant && isSecondKey === isSecond ? [name] : [],
      );
      if (names.length === 0) this.#fail(`${tenant} was written to, which the file does not name`);
      const [name = "", second] = names;
      const stack = getStack(name, clone.tenants);
      const first = second === undefined ? (this.#first.get(stack) ?? tenant) : tenant;
      if (first !== tenant) this.#fail(`${tenant} was written to with the stack ${stack}, as ${first} before`);
      this.#first.set(stack, tenant);
      if (clone.skipped.has(stack)) this.#fail(`${tenant} was written to, although its stack ${stack} is skipped`);
      if (id !== undefined) this.#noteBefore(id, tenant, contents.get(tenant) ?? []);
    }
    if (args[0] === "tenant") await this.#read(clone);
    if (run.code === 0) recordSkip(clone, args);
    return run;
  }

  async runRollout(index: number): Promise<void> {
    const clone = this.#clone(index);
    const { tenants } = clone;
    const { code } = await this.run(index, "rollout", "--yes");
    if (code !== 0) return;
    for (const { name, state } of (await readReport(clone))?.tenants ?? []) {
      const tenant = tenants.get(name);
      if (tenant === undefined) this.#fail(`the report names ${name}`);
      if (!["done", "unchanged"].includes(state)) continue;
      const pendingItems = this.#left.get(tenant.service) ?? [];
      const declared = listDeclared(tenant);
      const holds = this.#fleet.listContents(tenant.service);
      const missing = declared.filter((candidate) => !holds.includes(candidate));
      const others = holds.filter((hold) => !declared.includes(hold) && !pendingItems.includes(hold));
      if (missing.length + others.length > 0)
        this.#fail(
          `${name} is ${state} without ${missing.join(", ") || "nothing"}, and with ${others.join(", ") || "nothing"} besides`,
        );
    }
  }

  /** Rolls back the last rollout of a clone. */
  async runRollback(index: number): Promise<void> {
    const clone = this.#clone(index);
    const { tenants } = clone;
    const { code } = await this.run(index, "rollout", "rollback", "--yes");
    const report = await readReport(clone);
    const { rollsBack } = report ?? {};
    if (report === undefined || rollsBack === undefined) return;
    const before = this.#before.get(rollsBack) ?? new Map<string, readonly string[]>();
    const compareTenant = (name: string, service: string): void => {
      const [contents, holds] = [before.get(service) ?? [], this.#fleet.listContents(service)];
      if (before.has(service) && holds.join() !== contents.join())
        this.#fail(`${name} holds ${holds.join(", ")}, and held ${contents.join(", ")} before ${rollsBack}`);
    };
    // A report that names skipped tenants, or later changes that stay, doesn't claim that all are restored.
    const isPartial =
      report.skipped !== undefined || report.tenants.some(({ unreverted = [] }) => unreverted.length > 0);
    const isRestored = code === 0 && !isPartial;
    if (isRestored) for (const { name } of report.tenants) compareTenant(name, tenants.get(name)?.service ?? "");
    const { stdout } = await this.run(index, "rollout", "status", rollsBack, "--format", "json");
    const { rolledBackBy } = JSON.parse(stdout) as RolloutReport;
    if (rolledBackBy !== undefined) for (const service of before.keys()) compareTenant(service, service);
    else if (isRestored) this.#fail(`all tenants are restored, and ${rollsBack} isn't rolled back`);
  }

  async checkStatus(index: number): Promise<void> {
    const run = await this.run(index, "fleet", "status", "--format", "json");
    if (!run.stdout.startsWith("{")) return;
    const status = JSON.parse(run.stdout) as FleetStatus;
    const read = new Set(this.#fleet.sandbox.requests.map(({ tenant }) => tenant));
    for (const { name, syncStatus } of status.tenants) {
      if (syncStatus !== "in-sync") continue;
      const tenant = this.getTenants(index).get(name);
      if (tenant === undefined) this.#fail(`the status names ${name}`);
      const first = this.#first.get(getStack(name, this.getTenants(index))) ?? tenant.service;
      if (first !== tenant.service)
        this.#fail(`${name} is in sync with the key of ${tenant.service}, and was ${first}`);
      if (!read.has(tenant.service)) this.#fail(`${name} is in sync, and ${tenant.service} was not read`);
      const missing = listDeclared(tenant).filter(
        (candidate) => !this.#fleet.listContents(tenant.service).includes(candidate),
      );
      if (missing.length > 0) this.#fail(`${name} is in sync without ${missing.join(", ")}`);
    }
  }

  #clone(index: number): CompanyClone {
    const clone = this.#clones[index];
    if (clone === undefined) throw new Error(`there is no clone ${index}`);
    return clone;
  }

  async #write(clone: CompanyClone, tenants: NamedTenants): Promise<void> {
    clone.tenants = tenants;
    const renamedHost = this.#fleet.sandbox.url.replace("127.0.0.1", "localhost");
    const lines = [...tenants].map(([name, { service, isSecondKey, stack, isRenamedHost = false }]) => {
      const key = `key: { environment: ${getKeyVariableName(service, isSecondKey)} }`;
      const address = isRenamedHost ? `, baseUrl: "${renamedHost}"` : "";
      return `  ${name}: { ${key}${stack === undefined ? "" : `, stack: ${stack}`}${address} }\n`;
    });
    const defaults = `defaults:\n  baseUrl: ${this.#fleet.sandbox.url}\n  settings: settings/{name}.yaml\n`;
    await writeFile(
      join(clone.directory, "tenants.yaml"),
      `version: 1\nproject: fleet\n${defaults}tenants:\n${lines.join("")}${WAVES}`,
    );
    for (const [name, { allow }] of tenants)
      await writeFile(join(clone.directory, `settings/${name}.yaml`), `version: 1\nallow: [${allow}]\n${OVERVIEW}`);
  }

  /** Rereads the files after a command that edits them. */
  async #read(clone: CompanyClone): Promise<void> {
    const file = parse(await readFile(join(clone.directory, "tenants.yaml"), "utf8")) as TenantsFile;
    const named = Object.entries(file.tenants).map(async ([name, { key, settings, stack, baseUrl }]) => {
      const path = join(clone.directory, settings ?? `settings/${name}.yaml`);
      const { allow } = parse(await readFile(path, "utf8")) as { readonly allow: readonly [string] };
      const { environment } = key;
      const isSecondKey = environment.endsWith("_SECOND_KEY");
      const service = environment.slice(0, 2).toLowerCase();
      const isRenamedHost = baseUrl?.includes("localhost") ?? false;
      const declaration = { service, isSecondKey, allow: allow[0], isRenamedHost };
      return [name, { ...declaration, ...(stack !== undefined && { stack }) }] as const;
    });
    clone.tenants = new Map(await Promise.all(named));
    this.#noteLeft();
  }

  /** @param contents the contents of the service tenant before the run. */
  #noteBefore(id: string, service: string, contents: readonly string[]): void {
    const before = this.#before.get(id) ?? new Map<string, readonly string[]>();
    this.#before.set(id, before);
    if (!before.has(service)) before.set(service, contents);
  }

  #noteLeft(): void {
    const all = this.#clones.flatMap(({ tenants }) => [...tenants.values()]);
    const keys = new Set(all.map(({ service }) => service));
    for (const service of SERVICES) if (!keys.has(service)) this.#left.set(service, this.#fleet.listContents(service));
  }

  #fail(label: string): never {
    throw new Error(`${label}\n\n${this.stepLog}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fleet[Symbol.asyncDispose]();
  }
}

/** Records the skips that a successful command began or ended. */
function recordSkip({ skipped, tenants }: CompanyClone, [command, subcommand, name = ""]: readonly string[]): void {
  if (command !== "rollout") return;
  const stack = getStack(name, tenants);
  if (subcommand === "skip") skipped.set(stack, name);
  if (subcommand !== "unskip") return;
  // A declared tenant comes before former ones of its name.
  if (tenants.has(name) && skipped.delete(stack)) return;
  const declaredStacks = new Set([...tenants.keys()].map((key) => getStack(key, tenants)));
  for (const [other, skippedName] of skipped)
    if (skippedName === name && !declaredStacks.has(other)) skipped.delete(other);
}

/** Returns the name of the variable that holds a service tenant's key. */
function getKeyVariableName(service: string, isSecond = false): string {
  return `${service.toUpperCase()}${isSecond ? "_SECOND" : ""}_KEY`;
}

/** Returns the stack of a declared tenant. */
export function getStack(name: string, tenants: NamedTenants): string {
  return tenants.get(name)?.stack ?? name;
}

/** Whether a command runs a rollout, and can write its report. */
function isRolloutRun([command, subcommand = ""]: readonly string[]): boolean {
  return command === "rollout" && ["--yes", "resume", "rollback"].includes(subcommand);
}

/** Reads the report of a clone's last command. Undefined if that was no run of a rollout, or failed before. */
async function readReport({ directory }: Pick<CompanyClone, "directory">): Promise<RolloutReport | undefined> {
  const file = join(directory, REPORT);
  return existsSync(file) ? (JSON.parse(await readFile(file, "utf8")) as RolloutReport) : undefined;
}

function listDeclared({ allow }: TenantDeclaration): string[] {
  return [`allow ${allow}`, "deny evil.example"];
}

function indentText(text: string): string {
  return text.trimEnd().replace(/^/gm, "    ");
}
