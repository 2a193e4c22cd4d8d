import { gunzipSync } from "node:zlib";
import { omitUndefined } from "../../model/omit-undefined";
import type { Database, Queryable, Row } from "../database/database";
import { decodeJson, decodeTime, decompress } from "../database/stored-values";
import type { RunState } from "../model/next-step";
import { RolloutError } from "../model/rollout-error";
import type { RolloutEvent, RolloutEventData } from "../model/rollout-event";
import type { TenantError } from "../model/rollout-report";
import type { Target } from "../model/target";
import type { RolloutState, TenantState, WaveState } from "../model/wave";
import type { Job } from "../queue/job-queue";
import { buildSequenceSql, compareRollouts } from "./rollout-order";
import type {
  ClaimedJob,
  ConflictingRollout,
  LaterChange,
  PackedFiles,
  RolloutRecord,
  RolloutSpec,
  TenantRecord,
  TenantSummary,
  WaveRecord,
} from "./rollout-record";
import { readRunState } from "./run-state";

export class JournalReader {
  readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  async getRollout(id: string): Promise<RolloutRecord> {
    return await readRolloutRecord(this.database, id);
  }

  async listRollouts(): Promise<readonly RolloutRecord[]> {
    const rows = await this.database.query("SELECT * FROM rollouts WHERE started_at IS NOT NULL");
    return rows.map(parseRecord).sort((a, b) => compareRollouts(b, a));
  }

  async listWaves(id: string): Promise<readonly WaveRecord[]> {
    const rows = await this.database.query(
      "SELECT state, started_at, finished_at, soak_until, approved_at, health FROM rollout_waves WHERE rollout = $1 ORDER BY position",
      [id],
    );
    return rows.map((row) => ({
      state: String(row["state"]) as WaveState,
      startedAtMs: decodeTime(row["started_at"]),
      finishedAtMs: decodeTime(row["finished_at"]),
      soakUntilMs: decodeTime(row["soak_until"]),
      approvedAtMs: decodeTime(row["approved_at"]),
      health: row["health"] == null ? undefined : decodeJson(row["health"]),
    }));
  }

  /** Returns the tenants in the order of waves, without their plans. */
  async listTenants(id: string): Promise<readonly TenantRecord[]> {
    const rows = await this.database.query(
      `SELECT name, wave, state, target, digest, summary, attempt, worker, error, started_at, finished_at
       FROM rollout_tenants WHERE rollout = $1 ORDER BY wave, position`,
      [id],
    );
    return rows.map((row) => ({
      name: String(row["name"]),
      wave: Number(row["wave"]),
      state: String(row["state"]) as TenantState,
      target: decodeJson<Target>(row["target"]),
      digest: String(row["digest"]),
      summary: row["summary"] == null ? undefined : decodeJson<TenantSummary>(row["summary"]),
      attempt: Number(row["attempt"]),
      worker: row["worker"] == null ? undefined : String(row["worker"]),
      error: row["error"] == null ? undefined : decodeJson<TenantError>(row["error"]),
      startedAtMs: decodeTime(row["started_at"]),
      finishedAtMs: decodeTime(row["finished_at"]),
    }));
  }

  async readFiles(id: string): Promise<PackedFiles> {
    const { spec } = await this.getRollout(id);
    const rows = await this.database.query("SELECT path, content FROM rollout_files WHERE rollout = $1 ORDER BY path", [
      id,
    ]);
    const bundle = new Map(rows.map((row) => [String(row["path"]), decompress(row["content"])] as const));
    return { bundle, directory: spec.directory ?? "." };
  }

  /** Returns the number of the event before the coordinator's last run began. */
  async getLastStart(id: string): Promise<number> {
    const [row] = await this.database.query(
      `SELECT COALESCE(MAX(seq), 1) AS seq FROM rollout_events WHERE rollout = $1 AND happening LIKE '{"kind":"started"%'`,
      [id],
    );
    return Number(row?.["seq"] ?? 1) - 1;
  }

  /** Returns a tenant's plan as JSON. Undefined if it has none. For a pruned rollout, the plan contains only its changes. */
  async readPlan(id: string, name: string): Promise<string | undefined> {
    const [row] = await this.database.query("SELECT plan FROM rollout_tenants WHERE rollout = $1 AND name = $2", [
      id,
      name,
    ]);
    return row?.["plan"] == null ? undefined : gunzipSync(row["plan"] as Uint8Array).toString("utf8");
  }

  /**
   * Returns the changes of later rollouts to this rollout's stacks, in the order in which the rollouts started. Only
   * rollouts of the same project and state backend count.
   */
  async listLaterChanges(id: string): Promise<readonly LaterChange[]> {
    const { spec, seq, startedAtMs = 0 } = await this.getRollout(id);
    const sequenceColumn = buildSequenceSql("r");
    const laterCondition =
      seq === undefined ? `(${sequenceColumn} > 0 OR r.started_at >= $2)` : `${sequenceColumn} >= $2`;
    const rows = await this.database.query(
      `SELECT other.rollout AS rollout, other.stack AS stack, other.state AS state, other.attempt AS attempt
       FROM rollout_tenants own
       JOIN rollout_tenants other ON other.stack = own.stack AND other.rollout <> own.rollout
       JOIN rollouts r ON r.id = other.rollout AND r.started_at IS NOT NULL AND ${laterCondition}
       WHERE own.rollout = $1 ORDER BY ${sequenceColumn}, r.started_at, r.id`,
      [id, seq ?? startedAtMs],
    );
    const changes: LaterChange[] = [];
    for (const [rollout, rolloutRows] of Map.groupBy(rows, (row) => String(row["rollout"]))) {
      const { project, backend, rollsBack, mode } = (await this.getRollout(rollout)).spec;
      // Pruning expired entries or reverting drift doesn't prevent the rollback of an earlier rollout.
      if (project !== spec.project || backend !== spec.backend || mode !== undefined) continue;
      for (const row of rolloutRows) {
        const change = parseLaterChange(row, rollout, rollsBack);
        if (change !== undefined) changes.push(change);
      }
    }
    return changes;
  }

