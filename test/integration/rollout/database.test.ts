import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database, Queryable } from "../../../provider/rollout/database/database";
import { openPostgres } from "../../../provider/rollout/database/postgres-database";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { type Postgres, startPostgres } from "../../support/postgres";

let postgres: Postgres;
let directory: string;
let databases = 0;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "email-security-"));
  postgres = await startPostgres();
});

afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

/** Two connections to the same database, as two processes have. */
interface ConnectionPair extends AsyncDisposable {
  readonly one: Database;
  readonly other: Database;
}

const DIALECTS: Readonly<Record<string, () => Promise<ConnectionPair>>> = {
  PostgreSQL: async () => {
    const url = await postgres.createDatabase(`journal_${++databases}`);
    return wrapDatabases(await openPostgres(url), await openPostgres(url));
  },
  SQLite: async () => {
    const file = join(directory, `journal-${++databases}.db`);
    return wrapDatabases(await openSqlite(file), await openSqlite(file));
  },
};

function wrapDatabases(a: Database, b: Database): ConnectionPair {
  return {
    one: a,
    other: b,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([a.close(), b.close()]);
    },
  };
}

describe.each(Object.entries(DIALECTS))("a journal database in %s", (_, open) => {
  it("returns every value as it was stored", async () => {
    await using databases = await open();
    const { one, other } = databases;
    await one.query(
      "create table kept (id integer primary key, at bigint, share double precision, note text, raw bytea)",
    );
    const rows = [
      {
        id: 1,
        at: 1_790_000_000_000,
        share: 0.25,
        note: "ä → 'x' \"y\" \\ $1 \n\t🙂",
        raw: new Uint8Array([0, 1, 127, 128, 255]),
      },
      { id: 2, at: Number.MAX_SAFE_INTEGER, share: -1e-9, note: "", raw: new Uint8Array() },
      { id: 3, at: -1, share: null, note: null, raw: null },
    ];
    for (const row of rows) {
      const values = [row.id, row.at, row.share, row.note, row.raw];
      await one.query("insert into kept (id, at, share, note, raw) values ($1, $2, $3, $4, $5)", values);
    }
    const kept = await other.query("select * from kept order by id");
    expect(kept).toEqual(rows);
    const bytes = kept[0]?.["raw"];
    expect(Object.getPrototypeOf(bytes)).toBe(Uint8Array.prototype);
    expect(
      await other.query("select count(*) as n, max(at) as last, sum(id) as ids from kept where at > $1", [0]),
    ).toEqual([{ n: 2, last: Number.MAX_SAFE_INTEGER, ids: 3 }]);
    expect(await other.query("select id > 1 as later from kept order by id")).toEqual([
      { later: 0 },
      { later: 1 },
      { later: 1 },
    ]);
  });

  it("returns the rows of RETURNING", async () => {
    await using databases = await open();
    const { one } = databases;
    await one.query("create table tenants (name text primary key, attempt bigint not null)");
    const insert = "insert into tenants (name, attempt) values ($1, 1) on conflict (name) do nothing returning name";
    expect(await one.query(insert, ["acme"])).toEqual([{ name: "acme" }]);
    expect(await one.query(insert, ["acme"])).toEqual([]);
    const fenced = "update tenants set attempt = attempt + 1 where name = $1 and attempt = $2 returning attempt";
    expect(await one.query(fenced, ["acme", 1])).toEqual([{ attempt: 2 }]);
    expect(await one.query(fenced, ["acme", 1])).toEqual([]);
  });

  it("rolls back a transaction when its callback or a statement fails", async () => {
    await using databases = await open();
    const { one, other } = databases;
    await one.query("create table events (seq bigint primary key)");
    const cause = new Error("changed my mind");
    await expect(
      one.transaction(async (inside) => {
        await inside.query("insert into events (seq) values (1)");
        expect(await inside.query("select seq from events")).toEqual([{ seq: 1 }]);
        throw cause;
      }),
    ).rejects.toBe(cause);
    await expect(
      one.transaction(async (inside) => {
        await inside.query("insert into events (seq) values (2)");
        await inside.query("insert into events (seq) values (2)");
      }),
    ).rejects.toThrow();
    expect(await other.query("select seq from events")).toEqual([]);
    // The connection still works after both failures.
    expect(await one.transaction(async (inside) => await inside.query("select count(*) as n from events"))).toEqual([
      { n: 0 },
    ]);
  });

  it("isolates a transaction from concurrent writes", async () => {
    await using databases = await open();
    const { one, other } = databases;
    await one.query("create table events (seq bigint primary key, by_whom text not null)");
    await one.query("create table counter (n bigint not null)");
    await one.query("insert into counter (n) values (0)");
    // Reads and then writes the result, so it loses counts if another writer gets in between.
    const appendEvent = (database: Database, writer: string) =>
      database.transaction(async (inside) => {
        await inside.query(
          "insert into events (seq, by_whom) values ((select coalesce(max(seq), 0) + 1 from events), $1)",
          [writer],
        );
        await addOne(inside);
      });
    const addOne = async (inside: Queryable) => {
      const [row] = await inside.query("select n from counter");
      await inside.query("update counter set n = $1", [Number(row?.["n"]) + 1]);
    };
    const times = Array.from({ length: 25 }, (_, index) => index);
    await Promise.all([
      ...times.map(() => appendEvent(one, "one")),
      ...times.map(() => appendEvent(other, "other")),
      ...times.map(() => other.query("update counter set n = n + 1")),
    ]);
    const [events] = await one.query("select count(*) as n, max(seq) as last from events");
    expect(events).toEqual({ n: 50, last: 50 });
    expect(await one.query("select n from counter")).toEqual([{ n: 75 }]);
  });

  it("grants a lock to one holder at a time", async () => {
    await using databases = await open();
    const { one, other } = databases;
    const lost: string[] = [];
    const recordLoss = (reason: string) => void lost.push(reason);
    const hold = await one.lock("rollout 1", recordLoss);
    expect(hold).toBeDefined();
    expect(await other.lock("rollout 1", recordLoss)).toBeUndefined();
    expect(await one.lock("rollout 1", recordLoss)).toBeUndefined();
    const another = await other.lock("rollout 2", recordLoss);
    expect(another).toBeDefined();
    await hold?.release();
    await hold?.release();
    expect(await other.lock("rollout 1", recordLoss)).toBeDefined();
    await other.close();
    expect(await one.lock("rollout 1", recordLoss)).toBeDefined();
    expect(await one.lock("rollout 2", recordLoss)).toBeDefined();
    expect(lost).toEqual([]);
  });
});
