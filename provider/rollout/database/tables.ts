import type { Database, Queryable } from "./database";

/** The version of the tables. The program rejects a journal with a later one. */
export const JOURNAL_VERSION = 3;

/** The first version with skipped tenants. */
export const SKIPS_VERSION = 2;

/** The first version with sequence numbers for rollouts. */
export const SEQUENCE_VERSION = 3;

/**
 * The table of the rate limits that all processes share per service address: when the next unreserved token is due, and until
 * when the service wants no requests. Times are milliseconds since 1970 by the database's clock, or with SQLite by this machine's.
 */
export const ADDRESSES_TABLE = `CREATE TABLE IF NOT EXISTS rollout_addresses (
  address TEXT PRIMARY KEY,
  next_at DOUBLE PRECISION NOT NULL,
  paused_until DOUBLE PRECISION NOT NULL
)`;

/** Times are milliseconds since 1970. The type of a `bytes` column is BLOB or bytea. */
const buildTableStatements = (binaryType: string): readonly string[] => [
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
    address TEXT NOT NULL, stack TEXT NOT NULL, target TEXT NOT NULL, digest TEXT NOT NULL, summary TEXT, plan ${binaryType},
    round BIGINT NOT NULL, attempt BIGINT NOT NULL, worker TEXT, error TEXT, started_at BIGINT, finished_at BIGINT,
    PRIMARY KEY (rollout, name))`,
  `CREATE INDEX IF NOT EXISTS rollout_tenants_turn ON rollout_tenants (rollout, state, wave, position)`,
  `CREATE INDEX IF NOT EXISTS rollout_tenants_busy ON rollout_tenants (address, state)`,
  `CREATE TABLE IF NOT EXISTS rollout_files (
    rollout TEXT NOT NULL, path TEXT NOT NULL, content ${binaryType} NOT NULL, PRIMARY KEY (rollout, path))`,
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

/**
 * Reads the version of the existing tables. Undefined if there are none. Only reads, so viewing a journal never changes
 * it.
 */
export async function readJournalVersion(database: Queryable): Promise<number | undefined> {
  const existsQuery =
    database.dialect === "sqlite"
      ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name = $1"
      : "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1";
  if ((await database.query(existsQuery, ["rollout_journal"])).length === 0) return undefined;
  const [row] = await database.query("SELECT version FROM rollout_journal");
  return row === undefined ? undefined : Number(row["version"]);
}

/**
 * Creates missing journal tables, including those that an earlier release lacked. Another process may do so at the same
 * time. Earlier releases then reject the journal: they would not know the skipped tenants, or the order in which
 * rollouts started.
 */
export async function createTables(database: Database): Promise<void> {
  const binaryType = database.dialect === "sqlite" ? "BLOB" : "bytea";
  await database.transaction(async (transaction) => {
    for (const table of buildTableStatements(binaryType)) await transaction.query(table);
    const [row] = await transaction.query("SELECT version FROM rollout_journal");
    const hasVersion = row !== undefined;
    if (hasVersion && Number(row["version"]) < SEQUENCE_VERSION) {
      // Earlier rollouts get no number. Two journals would number them independently, and the higher number might not be the later rollout.
      await transaction.query("ALTER TABLE rollouts ADD COLUMN seq BIGINT");
    }
    await transaction.query(
      hasVersion
        ? "UPDATE rollout_journal SET version = $1 WHERE version < $1"
        : "INSERT INTO rollout_journal (version) VALUES ($1)",
      [JOURNAL_VERSION],
    );
  });
}
