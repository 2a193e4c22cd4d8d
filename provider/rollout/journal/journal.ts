import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { omitUndefined } from "../../model/omit-undefined";
import { compactIdentity } from "../../model/tenant-identity";
import type { Database, Queryable } from "../database/database";
import { JournalError } from "../database/journal-error";
import { encodeJson } from "../database/stored-values";
import { createTables, JOURNAL_VERSION, readJournalVersion } from "../database/tables";
import type { Target } from "../model/target";
import type { RolloutState, WaveState } from "../model/wave";
import type { TargetComparison } from "../targets/compare-targets";
import { JobJournal } from "./job-journal";
import { readRolloutRecord } from "./journal-reader";
import { resetFailedTenants } from "./reset-failed-tenants";
import type { PackedFiles, PlannedTenant, RolloutSpec } from "./rollout-record";
import { countTenantsByWave, sumCounts, ZERO_COUNTS } from "./run-state";
import { applySkips } from "./tenant-skips";

/**
 * The journal of rollouts: their specifications and progress. Each change and its event share one transaction, so a process may
 * die at any point. The same code serves SQLite and PostgreSQL.
 */
export class Journal extends JobJournal {
  /**
   * @param now the clock, in milliseconds since 1970.
   * @throws {JournalError} if a later release created the journal.
   */
  static async open(database: Database, now: () => number = Date.now): Promise<Journal> {
    const version = await readJournalVersion(database);
    if (version === undefined || version < JOURNAL_VERSION) await createTables(database);
    if (version === undefined || version <= JOURNAL_VERSION) return new Journal(database, now);
    throw new JournalError(
      `The journal was created by a later release (version ${version} of its tables). Use that release.`,
    );
  }

  async close(): Promise<void> {
    await this.database.close();
  }

  /** Creates a rollout whose tenants are still to be planned. Returns its id, which begins with the date. */
  async create(spec: RolloutSpec, targets: readonly Target[]): Promise<string> {
    const now = this.clock();
    const id = `${new Date(now).toISOString().slice(0, 16).replace(/[-:]/g, "").replace("T", "-")}-${randomBytes(3).toString("hex")}`;
    const positionByTenant = new Map(
      spec.waves.flatMap(({ tenants }, wave) =>
        tenants.map((name, position) => [name, [wave, position] as const] as const),
      ),
    );
    await this.database.transaction(async (transaction) => {
      await transaction.query(
        "INSERT INTO rollouts (id, state, spec, digest, stop_requested, events, created_at) VALUES ($1, 'planned', $2, '', 0, 0, $3)",
        [id, JSON.stringify(spec), await getMonotonicTime(transaction, "created_at", now)],
      );
      for (const [position, { name }] of spec.waves.entries()) {
        await transaction.query(
          "INSERT INTO rollout_waves (rollout, position, name, state) VALUES ($1, $2, $3, 'pending')",
          [id, position, name],
        );
      }
      for (const target of targets) {
        const [wave, position] = positionByTenant.get(target.name) ?? throwMissingWave(target.name);
        await transaction.query(
          `INSERT INTO rollout_tenants (rollout, name, wave, position, state, address, stack, target, digest, round, attempt)
           VALUES ($1, $2, $3, $4, 'pending', $5, $6, $7, '', 0, 0)`,
          [id, target.name, wave, position, target.baseUrl, target.stack, JSON.stringify(target)],
        );
      }
    });
    return id;
  }

  async recordPlans(id: string, tenants: readonly PlannedTenant[]): Promise<void> {
    await this.database.transaction(async (transaction) => {
      for (const { name, state, digest, summary, plan, error } of tenants) {
        const identity = summary?.identity && compactIdentity(summary.identity);
        const stored = summary && { ...summary, ...omitUndefined({ identity }) };
        await transaction.query(
          "UPDATE rollout_tenants SET state = $3, digest = $4, summary = $5, plan = $6, error = $7 WHERE rollout = $1 AND name = $2",
          [id, name, state, digest, encodeJson(stored), plan === undefined ? null : gzipSync(plan), encodeJson(error)],
        );
      }
    });
  }

