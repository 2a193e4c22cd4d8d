import { randomBytes } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import type { FrontName } from "../../resources/resource-type";
import { withoutUndefined } from "../../settings/without-undefined";
import { RolloutError } from "../errors";
import type { Job, Lane } from "../lanes/lane";
import type { PendingTenant, RolloutView, WaveView } from "../next-step";
import type { RolloutEvent, RolloutHappening } from "../report/rollout-event";
import type { TenantChange, TenantError } from "../report/rollout-report";
import type { ServiceLimit, Target } from "../targets/target";
import type { RolloutState, TenantState, Wave, WaveState } from "../wave";
import type { Database, Queryable, Row, SqlValue } from "./database";
import { JournalError } from "./journal-error";
import { makeTables, VERSION, versionOf } from "./tables";

/** What a rollout is to do; it does not change once it is written. */
export interface RolloutSpec {
  /** The targets file, as it was named. */
  readonly source: string;
  /** The Pulumi project of all stacks. */
  readonly project: string;
  /** As of {@link PackedFiles}; known once the planning is through. */
  readonly folder?: string;
  /** The day (UTC) by which `expires` is judged. */
  readonly today: string;
  readonly waves: readonly Wave[];
  /** How many tenants may fail in the whole rollout. */
  readonly tolerated?: number;
  /** The limits of service addresses. */
  readonly services: readonly (readonly [address: string, limit: ServiceLimit])[];
  /** The environment's variables that hold keys, of tenants too that the rollout leaves out: no child process gets them. */
  readonly keyVariables?: readonly string[];
  /** Tells one state backend from another, so that no worker takes a tenant to another one. */
  readonly backend: string;
  /** The rollout that this one takes back. */
  readonly rollsBack?: string;
  /** What it goes back to: what each tenant held, or the files of a revision of git. */
  readonly rollsBackTo?: string;
}

/** What a plan said of a tenant, as far as reports need it. */
export interface TenantSummary {
  readonly planned: { readonly added: number; readonly changed: number; readonly removed: number };
  readonly changes: readonly TenantChange[];
  /** `accepted` is absent in what an earlier release planned. */
  readonly alarms: { readonly danger: number; readonly accepted?: number; readonly warning: number };
  /** The name of the `TenantSettings` in the stack, and whether the stack was there when this was planned. */
  readonly resource: string;
  readonly isStackThere: boolean;
  /** What its lists are to be made over. Default: dynamic resources. */
  readonly front?: FrontName;
  /** Whether an engine was killed in the middle of it. Default: false. */
  readonly isStackPending?: boolean;
  /** A salted fingerprint of the domains of the tenant's people, as the planning saw them. */
  readonly fingerprint?: string;
  /** Whether the person said that the tenant may be empty, or its people have other domains. Default: false. */
  readonly acceptsEmptyTenant?: boolean;
  /** A settings file that is declared first, which writes nothing: what the stack is to know before it can remove it. */
  readonly first?: string;
  /** What a rollback leaves as it is, since somebody changed it after the rollout: `allow partner.example`. */
  readonly left?: readonly string[];
  /** What its settings files loosen of what those that they include ask for, with file and line; the first few. Absent: nothing. */
  readonly loosened?: readonly string[];
}

/** How planning went for one tenant. */
export interface PlannedTenant {
  readonly name: string;
  readonly state: "pending" | "unchanged" | "failed";
  /** The digest of its plan; empty where there is none. */
  readonly digest: string;
  readonly summary?: TenantSummary;
  /** The plan as JSON; only of tenants that are to be changed. */
  readonly plan?: string;
  readonly error?: TenantError;
}

/** A tenant that somebody has begun. */
export interface ClaimedTenant {
  readonly job: Job;
  readonly spec: RolloutSpec;
  readonly target: Target;
  /** Counts how often it was begun, from 1; who finishes it must name it. */
  readonly attempt: number;
  /** Who was at it before, when it was taken over from one that died. */
  readonly takenOverFrom: string | undefined;
  /** The plan as JSON. */
  readonly plan: string;
  readonly digest: string;
  readonly summary: TenantSummary;
}

/** A rollout as the journal holds it. */
export interface RolloutRecord {
  readonly id: string;
  readonly state: RolloutState;
  readonly spec: RolloutSpec;
  /** Empty while the planning is under way, or was interrupted. */
  readonly digest: string;
  readonly reason: string | undefined;
  readonly until: string | undefined;
  /** Whether a person asked to begin nothing more. */
  readonly isStopping: boolean;
  readonly createdAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
}

/** A rollout that is not through, and has the same stacks as another. */
export interface Rival extends Pick<RolloutRecord, "id" | "state" | "reason"> {
  readonly stacks: readonly string[];
}

