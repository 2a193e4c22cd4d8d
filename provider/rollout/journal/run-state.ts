import type { Queryable } from "../database/database";
import { JournalError } from "../database/journal-error";
import { decodeJson, decodeTime } from "../database/stored-values";
import type { PendingTenant, RunState, WaveRunState } from "../model/next-step";
import type { TenantState, Wave, WaveState } from "../model/wave";
import type { RolloutRecord, RolloutSpec } from "./rollout-record";

export async function readRunState(database: Queryable, record: RolloutRecord, capacity: number): Promise<RunState> {
  const { id, spec, state, until, isStopping } = record;
  const counts = await countTenantsByWave(database, id);
  const rows = await database.query(
    "SELECT state, soak_until, approved_at, health FROM rollout_waves WHERE rollout = $1 ORDER BY position",
    [id],
  );
  const waves = rows.map((row, position): WaveRunState => {
    const wave = spec.waves[position];
    if (wave === undefined) throw new JournalError(`The rollout ${id} has no current wave.`);
    return {
      wave,
      state: String(row["state"]) as WaveState,
      counts: counts.get(position) ?? ZERO_COUNTS,
      soakUntilMs: decodeTime(row["soak_until"]),
      isApproved: row["approved_at"] != null,
      health: row["health"] == null ? undefined : decodeJson(row["health"]),
    };
  });
  const runningIndex = waves.findIndex((wave) => wave.state === "running");
  const wave = waves[runningIndex]?.wave;
  const availableSlots = await countFreeSlots(database, spec);
  return {
    state,
    waves,
    tolerated: spec.tolerated,
    until,
    isStopping,
    pending: wave === undefined ? [] : await readPendingTenants(database, id, runningIndex, wave, availableSlots),
    freeSlotsByAddress: availableSlots,
    capacity,
  };
}

/** The maximum number of tenants that one transaction releases. The next transaction releases more. */
const MAX_STARTED_PER_STEP = 1_000;

/** Returns how many more tenants of a wave may start, according to the journal. */
export async function countFreeWaveSlots(
  database: Queryable,
  { id, spec }: RolloutRecord,
  wave: number,
): Promise<number> {
  const [row] = await database.query(
    `SELECT state, stop_requested, (SELECT COUNT(*) FROM rollout_tenants
       WHERE rollout = $1 AND state IN ('queued', 'running')) AS busy FROM rollouts WHERE id = $1`,
    [id],
  );
  if (row?.["state"] !== "running" || Number(row["stop_requested"]) === 1) return 0;
  return (spec.waves[wave]?.maxConcurrent ?? 0) - Number(row["busy"]);
}

/** Returns the first pending tenants whose service has capacity, limited to the wave's concurrency. */
async function readPendingTenants(
  database: Queryable,
  id: string,
  position: number,
  wave: Wave,
  readAvailableSlots: ReadonlyMap<string, number>,
): Promise<readonly PendingTenant[]> {
  const fullAddresses = [...readAvailableSlots].filter(([, freeSlots]) => freeSlots <= 0).map(([address]) => address);
  const addressFilter =
    fullAddresses.length === 0
      ? ""
      : `AND address NOT IN (${fullAddresses.map((_, index) => `$${index + 4}`).join(", ")})`;
  const rows = await database.query(
    `SELECT name, address FROM rollout_tenants WHERE rollout = $1 AND state = 'pending' AND wave = $2 ${addressFilter}
     ORDER BY position LIMIT $3`,
    [id, position, Math.min(wave.maxConcurrent, MAX_STARTED_PER_STEP), ...fullAddresses],
  );
  return rows.map((row) => ({ name: String(row["name"]), address: String(row["address"]) }));
}

export async function countFreeSlots(
  database: Queryable,
  { services }: RolloutSpec,
): Promise<ReadonlyMap<string, number>> {
  const freeSlots = new Map<string, number>();
  for (const [address, { maxConcurrent }] of services) {
    if (maxConcurrent === undefined) continue;
    const [row] = await database.query(
      `SELECT COUNT(*) AS busy FROM rollout_tenants t JOIN rollouts r ON r.id = t.rollout AND r.state = 'running'
       WHERE t.address = $1 AND t.state IN ('queued', 'running')`,
      [address],
    );
    freeSlots.set(address, maxConcurrent - Number(row?.["busy"] ?? 0));
  }
  return freeSlots;
}

export async function countTenantsByWave(
  database: Queryable,
  id: string,
): Promise<Map<number, Record<TenantState, number>>> {
  const rows = await database.query(
    "SELECT wave, state, COUNT(*) AS count FROM rollout_tenants WHERE rollout = $1 GROUP BY wave, state",
    [id],
  );
  const counts = new Map<number, Record<TenantState, number>>();
  for (const row of rows) {
    const wave = Number(row["wave"]);
    const waveCounts = counts.get(wave) ?? { ...ZERO_COUNTS };
    waveCounts[String(row["state"]) as TenantState] = Number(row["count"]);
    counts.set(wave, waveCounts);
  }
  return counts;
}

export const ZERO_COUNTS: Readonly<Record<TenantState, number>> = {
  pending: 0,
  queued: 0,
  running: 0,
  unchanged: 0,
  done: 0,
  failed: 0,
  skipped: 0,
};

export function sumCounts(allCounts: Iterable<Record<TenantState, number>>): Record<TenantState, number> {
  const total = { ...ZERO_COUNTS };
  for (const counts of allCounts) {
    for (const [state, count] of Object.entries(counts)) total[state as TenantState] += count;
  }
  return total;
}
