import type { Queryable } from "../database/database";
import { JournalError } from "../database/journal-error";
import { parsed, time } from "../database/stored-values";
import type { PendingTenant, RolloutView, WaveView } from "../model/next-step";
import type { TenantState, Wave, WaveState } from "../model/wave";
import type { RolloutRecord, RolloutSpec } from "./rollout-record";

export async function viewOf(
  database: Queryable,
  record: RolloutRecord,
  capacity: number,
): Promise<RolloutView> {
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

/** The maximum number of tenants that one transaction releases. The next transaction releases more. */
const MOST_BEGUN_AT_ONCE = 1_000;

/** How many more tenants of a wave may start, according to the journal. */
export async function placesIn(
  database: Queryable,
  { id, spec }: RolloutRecord,
  wave: number,
): Promise<number> {
  const [row] = await database.query(
    `SELECT state, stop_requested, (SELECT COUNT(*) FROM rollout_tenants
       WHERE rollout = $1 AND state IN ('released', 'running')) AS busy FROM rollouts WHERE id = $1`,
    [id],
  );
  if (row?.["state"] !== "running" || Number(row["stop_requested"]) === 1) return 0;
  return (spec.waves[wave]?.maxConcurrent ?? 0) - Number(row["busy"]);
}

/** Returns the first pending tenants whose service has capacity, limited to the wave's concurrency. */
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

export async function roomAt(
  database: Queryable,
  { services }: RolloutSpec,
): Promise<ReadonlyMap<string, number>> {
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

export async function countsOf(
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
    const ofWave = counts.get(wave) ?? { ...NO_COUNTS };
    ofWave[String(row["state"]) as TenantState] = Number(row["count"]);
    counts.set(wave, ofWave);
  }
  return counts;
}

export const NO_COUNTS: Readonly<Record<TenantState, number>> = {
  pending: 0,
  released: 0,
  running: 0,
  unchanged: 0,
  done: 0,
  failed: 0,
  skipped: 0,
};

export function sum(all: Iterable<Record<TenantState, number>>): Record<TenantState, number> {
  const total = { ...NO_COUNTS };
  for (const counts of all) {
    for (const [state, count] of Object.entries(counts)) total[state as TenantState] += count;
  }
  return total;
}