/** What a later rollout did to a stack. */
export interface LaterChange {
  readonly rollout: string;
  readonly stack: string;
  readonly state: TenantState;
  /** The rollout that it took back. */
  readonly rollsBack?: string;
}

/** A wave as the journal holds it. */
export interface WaveRecord {
  readonly state: WaveState;
  readonly startedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  readonly soakUntilMs: number | undefined;
  readonly approvedAtMs: number | undefined;
  readonly health: { readonly isWell: boolean; readonly message: string } | undefined;
}

/** A tenant as the journal holds it. */
export interface TenantRecord {
  readonly name: string;
  readonly wave: number;
  readonly state: TenantState;
  readonly target: Target;
  readonly digest: string;
  readonly summary: TenantSummary | undefined;
  readonly attempt: number;
  readonly worker: string | undefined;
  readonly error: TenantError | undefined;
  readonly startedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
}

/** Files by their path, with slashes, relative to the bundle's root. */
export type FileBundle = ReadonlyMap<string, Uint8Array>;

/** The files of a rollout as they were when it was planned, and where among them it works. */
export interface PackedFiles {
  readonly bundle: FileBundle;
  /** The working folder, relative to the bundle's root: `.`, or `customers`. */
  readonly folder: string;
}

const NO_COUNTS: Readonly<Record<TenantState, number>> = {
  pending: 0,
  released: 0,
  running: 0,
  unchanged: 0,
  done: 0,
  failed: 0,
};

/**
 * The durable memory of rollouts: what each is to do, and how far it is. Every change of it is one transaction with the
 * event that tells it, so that a process may die anywhere. One piece of code over SQLite and PostgreSQL.
 */
export class Journal {
  readonly database: Database;
  readonly #now: () => number;

  private constructor(database: Database, now: () => number) {
    this.database = database;
    this.#now = now;
  }

  /**
   * @param now milliseconds since 1970.
   * @throws {JournalError} when a later release has made it.
   */
  static async open(database: Database, now: () => number = Date.now): Promise<Journal> {
    const version = await versionOf(database);
    if (version === undefined) await makeTables(database);
    if (version === undefined || version <= VERSION) return new Journal(database, now);
    throw new JournalError(
      `The journal was made by a later release (version ${version} of its tables); use that one.`,
    );
  }

  async close(): Promise<void> {
    await this.database.close();
  }

  /** Writes a new rollout whose tenants are to be planned. Answers its id, which begins with the day. */
  async create(spec: RolloutSpec, targets: readonly Target[]): Promise<string> {
    const now = this.#now();
    const id = `${new Date(now).toISOString().slice(0, 16).replace(/[-:]/g, "").replace("T", "-")}-${randomBytes(3).toString("hex")}`;
    const waveOf = new Map(
      spec.waves.flatMap(({ tenants }, wave) =>
        tenants.map((name, position) => [name, [wave, position] as const] as const),
      ),
    );
    await this.database.transaction(async (transaction) => {
      await transaction.query(
        "INSERT INTO rollouts (id, state, spec, digest, stop_requested, events, created_at) VALUES ($1, 'planned', $2, '', 0, 0, $3)",
        [id, JSON.stringify(spec), now],
      );
      for (const [position, { name }] of spec.waves.entries()) {
        await transaction.query(
          "INSERT INTO rollout_waves (rollout, position, name, state) VALUES ($1, $2, $3, 'pending')",
          [id, position, name],
        );
      }
      for (const target of targets) {
        const [wave, position] = waveOf.get(target.name) ?? noWave(target.name);
        await transaction.query(
          `INSERT INTO rollout_tenants (rollout, name, wave, position, state, address, stack, target, digest, round, attempt)
           VALUES ($1, $2, $3, $4, 'pending', $5, $6, $7, '', 0, 0)`,
          [id, target.name, wave, position, target.baseUrl, target.stack, JSON.stringify(target)],
        );
      }
    });
    return id;
  }

  /** Writes how planning went for some tenants. */
  async planned(id: string, tenants: readonly PlannedTenant[]): Promise<void> {
    await this.database.transaction(async (transaction) => {
      for (const { name, state, digest, summary, plan, error } of tenants) {
        await transaction.query(
          "UPDATE rollout_tenants SET state = $3, digest = $4, summary = $5, plan = $6, error = $7 WHERE rollout = $1 AND name = $2",
          [id, name, state, digest, json(summary), plan === undefined ? null : gzipSync(plan), json(error)],
        );
      }
    });
  }