  /** Returns the number of a rollout's last event. Undefined if the journal has no such rollout. */
  async getLastEvent(id: string): Promise<number | undefined> {
    const [row] = await this.database.query("SELECT events FROM rollouts WHERE id = $1", [id]);
    return row === undefined ? undefined : Number(row["events"]);
  }

  /** Returns the events after an event, at most 1,000. */
  async listEvents(id: string, seq: number): Promise<readonly RolloutEvent[]> {
    const rows = await this.database.query(
      "SELECT seq, at, happening FROM rollout_events WHERE rollout = $1 AND seq > $2 ORDER BY seq LIMIT 1000",
      [id, seq],
    );
    return rows.map((row) => parseEvent(row, id));
  }

  /** Returns the events of the rollout and its waves, and of skipped tenants. Omits the other events of tenants. */
  async listMilestones(id: string): Promise<readonly RolloutEvent[]> {
    const rows = await this.database.query(
      `SELECT seq, at, happening FROM rollout_events WHERE rollout = $1
       AND (happening NOT LIKE '{"kind":"tenant-%' OR happening LIKE '{"kind":"tenant-skipped"%') ORDER BY seq`,
      [id],
    );
    return rows.map((row) => parseEvent(row, id));
  }

  /**
   * Returns other unfinished rollouts, with the stacks of this rollout that they have not reached yet. Excludes the rollout that this one
   * rolls back.
   */
  async findConflictingRollouts(id: string): Promise<readonly ConflictingRollout[]> {
    const rows = await this.database.query(
      `SELECT other.rollout AS id, other.stack AS stack FROM rollout_tenants own
       JOIN rollout_tenants other ON other.stack = own.stack AND other.rollout <> own.rollout
       JOIN rollouts r ON r.id = other.rollout AND r.state IN ('running', 'waiting', 'stopped')
       WHERE own.rollout = $1 AND other.state IN ('pending', 'queued', 'running') ORDER BY other.rollout, other.stack`,
      [id],
    );
    const { project, backend, rollsBack } = (await this.getRollout(id)).spec;
    const conflicts: ConflictingRollout[] = [];
    for (const [other, stacks] of Map.groupBy(rows, (row) => String(row["id"]))) {
      // Stacks of the same name in two projects or backends are different stacks.
      const { spec, state, reason } = await this.getRollout(other);
      if (spec.project !== project || spec.backend !== backend || other === rollsBack) continue;
      conflicts.push({ id: other, state, reason, stacks: stacks.map((row) => String(row["stack"])) });
    }
    return conflicts;
  }

  async readRunState(id: string, capacity: number): Promise<RunState> {
    return await readRunState(this.database, await this.getRollout(id), capacity);
  }

  /** Whether an attempt is still the current one and running. */
  async isCurrent({ job, attempt }: ClaimedJob): Promise<boolean> {
    const rows = await this.database.query(
      "SELECT 1 AS one FROM rollout_tenants WHERE rollout = $1 AND name = $2 AND attempt = $3 AND state = 'running'",
      [job.rollout, job.tenant, attempt],
    );
    return rows.length > 0;
  }

  async getTenantState({ rollout, tenant }: Job): Promise<TenantState> {
    const [row] = await this.database.query("SELECT state FROM rollout_tenants WHERE rollout = $1 AND name = $2", [
      rollout,
      tenant,
    ]);
    return String(row?.["state"]) as TenantState;
  }
}

/** Converts a tenant's row to a description of the rollout's effect on its stack. Undefined if it had none. */
export function parseLaterChange(row: Row, rollout: string, rollsBack: string | undefined): LaterChange | undefined {
  const state = String(row["state"]) as TenantState;
  // A tenant that already matched was not changed. In a rollback, however, it confirms that nothing is left to roll back.
  if (Number(row["attempt"]) === 0 && !(rollsBack !== undefined && state === "unchanged")) return undefined;
  return { rollout, stack: String(row["stack"]), state, ...omitUndefined({ rollsBack }) };
}

export async function readRolloutRecord(database: Queryable, id: string): Promise<RolloutRecord> {
  const [row] = await database.query("SELECT * FROM rollouts WHERE id = $1", [id]);
  if (row !== undefined) return parseRecord(row);
  throw new RolloutError("ERR_ROLLOUT_NOT_FOUND", `The journal has no rollout "${id}".`);
}

function parseEvent(row: Row, rollout: string): RolloutEvent {
  return {
    seq: Number(row["seq"]),
    occurredAt: new Date(Number(row["at"])).toISOString(),
    rollout,
    ...decodeJson<RolloutEventData>(row["happening"]),
  };
}

function parseRecord(row: Row): RolloutRecord {
  return {
    id: String(row["id"]),
    state: String(row["state"]) as RolloutState,
    spec: decodeJson<RolloutSpec>(row["spec"]),
    digest: String(row["digest"]),
    reason: row["reason"] == null ? undefined : String(row["reason"]),
    until: row["until_wave"] == null ? undefined : String(row["until_wave"]),
    isStopping: Number(row["stop_requested"]) === 1,
    seq: row["seq"] == null ? undefined : Number(row["seq"]),
    createdAtMs: Number(row["created_at"]),
    startedAtMs: decodeTime(row["started_at"]),
    finishedAtMs: decodeTime(row["finished_at"]),
  };
}
