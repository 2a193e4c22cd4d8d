import { z } from "zod";
import type { Queryable, SqlValue } from "../journal/database";

const short = z.string().max(4_096);
/** Milliseconds since 1970, as far as there are dates. */
const time = z.int().min(0).max(8_640_000_000_000_000);

/** A tenant that rollouts leave out, or left out once: a row of a journal that is of no rollout. */
const row = z.strictObject({
  project: short,
  backend: short,
  stack: short,
  since: time,
  name: short,
  reason: short,
  skipped_by: z.nullable(short),
  ended_at: z.nullable(time),
  ended_by: z.nullable(short),
});

/** A row of it, checked. */
export type CarriedSkip = z.output<typeof row>;

const COLUMNS = Object.keys(row.shape);

/** All of a journal as lines, without line ends: always the same for the same journal. */
export async function skipLinesOf(database: Queryable): Promise<readonly string[]> {
  const rows = await database.query(`SELECT ${COLUMNS.join(", ")} FROM rollout_skips`);
  const lines = rows.map((one) =>
    JSON.stringify({ skip: Object.fromEntries(COLUMNS.map((name) => [name, one[name] ?? null])) }),
  );
  return lines.sort();
}

/** Reads one of a line, which may hold anything; undefined where it is another kind of row. Throws an error that says what is wrong with it. */
export function readSkip(line: unknown): CarriedSkip | undefined {
  const [entry, ...more] = Object.entries(line ?? {});
  if (entry?.[0] !== "skip" || more.length > 0) return undefined;
  const read = row.safeParse(entry[1]);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Error(
    `holds a skipped tenant whose ${String(issue?.path[0] ?? "columns")} ${issue?.message ?? ""}`,
  );
}

/**
 * Writes one into a journal, unless that says something of it already: a tenant that is skipped there stays so, and one that was taken
 * up again there too.
 *
 * @returns whether it is skipped from now on.
 */
export async function insertSkip(database: Queryable, skip: CarriedSkip): Promise<boolean> {
  const { project, backend, stack, since, ended_at: endedAt } = skip;
  const there = await database.query(
    "SELECT since, ended_at FROM rollout_skips WHERE project = $1 AND backend = $2 AND stack = $3",
    [project, backend, stack],
  );
  const isKnown = there.some((one) => Number(one["since"]) === since);
  const isStanding = there.some((one) => one["ended_at"] == null);
  if (isKnown || (isStanding && endedAt === null)) return false;
  const values: Readonly<Record<string, SqlValue>> = skip;
  await database.query(
    `INSERT INTO rollout_skips (${COLUMNS.join(", ")}) VALUES (${COLUMNS.map((_, index) => `$${index + 1}`).join(", ")})`,
    COLUMNS.map((name) => values[name] ?? null),
  );
  return endedAt === null;
}
