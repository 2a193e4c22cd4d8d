import { compactIdentity, type TenantIdentity } from "../../model/tenant-identity";
import type { Database, Queryable } from "../database/database";
import { decodeJson, decompress, encodeJson } from "../database/stored-values";
import type { RolloutEventData } from "../model/rollout-event";
import type { TenantError } from "../model/rollout-report";
import type { Target } from "../model/target";
import type { Job, JobQueue } from "../queue/job-queue";
import { appendEvent } from "./append-event";
import { JournalReader, readRolloutRecord } from "./journal-reader";
import type { ClaimedJob, TenantSummary } from "./rollout-record";
import { countFreeSlots, countFreeWaveSlots } from "./run-state";
import { skipIfActive } from "./tenant-skips";

/** Records the jobs of a rollout's tenants: their dispatch, start, outcome and reset. */
export abstract class JobJournal extends JournalReader {
  protected readonly clock: () => number;

  /** @param clock the current time, in milliseconds since 1970. */
  protected constructor(database: Database, clock: () => number) {
    super(database);
    this.clock = clock;
  }

  /** Resets tenants that a dead process had started. Only the process that holds the rollout and runs its tenants itself may call this. */
  async resetInterrupted(id: string): Promise<void> {
    await this.database.query(
      "UPDATE rollout_tenants SET state = 'pending' WHERE rollout = $1 AND state IN ('queued', 'running')",
      [id],
    );
  }

  /**
   * Marks tenants as queued and enqueues their jobs. Dispatches fewer if other rollouts or another coordinator of
   * this rollout have taken the capacity. Dispatches none after a person requested a stop.
   */
  async dispatch(id: string, wave: number, names: readonly string[], queue: JobQueue): Promise<void> {
    const record = await this.getRollout(id);
    await this.database.transaction(async (transaction) => {
      // Serializes dispatches across all rollouts, so that no two take the same capacity of a service.
      if (transaction.dialect === "postgres") {
        await transaction.query("SELECT pg_advisory_xact_lock(hashtext('email-security-dispatch'))");
      }
      const slotsByAddress = new Map(await countFreeSlots(transaction, record.spec));
      const availableSlots = await countFreeWaveSlots(transaction, record, wave);
      const jobs: Job[] = [];
      for (const name of names) {
        if (jobs.length >= availableSlots) break;
        const [row] = await transaction.query(
          "SELECT address, round FROM rollout_tenants WHERE rollout = $1 AND name = $2 AND state = 'pending'",
          [id, name],
        );
        if (row === undefined) continue;
        const address = String(row["address"]);
        const remainingSlots = slotsByAddress.get(address);
        if (remainingSlots !== undefined && remainingSlots <= 0) continue;
        if (remainingSlots !== undefined) slotsByAddress.set(address, remainingSlots - 1);
        await transaction.query("UPDATE rollout_tenants SET state = 'queued' WHERE rollout = $1 AND name = $2", [
          id,
          name,
        ]);
        jobs.push({ rollout: id, wave, tenant: name, retryRound: Number(row["round"]) });
      }
      await queue.enqueue(transaction, jobs);
    });
    queue.start();
  }

  /** Enqueues unfinished jobs again. Jobs that a worker holds stay as they are. */
  async enqueueUnfinished(id: string, queue: JobQueue): Promise<void> {
    await this.database.transaction(async (transaction) => {
      const rows = await transaction.query(
        "SELECT name, wave, round FROM rollout_tenants WHERE rollout = $1 AND state IN ('queued', 'running') ORDER BY wave, position",
        [id],
      );
      const jobs = rows.map((row) => ({
        rollout: id,
        wave: Number(row["wave"]),
        tenant: String(row["name"]),
        retryRound: Number(row["round"]),
      }));
      await queue.enqueue(transaction, jobs);
    });
    queue.start();
  }