  /** Writes the digest over all plans, and the files that they were made of: the planning is through. */
  async planningDone(id: string, digest: string, { bundle, folder }: PackedFiles): Promise<void> {
    const { spec } = await this.record(id);
    await this.database.transaction(async (transaction) => {
      await transaction.query("UPDATE rollouts SET digest = $2, spec = $3 WHERE id = $1", [
        id,
        digest,
        JSON.stringify({ ...spec, folder }),
      ]);
      for (const [path, content] of bundle) {
        await transaction.query("INSERT INTO rollout_files (rollout, path, content) VALUES ($1, $2, $3)", [
          id,
          path,
          gzipSync(content),
        ]);
      }
      const counts = sum((await countsOf(transaction, id)).values());
      const tenants = Object.values(counts).reduce((all, count) => all + count, 0);
      await this.#tell(transaction, id, { kind: "planned", tenants, changing: counts.pending, digest });
    });
  }

  /** Forgets a rollout that wrote nothing. */
  async forget(id: string): Promise<void> {
    await this.database.transaction(async (transaction) => {
      for (const table of ["rollout_events", "rollout_files", "rollout_tenants", "rollout_waves"]) {
        await transaction.query(`DELETE FROM ${table} WHERE rollout = $1`, [id]);
      }
      await transaction.query("DELETE FROM rollouts WHERE id = $1", [id]);
    });
  }

  /**
   * Begins a rollout, or goes on with it.
   *
   * @param until the wave after which to wait, and with `retry` by default that of the last time; one that waits there
   * already goes on waiting. All others that wait at their gate are approved, unless `retry`.
   * @param retry whether tenants that failed are tried again, and waves that were found unwell looked at again. It approves
   * no gate: whoever resumes what was interrupted has not said that a wave is well.
   */
  async start(id: string, { until, retry }: { until?: string | undefined; retry: boolean }): Promise<void> {
    const now = this.#now();
    await this.database.transaction(async (transaction) => {
      const [row] = await transaction.query("SELECT started_at FROM rollouts WHERE id = $1", [id]);
      await transaction.query(
        "UPDATE rollouts SET state = 'running', reason = NULL, stop_requested = 0, until_wave = CASE WHEN $4 = 1 THEN COALESCE($2, until_wave) ELSE $2 END, started_at = COALESCE(started_at, $3), finished_at = NULL WHERE id = $1",
        [id, until ?? null, now, retry ? 1 : 0],
      );
      if (retry) await retryFailed(transaction, id);
      else {
        await transaction.query(
          "UPDATE rollout_waves SET approved_at = $2 WHERE rollout = $1 AND state = 'gated' AND name <> $3",
          [id, now, until ?? ""],
        );
      }
      await this.#tell(transaction, id, { kind: "started", resumed: row?.["started_at"] != null });
    });
  }

  /** Takes back what a process that died had begun here; only for who holds the rollout, and runs its tenants itself. */
  async reclaim(id: string): Promise<void> {
    await this.database.query(
      "UPDATE rollout_tenants SET state = 'pending' WHERE rollout = $1 AND state IN ('released', 'running')",
      [id],
    );
  }

  /** All that {@link nextStep} looks at. */
  async view(id: string, capacity: number): Promise<RolloutView> {
    return await viewOf(this.database, await this.record(id), capacity);
  }

  /**
   * Marks tenants as released and hands their jobs out; fewer where places were taken meanwhile, by other rollouts or by
   * another coordinator of this one, and none once a person asked to begin nothing more.
   */
  async release(id: string, wave: number, names: readonly string[], lane: Lane): Promise<void> {
    const record = await this.record(id);
    await this.database.transaction(async (transaction) => {
      // One after the other over all rollouts, so that no two take the same place at a service.
      if (transaction.dialect === "postgres") {
        await transaction.query("SELECT pg_advisory_xact_lock(hashtext('email-security-release'))");
      }
      const room = new Map(await roomAt(transaction, record.spec));
      const places = await placesIn(transaction, record, wave);
      const jobs: Job[] = [];
      for (const name of names) {
        if (jobs.length >= places) break;
        const [row] = await transaction.query(
          "SELECT address, round FROM rollout_tenants WHERE rollout = $1 AND name = $2 AND state = 'pending'",
          [id, name],
        );
        if (row === undefined) continue;
        const address = String(row["address"]);
        const left = room.get(address);
        if (left !== undefined && left <= 0) continue;
        if (left !== undefined) room.set(address, left - 1);
        await transaction.query(
          "UPDATE rollout_tenants SET state = 'released' WHERE rollout = $1 AND name = $2",
          [id, name],
        );
        jobs.push({ rollout: id, wave, tenant: name, round: Number(row["round"]) });
      }
      await lane.handOut(transaction, jobs);
    });
    lane.start();
  }

