import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import type { Database } from "../../../provider/rollout/database/database";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { runRollout } from "../../../provider/rollout/execution/coordinator";
import { createJournaledJob, type TenantChangeHandler } from "../../../provider/rollout/execution/journaled-job";
import type { HealthContext } from "../../../provider/rollout/execution/wave-health";
import { Journal } from "../../../provider/rollout/journal/journal";
import type { RolloutSpec } from "../../../provider/rollout/journal/rollout-record";
import type { RolloutEvent } from "../../../provider/rollout/model/rollout-event";
import { LocalQueue } from "../../../provider/rollout/queue/local-queue";
import { getPropertyOptions, getTimeLimit } from "../../support/matrix-sampling";
import { createTarget } from "../../support/rollout-target";
import { runReadyTasks } from "../../support/virtual-time";
import { FailingDatabase, type FailureWindow } from "./failing-database";

/*
 * The journal's storage fails while a rollout runs: at any statement, once, temporarily or permanently. The coordinator
 * and the journal are real; the tenants are in memory.
 */

const directory = mkdtempSync(join(tmpdir(), "email-security-failing-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const NAMES = Array.from({ length: 7 }, (_, index) => `tenant-${index}`);
const SPEC: RolloutSpec = {
  source: "tenants.yaml",
  project: "email-security",
  today: "2026-11-21",
  waves: [
    { name: "first", maxConcurrent: 2, tolerated: 1, soakMs: 0, gate: false, tenants: NAMES.slice(0, 3) },
    { name: "second", maxConcurrent: 3, tolerated: 4, soakMs: 1, gate: false, tenants: NAMES.slice(3) },
  ],
  services: [],
  backend: "file",
};

/** Tenants that are changed in several steps, so that two concurrent changes of one tenant are detected. */
class Tenants {
  readonly changes = new Map<string, number>();
  /** The tenants whose change fails. */
  readonly failing: Set<string>;

  constructor(failing: readonly string[]) {
    this.failing = new Set(failing);
  }

  readonly change: TenantChangeHandler = async ({ target: { name } }) => {
    await runReadyTasks();
    const before = this.changes.get(name) ?? 0;
    await runReadyTasks();
    if (this.failing.has(name)) throw new Error("The service refused it.");
    if (before === 0) this.changes.set(name, before + 1);
  };

  isChanged(name: string): boolean {
    return this.changes.has(name);
  }
}

/** The stop and abort signals: Ctrl-C once or twice. */
interface StopSignals {
  readonly stopping: AbortSignal;
  readonly aborted: AbortSignal;
}

const NOBODY_ASKS: StopSignals = {
  stopping: new AbortController().signal,
  aborted: new AbortController().signal,
};

interface RolloutResult {
  /** The rollout's final state; undefined if the journal failed. */
  readonly state: string | undefined;
  /** The message printed at the end. */
  readonly message: string;
  readonly events: readonly RolloutEvent[];
}

/** Runs a rollout to its end, as `email-security rollout` does. */
async function runTestRollout(
  journal: Journal,
  id: string,
  { change }: Tenants,
  { stopping, aborted }: StopSignals = NOBODY_ASKS,
): Promise<RolloutResult> {
  const events: RolloutEvent[] = [];
  const job = createJournaledJob({ journal, worker: "host:1", environment: {} }, change);
  // No wave has a health check.
  const health = { rollout: id, now: Date.now } as unknown as HealthContext;
  try {
    const state = await runRollout(id, {
      journal,
      queue: new LocalQueue(job, aborted),
      health,
      capacity: 9,
      onEvent: (event) => events.push(event),
      stopping,
      aborted,
      pollMs: 1,
    });
    return { state, message: "", events };
  } catch (error) {
    expect(error).toMatchObject({ code: "ERR_ROLLOUT_JOURNAL" });
    return { state: undefined, message: (error as Error).message, events };
  }
}

async function planTestRollout(database: Database): Promise<string> {
  const journal = await Journal.open(database);
  const id = await journal.create(
    SPEC,
    NAMES.map((name) => createTarget(name, "https://a.example")),
  );
  await journal.recordPlans(
    id,
    NAMES.map((name) => ({ name, state: "pending" as const, digest: "d", plan: "{}" })),
  );
  await journal.completePlanning(id, "d", { bundle: new Map(), directory: "." });
  return id;
}

/** Returns the reported state of each tenant that the final message names. */
function parseTenantMessages(message: string): ReadonlyMap<string, string> {
  return new Map(
    [...message.matchAll(/^ {2}"(tenant-\d)" (.*)$/gm)].map(([, name = "", tenantMessage = ""]) => [
      name,
      tenantMessage,
    ]),
  );
}

const failures: fc.Arbitrary<FailureWindow> = fc.record({
  from: fc.integer({ min: 1, max: 220 }),
  count: fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 30 }), fc.constant(Number.POSITIVE_INFINITY)),
});