  /**
   * Claims a tenant's job, which starts the tenant.
   *
   * @param worker the worker: `host:pid`.
   * @returns undefined if the tenant is finished or was skipped, or if a retry replaced this job.
   */
  async claim(job: Job, worker: string): Promise<ClaimedJob | undefined> {
    const now = this.clock();
    return await this.database.transaction(async (transaction) => {
      const [previous] = await transaction.query(
        "SELECT state, worker FROM rollout_tenants WHERE rollout = $1 AND name = $2",
        [job.rollout, job.tenant],
      );
      // The tenant was running when a person skipped it, and its worker has died since.
      if (previous?.["state"] === "running" && (await skipIfActive(transaction, job, now))) return undefined;
      const [row] = await transaction.query(
        `UPDATE rollout_tenants SET state = 'running', attempt = attempt + 1, worker = $4, started_at = $5, finished_at = NULL
         WHERE rollout = $1 AND name = $2 AND round = $3 AND state IN ('queued', 'running')
         RETURNING target, attempt, plan, digest, summary`,
        [job.rollout, job.tenant, job.retryRound, worker, now],
      );
      if (row === undefined) return undefined;
      const { spec, seq = 0 } = await readRolloutRecord(transaction, job.rollout);
      const attempt = Number(row["attempt"]);
      const wave = spec.waves[job.wave]?.name ?? "";
      await this.appendEvent(transaction, job.rollout, {
        kind: "tenant-started",
        wave,
        tenant: job.tenant,
        attempt,
        worker,
      });
      const wasRunning = previous?.["state"] === "running";
      return {
        job,
        spec,
        target: decodeJson<Target>(row["target"]),
        seq,
        attempt,
        previousWorker: wasRunning && previous["worker"] !== null ? String(previous["worker"]) : undefined,
        plan: decompress(row["plan"]).toString("utf8"),
        digest: String(row["digest"]),
        summary: decodeJson<TenantSummary>(row["summary"]),
      };
    });
  }

  /**
   * Records the outcome of a tenant.
   *
   * @returns false if another worker has reclaimed the tenant. This result is then discarded.
   */
  async finish({ job, attempt, spec }: ClaimedJob, error: TenantError | undefined): Promise<boolean> {
    const now = this.clock();
    const state = error === undefined ? "done" : "failed";
    return await this.database.transaction(async (transaction) => {
      const [row] = await transaction.query(
        `UPDATE rollout_tenants SET state = $4, error = $5, finished_at = $6
         WHERE rollout = $1 AND name = $2 AND attempt = $3 AND state = 'running' RETURNING started_at`,
        [job.rollout, job.tenant, attempt, state, encodeJson(error), now],
      );
      if (row === undefined) return false;
      await this.appendEvent(transaction, job.rollout, {
        kind: "tenant-finished",
        wave: spec.waves[job.wave]?.name ?? "",
        tenant: job.tenant,
        state,
        durationMs: now - Number(row["started_at"]),
        ...(error === undefined ? {} : { error }),
      });
      if (error !== undefined) await skipIfActive(transaction, job, now);
      return true;
    });
  }

  /** Replaces the identity of a running tenant. Writes nothing if another worker has reclaimed it. */
  async recordIdentity({ job, attempt, summary }: ClaimedJob, identity: TenantIdentity): Promise<void> {
    await this.database.query(
      `UPDATE rollout_tenants SET summary = $4
       WHERE rollout = $1 AND name = $2 AND attempt = $3 AND state = 'running'`,
      [job.rollout, job.tenant, attempt, encodeJson({ ...summary, identity: compactIdentity(identity) })],
    );
  }

  /** Returns the identities of the rollout's other tenants that share content with this tenant. */
  async findSimilarIdentities(
    { job }: ClaimedJob,
    identity: TenantIdentity,
  ): Promise<ReadonlyMap<Target, TenantIdentity>> {
    const hashes = [...identity.unique, ...identity.counted, ...(identity.people ?? [])];
    if (hashes.length === 0) return new Map();
    const hashConditions = hashes.map((_, index) => `summary LIKE $${index + 3}`).join(" OR ");
    const rows = await this.database.query(
      `SELECT target, summary FROM rollout_tenants WHERE rollout = $1 AND name <> $2 AND (${hashConditions})`,
      [job.rollout, job.tenant, ...hashes.map((hash) => `%${hash}%`)],
    );
    return new Map(
      rows.flatMap((row) => {
        const other = decodeJson<TenantSummary>(row["summary"]).identity;
        if (other === undefined) return [];
        return [[decodeJson<Target>(row["target"]), other] as const];
      }),
    );
  }

  async addNote({ job, spec }: ClaimedJob, message: string): Promise<void> {
    const wave = spec.waves[job.wave]?.name ?? "";
    await this.database.transaction(async (transaction) => {
      await this.appendEvent(transaction, job.rollout, {
        kind: "tenant-note",
        wave,
        tenant: job.tenant,
        message,
      });
    });
  }

  /** Resets tenants that were queued but not started. */
  async resetReleased(id: string): Promise<void> {
    await this.database.query("UPDATE rollout_tenants SET state = 'pending' WHERE rollout = $1 AND state = 'queued'", [
      id,
    ]);
  }

  protected async appendEvent(transaction: Queryable, id: string, event: RolloutEventData): Promise<void> {
    await appendEvent(transaction, id, event, this.clock());
  }
}
