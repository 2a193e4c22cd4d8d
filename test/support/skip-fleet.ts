import type { Database } from "../../provider/rollout/database/database";
import { runRollout } from "../../provider/rollout/execution/coordinator";
import { createJournaledJob, type TenantChangeHandler } from "../../provider/rollout/execution/journaled-job";
import type { HealthContext } from "../../provider/rollout/execution/wave-health";
import { Journal } from "../../provider/rollout/journal/journal";
import type { RolloutSpec } from "../../provider/rollout/journal/rollout-record";
import { skipTenants } from "../../provider/rollout/journal/tenant-skips";
import type { RolloutEvent } from "../../provider/rollout/model/rollout-event";
import type { HealthCheck, Wave } from "../../provider/rollout/model/wave";
import { LocalQueue } from "../../provider/rollout/queue/local-queue";
import { createTarget } from "./rollout-target";

/** The project and state backend of the rollouts. */
export const STACK_OWNER = { project: "p", backend: "b" } as const;

const NEVER = new AbortController().signal;

/** How {@link SkippingFleet} starts a rollout. */
interface StartOptions {
  /** Default: true. */
  readonly retry?: boolean;
  /** The stacks of the tenants that the targets file no longer names. Default: none. */
  readonly skippedNames?: readonly string[];
}

/** A fleet of five tenants in two waves, changed only in memory; the coordinator and the journal are real. */
export class SkippingFleet implements AsyncDisposable {
  readonly journal: Journal;
  /** The changed tenants, in order. */
  readonly changed: string[] = [];
  readonly failing = new Set<string>();
  readonly events: RolloutEvent[] = [];
  /** Awaited during the change of a tenant. */
  meanwhile: (name: string) => Promise<void> = async () => {};
  #nowMs = Date.UTC(2026, 10, 21, 3);

  private constructor(database: Database) {
    this.journal = {} as Journal;
    this.#database = database;
  }

  readonly #database: Database;

  static async open(database: Database): Promise<SkippingFleet> {
    const fleet = new SkippingFleet(database);
    (fleet as { journal: Journal }).journal = await Journal.open(database, () => fleet.now());
    return fleet;
  }

  now(): number {
    this.#nowMs += 1_000;
    return this.#nowMs;
  }

  /** Plans a rollout over these waves and returns its id. @param stacks the stacks that aren't called like their tenants. */
  async plan(
    waves: Readonly<Record<string, readonly string[]>>,
    { health, ...more }: Partial<Wave> = {},
    spec: Partial<RolloutSpec> = {},
    stacks: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const names = Object.values(waves).flat();
    const all = Object.entries(waves).map(
      ([name, tenants], index): Wave => ({
        ...{ name, tenants, maxConcurrent: 1, tolerated: 0, soakMs: 0, gate: false },
        ...more,
        ...(index === 0 && health !== undefined ? { health } : {}),
      }),
    );
    const targetsFields = { source: "tenants.yaml", today: "2026-11-21", services: [], waves: all };
    const id = await this.journal.create(
      { ...targetsFields, ...STACK_OWNER, ...spec },
      names.map((name) => ({ ...createTarget(name, "https://a.example"), stack: stacks[name] ?? name })),
    );
    await this.journal.recordPlans(
      id,
      names.map((name) => ({ name, state: "pending", digest: `v2-${name}`, plan: '{"changes":[]}' })),
    );
    await this.journal.completePlanning(id, "r2-reviewed", { bundle: new Map(), directory: "." });
    return id;
  }

  /** Starts or resumes the rollout, without the tenants that left the targets file. Doesn't run it. */
  async start(id: string, { retry = true, skippedNames = [] }: StartOptions = {}): Promise<void> {
    const excludedStacks = new Map(skippedNames.map((stack) => [stack, "tenants.yaml no longer contains it"]));
    await this.journal.start(id, { retry, current: { updatedTargets: [], excludedStacks, keyVariables: [] } });
  }

  /** Starts or resumes the rollout and runs it until it ends. Returns its final state. */
  async run(id: string, options: StartOptions = {}): Promise<string> {
    const { journal } = this;
    await this.start(id, options);
    const change: TenantChangeHandler = async ({ target: { name } }) => {
      await this.meanwhile(name);
      if (this.failing.has(name)) throw new Error("The service refused it.");
      this.changed.push(name);
    };
    const job = createJournaledJob({ journal, worker: "host:1", environment: {} }, change);
    const health = { rollout: id, now: Date.now, requestContext: { environment: ENVIRONMENT } };
    return await runRollout(id, {
      ...{
        journal,
        queue: new LocalQueue(job, NEVER),
        capacity: 9,
        stopping: NEVER,
        aborted: NEVER,
        pollMs: 1,
      },
      health: health as unknown as HealthContext,
      onEvent: (event) => this.events.push(event),
    });
  }

  async skip(...names: string[]) {
    const tenants = names.map((name) => ({ name, stack: createTarget(name, "").stack }));
    const request = { reason: "its key is refused", by: "dana@build-7", nowMs: this.now() };
    return await skipTenants(this.#database, STACK_OWNER, tenants, request);
  }

  /** Returns the state of each tenant. */
  async readStates(id: string): Promise<Readonly<Record<string, string>>> {
    return Object.fromEntries((await this.journal.listTenants(id)).map(({ name, state }) => [name, state]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.journal.close();
  }
}

/** A health check that fails if it includes the tenant `c`. */
export const FAILING_C_CHECK: HealthCheck = {
  command: ["sh", "-c", 'case ",$EMAIL_SECURITY_TENANTS," in *,c,*) echo c is unwell; exit 1;; esac'],
  timeoutMs: 60_000,
};

const ENVIRONMENT = { ...process.env, EMAIL_SECURITY_COMMANDS: JSON.stringify(FAILING_C_CHECK.command) };
