import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openPostgres } from "../../../provider/rollout/database/postgres-database";
import { isProcessRunning } from "../../support/killable-stack";
import { startPostgres } from "../../support/postgres";

describe("a PostgreSQL journal whose server goes away", () => {
  it("writes each transaction once across restarts and crashes", async () => {
    await using server = await startPostgres();
    const database = await openPostgres(server.url);
    await database.query("create table events (seq bigint primary key, note text not null unique)");
    const lost: string[] = [];
    expect(await database.lock("rollout 1", (reason) => lost.push(reason))).toBeDefined();

    let written = 0;
    let isOver = false;
    const writeUntilOver = async (name: number) => {
      for (let n = 0; !isOver; n++) {
        // A unique note makes a second insert fail, which reveals a transaction that ran twice.
        await database.transaction(async (inside) => {
          const insert = "insert into events (seq, note) values ((select coalesce(max(seq), 0) + 1 from events), $1)";
          await inside.query(insert, [`${name}.${n}`]);
          await inside.query("select pg_sleep(0.002)");
        });
        written++;
      }
    };
    const writers = [1, 2, 3, 4].map(writeUntilOver);
    for (const end of ["fast", "crash", "crash"] as const) {
      const before = written;
      while (written < before + 20) await sleep(5);
      await server.restart(end);
    }
    const before = written;
    while (written < before + 20) await sleep(5);
    isOver = true;
    await Promise.all(writers);

    expect(await database.query("select count(*) as n, max(seq) as last from events")).toEqual([
      { n: written, last: written },
    ]);
    expect(lost).toHaveLength(1);
    expect(await database.lock("rollout 1", () => {})).toBeDefined();

    // After a request to stop, the database doesn't wait for a late answer or an unreachable server.
    const slow = database.query("select pg_sleep(20)");
    database.shortenBusyTimeout(0);
    await expect(slow).rejects.toMatchObject({
      code: "ERR_ROLLOUT_DATABASE",
      message: expect.stringContaining("had not responded when the operation was cancelled"),
    });
    await server.stop();
    await expect(database.query("select 1 as one")).rejects.toMatchObject({ code: "ERR_ROLLOUT_DATABASE" });
    await database.close();
  });
});

describe("a PostgreSQL server for tests", () => {
  it("stops with the process that started it", async () => {
    const server = await startPostgres();
    const directory = await server.runSql("select current_setting('unix_socket_directories')");
    const [pid] = (await readFile(join(directory, "data", "postmaster.pid"), "utf8")).split("\n");
    expect(isProcessRunning(Number(pid))).toBe(true);
    server.abandon();
    while (isProcessRunning(Number(pid)) || existsSync(directory)) await sleep(20);
  });
});
