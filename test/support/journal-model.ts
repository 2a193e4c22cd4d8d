import fc from "fast-check";
import { expect } from "vitest";
import type { Database } from "../../provider/rollout/database/database";
import { Journal } from "../../provider/rollout/journal/journal";
import type { ClaimedJob, PlannedTenant, RolloutSpec } from "../../provider/rollout/journal/rollout-record";
import { chooseNextStep, type RunState } from "../../provider/rollout/model/next-step";
import type { TenantError } from "../../provider/rollout/model/rollout-report";
import { SETTLED_STATES } from "../../provider/rollout/model/wave";
import type { Job, JobQueue } from "../../provider/rollout/queue/job-queue";
import { VirtualJournal, type VirtualPlan, type VirtualTenant } from "../bench/virtual-rollout";
import { Crash, CrashingDatabase } from "./crashing-database";
import { createTarget } from "./rollout-target";

const ERROR: TenantError = {
  code: "ERR_AUTH",
  message: "The key was refused.",
  advice: "Give another key.",
  phase: "apply",
};

/** An operation on the journal. Its numbers select among the choices available at that time. */
export interface JournalOperation {
  readonly kind: (typeof KINDS)[number];
  /** The index of the rollout: 0 or 1. */
  readonly rollout: number;
  readonly pick: number;
  readonly other: number;
  readonly yes: boolean;
  /** The moment of the operation at which the process crashes, counted from 1; undefined for none. */
  readonly crashAt: number | undefined;
}

// Frequent operations are listed more than once.
const KINDS = [
  ...["step", "step", "step", "step", "step", "step", "step", "step", "step", "step", "step", "step"],
  ...["work", "work", "work", "work", "late finish", "second begin", "old begin", "release any"],
  ...["start", "request stop", "reclaim", "note", "interrupted", "stop"],
] as const;

export function generateOperations(): fc.Arbitrary<readonly JournalOperation[]> {
  return fc.array(
    fc.record({
      kind: fc.constantFrom(...KINDS),
      rollout: fc.nat({ max: 1 }),
      pick: fc.nat({ max: 100 }),
      other: fc.nat({ max: 100 }),
      yes: fc.boolean(),
      crashAt: fc.option(fc.integer({ min: 1, max: 14 }), { nil: undefined, freq: 4 }),
    }),
    { minLength: 60, maxLength: 140 },
  );
}

/**
 * Two rollouts in one journal, and their expected state: an in-memory model of the same rules. After each step,
 * completed or crashed, the two are compared.
 */
export class JournalModelTest {
  /** The number of crashes in the sequence. */
  crashes = 0;
  readonly #open: () => Promise<Database>;
  readonly #rollouts: TwoReadings[] = [];
  readonly #address: string;
  #database: CrashingDatabase;
  #journal: Journal;
  #nowMs = Date.UTC(2026, 10, 21);

  private constructor(open: () => Promise<Database>, database: CrashingDatabase, journal: Journal, address: string) {
    this.#open = open;
    this.#database = database;
    this.#journal = journal;
    this.#address = address;
  }

  /**
   * @param open opens the same database each time; it may hold other rollouts.
   * @param address an address that no other rollout in it has.
   */
  static async begin(open: () => Promise<Database>, address: string): Promise<JournalModelTest> {
    const database = new CrashingDatabase(await open());
    await database.query("CREATE TABLE IF NOT EXISTS handed_out (job TEXT PRIMARY KEY)");
    const sequence = new JournalModelTest(open, database, await Journal.open(database, () => 0), address);
    await sequence.#reopen();
    for (let rollout = 0; rollout < 2; rollout++) sequence.#rollouts.push(await sequence.#create());
    return sequence;
  }

  async close(): Promise<void> {
    await this.#journal.close();
  }

