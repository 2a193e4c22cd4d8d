import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, expect, it } from "vitest";
import { openJournalDatabase } from "../../../../provider/rollout/database/open-database";
import { runRollout } from "../../../../provider/rollout/execution/coordinator";
import type { HealthContext } from "../../../../provider/rollout/execution/wave-health";
import { Journal } from "../../../../provider/rollout/journal/journal";
import type { PlannedTenant, RolloutSpec } from "../../../../provider/rollout/journal/rollout-record";
import { addUnreviewedTenants } from "../../../../provider/rollout/locks/add-unreviewed-tenants";
import { parseLock, type RolloutLock, serializeLock } from "../../../../provider/rollout/locks/rollout-lock";
import { type LockStore, RolloutLocks } from "../../../../provider/rollout/locks/rollout-locks";
import type { Target } from "../../../../provider/rollout/model/target";
import { LocalQueue } from "../../../../provider/rollout/queue/local-queue";
import { getRunCount } from "../../../support/matrix-sampling";

/*
 * Two clones of a repository share one state backend. Each has its own journal, which may be lost or restored to an
 * earlier state. No run passes a gate that nobody has approved for the version that the previous wave holds.
 */

const TENANTS = ["canary", "early", "rest"] as const;
const PROJECT = "settings";
const WAVES: RolloutSpec["waves"] = [
  { name: "one", maxConcurrent: 1, tolerated: 0, soakMs: 0, gate: true, tenants: ["canary"] },
  { name: "two", maxConcurrent: 1, tolerated: 0, soakMs: 0, gate: true, tenants: ["early"] },
  { name: "three", maxConcurrent: 1, tolerated: 0, soakMs: 0, gate: false, tenants: ["rest"] },
];

const buildLockTarget = (name: string): Target => ({
  name,
  labels: {},
  baseUrl: "https://mail-security.example",
  key: { from: "environment", variable: "KEY" },
  settings: `settings/${name}.yaml`,
  stack: `stack-${name}`,
  allowInsecureHttp: false,
  place: { file: "tenants.yaml", line: 1, column: 1 },
});

interface LockAction {
  readonly kind: (typeof KINDS)[number];
  readonly clone: 0 | 1;
  /** The version of the settings files at that time. */
  readonly version: number;
  /** The number of tenants after which the run is killed; undefined for never. */
  readonly killAfter: number | undefined;
}

const KINDS = [
  ...["run", "run", "run", "continue", "continue", "resume", "stop"],
  ...["stop elsewhere", "lose", "keep a copy", "bring the copy back"],
] as const;

const lockAction: fc.Arbitrary<LockAction> = fc.record({
  kind: fc.constantFrom(...KINDS),
  clone: fc.constantFrom(0 as const, 1 as const),
  version: fc.integer({ min: 1, max: 3 }),
  killAfter: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined, freq: 3 }),
});

let directory = "";

afterEach(() => rmSync(directory, { recursive: true, force: true }));

it("never passes an unapproved gate, whichever clone or journal runs", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(lockAction, { minLength: 4, maxLength: 14 }), async (actions) => {
      directory = mkdtempSync(join(tmpdir(), "email-security-locks-"));
      const sequence = new LockStoreModel(directory);
      try {
        for (const action of actions) await sequence.performAction(action);
      } finally {
        await sequence.close();
        rmSync(directory, { recursive: true, force: true });
      }
    }),
    { numRuns: getRunCount(20) },
  );
}, 120_000);

