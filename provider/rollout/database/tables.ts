import type { Database, Queryable } from "./database";

/** The version of the tables; a journal of a later one is refused. */
export const VERSION = 3;

/** The first version that knows skipped tenants. */
export const SKIPS_VERSION = 2;

/** The first version in which rollouts have sequence numbers. */
export const SEQUENCE_VERSION = 3;

/**
 * The table of what all processes know of service addresses: when the next permit that nobody has reserved is due, and until
 * when the service wants to be left alone. In milliseconds since 1970 by the database's clock, or in SQLite by this machine's.
 */
export const ADDRESSES_TABLE = `CREATE TABLE IF NOT EXISTS rollout_addresses (
  address TEXT PRIMARY KEY,
  next_at DOUBLE PRECISION NOT NULL,
  paused_until DOUBLE PRECISION NOT NULL
)`;

/** Times are milliseconds since 1970. A `bytes` column is a BLOB or bytea, by the database. */
const tables = (bytes: string): readonly string[] => [
  `CREATE TABLE IF NOT EXISTS rollout_journal (version INTEGER NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS rollouts (
    id TEXT PRIMARY KEY, state TEXT NOT NULL, spec TEXT NOT NULL, digest TEXT NOT NULL, reason TEXT,
    until_wave TEXT, stop_requested BIGINT NOT NULL, events BIGINT NOT NULL,
    created_at BIGINT NOT NULL, started_at BIGINT, finished_at BIGINT, seq BIGINT)`,
  `CREATE TABLE IF NOT EXISTS rollout_waves (
    rollout TEXT NOT NULL, position BIGINT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
    started_at BIGINT, finished_at BIGINT, soak_until BIGINT, approved_at BIGINT, health TEXT,
    PRIMARY KEY (rollout, position))`,
  `CREATE TABLE IF NOT EXISTS rollout_tenants (
    rollout TEXT NOT NULL, name TEXT NOT NULL, wave BIGINT NOT NULL, position BIGINT NOT NULL, state TEXT NOT NULL,
    address TEXT NOT NULL, stack TEXT NOT NULL, target TEXT NOT NULL, digest TEXT NOT NULL, summary TEXT, plan ${bytes},
    round BIGINT NOT NULL, attempt BIGINT NOT NULL, worker TEXT, error TEXT, started_at BIGINT, finished_at BIGINT,
    PRIMARY KEY (rollout, name))`,
  `CREATE INDEX IF NOT EXISTS rollout_tenants_turn ON rollout_tenants (rollout, state, wave, position)`,
  `CREATE INDEX IF NOT EXISTS rollout_tenants_busy ON rollout_tenants (address, state)`,
  `CREATE TABLE IF NOT EXISTS rollout_files (
    rollout TEXT NOT NULL, path TEXT NOT NULL, content ${bytes} NOT NULL, PRIMARY KEY (rollout, path))`,
  `CREATE TABLE IF NOT EXISTS rollout_events (
    rollout TEXT NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL, happening TEXT NOT NULL,
    PRIMARY KEY (rollout, seq))`,
  ADDRESSES_TABLE,
  // Since SKIPS_VERSION.
  `CREATE TABLE IF NOT EXISTS rollout_skips (
    project TEXT NOT NULL, backend TEXT NOT NULL, stack TEXT NOT NULL, since BIGINT NOT NULL, name TEXT NOT NULL,
    reason TEXT NOT NULL, skipped_by TEXT, ended_at BIGINT, ended_by TEXT,
    PRIMARY KEY (project, backend, stack, since))`,
];

/** The version of the tables that are there; undefined where there are none. Only reads: whoever looks at a journal changes nothing. */
export async function versionOf(database: Queryable): Promise<number | undefined> {
  const known =
    database.dialect === "sqlite"
      ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name = $1"
      : "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1";
  if ((await database.query(known, ["rollout_journal"])).length === 0) return undefined;
  const [row] = await database.query("SELECT version FROM rollout_journal");
  return row === undefined ? undefined : Number(row["version"]);
}

/**
 * Makes the journal's tables where they are not there yet, also those that an earlier release did not have; another process may do
 * so at the same time. From then on earlier releases refuse the journal: they would not know who is to be left out, or in which order
 * rollouts started.
 */
export async function makeTables(database: Database): Promise<void> {
  const bytes = database.dialect === "sqlite" ? "BLOB" : "bytea";
  await database.transaction(async (transaction) => {
    for (const table of tables(bytes)) await transaction.query(table);
    const [row] = await transaction.query("SELECT version FROM rollout_journal");
    const isThere = row !== undefined;
    if (isThere && Number(row["version"]) < SEQUENCE_VERSION) {
      // Earlier rollouts get no number: two journals would number them independently, and the higher one need not be the later.
      await transaction.query("ALTER TABLE rollouts ADD COLUMN seq BIGINT");
    }
    await transaction.query(
      isThere
        ? "UPDATE rollout_journal SET version = $1 WHERE version < $1"
        : "INSERT INTO rollout_journal (version) VALUES ($1)",
      [VERSION],
    );
  });
}