  /** Completes the planning: records the digest over all plans, and the files that they were made from. */
  async completePlanning(id: string, digest: string, { bundle, directory }: PackedFiles): Promise<void> {
    const { spec } = await this.getRollout(id);
    await this.database.transaction(async (transaction) => {
      await transaction.query("UPDATE rollouts SET digest = $2, spec = $3 WHERE id = $1", [
        id,
        digest,
        JSON.stringify({ ...spec, directory }),
      ]);
      for (const [path, content] of bundle) {
        await transaction.query("INSERT INTO rollout_files (rollout, path, content) VALUES ($1, $2, $3)", [
          id,
          path,
          gzipSync(content),
        ]);
      }
      const counts = sumCounts((await countTenantsByWave(transaction, id)).values());
      const tenants = Object.values(counts).reduce((total, count) => total + count, 0);
      await this.appendEvent(transaction, id, { kind: "planned", tenants, changing: counts.pending, digest });
    });
  }

  async deleteRollout(id: string): Promise<void> {
    await this.database.transaction(async (transaction) => {
      for (const table of ["rollout_events", "rollout_files", "rollout_tenants", "rollout_waves"]) {
        await transaction.query(`DELETE FROM ${table} WHERE rollout = $1`, [id]);
      }
      await transaction.query("DELETE FROM rollouts WHERE id = $1", [id]);
    });
  }

  /**
   * Starts or resumes a rollout.
   *
   * @param until the wave after which to wait. With `retry`, the default is the previous value. If the rollout already waits there,
   * it continues to wait. Without `retry`, all other waves that wait at their gate are approved.
   * @param retry whether to retry failed tenants and check unhealthy waves again. It approves no gate: resuming an interrupted
   * rollout doesn't confirm that a wave is healthy.
   * @param by the person who starts it: `dana@build-7`.
   * @param current the tenants as the targets file declares them now. Default: as recorded in the journal.
   * @param seq the lowest sequence number to assign. Default: the next one in the journal.
   * @param rollsBack the rollout to roll back, which can't be resumed afterwards.
   */
  async start(
    id: string,
    {
      until,
      retry,
      by: actor,
      current,
      seq = 0,
      rollsBack,
    }: {
      until?: string | undefined;
      retry: boolean;
      by?: string;
      current?: CurrentTargets | undefined;
      seq?: number;
      rollsBack?: { readonly id: string; readonly reason: string };
    },
  ): Promise<void> {
    const now = this.clock();
    await this.database.transaction(async (transaction) => {
      const sequence = Math.max(seq, (await readLastSequence(transaction)) + 1);
      const [row] = await transaction.query("SELECT started_at FROM rollouts WHERE id = $1", [id]);
      if (rollsBack !== undefined) await this.#endRollout(transaction, rollsBack.id, "rolled-back", rollsBack.reason);
      await transaction.query(
        "UPDATE rollouts SET state = 'running', reason = NULL, stop_requested = 0, until_wave = CASE WHEN $4 = 1 THEN COALESCE($2, until_wave) ELSE $2 END, started_at = COALESCE(started_at, $3), seq = COALESCE(seq, $5), finished_at = NULL WHERE id = $1",
        [id, until ?? null, await getMonotonicTime(transaction, "started_at", now), retry ? 1 : 0, sequence],
      );
      await this.appendEvent(transaction, id, {
        kind: "started",
        resumed: row?.["started_at"] != null,
        ...(actor === undefined ? {} : { actor }),
      });
      if (current !== undefined) await updateTargets(transaction, id, current);
      await applySkips(transaction, id, now, retry ? "retry" : "pass gate", current?.excludedStacks);
      if (retry) await resetFailedTenants(transaction, id);
      else {
        await transaction.query(
          "UPDATE rollout_waves SET approved_at = $2 WHERE rollout = $1 AND state = 'gated' AND name <> $3",
          [id, now, until ?? ""],
        );
      }
    });
  }

