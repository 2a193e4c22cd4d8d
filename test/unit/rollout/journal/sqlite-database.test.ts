import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqlite } from "../../../../provider/rollout/journal/sqlite-database";
import { RUN_SOURCES } from "../../../integration/hostile/client-process";
import { turn } from "../../../support/virtual-time";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "email-security-journal-"));
  file = join(folder, "made", "here", "journal.db");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("a SQLite file", () => {
  it("is made with its folder, for this user alone", async () => {
    const database = await openSqlite(file);
    await database.query("CREATE TABLE a (x INTEGER)");
    for (const one of [file, `${file}-wal`, `${file}-shm`]) expect(statSync(one).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "made")).mode & 0o777).toBe(0o700);
    expect(await database.query("PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
    await database.close();
  });

  it("keeps what was written, in the types it came in", async () => {
    const first = await openSqlite(file);
    await first.query("CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT, r REAL, b BLOB, n TEXT)");
    const atMs = 1_763_769_600_123;
    const bytes = new Uint8Array([0, 1, 255]);
    // In another order than that of their numbers, and one of them twice.
    const added = await first.query(
      "INSERT INTO a (t, id, r, b, n) VALUES ($2, $1, $3, $4, $5) ON CONFLICT (id) DO UPDATE SET t = $2 RETURNING id, t",
      [atMs, "ü'; --", 0.5, bytes, null],
    );
    expect(added).toEqual([{ id: atMs, t: "ü'; --" }]);
    await first.close();
    const second = await openSqlite(file);
    expect(await second.query("SELECT * FROM a WHERE id = $1", [atMs])).toEqual([
      { id: atMs, t: "ü'; --", r: 0.5, b: bytes, n: null },
    ]);
    expect(await second.query("DELETE FROM a")).toEqual([]);
    await second.close();
    await second.close();
    await expect(second.query("SELECT 1 AS one")).rejects.toMatchObject({ code: "ERR_ROLLOUT_JOURNAL" });
  });

  it("takes no statement whose parameters or whose end it would leave out in silence", async () => {
    const database = await openSqlite(file);
    await expect(database.query("SELECT $1 AS a, $2 AS b", ["x"])).rejects.toThrow("1 values for the 2");
    await expect(database.query("SELECT $1 AS a", ["x", "y"])).rejects.toThrow("2 values for the 1");
    await expect(database.query("SELECT 1 AS a; SELECT 2 AS b")).rejects.toThrow("One statement at a time");
    expect(await database.query("SELECT $1 AS a, $1 AS b;\n ", ["x"])).toEqual([{ a: "x", b: "x" }]);
    await database.close();
  });
});

describe("a transaction", () => {
  it("is all or nothing, and nobody else's statement comes between", async () => {
    const database = await openSqlite(file);
    await database.query("CREATE TABLE a (x TEXT)");
    const failing = database.transaction(async (within) => {
      await within.query("INSERT INTO a VALUES ('lost')");
      await turn();
      throw new Error("no");
    });
    const besides = database.query("INSERT INTO a VALUES ('kept')");
    await expect(failing).rejects.toThrow("no");
    await besides;
    const count = async () => Number((await database.query("SELECT count(*) AS n FROM a"))[0]?.["n"]);
    const grow = () =>
      database.transaction(async (within) => {
        const [row] = await within.query("SELECT count(*) AS n FROM a");
        await turn();
        for (let n = Number(row?.["n"]); n > 0; n -= 1) await within.query("INSERT INTO a VALUES ('x')");
        return row?.["n"];
      });
    // Each doubles the rows, so none may have looked before the one before it was through.
    expect(await Promise.all([grow(), grow(), grow()])).toEqual([1, 2, 4]);
    expect(await count()).toBe(8);
    await database.close();
  });

  it("waits for one of another connection, and lets this process go on meanwhile", async () => {
    const [one, other] = [await openSqlite(file), await openSqlite(file)];
    await one.query("CREATE TABLE a (x TEXT)");
    let finish = () => {};
    const slow = one.transaction(async (within) => {
      await within.query("INSERT INTO a VALUES ('first')");
      await new Promise<void>((resolve) => (finish = resolve));
    });
    await turn();
    const waiting = other.query("INSERT INTO a VALUES ('second')");
    // Were this process blocked, the other connection would give up before the first could finish.
    setTimeout(finish, 100);
    await Promise.all([slow, waiting]);
    expect(await one.query("SELECT x FROM a")).toEqual([{ x: "first" }, { x: "second" }]);
    await Promise.all([one.close(), other.close()]);
  });
});

