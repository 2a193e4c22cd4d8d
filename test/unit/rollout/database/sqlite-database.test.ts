import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqlite } from "../../../../provider/rollout/database/sqlite-database";
import { explainSqliteError } from "../../../../provider/rollout/database/sqlite-errors";
import { JOURNAL_VERSION } from "../../../../provider/rollout/database/tables";
import { RUN_SOURCES } from "../../../integration/hostile-responses/client-process";
import { runReadyTasks } from "../../../support/virtual-time";

let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-journal-"));
  file = join(directory, "made", "here", "journal.db");
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe("a SQLite file", () => {
  it("is created with its directory and private permissions", async () => {
    const database = await openSqlite(file);
    await database.query("CREATE TABLE a (x INTEGER)");
    for (const item of [file, `${file}-wal`, `${file}-shm`]) expect(statSync(item).mode & 0o777).toBe(0o600);
    expect(statSync(join(directory, "made")).mode & 0o777).toBe(0o700);
    expect(await database.query("PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
    await database.close();
  });

  it("stores values in their original types", async () => {
    const first = await openSqlite(file);
    await first.query("CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT, r REAL, b BLOB, n TEXT)");
    const atMs = 1_763_769_600_123;
    const bytes = new Uint8Array([0, 1, 255]);
    // Not in numeric order, and one of the parameters is used twice.
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

  it("rejects wrong parameter counts and multiple statements", async () => {
    const database = await openSqlite(file);
    await expect(database.query("SELECT $1 AS a, $2 AS b", ["x"])).rejects.toThrow("1 values for the 2");
    await expect(database.query("SELECT $1 AS a", ["x", "y"])).rejects.toThrow("2 values for the 1");
    await expect(database.query("SELECT 1 AS a; SELECT 2 AS b")).rejects.toThrow("One statement at a time");
    expect(await database.query("SELECT $1 AS a, $1 AS b;\n ", ["x"])).toEqual([{ a: "x", b: "x" }]);
    await database.close();
  });
});

describe("a transaction", () => {
  it("is atomic and isolated from other statements", async () => {
    const database = await openSqlite(file);
    await database.query("CREATE TABLE a (x TEXT)");
    const failing = database.transaction(async (within) => {
      await within.query("INSERT INTO a VALUES ('lost')");
      await runReadyTasks();
      throw new Error("no");
    });
    const besides = database.query("INSERT INTO a VALUES ('kept')");
    await expect(failing).rejects.toThrow("no");
    await besides;
    const countRows = async () => Number((await database.query("SELECT count(*) AS n FROM a"))[0]?.["n"]);
    const growTable = () =>
      database.transaction(async (within) => {
        const [row] = await within.query("SELECT count(*) AS n FROM a");
        await runReadyTasks();
        for (let n = Number(row?.["n"]); n > 0; n -= 1) await within.query("INSERT INTO a VALUES ('x')");
        return row?.["n"];
      });
    // Each doubles the rows, so none may read before the previous one has finished.
    expect(await Promise.all([growTable(), growTable(), growTable()])).toEqual([1, 2, 4]);
    expect(await countRows()).toBe(8);
    await database.close();
  });

  it("waits for another connection without blocking the process", async () => {
    const [a, b] = [await openSqlite(file), await openSqlite(file)];
    await a.query("CREATE TABLE a (x TEXT)");
    let finish = () => {};
    const slow = a.transaction(async (within) => {
      await within.query("INSERT INTO a VALUES ('first')");
      await new Promise<void>((resolve) => (finish = resolve));
    });
    await runReadyTasks();
    const waiting = b.query("INSERT INTO a VALUES ('second')");
    // If this process were blocked, the other connection would time out before the first could finish.
    setTimeout(finish, 100);
    await Promise.all([slow, waiting]);
    expect(await a.query("SELECT x FROM a")).toEqual([{ x: "first" }, { x: "second" }]);
    await Promise.all([a.close(), b.close()]);
  });
});

describe("a named lock", () => {
  const doNothing = () => {};

  it("is held by one connection until released", async () => {
    const [a, b] = [await openSqlite(file), await openSqlite(file)];
    const hold = await a.lock("rollout", doNothing);
    expect(hold).toBeDefined();
    expect(await b.lock("rollout", doNothing)).toBeUndefined();
    // The lock's own connection answers: opening and closing the file to check would release the lock.
    expect(await a.lock("rollout", doNothing)).toBeUndefined();
    expect(await b.lock("rollout", doNothing)).toBeUndefined();
    await hold?.release();
    await hold?.release();
    const next = await b.lock("rollout", doNothing);
    expect(next).toBeDefined();
    expect(await a.lock("rollout", doNothing)).toBeUndefined();
    await b.close();
    expect(await a.lock("rollout", doNothing)).toBeDefined();
    await a.close();
  });

  it("is distinct for every name", async () => {
    const database = await openSqlite(file);
    const names = ["a", "A", "a b", "a/b", "../a", "a:b", "", "é", "x".repeat(400), "x".repeat(401)];
    for (const name of names) expect(await database.lock(name, doNothing), name).toBeDefined();
    for (const name of names) expect(await database.lock(name, doNothing), name).toBeUndefined();
    await database.close();
  });

  it("is freed when its process is killed", async () => {
    const child = spawn(
      process.execPath,
      [
        "--input-type=module",
        "--eval",
        `${RUN_SOURCES}
        const { openSqlite } = await import(process.env.SQLITE_URL);
        const database = await openSqlite(process.env.FILE);
        console.log((await database.lock("rollout", () => {})) !== undefined);
        setInterval(() => {}, 1_000);`,
      ],
      {
        stdio: ["ignore", "pipe", "inherit"],
        env: {
          ...process.env,
          NODE_OPTIONS: "--disable-warning=ExperimentalWarning",
          SQLITE_URL: pathToFileURL("provider/rollout/database/sqlite-database.ts").href,
          FILE: file,
        },
      },
    );
    const output = await new Promise((resolve) => child.stdout.once("data", (text) => resolve(String(text))));
    expect(output).toBe("true\n");
    const database = await openSqlite(file);
    expect(await database.lock("rollout", doNothing)).toBeUndefined();
    expect(await database.lock("another", doNothing)).toBeDefined();
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("close", resolve));
    expect(await database.lock("rollout", doNothing)).toBeDefined();
    await database.close();
  });
});

describe("an unusable database file", () => {
  it("is reported and left unchanged when it isn't a database", async () => {
    const path = join(directory, "notes.txt");
    const text = "not a database, but somebody's notes\n".repeat(100);
    writeFileSync(path, text);
    await expect(openSqlite(path)).rejects.toMatchObject({
      code: "ERR_ROLLOUT_JOURNAL",
      message: expect.stringMatching(/notes\.txt.*isn't a SQLite database\. It was not changed\. Specify/),
    });
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("is reported when it is a directory or below a file", async () => {
    mkdirSync(join(directory, "folder"));
    writeFileSync(join(directory, "plain"), "");
    await expect(openSqlite(join(directory, "folder"))).rejects.toThrow(
      /folder" can't be used .*Check that it is a file/,
    );
    await expect(openSqlite(join(directory, "plain", "journal.db"))).rejects.toThrow(/isn't a directory\. Use another/);
  });

  it("is reported on a full disk, keeping committed rows", async () => {
    const database = await openSqlite(file);
    await database.query("CREATE TABLE a (x TEXT)");
    await database.query("INSERT INTO a VALUES ('kept')");
    const [pages] = await database.query("PRAGMA page_count");
    // SQLite reports the same error when its file reaches its limit as when the disk is full.
    await database.query(`PRAGMA max_page_count = ${pages?.["page_count"]}`);
    const fill = database.transaction(async (within) => {
      for (let n = 0; n < 100; n += 1) await within.query("INSERT INTO a VALUES ($1)", ["x".repeat(1_000)]);
    });
    // As on Ctrl-C; otherwise the database would wait.
    database.shortenBusyTimeout(0);
    await expect(fill).rejects.toMatchObject({
      code: "ERR_ROLLOUT_JOURNAL",
      message: expect.stringContaining("the disk is full. Free some space, then continue"),
    });
    await database.query("PRAGMA max_page_count = 100000");
    expect(await database.query("SELECT x FROM a")).toEqual([{ x: "kept" }]);
    await database.query("INSERT INTO a VALUES ('more')");
    await database.close();
  });

  it("is reported when it isn't writable", async () => {
    const database = await openSqlite(file);
    await database.query("CREATE TABLE a (x TEXT)");
    // Root may write to a file whatever its mode is; this makes SQLite report the same error.
    await database.query("PRAGMA query_only = 1");
    await expect(database.query("DELETE FROM a")).rejects.toMatchObject({
      code: "ERR_ROLLOUT_JOURNAL",
      message: expect.stringContaining("this user isn't allowed to write there"),
    });
    await database.close();
  });
});

it("explains every SQLite and system error with a remedy", () => {
  for (let errcode = 1; errcode <= 255; errcode += 1) {
    const raw = Object.assign(new Error("raw"), { code: "ERR_SQLITE_ERROR", errcode });
    // The cause, and what to do.
    expect(explainSqliteError(raw), String(errcode)).toMatch(/^[a-zS].*[.] [A-Z].*[.]$/);
  }
  for (const code of Object.keys(constants.errno)) {
    const raw = Object.assign(new Error("raw"), { code, syscall: "open" });
    expect(explainSqliteError(raw), code).toMatch(/^[a-z].*[.] [A-Z].*[.]$/);
  }
});

describe("a file that isn't a journal", () => {
  const expectRejection = async (path: string, reasonPattern: RegExp) =>
    await expect(openSqlite(path)).rejects.toMatchObject({
      code: "ERR_ROLLOUT_JOURNAL",
      message: expect.stringMatching(reasonPattern),
    });

  it("is rejected and left unchanged when empty", async () => {
    const path = join(directory, "empty.db");
    writeFileSync(path, "");
    writeFileSync(`${path}-wal`, "the last of it");
    await expectRejection(
      path,
      /empty\.db" can't be used .*it is empty.*pending approvals.*Restore a backup.*-wal" next to it.*remove the empty/,
    );
    expect(readdirSync(directory).sort()).toEqual(["empty.db", "empty.db-wal"]);
    expect(readFileSync(`${path}-wal`, "utf8")).toBe("the last of it");
  });

  it("is rejected when it is another database or a dangling link", async () => {
    const path = join(directory, "other.db");
    const other = new DatabaseSync(path);
    other.exec("CREATE TABLE theirs (x)");
    await expectRejection(path, /other\.db" can't be used .*a SQLite database without a journal\. It was not changed/);
    expect(other.prepare("SELECT name FROM sqlite_master").all()).toEqual([{ name: "theirs" }]);
    other.close();
    symlinkSync(join(directory, "elsewhere", "rollouts.db"), join(directory, "link.db"));
    await expectRejection(
      join(directory, "link.db"),
      /a link to ".*elsewhere.rollouts\.db", which doesn't exist.*mounting its disk/,
    );
  });
});

describe("a new journal file", () => {
  it("is complete or absent after its creator is killed", async () => {
    const killed = await openInProcess(
      `import fs from "node:fs";
      import { syncBuiltinESMExports } from "node:module";
      fs.renameSync = () => process.kill(process.pid, "SIGKILL");
      syncBuiltinESMExports();`,
      "",
    );
    expect(killed).toMatchObject({ signal: "SIGKILL" });
    const databaseDirectory = join(directory, "made", "here");
    expect(readdirSync(databaseDirectory).sort()).toEqual([
      "journal.db.new",
      "journal.db.new.lock",
      "journal.db.new.lock-journal",
    ]);
    const database = await openSqlite(file);
    expect(await database.query("SELECT version FROM rollout_journal")).toEqual([{ version: JOURNAL_VERSION }]);
    await database.close();
    expect(readdirSync(databaseDirectory).sort()).toEqual(["journal.db", "journal.db.new.lock"]);
  });

  it("is created once by concurrent processes", async () => {
    const write = `await database.query("INSERT INTO rollout_files VALUES ($1, 'path', x'00')", [String(process.pid)]);`;
    const all = await Promise.all(Array.from({ length: 4 }, () => openInProcess("", write)));
    for (const item of all) expect(item).toMatchObject({ code: 0 });
    const database = await openSqlite(file);
    expect(await database.query("SELECT count(*) AS n FROM rollout_files")).toEqual([{ n: 4 }]);
    await database.close();
  });
});

describe("an open journal file that is lost or replaced", () => {
  const CHANGES: Readonly<Record<string, [() => void, RegExp]>> = {
    "it is deleted": [() => rmSync(file), /journal\.db" is gone: it, or its directory, was deleted or moved/],
    "its directory is deleted": [() => rmSync(join(directory, "made"), { recursive: true }), /journal\.db" is gone/],
    "it is moved": [() => renameSync(file, `${file}.old`), /journal\.db" is gone/],
    "the file next to it is deleted": [() => rmSync(`${file}-wal`), /journal\.db-wal" is gone/],
    "it is emptied": [() => truncateSync(file), /journal\.db" was truncated to zero bytes while it was open/],
    "it is replaced": [
      () => {
        copyFileSync(file, `${file}.copy`);
        renameSync(`${file}.copy`, file);
      },
      /journal\.db" was replaced while/,
    ],
  };

  it.each(Object.entries(CHANGES))("fails all operations when %s", async (_, [change, reasonPattern]) => {
    const database = await openSqlite(file);
    await database.query("CREATE TABLE a (x TEXT)");
    change();
    const lostFileError = {
      code: "ERR_ROLLOUT_JOURNAL",
      isFileLost: true,
      message: expect.stringMatching(reasonPattern),
    };
    await expect(database.query("INSERT INTO a VALUES ('lost')")).rejects.toMatchObject(lostFileError);
    await expect(database.query("SELECT x FROM a")).rejects.toMatchObject(lostFileError);
    await expect(database.transaction(async () => {})).rejects.toMatchObject(lostFileError);
    await expect(database.lock("rollout", () => {})).rejects.toMatchObject(lostFileError);
    await database.close();
  });

  it("ends the held lock when its lock file is deleted", async () => {
    const database = await openSqlite(file);
    const lost: string[] = [];
    const hold = await database.lock("rollout", (reason) => lost.push(reason));
    expect(hold).toBeDefined();
    await database.query("SELECT 1 AS one");
    expect(lost).toEqual([]);
    rmSync(`${file}.rollout.lock`);
    await database.query("SELECT 1 AS one");
    expect(lost).toEqual([expect.stringContaining('journal.db.rollout.lock" is gone')]);
    await hold?.release();
    expect(await database.lock("rollout", () => {})).toBeDefined();
    await database.close();
  });
});

describe("another process's lock", () => {
  it("is awaited until the busy timeout", async () => {
    const lines: string[] = [];
    let ignoreLine = () => {};
    const collectLine = (line: string) => {
      lines.push(line);
      ignoreLine();
    };
    const database = await openSqlite(file, { log: collectLine });
    await database.query("CREATE TABLE a (x TEXT)");
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    const waiting = database.query("INSERT INTO a VALUES ('waited')");
    await new Promise<void>((resolve) => (ignoreLine = resolve));
    other.exec("COMMIT");
    await waiting;
    expect(lines).toEqual([
      expect.stringMatching(/journal\.db" can't be used now: another process has locked it.*up to 120 s\.$/),
      expect.stringMatching(/journal\.db" can be used again\.$/),
    ]);
    other.exec("BEGIN IMMEDIATE");
    const impatient = database.query("INSERT INTO a VALUES ('impatient')");
    database.shortenBusyTimeout(0);
    await expect(impatient).rejects.toThrow("another process has locked it. Find and end a process that hangs");
    other.close();
    expect(await database.query("SELECT x FROM a")).toEqual([{ x: "waited" }]);
    await database.close();
  });
});

/** Opens the file in a separate process. */
async function openInProcess(before: string, after: string): Promise<{ code: number | null; signal: string | null }> {
  const program = `${RUN_SOURCES}
    ${before}
    const { openSqlite } = await import(process.env.SQLITE_URL);
    const database = await openSqlite(process.env.FILE);
    ${after}
    await database.close();`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "inherit", "inherit"],
    env: {
      ...process.env,
      NODE_OPTIONS: "--disable-warning=ExperimentalWarning",
      SQLITE_URL: pathToFileURL("provider/rollout/database/sqlite-database.ts").href,
      FILE: file,
    },
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return { code, signal };
}

it("reports SQLite's own error for a statement", async () => {
  const database = await openSqlite(file);
  await database.query("CREATE TABLE a (x TEXT PRIMARY KEY)");
  await database.query("INSERT INTO a VALUES ('one')");
  await expect(database.query("INSERT INTO a VALUES ('one')")).rejects.toThrow("UNIQUE constraint failed");
  await expect(database.query("SELECT * FROM b")).rejects.toThrow("no such table");
  await database.close();
});