  /** Updates the tenants of a running rollout to the present targets file. Skips those that left it, and unskips none. */
  async updateTargets(id: string, current: CurrentTargets): Promise<void> {
    await this.database.transaction(async (transaction) => {
      await updateTargets(transaction, id, current);
      await applySkips(transaction, id, this.clock(), "now", current.excludedStacks);
    });
  }

  async getNextSequence(): Promise<number> {
    return (await readLastSequence(this.database)) + 1;
  }

  async setWaveState(
    id: string,
    position: number,
    state: WaveState,
    details: { readonly soakUntilMs?: number; readonly health?: { isHealthy: boolean; message: string } } = {},
  ): Promise<void> {
    const now = this.clock();
    const { spec } = await this.getRollout(id);
    const { name = "", tenants = [] } = spec.waves[position] ?? {};
    const { soakUntilMs, health } = details;
    await this.database.transaction(async (transaction) => {
      await transaction.query(
        `UPDATE rollout_waves SET state = $3, started_at = CASE WHEN $4 = 1 THEN $5 ELSE started_at END,
           finished_at = CASE WHEN $6 = 1 THEN $5 ELSE finished_at END,
           soak_until = COALESCE($7, soak_until), health = COALESCE($8, health)
         WHERE rollout = $1 AND position = $2`,
        [
          id,
          position,
          state,
          state === "running" ? 1 : 0,
          now,
          state === "done" ? 1 : 0,
          soakUntilMs ?? null,
          encodeJson(health),
        ],
      );
      const { done, failed } = (await countTenantsByWave(transaction, id)).get(position) ?? ZERO_COUNTS;
      if (state === "running")
        await this.appendEvent(transaction, id, {
          kind: "wave-started",
          wave: name,
          tenants: tenants.length,
        });
      if (soakUntilMs !== undefined) {
        const until = new Date(soakUntilMs).toISOString();
        await this.appendEvent(transaction, id, { kind: "wave-soaking", wave: name, until });
      }
      if (health !== undefined) await this.appendEvent(transaction, id, { kind: "wave-health", wave: name, ...health });
      if (state === "done")
        await this.appendEvent(transaction, id, { kind: "wave-finished", wave: name, done, failed });
    });
  }

  async recordWaiting(id: string, position: number, reason: string): Promise<void> {
    const { spec } = await this.getRollout(id);
    await this.database.transaction(async (transaction) => {
      await transaction.query("UPDATE rollout_waves SET state = 'gated' WHERE rollout = $1 AND position = $2", [
        id,
        position,
      ]);
      await transaction.query("UPDATE rollouts SET state = 'waiting', reason = $2 WHERE id = $1", [id, reason]);
      await this.appendEvent(transaction, id, {
        kind: "waiting",
        wave: spec.waves[position]?.name ?? "",
        reason,
      });
    });
  }

  /** Stops the rollout. A resume continues with the tenants that were not started. */
  async stop(id: string, reason: string): Promise<void> {
    await this.database.transaction(async (transaction) => {
      await transaction.query(
        "UPDATE rollouts SET state = 'stopped', reason = $2, finished_at = CASE WHEN started_at > $3 THEN started_at ELSE $3 END WHERE id = $1",
        [id, reason, this.clock()],
      );
      await this.appendEvent(transaction, id, { kind: "stopped", reason });
    });
  }

  /** Abandons the rollout at a person's request. It can't be resumed. */
  async abandon(id: string, reason: string): Promise<void> {
    await this.database.transaction(
      async (transaction) => await this.#endRollout(transaction, id, "abandoned", reason),
    );
  }

  /** Marks the rollout as rolled back by another. It can't be resumed. @param reason how far the rollback went. */
  async markRolledBack(id: string, reason: string): Promise<void> {
    await this.database.transaction(
      async (transaction) => await this.#endRollout(transaction, id, "rolled-back", reason),
    );
  }

