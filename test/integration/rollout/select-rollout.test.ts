import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { Journal } from "../../../provider/rollout/journal/journal";
import type { RolloutSpec } from "../../../provider/rollout/journal/rollout-record";
import type { RolloutAction } from "../../../provider/rollout/journal/select-rollout";
import type { RolloutState, TenantState } from "../../../provider/rollout/model/wave";
import { Rollouts } from "../../../provider/rollout/rollouts";
import { startPostgres } from "../../support/postgres";
import { createTarget } from "../../support/rollout-target";

const directory = mkdtempSync(join(tmpdir(), "email-security-which-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A rollout in a journal; lists of them have the oldest first. */
interface JournalRollout {
  readonly state: Exclude<RolloutState, "planned">;
  /** The index of the earlier rollout that this one rolls back. */
  readonly rollsBack: number | undefined;
  readonly project: string;
  readonly tenants: readonly WrittenTenant[];
}

interface WrittenTenant {
  readonly name: string;
  readonly state: TenantState;
  readonly isBegun: boolean;
  readonly hasPlan: boolean;
}

const journals: fc.Arbitrary<readonly JournalRollout[]> = fc.array(
  fc.record({
    state: fc.constantFrom("done", "done", "done", "running", "waiting", "stopped", "abandoned", "rolled-back"),
    rollsBack: fc.option(fc.nat(5), { nil: undefined, freq: 2 }),
    project: fc.constantFrom("one", "one", "one", "other"),
    tenants: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom("a", "b", "c"),
        state: fc.constantFrom<TenantState[]>("pending", "running", "unchanged", "done", "done", "failed"),
        isBegun: fc.boolean(),
        hasPlan: fc.boolean(),
      }),
      { selector: ({ name }) => name, minLength: 1 },
    ),
  }),
  { maxLength: 6 },
);

/** Picks the expected rollout from the list, as a person would. */
const EXPECTED_INDEXES: Readonly<Record<RolloutAction, (all: readonly JournalRollout[]) => number>> = {
  status: (all) => all.length - 1,
  // No process is running any of them.
  stop: () => -1,
  abandon: (all) => all.findLastIndex(({ state }) => isOpen(state)),
  resume: (all) => all.findLastIndex((rollout, index) => isOpen(rollout.state) || isRetried(all, index)),
  rollback: (all) => {
    const last = all.findLastIndex(
      ({ tenants, rollsBack }) => rollsBack === undefined && tenants.some(({ isBegun }) => isBegun),
    );
    // If the last one was rolled back, the one before it must be named explicitly.
    return isRolledBack(all, last) ? -1 : last;
  },
};

/** Returns whether a rollback verified that every started tenant holds its old contents again. */
function isRolledBack(all: readonly JournalRollout[], index: number): boolean {
  const { tenants = [], project } = all[index] ?? {};
  const isBack = (name: string): boolean =>
    all
      .slice(index + 1)
      .some(
        (back) =>
          back.rollsBack === index &&
          back.project === project &&
          back.tenants.some(
            (tenant) =>
              tenant.name === name && ((tenant.state === "done" && tenant.isBegun) || tenant.state === "unchanged"),
          ),
      );
  return index >= 0 && tenants.filter(({ isBegun }) => isBegun).every(({ name }) => isBack(name));
}

function isOpen(state: RolloutState): boolean {
  return state === "running" || state === "waiting" || state === "stopped";
}

/** Returns whether a resume would retry a failed tenant that no later rollout has settled. */
function isRetried(all: readonly JournalRollout[], index: number): boolean {
  const { state, tenants, project } = all[index] as JournalRollout;
  if (state !== "done") return false;
  return tenants.some(
    (tenant) =>
      tenant.state === "failed" &&
      tenant.hasPlan &&
      !all
        .slice(index + 1)
        .some(
          (later) =>
            later.project === project &&
            later.tenants.some(
              (writtenTenant) =>
                writtenTenant.name === tenant.name &&
                (writtenTenant.state === "done" || writtenTenant.state === "unchanged"),
            ),
        ),
  );
}

it("selects the newest rollout that a command applies to", async () => {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(journals, async (drawn) => {
      await expectMeant(join(directory, `${count++}.db`), drawn);
    }),
    { numRuns: 50 },
  );
});

it("selects the same rollout in PostgreSQL", async () => {
  await using postgres = await startPostgres();
  for (const [index, written] of fc.sample(journals, { numRuns: 3, seed: 7 }).entries()) {
    await expectMeant(await postgres.createDatabase(`which_${index}`), written);
  }
});

