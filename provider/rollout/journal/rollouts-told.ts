import { withoutUndefined } from "../../settings/without-undefined";
import type { TenantError } from "../report/rollout-report";
import type { Task } from "../tasks/task";
import type { RolloutState, TenantState, WaveState } from "../wave";
import type { Database } from "./database";
import { JournalReader } from "./journal-reader";
import type { RolloutRecord, TenantSummary, WhoseRollouts } from "./rollout-record";
import { NO_COUNTS } from "./rollout-view";
import { parsed, time } from "./stored-values";

/** The rollouts of a project, the newest first, and what each did to a stack. */
export interface RolloutsTold {
  readonly rollouts: readonly RolloutTold[];
  /** By the name of the stack, the newest first. */
  readonly stacks: ReadonlyMap<string, readonly StackTold[]>;
  /** How many older rollouts are left out. */
  readonly older: number;
}

/** One rollout. Times are milliseconds since 1970. */
export interface RolloutTold {
  readonly id: string;
  readonly state: RolloutState;
  readonly source: string;
  readonly digest: string;
  readonly reason?: string;
  readonly rollsBack?: string;
  readonly task?: Task;
  readonly startedAtMs: number;
  readonly finishedAtMs?: number;
  readonly waves: readonly WaveTold[];
}

/** One wave of it. */
export interface WaveTold {
  readonly name: string;
  readonly state: WaveState;
  readonly counts: Readonly<Record<TenantState, number>>;
  readonly startedAtMs?: number;
  /** When the last of its tenants was through. */
  readonly throughAtMs?: number;
  readonly soakUntilMs?: number;
  readonly finishedAtMs?: number;
}

/** What a rollout did to one stack. */
export interface StackTold {
  readonly rollout: string;
  readonly wave: string;
  readonly state: TenantState;
  readonly atMs: number;
  readonly planned?: TenantSummary["planned"];
  /** The code of its error. */
  readonly code?: string;
}

/** So many rows of tenants are read: a rollout of 10,000 tenants is not read fifty times. */
const MOST_ROWS = 60_000;

/**
 * Tells the newest rollouts of a project that were begun, wave by wave, in two queries each.
 *
 * @param most how many rollouts are told.
 * @throws {JournalError} when the journal can't be read.
 */
export async function rolloutsTold(
  database: Database,
  { project, backend }: WhoseRollouts,
  most = 50,
): Promise<RolloutsTold> {
  const reader = new JournalReader(database);
  const records = (await reader.records()).filter(
    ({ spec }) => spec.project === project && (backend ?? spec.backend) === spec.backend,
  );
  const rollouts: RolloutTold[] = [];
  const stacks = new Map<string, StackTold[]>();
  let read = 0;
  for (const record of records.slice(0, most)) {
    if (read > MOST_ROWS) break;
    const tenants = await tenantsOf(database, record);
    read += tenants.length;
    rollouts.push(await rolloutOf(reader, record, tenants));
    for (const { stack, told } of tenants) {
      const known = stacks.get(stack);
      if (known === undefined) stacks.set(stack, [told]);
      else known.push(told);
    }
  }
  return { rollouts, stacks, older: records.length - rollouts.length };
}

interface ReadTenant {
  readonly stack: string;
  readonly wave: number;
  readonly finishedAtMs: number | undefined;
  readonly told: StackTold;
}

async function tenantsOf(
  database: Database,
  { id, spec, createdAtMs, startedAtMs }: RolloutRecord,
): Promise<ReadTenant[]> {
  const rows = await database.query(
    `SELECT stack, wave, state, summary, error, started_at, finished_at FROM rollout_tenants
     WHERE rollout = $1 ORDER BY wave, position`,
    [id],
  );
  return rows.map((row) => {
    const wave = Number(row["wave"]);
    const finishedAtMs = time(row["finished_at"]);
    const summary = row["summary"] == null ? undefined : parsed<TenantSummary>(row["summary"]);
    const error = row["error"] == null ? undefined : parsed<TenantError>(row["error"]);
    return {
      stack: String(row["stack"]),
      wave,
      finishedAtMs,
      told: {
        rollout: id,
        wave: spec.waves[wave]?.name ?? "",
        state: String(row["state"]) as TenantState,
        // What was found as declared was not begun: that was when the rollout was.
        atMs: finishedAtMs ?? time(row["started_at"]) ?? startedAtMs ?? createdAtMs,
        ...withoutUndefined({ planned: summary?.planned, code: error?.code }),
      },
    };
  });
}

async function rolloutOf(
  reader: JournalReader,
  { id, state, spec, digest, reason, createdAtMs, startedAtMs, finishedAtMs }: RolloutRecord,
  tenants: readonly ReadTenant[],
): Promise<RolloutTold> {
  const waves = await reader.waves(id);
  const byWave = Map.groupBy(tenants, ({ wave }) => wave);
  return {
    id,
    state,
    source: spec.source,
    digest,
    startedAtMs: startedAtMs ?? createdAtMs,
    ...withoutUndefined({ reason, rollsBack: spec.rollsBack, task: spec.task, finishedAtMs }),
    waves: waves.map((wave, position): WaveTold => {
      const own = byWave.get(position) ?? [];
      const counts: Record<TenantState, number> = { ...NO_COUNTS };
      for (const { told } of own) counts[told.state] += 1;
      const through = own.reduce((last, { finishedAtMs: at = 0 }) => Math.max(last, at), 0);
      return {
        name: spec.waves[position]?.name ?? "",
        state: wave.state,
        counts,
        ...withoutUndefined({
          startedAtMs: wave.startedAtMs,
          throughAtMs: through === 0 ? undefined : through,
          soakUntilMs: wave.soakUntilMs,
          finishedAtMs: wave.finishedAtMs,
        }),
      };
    }),
  };
}