  /** Asks the running coordinator to start nothing more. */
  async requestStop(id: string): Promise<void> {
    await this.database.query("UPDATE rollouts SET stop_requested = 1 WHERE id = $1", [id]);
  }

  /** Records that a run of the coordinator ended before the rollout. */
  async recordInterruption(id: string, reason: string, untilMs?: number): Promise<void> {
    await this.database.transaction(async (transaction) => {
      await transaction.query("UPDATE rollouts SET reason = $2 WHERE id = $1", [id, reason]);
      await this.appendEvent(transaction, id, {
        kind: "interrupted",
        reason,
        ...(untilMs === undefined ? {} : { until: new Date(untilMs).toISOString() }),
      });
    });
  }

  async finishRollout(id: string): Promise<void> {
    await this.database.transaction(async (transaction) => {
      await transaction.query(
        "UPDATE rollouts SET state = 'done', reason = NULL, finished_at = CASE WHEN started_at > $2 THEN started_at ELSE $2 END WHERE id = $1",
        [id, this.clock()],
      );
      const { done, unchanged, failed, skipped } = sumCounts((await countTenantsByWave(transaction, id)).values());
      await this.appendEvent(transaction, id, {
        kind: "finished",
        ...{ done, unchanged, failed },
        ...(skipped === 0 ? {} : { skipped }),
      });
    });
  }

  async #endRollout(
    transaction: Queryable,
    id: string,
    state: Extract<RolloutState, "abandoned" | "rolled-back">,
    reason: string,
  ): Promise<void> {
    await transaction.query(
      "UPDATE rollouts SET state = $4, reason = $2, finished_at = COALESCE(finished_at, CASE WHEN started_at > $3 THEN started_at ELSE $3 END) WHERE id = $1",
      [id, reason, this.clock(), state],
    );
    await this.appendEvent(transaction, id, { kind: "stopped", reason });
  }
}

/** The recorded tenants as the targets file declares them now, and those that must not be written to. */
export interface CurrentTargets extends Pick<TargetComparison, "updatedTargets" | "excludedStacks"> {
  readonly keyVariables: readonly string[];
}

async function updateTargets(
  transaction: Queryable,
  id: string,
  { updatedTargets, keyVariables }: CurrentTargets,
): Promise<void> {
  for (const target of updatedTargets) {
    await transaction.query("UPDATE rollout_tenants SET target = $3 WHERE rollout = $1 AND name = $2", [
      id,
      target.name,
      JSON.stringify(target),
    ]);
  }
  const { spec } = await readRolloutRecord(transaction, id);
  // The environment may still hold keys under former variables, and keys of tenants that left the targets file.
  const allVariables = [...new Set([...(spec.keyVariables ?? []), ...keyVariables])];
  await transaction.query("UPDATE rollouts SET spec = $2 WHERE id = $1", [
    id,
    JSON.stringify({ ...spec, keyVariables: allVariables }),
  ]);
}

function throwMissingWave(name: string): never {
  throw new JournalError(`The tenant "${name}" isn't in any wave of the rollout.`);
}

/** Reads the highest sequence number in the journal. 0 if no rollout was started. */
async function readLastSequence(database: Queryable): Promise<number> {
  const [row] = await database.query("SELECT COALESCE(MAX(seq), 0) AS seq FROM rollouts");
  return Number(row?.["seq"]);
}

/**
 * Returns a time for a new rollout that is later than those of all rollouts in the journal. The clocks of two runners may differ: by
 * its own clock, a hotfix could seem older than the rollout that it fixes.
 *
 * @param now this machine's clock, in milliseconds since 1970.
 */
async function getMonotonicTime(
  transaction: Queryable,
  column: "created_at" | "started_at",
  now: number,
): Promise<number> {
  const [row] = await transaction.query(`SELECT MAX(${column}) AS latest FROM rollouts`);
  return Math.max(now, Number(row?.["latest"] ?? 0) + 1);
}