it("allows a new rollout after a foreign one is abandoned", async () => {
  directory = mkdtempSync(join(tmpdir(), "email-security-locks-"));
  const sequence = new LockStoreModel(directory);
  const buildAction = (kind: LockAction["kind"], clone: 0 | 1 = 0): LockAction => ({
    kind,
    clone,
    version: 2,
    killAfter: undefined,
  });
  await sequence.performAction(buildAction("run"));
  await sequence.performAction(buildAction("stop elsewhere", 1));
  await sequence.performAction(buildAction("run", 1));
  expect(sequence.lockCounts).toEqual({ canary: 2, early: 0, rest: 0 });
  await sequence.performAction(buildAction("continue", 1));
  await sequence.performAction(buildAction("continue", 1));
  expect(sequence.lockCounts).toEqual({ canary: 2, early: 2, rest: 2 });
  expect(sequence.store.kept.size).toBe(0);
  await sequence.close();
});

class LockStoreModel {
  readonly lockCounts: Record<string, number> = { canary: 0, early: 0, rest: 0 };
  readonly store = new MemoryLockStore();
  /** The unfinished rollouts that were started and not abandoned, each with its remaining tenants. */
  readonly #live = new Map<string, Set<string>>();
  /** The tenants of gated waves whose change nobody has approved. */
  readonly #closed = new Set<string>();
  readonly #journals: (Journal | undefined)[] = [undefined, undefined];
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async performAction({ kind, clone, version, killAfter }: LockAction): Promise<void> {
    const journal = await this.#journal(clone);
    const newest = (await journal.listRollouts()).find(({ state }) => state !== "done" && state !== "abandoned");
    const locks = new RolloutLocks(this.store, journal, `clone ${clone}`);
    const ignoreBusyError = (error: unknown): undefined => {
      if (!/ERR_ROLLOUT_(BUSY|JOURNAL_OLD)/.test(String((error as { code?: string }).code))) throw error;
      return undefined;
    };
    switch (kind) {
      case "run": {
        const id = await this.#plan(journal, locks, version);
        if (newest !== undefined && (await journal.findConflictingRollouts(id)).length > 0)
          return await journal.deleteRollout(id);
        return await this.#run(journal, locks, id, { retry: false, killAfter }).catch(async (error) => {
          ignoreBusyError(error);
          await journal.deleteRollout(id);
        });
      }
      case "continue":
        if (newest?.state !== "waiting") return;
        return await this.#run(journal, locks, newest.id, { retry: false, killAfter }).catch(ignoreBusyError);
      case "resume":
        if (newest === undefined) return;
        return await this.#run(journal, locks, newest.id, { retry: true, killAfter }).catch(ignoreBusyError);
      case "stop":
        if (newest === undefined) return;
        await journal.abandon(newest.id, "It was abandoned by a person.");
        this.#live.delete(newest.id);
        return await locks.update(newest.id);
      case "stop elsewhere": {
        const [first] = await locks.listForeignLocks();
        if (first === undefined) return;
        await locks.abandonForeign(first.rollout);
        this.#live.delete(first.rollout);
        return;
      }
      default:
        return await this.#withFiles(kind, clone);
    }
  }

  async close(): Promise<void> {
    for (const journal of this.#journals) await journal?.close();
  }

  async #journal(clone: number): Promise<Journal> {
    const journal = this.#journals[clone] ?? (await Journal.open(await openJournalDatabase(this.#file(clone))));
    this.#journals[clone] = journal;
    return journal;
  }

  #file(clone: number, copy = ""): string {
    return join(this.#directory, `${clone}${copy}.db`);
  }

  async #withFiles(kind: string, clone: number): Promise<void> {
    await this.#journals[clone]?.close();
    this.#journals[clone] = undefined;
    const [file, copy] = [this.#file(clone), this.#file(clone, "-copy")];
    if (kind === "keep a copy") copyFileSync(file, copy);
    else rmSync(file);
    if (kind === "bring the copy back" && existsSync(copy)) copyFileSync(copy, file);
  }

  async #plan(journal: Journal, locks: RolloutLocks, version: number): Promise<string> {
    const targets = TENANTS.map(buildLockTarget);
    const minded = await locks.summarize(new Set([PROJECT]));
    const spec: RolloutSpec = {
      source: "tenants.yaml",
      project: PROJECT,
      today: "2026-11-22",
      waves: addUnreviewedTenants(WAVES, targets, minded),
      services: [],
      backend: "one",
    };
    const id = await journal.create(spec, targets);
    const planned = TENANTS.map(
      (name): PlannedTenant => ({
        name,
        state: this.lockCounts[name] === version ? "unchanged" : "pending",
        digest: `v1-${name}-${version}`,
        summary: {
          planned: { added: 1, changed: 0, removed: 0 },
          changes: [],
          severities: { danger: 0, warning: 0 },
          resource: name,
          isStackThere: true,
        },
        plan: JSON.stringify({ version }),
      }),
    );
    await journal.recordPlans(id, planned);
    await journal.completePlanning(id, `r1-${version}`, { bundle: new Map(), directory: "." });
    return id;
  }

  async #run(
    journal: Journal,
    locks: RolloutLocks,
    id: string,
    { retry, killAfter }: { readonly retry: boolean; readonly killAfter: number | undefined },
  ): Promise<void> {
    const record = await journal.getRollout(id);
    const seq = await locks.begin(record, await journal.getNextSequence());
    const pending = (await journal.listTenants(id)).filter(({ state }) => state !== "unchanged" && state !== "done");
    for (const [other, leftovers] of this.#live) {
      if (other !== id)
        expect(record.spec.waves.flatMap(({ tenants }) => tenants).filter((tenants) => leftovers.has(tenants))).toEqual(
          [],
        );
    }
    this.#live.set(id, new Set(pending.map(({ name }) => name)));
    const waiting = (await journal.listWaves(id)).findIndex(({ state }) => state === "gated");
    // Continuing implies that the person has checked the waiting wave.
    if (!retry && waiting >= 0) for (const name of record.spec.waves[waiting]?.tenants ?? []) this.#closed.delete(name);
    await journal.start(id, { retry, seq });
    await journal.resetInterrupted(id);
    const killed = new AbortController();
    let remainingCalls = killAfter ?? Number.POSITIVE_INFINITY;
    const queue = new LocalQueue(async (job) => {
      if (remainingCalls-- <= 0) return killed.abort();
      const claimed = await journal.claim(job, "worker");
      if (claimed === undefined) return;
      const before = record.spec.waves.slice(0, job.wave).flatMap(({ tenants }) => tenants);
      expect(before.filter((name) => this.#closed.has(name))).toEqual([]);
      this.lockCounts[job.tenant] = (JSON.parse(claimed.plan) as { version: number }).version;
      if (record.spec.waves[job.wave]?.gate === true) this.#closed.add(job.tenant);
      await journal.finish(claimed, undefined);
      this.#live.get(id)?.delete(job.tenant);
    }, killed.signal);
    await runRollout(id, {
      journal,
      queue,
      capacity: 1,
      health: { rollout: id, now: Date.now } as unknown as HealthContext,
      beforeWave: locks.createWaveCheck(id),
      onEvent: () => {},
      stopping: new AbortController().signal,
      aborted: killed.signal,
      pollMs: 0,
    });
    if ((await journal.getRollout(id)).state === "done") this.#live.delete(id);
    // A killed process can't update its locks.
    if (!killed.signal.aborted) await locks.update(id);
  }
}

class MemoryLockStore implements LockStore {
  readonly kept = new Map<string, string>();

  async read(own?: string) {
    const others = [...this.kept].filter(([id]) => id !== own).sort();
    return others.map(([id, text]) => parseLock(id, JSON.parse(text)));
  }

  async get(rollout: string) {
    const text = this.kept.get(rollout);
    return text === undefined ? undefined : parseLock(rollout, JSON.parse(text));
  }

  async write(lock: RolloutLock) {
    this.kept.set(lock.rollout, JSON.stringify(serializeLock(lock)));
  }

  async remove(rollout: string) {
    this.kept.delete(rollout);
  }

  [Symbol.dispose](): void {}
}