describe("a name", () => {
  const never = () => {};

  it("is held by one, until it lets go", async () => {
    const [one, other] = [await openSqlite(file), await openSqlite(file)];
    const hold = await one.hold("rollout", never);
    expect(hold).toBeDefined();
    expect(await other.hold("rollout", never)).toBeUndefined();
    // Told by the one that holds it: even the question would end the lock, were the file opened and closed for it.
    expect(await one.hold("rollout", never)).toBeUndefined();
    expect(await other.hold("rollout", never)).toBeUndefined();
    await hold?.release();
    await hold?.release();
    const next = await other.hold("rollout", never);
    expect(next).toBeDefined();
    expect(await one.hold("rollout", never)).toBeUndefined();
    await other.close();
    expect(await one.hold("rollout", never)).toBeDefined();
    await one.close();
  });

  it("is another one whatever differs, and may be anything", async () => {
    const database = await openSqlite(file);
    const names = ["a", "A", "a b", "a/b", "../a", "a:b", "", "é", "x".repeat(400), "x".repeat(401)];
    for (const name of names) expect(await database.hold(name, never), name).toBeDefined();
    for (const name of names) expect(await database.hold(name, never), name).toBeUndefined();
    await database.close();
  });

  it("is free once the process that held it was killed", async () => {
    const child = spawn(
      process.execPath,
      [
        "--input-type=module",
        "--eval",
        `${RUN_SOURCES}
        const { openSqlite } = await import(process.env.SQLITE_URL);
        const database = await openSqlite(process.env.FILE);
        console.log((await database.hold("rollout", () => {})) !== undefined);
        setInterval(() => {}, 1_000);`,
      ],
      {
        stdio: ["ignore", "pipe", "inherit"],
        env: {
          ...process.env,
          NODE_OPTIONS: "--disable-warning=ExperimentalWarning",
          SQLITE_URL: pathToFileURL("provider/rollout/journal/sqlite-database.ts").href,
          FILE: file,
        },
      },
    );
    const said = await new Promise((resolve) => child.stdout.once("data", (text) => resolve(String(text))));
    expect(said).toBe("true\n");
    const database = await openSqlite(file);
    expect(await database.hold("rollout", never)).toBeUndefined();
    expect(await database.hold("another", never)).toBeDefined();
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("close", resolve));
    expect(await database.hold("rollout", never)).toBeDefined();
    await database.close();
  });
});

describe("what can't be used says why and what to do:", () => {
  it("a file that is no database, which stays as it is", async () => {
    const path = join(folder, "notes.txt");
    const text = "not a database, but somebody's notes\n".repeat(100);
    writeFileSync(path, text);
    await expect(openSqlite(path)).rejects.toMatchObject({
      code: "ERR_ROLLOUT_JOURNAL",
      message: expect.stringMatching(/notes\.txt.*no SQLite database; it was left as it is\. Give the name/),
    });
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("a folder, and a path through a file", async () => {
    mkdirSync(join(folder, "folder"));
    writeFileSync(join(folder, "plain"), "");
    await expect(openSqlite(join(folder, "folder"))).rejects.toThrow(/folder" can't be used .*Is it a file/);
    await expect(openSqlite(join(folder, "plain", "journal.db"))).rejects.toThrow(/no folder\. Give another/);
  });

  it("a full disk, which leaves what was committed, and goes on when there is room", async () => {
    const database = await openSqlite(file);
    await database.query("CREATE TABLE a (x TEXT)");
    await database.query("INSERT INTO a VALUES ('kept')");
    const [pages] = await database.query("PRAGMA page_count");
    // SQLite answers the same when its file may not grow as when the disk does not let it.
    await database.query(`PRAGMA max_page_count = ${pages?.["page_count"]}`);
    const fill = database.transaction(async (within) => {
      for (let n = 0; n < 100; n += 1) await within.query("INSERT INTO a VALUES ($1)", ["x".repeat(1_000)]);
    });
    await expect(fill).rejects.toMatchObject({
      code: "ERR_ROLLOUT_JOURNAL",
      message: expect.stringContaining("the disk is full. Make room there, then go on"),
    });
    await database.query("PRAGMA max_page_count = 100000");
    expect(await database.query("SELECT x FROM a")).toEqual([{ x: "kept" }]);
    await database.query("INSERT INTO a VALUES ('more')");
    await database.close();
  });

  it("a file that may not be written", async () => {
    const database = await openSqlite(file);
    await database.query("CREATE TABLE a (x TEXT)");
    // As root, who may write to a file whatever its mode is, and hears the same from SQLite.
    await database.query("PRAGMA query_only = 1");
    await expect(database.query("DELETE FROM a")).rejects.toMatchObject({
      code: "ERR_ROLLOUT_JOURNAL",
      message: expect.stringContaining("this user may not write there"),
    });
    await database.close();
  });
});

it("leaves an error of a statement as it is", async () => {
  const database = await openSqlite(file);
  await database.query("CREATE TABLE a (x TEXT PRIMARY KEY)");
  await database.query("INSERT INTO a VALUES ('one')");
  await expect(database.query("INSERT INTO a VALUES ('one')")).rejects.toThrow("UNIQUE constraint failed");
  await expect(database.query("SELECT * FROM b")).rejects.toThrow("no such table");
  await database.close();
});