  async do(operation: JournalOperation): Promise<void> {
    this.#nowMs += operation.other * 10;
    const chosen = this.#rollouts[operation.rollout] as TwoReadings;
    this.#takeElsewhere();
    const act = this.#choose(operation, chosen);
    if (act === undefined) return;
    this.#database.momentsLeft = operation.crashAt;
    try {
      const answer = await act.real();
      this.#database.momentsLeft = undefined;
      expect(answer, operation.kind).toEqual(act.virtual());
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      if (this.#database.hasWritten) act.virtual();
      this.crashes += 1;
      await this.#reopen();
    }
    this.#takeElsewhere();
    await this.#compare(chosen);
  }

  /** Asserts that the database matches the model. */
  async compare(): Promise<void> {
    for (const both of this.#rollouts) await this.#compare(both);
  }

  async #compare({ id, virtual, handedOut }: TwoReadings): Promise<void> {
    const record = await this.#journal.getRollout(id);
    const { state, reason, until, isStopping } = virtual;
    expect(record).toMatchObject({ state, reason, until, isStopping });
    const tenants = await this.#journal.listTenants(id);
    // No tenant is lost or duplicated; each is in its wave, in order.
    expect(tenants.map(({ name, wave, state, attempt }) => ({ name, wave, state, attempt }))).toEqual(
      [...virtual.tenants.values()].map(({ name, wave, state, attempt }) => ({
        name,
        wave,
        state,
        attempt,
      })),
    );
    for (const { state, error } of tenants) expect(error !== undefined).toBe(state === "failed");
    expect(dropUncomparedFields(await this.#journal.readRunState(id, 9))).toEqual(
      dropUncomparedFields({ ...virtual.getView(), capacity: 9 }),
    );
    expect(await this.#handedOut(id)).toEqual([...handedOut].sort());
    await this.#compareEvents(id, virtual);
  }

  async #compareEvents(id: string, virtual: VirtualJournal): Promise<void> {
    const events = await this.#journal.listEvents(id, 0);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    for (const { name, state, attempt } of virtual.tenants.values()) {
      const own = events.filter((event) => "tenant" in event && event.tenant === name);
      const started = own.filter(({ kind }) => kind === "tenant-started");
      expect(started.map((event) => "attempt" in event && event.attempt)).toEqual(
        Array.from({ length: attempt }, (_, index) => index + 1),
      );
      const last = own.findLast(({ kind }) => kind !== "tenant-note");
      if (state === "running") expect(last?.kind, name).toBe("tenant-started");
      if (state === "done") expect(last, name).toMatchObject({ kind: "tenant-finished", state });
      if (state === "failed" && attempt > 0) expect(last, name).toMatchObject({ kind: "tenant-finished", state });
    }
    const ending = events.findLast(({ kind }) => ENDINGS.has(kind));
    const expected = {
      waiting: "waiting",
      stopped: "stopped",
      abandoned: "stopped",
      "rolled-back": "stopped",
      done: "finished",
      running: "started",
    };
    if (virtual.state !== "planned") expect(ending?.kind).toBe(expected[virtual.state]);
  }

  #choose({ kind, pick: index, other, yes }: JournalOperation, chosen: TwoReadings): PairedAction | undefined {
    const { id, virtual, claims } = chosen;
    const journal = this.#journal;
    const all = [...virtual.tenants.values()];
    const open = all.filter(({ state }) => state === "queued" || state === "running");
    const openClaims = claims.filter(({ job, attempt }) => {
      const tenant = virtual.tenants.get(job.tenant);
      return tenant?.state === "running" && tenant.attempt > attempt;
    });
    const claim = pick(openClaims, index) ?? pick(claims, index);
    const isSuccessful = other % 5 > 0;
    const finish = (ended: ClaimedJob | undefined): PairedAction | undefined =>
      ended && {
        real: async () => await journal.finish(ended, isSuccessful ? undefined : ERROR),
        virtual: () => virtual.finish(ended.job.tenant, ended.attempt, isSuccessful),
      };
    switch (kind) {
      case "step":
        return this.#step(chosen) ?? this.#choose({ ...WORK, pick: index, other }, chosen);
      case "work": {
        const queued = pick(
          open.filter(({ state }) => state === "queued"),
          index,
        );
        if (queued !== undefined) return this.#begin(chosen, queued, 0);
        const under = claims.filter(({ job, attempt }) => virtual.tenants.get(job.tenant)?.attempt === attempt);
        return finish(under.findLast(({ job }) => virtual.tenants.get(job.tenant)?.state === "running"));
      }
      case "second begin":
        return this.#begin(chosen, pick(open, index), 0);
      case "old begin":
        return this.#begin(chosen, pick(all, index), -1);
      case "late finish":
        return finish(claim);
      case "release any": {
        const names = [pick(all, index), pick(all, other), pick(all, index)].flatMap((tenant) =>
          tenant === undefined ? [] : [tenant.name],
        );
        return this.#release(chosen, index % virtual.waves.length, names);
      }
      case "start": {
        if (virtual.state === "planned" && other < 50) return undefined;
        const selection = { until: yes ? undefined : `wave-${index % 2}`, retry: other % 2 === 0 };
        return { real: async () => await journal.start(id, selection), virtual: () => virtual.start(selection) };
      }
      case "request stop":
        return {
          real: async () => await journal.requestStop(id),
          virtual: () => {
            virtual.isStopping = true;
          },
        };
      case "reclaim":
        return { real: async () => await journal.resetInterrupted(id), virtual: () => virtual.resetInterrupted() };
      case "note":
        return claim && { real: async () => await journal.addNote(claim, "It waits."), virtual: () => {} };
      case "interrupted":
        if (virtual.state !== "running") return undefined;
        return {
          real: async () => await journal.recordInterruption(id, "Ctrl-C"),
          virtual: () => {
            virtual.reason = "Ctrl-C";
          },
        };
      case "stop":
        if (virtual.state !== "running") return undefined;
        return {
          real: async () => await journal.stop(id, "It was enough."),
          virtual: () => virtual.stop("It was enough."),
        };
    }
  }