  /** Hands out anew what was handed out and is not through; of what somebody has, nothing is changed. */
  async handOutOpen(id: string, lane: Lane): Promise<void> {
    await this.database.transaction(async (transaction) => {
      const rows = await transaction.query(
        "SELECT name, wave, round FROM rollout_tenants WHERE rollout = $1 AND state IN ('released', 'running') ORDER BY wave, position",
        [id],
      );
      const jobs = rows.map((row) => ({
        rollout: id,
        wave: Number(row["wave"]),
        tenant: String(row["name"]),
        round: Number(row["round"]),
      }));
      await lane.handOut(transaction, jobs);
    });
    lane.start();
  }

  /**
   * Begins a tenant.
   *
   * @param worker who does: `host:pid`.
   * @returns undefined when there is nothing to do: the tenant is through, or was tried again since.
   */
  async begin(job: Job, worker: string): Promise<ClaimedTenant | undefined> {
    const now = this.#now();
    return await this.database.transaction(async (transaction) => {
      const [before] = await transaction.query(
        "SELECT state, worker FROM rollout_tenants WHERE rollout = $1 AND name = $2",
        [job.rollout, job.tenant],
      );
      const [row] = await transaction.query(
        `UPDATE rollout_tenants SET state = 'running', attempt = attempt + 1, worker = $4, started_at = $5, finished_at = NULL
         WHERE rollout = $1 AND name = $2 AND round = $3 AND state IN ('released', 'running')
         RETURNING target, attempt, plan, digest, summary`,
        [job.rollout, job.tenant, job.round, worker, now],
      );
      if (row === undefined) return undefined;
      const { spec } = await recordOf(transaction, job.rollout);
      const attempt = Number(row["attempt"]);
      const wave = spec.waves[job.wave]?.name ?? "";
      await this.#tell(transaction, job.rollout, {
        kind: "tenant-started",
        wave,
        tenant: job.tenant,
        attempt,
        worker,
      });
      const wasRunning = before?.["state"] === "running";
      return {
        job,
        spec,
        target: parsed<Target>(row["target"]),
        attempt,
        takenOverFrom: wasRunning && before["worker"] !== null ? String(before["worker"]) : undefined,
        plan: unpacked(row["plan"]).toString("utf8"),
        digest: String(row["digest"]),
        summary: parsed<TenantSummary>(row["summary"]),
      };
    });
  }

  /** Whether an attempt is still the last one, and goes on. */
  async isCurrent({ job, attempt }: ClaimedTenant): Promise<boolean> {
    const rows = await this.database.query(
      "SELECT 1 AS one FROM rollout_tenants WHERE rollout = $1 AND name = $2 AND attempt = $3 AND state = 'running'",
      [job.rollout, job.tenant, attempt],
    );
    return rows.length > 0;
  }

  /**
   * Writes how it went with a tenant.
   *
   * @returns false when somebody else has taken it over: then this result counts for nothing.
   */
  async finish({ job, attempt, spec }: ClaimedTenant, error: TenantError | undefined): Promise<boolean> {
    const now = this.#now();
    const state = error === undefined ? "done" : "failed";
    return await this.database.transaction(async (transaction) => {
      const [row] = await transaction.query(
        `UPDATE rollout_tenants SET state = $4, error = $5, finished_at = $6
         WHERE rollout = $1 AND name = $2 AND attempt = $3 AND state = 'running' RETURNING started_at`,
        [job.rollout, job.tenant, attempt, state, json(error), now],
      );
      if (row === undefined) return false;
      await this.#tell(transaction, job.rollout, {
        kind: "tenant-finished",
        wave: spec.waves[job.wave]?.name ?? "",
        tenant: job.tenant,
        state,
        durationMs: now - Number(row["started_at"]),
        ...(error === undefined ? {} : { error }),
      });
      return true;
    });
  }

  /** What may be said of a job's tenant now. */
  async stateOf({ rollout, tenant }: Job): Promise<TenantState> {
    const [row] = await this.database.query(
      "SELECT state FROM rollout_tenants WHERE rollout = $1 AND name = $2",
      [rollout, tenant],
    );
    return String(row?.["state"]) as TenantState;
  }

  /** Writes a word about a tenant that is under way. */
  async note({ job, spec }: ClaimedTenant, message: string): Promise<void> {
    const wave = spec.waves[job.wave]?.name ?? "";
    await this.database.transaction(async (transaction) => {
      await this.#tell(transaction, job.rollout, { kind: "tenant-note", wave, tenant: job.tenant, message });
    });
  }

  /** A wave goes on to its next state. */
  async wave(
    id: string,
    position: number,
    state: WaveState,
    more: { readonly soakUntilMs?: number; readonly health?: { isWell: boolean; message: string } } = {},
  ): Promise<void> {
    const now = this.#now();
    const { spec } = await this.record(id);
    const { name = "", tenants = [] } = spec.waves[position] ?? {};
    const { soakUntilMs, health } = more;
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
          json(health),
        ],
      );
      const { done, failed } = (await countsOf(transaction, id)).get(position) ?? NO_COUNTS;
      if (state === "running")
        await this.#tell(transaction, id, { kind: "wave-started", wave: name, tenants: tenants.length });
      if (soakUntilMs !== undefined) {
        const until = new Date(soakUntilMs).toISOString();
        await this.#tell(transaction, id, { kind: "wave-soaking", wave: name, until });
      }
      if (health !== undefined)
        await this.#tell(transaction, id, { kind: "wave-health", wave: name, ...health });
      if (state === "done")
        await this.#tell(transaction, id, { kind: "wave-finished", wave: name, done, failed });
    });
  }

  /** The rollout waits for a person after a wave. */
  async handOver(id: string, position: number, reason: string): Promise<void> {
    const { spec } = await this.record(id);
    await this.database.transaction(async (transaction) => {
      await transaction.query(
        "UPDATE rollout_waves SET state = 'gated' WHERE rollout = $1 AND position = $2",
        [id, position],
      );
      await transaction.query("UPDATE rollouts SET state = 'waiting', reason = $2 WHERE id = $1", [
        id,
        reason,
      ]);
      await this.#tell(transaction, id, { kind: "waiting", wave: spec.waves[position]?.name ?? "", reason });
    });
  }

  /** The rollout stops; what has not begun stays to be done when it is resumed. */
  async stop(id: string, reason: string): Promise<void> {
    await this.database.transaction(async (transaction) => {
      await transaction.query(
        "UPDATE rollouts SET state = 'stopped', reason = $2, finished_at = $3 WHERE id = $1",
        [id, reason, this.#now()],
      );
      await this.#tell(transaction, id, { kind: "stopped", reason });
    });
  }

  /** The rollout is given up, or was taken back: it can't be resumed. */
  async abandon(id: string, reason: string): Promise<void> {
    await this.database.transaction(async (transaction) => {
      await transaction.query(
        "UPDATE rollouts SET state = 'abandoned', reason = $2, finished_at = COALESCE(finished_at, $3) WHERE id = $1",
        [id, reason, this.#now()],
      );
      await this.#tell(transaction, id, { kind: "stopped", reason });
    });
  }

  /** Takes back what was handed out and nobody has begun. */
  async takeBack(id: string): Promise<void> {
    await this.database.query(
      "UPDATE rollout_tenants SET state = 'pending' WHERE rollout = $1 AND state = 'released'",
      [id],
    );
  }

  /** Asks whoever is at the rollout to begin nothing more. */
  async requestStop(id: string): Promise<void> {
    await this.database.query("UPDATE rollouts SET stop_requested = 1 WHERE id = $1", [id]);
  }

  /** A run of the coordinator ends before the rollout does. */
  async interrupted(id: string, reason: string): Promise<void> {
    await this.database.transaction(async (transaction) => {
      await transaction.query("UPDATE rollouts SET reason = $2 WHERE id = $1", [id, reason]);
      await this.#tell(transaction, id, { kind: "interrupted", reason });
    });
  }

  /** All waves are through. */
  async finishRollout(id: string): Promise<void> {
    await this.database.transaction(async (transaction) => {
      await transaction.query(
        "UPDATE rollouts SET state = 'done', reason = NULL, finished_at = $2 WHERE id = $1",
        [id, this.#now()],
      );
      const { done, unchanged, failed } = sum((await countsOf(transaction, id)).values());
      await this.#tell(transaction, id, { kind: "finished", done, unchanged, failed });
    });
  }

  /** @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`) */
  async record(id: string): Promise<RolloutRecord> {
    return await recordOf(this.database, id);
  }

  /** All rollouts that were begun, the newest first. */
  async records(): Promise<readonly RolloutRecord[]> {
    const rows = await this.database.query(
      `SELECT ${RECORD} FROM rollouts WHERE started_at IS NOT NULL ORDER BY created_at DESC, id DESC`,
    );
    return rows.map(asRecord);
  }

  async waves(id: string): Promise<readonly WaveRecord[]> {
    const rows = await this.database.query(
      "SELECT state, started_at, finished_at, soak_until, approved_at, health FROM rollout_waves WHERE rollout = $1 ORDER BY position",
      [id],
    );
    return rows.map((row) => ({
      state: String(row["state"]) as WaveState,
      startedAtMs: time(row["started_at"]),
      finishedAtMs: time(row["finished_at"]),
      soakUntilMs: time(row["soak_until"]),
      approvedAtMs: time(row["approved_at"]),
      health: row["health"] == null ? undefined : parsed(row["health"]),
    }));
  }

  /** The tenants in the order of waves; without their plans. */
  async tenants(id: string): Promise<readonly TenantRecord[]> {
    const rows = await this.database.query(
      `SELECT name, wave, state, target, digest, summary, attempt, worker, error, started_at, finished_at
       FROM rollout_tenants WHERE rollout = $1 ORDER BY wave, position`,
      [id],
    );
    return rows.map((row) => ({
      name: String(row["name"]),
      wave: Number(row["wave"]),
      state: String(row["state"]) as TenantState,
      target: parsed<Target>(row["target"]),
      digest: String(row["digest"]),
      summary: row["summary"] == null ? undefined : parsed<TenantSummary>(row["summary"]),
      attempt: Number(row["attempt"]),
      worker: row["worker"] == null ? undefined : String(row["worker"]),
      error: row["error"] == null ? undefined : parsed<TenantError>(row["error"]),
      startedAtMs: time(row["started_at"]),
      finishedAtMs: time(row["finished_at"]),
    }));
  }

  /** The settings files as they were when the rollout was planned. */
  async files(id: string): Promise<PackedFiles> {
    const { spec } = await this.record(id);
    const rows = await this.database.query(
      "SELECT path, content FROM rollout_files WHERE rollout = $1 ORDER BY path",
      [id],
    );
    const bundle = new Map(rows.map((row) => [String(row["path"]), unpacked(row["content"])] as const));
    return { bundle, folder: spec.folder ?? "." };
  }

  /** The event before the last run of the coordinator began. */
  async lastStart(id: string): Promise<number> {
    const [row] = await this.database.query(
      `SELECT COALESCE(MAX(seq), 1) AS seq FROM rollout_events WHERE rollout = $1 AND happening LIKE '{"kind":"started"%'`,
      [id],
    );
    return Number(row?.["seq"] ?? 1) - 1;
  }

  /** The plan of a tenant, as JSON; undefined where it has none. */
  async plan(id: string, name: string): Promise<string | undefined> {
    const [row] = await this.database.query(
      "SELECT plan FROM rollout_tenants WHERE rollout = $1 AND name = $2",
      [id, name],
    );
    return row?.["plan"] == null ? undefined : gunzipSync(row["plan"] as Uint8Array).toString("utf8");
  }

  /** What later rollouts of the same project and state backend did to the stacks of one, in the order in which they began. */
  async since(id: string): Promise<readonly LaterChange[]> {
    const { spec, startedAtMs = 0 } = await this.record(id);
    const rows = await this.database.query(
      `SELECT other.rollout AS rollout, other.stack AS stack, other.state AS state, other.attempt AS attempt
       FROM rollout_tenants own
       JOIN rollout_tenants other ON other.stack = own.stack AND other.rollout <> own.rollout
       JOIN rollouts r ON r.id = other.rollout AND r.started_at >= $2
       WHERE own.rollout = $1 ORDER BY r.started_at, r.id`,
      [id, startedAtMs],
    );
    const found: LaterChange[] = [];
    for (const [rollout, ofOne] of Map.groupBy(rows, (row) => String(row["rollout"]))) {
      const { project, backend, rollsBack } = (await this.record(rollout)).spec;
      if (project !== spec.project || backend !== spec.backend) continue;
      for (const row of ofOne) {
        const state = String(row["state"]) as TenantState;
        // What held already what it was to hold was not changed; but a rollback has seen there that nothing is left to do.
        if (Number(row["attempt"]) === 0 && !(rollsBack !== undefined && state === "unchanged")) continue;
        found.push({ rollout, stack: String(row["stack"]), state, ...withoutUndefined({ rollsBack }) });
      }
    }
    return found;
  }

  /** The number of the last event of a rollout; undefined where the journal has no such rollout. */
  async lastEvent(id: string): Promise<number | undefined> {
    const [row] = await this.database.query("SELECT events FROM rollouts WHERE id = $1", [id]);
    return row === undefined ? undefined : Number(row["events"]);
  }

  /** What happened since an event, at most 1,000. */
  async eventsSince(id: string, seq: number): Promise<readonly RolloutEvent[]> {
    const rows = await this.database.query(
      "SELECT seq, at, happening FROM rollout_events WHERE rollout = $1 AND seq > $2 ORDER BY seq LIMIT 1000",
      [id, seq],
    );
    return rows.map((row) => ({
      seq: Number(row["seq"]),
      at: new Date(Number(row["at"])).toISOString(),
      rollout: id,
      ...parsed<RolloutHappening>(row["happening"]),
    }));
  }

  /**
   * Other rollouts that are not through, and the stacks of this one that they have not come to yet. What this one takes back
   * is none of them.
   */
  async rivals(id: string): Promise<readonly Rival[]> {
    const rows = await this.database.query(
      `SELECT other.rollout AS id, other.stack AS stack FROM rollout_tenants own
       JOIN rollout_tenants other ON other.stack = own.stack AND other.rollout <> own.rollout
       JOIN rollouts r ON r.id = other.rollout AND r.state IN ('running', 'waiting', 'stopped')
       WHERE own.rollout = $1 AND other.state IN ('pending', 'released', 'running') ORDER BY other.rollout, other.stack`,
      [id],
    );
    const { project, backend, rollsBack } = (await this.record(id)).spec;
    const found: Rival[] = [];
    for (const [other, stacks] of Map.groupBy(rows, (row) => String(row["id"]))) {
      // Stacks of one name in two projects, or in two backends, are two stacks.
      const { spec, state, reason } = await this.record(other);
      if (spec.project !== project || spec.backend !== backend || other === rollsBack) continue;
      found.push({ id: other, state, reason, stacks: stacks.map((row) => String(row["stack"])) });
    }
    return found;
  }

  async #tell(transaction: Queryable, id: string, happening: RolloutHappening): Promise<void> {
    const [row] = await transaction.query(
      "UPDATE rollouts SET events = events + 1 WHERE id = $1 RETURNING events",
      [id],
    );
    await transaction.query(
      "INSERT INTO rollout_events (rollout, seq, at, happening) VALUES ($1, $2, $3, $4)",
      [id, Number(row?.["events"]), this.#now(), JSON.stringify(happening)],
    );
  }
}

function noWave(name: string): never {
  throw new JournalError(`The tenant "${name}" is in no wave of the rollout.`);
}

const RECORD =
  "id, state, spec, digest, reason, until_wave, stop_requested, created_at, started_at, finished_at";

async function recordOf(database: Queryable, id: string): Promise<RolloutRecord> {
  const [row] = await database.query(`SELECT ${RECORD} FROM rollouts WHERE id = $1`, [id]);
  if (row !== undefined) return asRecord(row);
  throw new RolloutError("ERR_ROLLOUT_NOT_FOUND", `The journal has no rollout "${id}".`);
}

async function retryFailed(transaction: Queryable, id: string): Promise<void> {
  const retried = await transaction.query(
    `UPDATE rollout_tenants SET state = 'pending', error = NULL, round = round + 1, finished_at = NULL
     WHERE rollout = $1 AND state = 'failed' AND plan IS NOT NULL RETURNING wave`,
    [id],
  );
  // What has to be looked at is looked at again once they are through.
  for (const wave of new Set(retried.map((row) => Number(row["wave"])))) {
    await transaction.query(
      `UPDATE rollout_waves SET state = 'running', health = NULL, soak_until = NULL, approved_at = NULL, finished_at = NULL
       WHERE rollout = $1 AND position = $2 AND state <> 'pending'`,
      [id, wave],
    );
  }
  // A wave of which nothing is tried again keeps what was found, and what a person said, unless it was not well.
  for (const { position, health } of await waveHealth(transaction, id)) {
    if (health?.isWell !== false) continue;
    await transaction.query("UPDATE rollout_waves SET health = NULL WHERE rollout = $1 AND position = $2", [
      id,
      position,
    ]);
  }
}

async function waveHealth(
  database: Queryable,
  id: string,
): Promise<readonly { readonly position: number; readonly health: WaveView["health"] }[]> {
  const rows = await database.query("SELECT position, health FROM rollout_waves WHERE rollout = $1", [id]);
  return rows.map(({ position, health }) => ({
    position: Number(position),
    health: health == null ? undefined : parsed(health),
  }));
}

function asRecord(row: Row): RolloutRecord {
  return {
    id: String(row["id"]),
    state: String(row["state"]) as RolloutState,
    spec: parsed<RolloutSpec>(row["spec"]),
    digest: String(row["digest"]),
    reason: row["reason"] == null ? undefined : String(row["reason"]),
    until: row["until_wave"] == null ? undefined : String(row["until_wave"]),
    isStopping: Number(row["stop_requested"]) === 1,
    createdAtMs: Number(row["created_at"]),
    startedAtMs: time(row["started_at"]),
    finishedAtMs: time(row["finished_at"]),
  };
}

async function viewOf(database: Queryable, record: RolloutRecord, capacity: number): Promise<RolloutView> {
  const { id, spec, state, until, isStopping } = record;
  const counts = await countsOf(database, id);
  const rows = await database.query(
    "SELECT state, soak_until, approved_at, health FROM rollout_waves WHERE rollout = $1 ORDER BY position",
    [id],
  );
  const waves = rows.map((row, position): WaveView => {
    const wave = spec.waves[position];
    if (wave === undefined) throw new JournalError(`The rollout ${id} lacks a wave.`);
    return {
      wave,
      state: String(row["state"]) as WaveState,
      counts: counts.get(position) ?? NO_COUNTS,
      soakUntilMs: time(row["soak_until"]),
      isApproved: row["approved_at"] != null,
      health: row["health"] == null ? undefined : parsed(row["health"]),
    };
  });
  const running = waves.findIndex((wave) => wave.state === "running");
  const wave = waves[running]?.wave;
  const room = await roomAt(database, spec);
  return {
    state,
    waves,
    tolerated: spec.tolerated,
    until,
    isStopping,
    pending: wave === undefined ? [] : await pendingOf(database, id, running, wave, room),
    roomAt: room,
    capacity,
  };
}

/** How many tenants one transaction begins at most; the next one begins more. */
const MOST_BEGUN_AT_ONCE = 1_000;

/** How many more tenants of a wave may be begun, by what the journal holds now. */
async function placesIn(database: Queryable, { id, spec }: RolloutRecord, wave: number): Promise<number> {
  const [row] = await database.query(
    `SELECT state, stop_requested, (SELECT COUNT(*) FROM rollout_tenants
       WHERE rollout = $1 AND state IN ('released', 'running')) AS busy FROM rollouts WHERE id = $1`,
    [id],
  );
  if (row?.["state"] !== "running" || Number(row["stop_requested"]) === 1) return 0;
  return (spec.waves[wave]?.maxConcurrent ?? 0) - Number(row["busy"]);
}

/** The first of those whose service has room, as many as the wave could begin at once. */
async function pendingOf(
  database: Queryable,
  id: string,
  position: number,
  wave: Wave,
  roomAt: ReadonlyMap<string, number>,
): Promise<readonly PendingTenant[]> {
  const full = [...roomAt].filter(([, room]) => room <= 0).map(([address]) => address);
  const except =
    full.length === 0 ? "" : `AND address NOT IN (${full.map((_, index) => `$${index + 4}`).join(", ")})`;
  const rows = await database.query(
    `SELECT name, address FROM rollout_tenants WHERE rollout = $1 AND state = 'pending' AND wave = $2 ${except}
     ORDER BY position LIMIT $3`,
    [id, position, Math.min(wave.maxConcurrent, MOST_BEGUN_AT_ONCE), ...full],
  );
  return rows.map((row) => ({ name: String(row["name"]), address: String(row["address"]) }));
}

async function roomAt(database: Queryable, { services }: RolloutSpec): Promise<ReadonlyMap<string, number>> {
  const room = new Map<string, number>();
  for (const [address, { maxConcurrent }] of services) {
    if (maxConcurrent === undefined) continue;
    const [row] = await database.query(
      `SELECT COUNT(*) AS busy FROM rollout_tenants t JOIN rollouts r ON r.id = t.rollout AND r.state = 'running'
       WHERE t.address = $1 AND t.state IN ('released', 'running')`,
      [address],
    );
    room.set(address, maxConcurrent - Number(row?.["busy"] ?? 0));
  }
  return room;
}

async function countsOf(database: Queryable, id: string): Promise<Map<number, Record<TenantState, number>>> {
  const rows = await database.query(
    "SELECT wave, state, COUNT(*) AS count FROM rollout_tenants WHERE rollout = $1 GROUP BY wave, state",
    [id],
  );
  const counts = new Map<number, Record<TenantState, number>>();
  for (const row of rows) {
    const wave = Number(row["wave"]);
    const ofWave = counts.get(wave) ?? { ...NO_COUNTS };
    ofWave[String(row["state"]) as TenantState] = Number(row["count"]);
    counts.set(wave, ofWave);
  }
  return counts;
}

function sum(all: Iterable<Record<TenantState, number>>): Record<TenantState, number> {
  const total = { ...NO_COUNTS };
  for (const counts of all) {
    for (const [state, count] of Object.entries(counts)) total[state as TenantState] += count;
  }
  return total;
}

function json(value: unknown): SqlValue {
  return value === undefined ? null : JSON.stringify(value);
}

function parsed<T>(text: SqlValue | undefined): T {
  return readable(() => JSON.parse(String(text)) as T);
}

function unpacked(bytes: SqlValue | undefined): Buffer {
  return readable(() => gunzipSync(bytes as Uint8Array));
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new JournalError(
      "What the rollout's journal holds can't be read: it was damaged, or somebody changed it. Bring back a copy of it, or begin a new rollout with another journal.",
      { cause },
    );
  }
}

function time(value: SqlValue | undefined): number | undefined {
  return value == null ? undefined : Number(value);
}