it(
  "reports each tenant's true state when the journal fails",
  async () => {
    let files = 0;
    const ends = { reported: 0, unreported: 0 };
    const propertyOptions = getPropertyOptions("failing-journal", { numRuns: 40 });
    await fc.assert(
      fc.asyncProperty(
        failures,
        fc.option(fc.integer({ min: 1, max: 150 }), { nil: undefined }),
        fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 2 }),
        fc.boolean(),
        async (failure, askAt, failing, isTwice) => {
          const storage = await openSqlite(join(directory, `journal-${files++}.db`));
          await storage.query("PRAGMA synchronous = OFF");
          try {
            const tenants = new Tenants(failing);
            const id = await planTestRollout(storage);
            const healthy = await Journal.open(storage);
            await healthy.start(id, { retry: true });

            const database = new FailingDatabase(storage, failure);
            // Opening reads twice, and either read may fail.
            const journal = await Journal.open(database).catch(() => undefined);
            const [once, twice] = [new AbortController(), new AbortController()];
            database.onMoment = (moment) => {
              if (moment !== askAt) return;
              once.abort();
              if (isTwice) twice.abort();
            };
            const signals = { stopping: once.signal, aborted: twice.signal };
            const ended = journal && (await runTestRollout(journal, id, tenants, signals));
            if (ended !== undefined) {
              ends[ended.state === undefined ? "reported" : "unreported"] += 1;
              await expectTruth(healthy, id, tenants, ended);
            }

            tenants.failing.clear();
            await healthy.resetInterrupted(id);
            await healthy.start(id, { retry: true });
            expect(await runTestRollout(healthy, id, tenants)).toMatchObject({ state: "done" });
            for (const { name, state } of await healthy.listTenants(id)) expect(state, name).toBe("done");
            expect([...tenants.changes].sort()).toEqual(NAMES.map((name) => [name, 1]));
          } finally {
            await storage.close();
          }
        },
      ),
      { ...propertyOptions, endOnFailure: true },
    );
    // Most journal failures end in a report. Each sequence draws its own failure, so of 40 sequences far more than a few do.
    if (propertyOptions.numRuns > 1) expect(ends.reported).toBeGreaterThan(propertyOptions.numRuns / 8);
  },
  getTimeLimit(1_200_000),
);

async function expectTruth(healthy: Journal, id: string, tenants: Tenants, ended: RolloutResult): Promise<void> {
  const { state, message, events } = ended;
  const written = new Map((await healthy.listTenants(id)).map((tenant) => [tenant.name, tenant.state]));
  const tenantMessages = parseTenantMessages(message);
  for (const name of NAMES) {
    const isChanged = tenants.isChanged(name);
    const tenantMessage = tenantMessages.get(name) ?? "";
    if (written.get(name) === "done") expect(isChanged, name).toBe(true);
    if (written.get(name) === "failed") expect(tenants.failing.has(name), name).toBe(true);
    if (tenantMessage.startsWith("was changed")) expect(isChanged, name).toBe(true);
    if (tenantMessage.startsWith("failed")) expect(tenants.failing.has(name), name).toBe(true);
    if (tenantMessage.startsWith("was not started")) expect(isChanged, name).toBe(false);
    if (isChanged && written.get(name) !== "done")
      expect(tenantMessage, name).toContain("the journal doesn't record it");
  }
  for (const event of events) {
    if (event.kind !== "tenant-finished") continue;
    expect(tenants.isChanged(event.tenant), event.tenant).toBe(event.state === "done");
  }
  if (state === "done")
    expect([...written.values()].every((candidate) => candidate === "done" || candidate === "failed")).toBe(true);
  if (state !== undefined) expect((await healthy.getRollout(id)).state).toBe(state);
  else {
    expect(message).toMatch(/^This run of the rollout \S+ ended because its journal failed: The disk is full\./);
    expect(message).toContain(`\`email-security rollout resume ${id}\``);
  }
}