  /** Returns the coordinator's next step. */
  #step(chosen: TwoReadings): PairedAction | undefined {
    const { id, virtual } = chosen;
    const journal = this.#journal;
    const step = chooseNextStep({ ...virtual.getView(), capacity: 3 }, this.#nowMs);
    switch (step.kind) {
      case "wait":
      case "pause":
        return virtual.state === "running" ? undefined : this.#choose(START, chosen);
      case "dispatch":
        return this.#release(chosen, step.wave, step.tenants);
      case "begin":
        return {
          real: async () => await journal.setWaveState(id, step.wave, "running"),
          virtual: () => virtual.setWaveState(step.wave, "running"),
        };
      case "soak": {
        const { wave, untilMs: soakUntilMs } = step;
        return {
          real: async () => await journal.setWaveState(id, wave, "soaking", { soakUntilMs }),
          virtual: () => virtual.setWaveState(wave, "soaking", { soakUntilMs }),
        };
      }
      case "check": {
        const health = { isHealthy: this.#nowMs % 20 !== 0, message: "as it was found" };
        return {
          real: async () => await journal.setWaveState(id, step.wave, "checking", { health }),
          virtual: () => virtual.setWaveState(step.wave, "checking", { health }),
        };
      }
      case "settle":
        return {
          real: async () => await journal.setWaveState(id, step.wave, "done"),
          virtual: () => virtual.setWaveState(step.wave, "done"),
        };
      case "hand-over":
        return {
          real: async () => await journal.recordWaiting(id, step.wave, step.reason),
          virtual: () => virtual.handOver(step.wave, step.reason),
        };
      case "stop":
        return {
          real: async () => await journal.stop(id, step.reason),
          virtual: () => virtual.stop(step.reason),
        };
      case "finish":
        return {
          real: async () => await journal.finishRollout(id),
          virtual: () => virtual.finishRollout(),
        };
    }
  }

  #release({ id, virtual, handedOut }: TwoReadings, wave: number, names: readonly string[]): PairedAction {
    return {
      real: async () => await this.#journal.dispatch(id, wave, names, QUEUE),
      virtual: () => {
        for (const { name, retryRound } of virtual.dispatch(wave, names)) {
          handedOut.add(formatJobId({ rollout: id, wave, tenant: name, retryRound }));
        }
      },
    };
  }

  #begin(
    { id, virtual, claims }: TwoReadings,
    tenant: VirtualTenant | undefined,
    back: number,
  ): PairedAction | undefined {
    if (tenant === undefined) return undefined;
    const { name, wave } = tenant;
    const retryRound = tenant.retryRound + back;
    return {
      real: async () => {
        const claim = await this.#journal.claim({ rollout: id, wave, tenant: name, retryRound }, "host:1");
        if (claim !== undefined) claims.push(claim);
        return claim?.attempt;
      },
      virtual: () => virtual.startAttempt(name, retryRound),
    };
  }

  async #create(): Promise<TwoReadings> {
    const waves = [0, 1].map((index) => ({
      name: `wave-${index}`,
      maxConcurrent: 2 + index,
      tolerated: 1,
      soakMs: index === 0 ? 100 : 0,
      gate: index === 0,
      health: { timeoutMs: 1 },
      tenants: [0, 1, 2, 3].map((position) => `${index}.${position}`),
    }));
    const names = waves.flatMap(({ tenants }) => tenants);
    const addresses = [`${this.#address}/0`, `${this.#address}/1`];
    const plan: VirtualPlan = {
      waves,
      tolerated: 3,
      capacity: 9,
      addressOf: (name) => addresses[Number(name.at(-1)) % 2] as string,
      limitOf: (address) => (address === addresses[0] ? 2 : undefined),
      plannedAs: (name) => PLANNED.get(name) ?? "pending",
    };
    const spec: RolloutSpec = {
      source: "tenants.yaml",
      project: "email-security",
      today: "2026-11-21",
      waves,
      tolerated: 3,
      services: addresses.map((address, index) => [address, index === 0 ? { maxConcurrent: 2 } : {}]),
      backend: "file",
    };
    const targets = names.map((name) => createTarget(name, plan.addressOf(name)));
    const id = await this.#journal.create(spec, targets);
    await this.#journal.recordPlans(
      id,
      names.map((name): PlannedTenant => {
        const state = plan.plannedAs(name);
        const base = { name, state, digest: "d" };
        if (state === "pending") return { ...base, plan: "{}" };
        return state === "failed" ? { ...base, error: { ...ERROR, phase: "plan" } } : base;
      }),
    );
    await this.#journal.completePlanning(id, "d", {
      bundle: new Map([["acme.yaml", Buffer.from("vips: []\n")]]),
      directory: ".",
    });
    return { id, virtual: new VirtualJournal(plan), claims: [], handedOut: new Set() };
  }

  async #handedOut(id: string): Promise<readonly string[]> {
    const rows = await this.#database.query("SELECT job FROM handed_out WHERE job LIKE $1 ORDER BY job", [`${id}%`]);
    return rows.map(({ job }) => String(job)).sort();
  }

  /** Updates each rollout with the other one's running jobs. */
  #takeElsewhere(): void {
    for (const { virtual } of this.#rollouts) {
      const others = this.#rollouts.filter((other) => other.virtual !== virtual);
      for (const address of [`${this.#address}/0`, `${this.#address}/1`]) {
        const busyCount = others.reduce((sum, other) => sum + other.virtual.countBusy(address), 0);
        virtual.busyElsewhere.set(address, busyCount);
      }
    }
  }

  async #reopen(): Promise<void> {
    await this.#database.close();
    this.#database = new CrashingDatabase(await this.#open());
    this.#journal = await Journal.open(this.#database, () => this.#nowMs);
  }
}