/** @param drawn may name a rollout to roll back that doesn't come before it; then it rolls back none. */
async function expectMeant(database: string, drawn: readonly JournalRollout[]): Promise<void> {
  const written = drawn.map((rollout, index) => ({
    ...rollout,
    rollsBack: rollout.rollsBack === undefined || rollout.rollsBack >= index ? undefined : rollout.rollsBack,
  }));
  const ids = await writeJournal(database, written);
  const rollouts = await Rollouts.open({ database, environment: {} });
  try {
    for (const [purpose, getExpectedIndex] of Object.entries(EXPECTED_INDEXES)) {
      const selectedId = await rollouts.find(undefined, purpose as RolloutAction).then(
        ({ id }) => id,
        (error: { code?: string }) => error.code,
      );
      expect(selectedId, purpose).toBe(ids[getExpectedIndex(written)] ?? "ERR_ROLLOUT_NOT_FOUND");
    }
    // Reports are read from the same journals.
    for (const id of ids) expect((await rollouts.report(id)).id).toBe(id);
  } finally {
    await rollouts.close();
  }
}

it("stops only a rollout in progress", async () => {
  const database = join(directory, "held.db");
  const buildSingleRollout = (state: JournalRollout["state"]): JournalRollout => ({
    state,
    rollsBack: undefined,
    project: "one",
    tenants: [{ name: "a", state: "pending", isBegun: true, hasPlan: true }],
  });
  const [older, selectedBefore, newest] = await writeJournal(database, [
    buildSingleRollout("stopped"),
    buildSingleRollout("running"),
    buildSingleRollout("waiting"),
  ]);
  const rollouts = await Rollouts.open({ database, environment: {} });
  const findRolloutId = async (purpose: RolloutAction) => (await rollouts.find(undefined, purpose)).id;
  try {
    expect([await findRolloutId("resume"), await findRolloutId("abandon")]).toEqual([newest, newest]);
    await expect(findRolloutId("stop")).rejects.toThrow("There is no rollout that can be stopped in");
    const waitingText = `${newest} waits for approval, and no run is in progress. To abandon it: \`email-security rollout abandon ${newest}`;
    await expect(findRolloutId("stop")).rejects.toThrow(waitingText);
    await expect(rollouts.find(newest, "stop")).rejects.toThrow(waitingText);
    await expect(rollouts.stop(selectedBefore ?? "")).rejects.toThrow(/can't be stopped: its run was interrupted/);
    const hold = await rollouts.journal.database.lock(`rollout-${selectedBefore}`, () => {});
    expect(await findRolloutId("stop")).toBe(selectedBefore);
    await rollouts.stop(selectedBefore ?? "");
    expect((await rollouts.journal.getRollout(selectedBefore ?? "")).isStopping).toBe(true);
    await expect(rollouts.abandon(selectedBefore ?? "")).rejects.toThrow(
      /still in progress.* Stop it first: `.* stop /,
    );
    await rollouts.journal.abandon(newest ?? "", "It was abandoned by a person.");
    expect(await findRolloutId("resume")).toBe(older);
    await hold?.release();
    expect(await findRolloutId("resume")).toBe(selectedBefore);
  } finally {
    await rollouts.close();
  }
});

/** Writes rollouts one minute apart, in any state. */
async function writeJournal(place: string, all: readonly JournalRollout[]): Promise<string[]> {
  let nowMs = Date.UTC(2026, 10, 21);
  const database = await openJournalDatabase(place);
  // Durability doesn't matter: the data is discarded with the test.
  if (database.dialect === "sqlite") await database.query("PRAGMA synchronous = OFF");
  const journal = await Journal.open(database, () => nowMs);
  const ids: string[] = [];
  for (const { state, tenants, rollsBack, project } of all) {
    nowMs += 60_000;
    const names = tenants.map(({ name }) => name);
    const spec: RolloutSpec = {
      source: "tenants.yaml",
      project,
      today: "2026-11-21",
      waves: [{ name: "all", maxConcurrent: 1, tolerated: 0, soakMs: 0, gate: false, tenants: names }],
      services: [],
      backend: "file",
      ...(rollsBack === undefined ? {} : { rollsBack: ids[rollsBack] ?? "" }),
    };
    const id = await journal.create(
      spec,
      names.map((name) => createTarget(name, "https://a.example")),
    );
    await journal.recordPlans(
      id,
      tenants.map(({ name, hasPlan }) => ({
        name,
        state: "pending" as const,
        digest: "d",
        ...(hasPlan ? { plan: "{}" } : {}),
      })),
    );
    await journal.completePlanning(id, "d", { bundle: new Map(), directory: "." });
    await journal.start(id, { retry: false });
    await database.query("UPDATE rollouts SET state = $2 WHERE id = $1", [id, state]);
    for (const { name, state: tenantState, isBegun } of tenants) {
      await database.query("UPDATE rollout_tenants SET state = $3, attempt = $4 WHERE rollout = $1 AND name = $2", [
        id,
        name,
        tenantState,
        isBegun ? 1 : 0,
      ]);
    }
    ids.push(id);
  }
  await journal.close();
  return ids;
}