/** A rollout in the journal, and its model. */
interface TwoReadings {
  readonly id: string;
  readonly virtual: VirtualJournal;
  /** The jobs claimed so far, including those of crashed workers. */
  readonly claims: ClaimedJob[];
  readonly handedOut: Set<string>;
}

interface PairedAction {
  real(): Promise<unknown>;
  virtual(): unknown;
}

const ENDINGS: ReadonlySet<string> = new Set(["started", "waiting", "stopped", "finished"]);
const PLANNED: ReadonlyMap<string, PlannedTenant["state"]> = new Map([
  ["0.3", "unchanged"],
  ["1.3", "failed"],
]);
const WORK: JournalOperation = { kind: "work", rollout: 0, pick: 0, other: 1, yes: true, crashAt: undefined };
const START: JournalOperation = { kind: "start", rollout: 0, pick: 0, other: 50, yes: true, crashAt: undefined };

/** A queue that stores jobs in a table of the same database, each job once. */
const QUEUE: JobQueue = {
  enqueue: async (database, jobs) => {
    for (const job of jobs) {
      await database.query("INSERT INTO handed_out (job) VALUES ($1) ON CONFLICT DO NOTHING", [formatJobId(job)]);
    }
  },
  start: () => {},
  drain: async () => {},
};

function formatJobId({ rollout, wave, tenant, retryRound }: Job): string {
  return `${rollout} ${wave} ${tenant} ${retryRound}`;
}

function pick<T>(among: readonly T[], choice: number): T | undefined {
  return among[choice % Math.max(1, among.length)];
}

/** Returns a view without the fields that only the journal or only the model knows. */
function dropUncomparedFields({ waves, pending, freeSlotsByAddress, ...rest }: RunState): unknown {
  return {
    ...rest,
    waves: waves.map(({ wave, state, counts, soakUntilMs, isApproved, health }) => ({
      name: wave.name,
      state,
      counts: { ...counts },
      soakUntilMs,
      isApproved,
      health,
    })),
    pending: pending.map(({ name, address }) => ({ name, address })),
    roomAt: [...freeSlotsByAddress].sort(),
  };
}

/** Asserts the invariants of any journal, whoever wrote it and at whatever point it ended. */
export async function expectConsistent(journal: Journal, id: string, names: readonly string[]): Promise<void> {
  const tenants = await journal.listTenants(id);
  expect(tenants.map(({ name }) => name)).toEqual(names);
  const attempts = new Map<string, number>();
  const last = new Map<string, string>();
  let seq = 0;
  for (let more = true; more; ) {
    const events = await journal.listEvents(id, seq);
    more = events.length > 0;
    for (const event of events) {
      expect(event.seq).toBe(++seq);
      if (event.kind !== "tenant-started" && event.kind !== "tenant-finished") continue;
      if (event.kind === "tenant-started") {
        expect(last.get(event.tenant), `${event.tenant} is begun after it was done`).not.toBe("done");
        attempts.set(event.tenant, event.attempt);
      } else {
        expect(last.get(event.tenant)).toBe("running");
      }
      last.set(event.tenant, event.kind === "tenant-started" ? "running" : event.state);
    }
  }
  for (const { name, state, attempt } of tenants) {
    expect(attempt, name).toBe(attempts.get(name) ?? 0);
    if (SETTLED_STATES.has(state)) expect(last.get(name), name).toBe(state);
  }
}
