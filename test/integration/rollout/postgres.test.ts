import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openPostgres } from "../../../provider/rollout/database/postgres-database";
import { openPgBossQueue } from "../../../provider/rollout/queue/pg-boss-queue";
import { POSTGRES_PASSWORD, type Postgres, startPostgres } from "../../support/postgres";
import { startCommitCutter } from "./commit-cutting-proxy";

const IS_TLS = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";

let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres({ tls: true });
});

afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
});

describe("a PostgreSQL journal", () => {
  it("uses its own schema by default", async () => {
    const url = await postgres.createDatabase("schemas");
    const own = await openPostgres(url);
    await own.query("create table here (n bigint)");
    await own.close();
    const named = await openPostgres(`${url}?options=-c%20search_path%3Dacme_rollouts`);
    await named.query("create table here (n bigint)");
    await named.close();
    const tables = "select schemaname from pg_tables where tablename = 'here' order by 1";
    expect(await postgres.runSql(tables, "schemas")).toBe("acme_rollouts\nemail_security");

    await postgres.runSql(
      "create role tool login password 'tool'; grant usage, create on schema email_security to tool; grant all on all tables in schema email_security to tool",
      "schemas",
    );
    const least = await openPostgres(url.replace(/\/\/[^@]+@/, "//tool:tool@"));
    await least.query("insert into here (n) values (1)");
    await least.close();
    expect(await postgres.runSql("select n from email_security.here", "schemas")).toBe("1");
  });

  it("is opened concurrently on an empty database", async () => {
    const url = await postgres.createDatabase("race");
    const all = await Promise.all([1, 2, 3, 4].map(() => openPostgres(url)));
    for (const database of all) await database.close();
    expect(await postgres.runSql("select count(*) from pg_namespace where nspname = 'email_security'", "race")).toBe(
      "1",
    );
  });

  it("replaces NUL characters in text", async () => {
    const database = await openPostgres(await postgres.createDatabase("texts"));
    expect(await database.query("select cast($1 as text) as stored", ["a\0b"])).toEqual([{ stored: "a\ufffdb" }]);
    await database.close();
  });

  it("rejects a number outside JavaScript's safe range", async () => {
    const database = await openPostgres(await postgres.createDatabase("numbers"));
    await expect(database.query("select cast(9007199254740993 as bigint) as n")).rejects.toMatchObject({
      code: "ERR_ROLLOUT_DATABASE",
      message: expect.stringContaining("9007199254740993"),
    });
    await database.close();
  });

  it("explains a connection error without showing the password", async () => {
    const { port } = new URL(postgres.url);
    const secret = encodeURIComponent(POSTGRES_PASSWORD);
    const wrong: Readonly<Record<string, RegExp>> = {
      "mysql://root:s3cr3t@db/x": /Invalid PostgreSQL URL.*postgres:\/\//,
      "postgres://u:s3cr3t@[bad/x": /Invalid PostgreSQL URL/,
      [`postgres://postgres:s3cr3t@127.0.0.1:${port}/postgres`]:
        /password authentication failed.*user and the password/,
      [`postgres://postgres:${secret}@127.0.0.1:${port}/nowhere`]: /"nowhere" does not exist.*createdb/,
      [`postgres://postgres:${secret}@127.0.0.1:1/postgres`]: /127\.0\.0\.1:1.*ECONNREFUSED.*reachable/,
      [`postgres://postgres:${secret}@nowhere.invalid/postgres`]: /nowhere\.invalid.*Check the host/,
      [`postgres://postgres:${secret}@localhost:${port}/postgres?sslmode=verify-full`]: /certificate.*sslrootcert/,
      [`postgres://postgres:${secret}@localhost:${port}/postgres?sslmode=verify-full&sslrootcert=/no/such.crt`]:
        /URL is invalid.*no\/such\.crt/,
      [`postgres://postgres:${secret}@127.0.0.1:${port}/postgres?options=-csearch_path%3Da,b`]:
        /search_path.*single schema/,
    };
    for (const [url, message] of Object.entries(wrong)) {
      const error = await openPostgres(url).then(
        () => new Error(`${url} was opened`),
        (reason: Error) => reason,
      );
      expect(error).toMatchObject({ code: "ERR_ROLLOUT_DATABASE", message: expect.stringMatching(message) });
      const all = inspect(error, { depth: 10, showHidden: true });
      expect(all).not.toContain("s3cr3t");
      expect(all).not.toContain(POSTGRES_PASSWORD);
      expect(all).not.toContain(secret);
    }
  });

  it("uses TLS according to sslmode", async () => {
    const url = postgres.getUrl("localhost");
    const modes = [
      "require",
      `verify-full&sslrootcert=${postgres.certificate}`,
      `verify-ca&sslrootcert=${postgres.certificate}`,
    ];
    for (const mode of modes) {
      const database = await openPostgres(`${url}?sslmode=${mode}`);
      const rows = await database.query(IS_TLS);
      expect([mode, rows]).toEqual([mode, [{ ssl: 1 }]]);
      await database.close();
    }
  });

  it("uses TLS by default if the server supports it", async () => {
    const url = await postgres.createDatabase("unsaid");
    const database = await openPostgres(url);
    const hold = await database.lock("a rollout", () => {});
    const queue = await openPgBossQueue(url, { log: () => {} });
    const connections = await postgres.runSql(
      "select distinct application_name, ssl from pg_stat_activity join pg_stat_ssl using (pid) where datname = 'unsaid' and application_name ^@ 'email-security' order by 1",
      "unsaid",
    );
    expect(connections).toBe("email-security|t\nemail-security coordinator|t");
    await queue.drain();
    await hold?.release();
    await database.close();
  });

  it("uses plain text with sslmode=disable or a server without TLS", async () => {
    const connection = await openPostgres(`${postgres.url}?sslmode=disable`);
    expect(await connection.query(IS_TLS)).toEqual([{ ssl: 0 }]);
    await connection.close();
    await using otherDatabase = await startPostgres();
    for (const mode of ["", "?sslmode=prefer", "?sslmode=allow"]) {
      const database = await openPostgres(`${otherDatabase.url}${mode}`);
      expect([mode, await database.query(IS_TLS)]).toEqual([mode, [{ ssl: 0 }]]);
      await database.close();
    }
    for (const mode of ["sslmode=require", "ssl=true", `sslmode=verify-ca&sslrootcert=${postgres.certificate}`]) {
      await expect(openPostgres(`${otherDatabase.url}?${mode}`)).rejects.toMatchObject({
        code: "ERR_ROLLOUT_DATABASE",
        message: expect.stringMatching(/does not support SSL.*sslmode=disable/),
      });
    }
  });

  it("verifies the certificate as the URL or environment demands", async () => {
    const ip = `${postgres.url}?sslrootcert=${postgres.certificate}`;
    // The certificate is for localhost: it has the right authority but not this IP address.
    for (const mode of ["require", "verify-ca"]) {
      const database = await openPostgres(`${ip}&sslmode=${mode}`);
      await database.close();
    }
    await expect(openPostgres(`${ip}&sslmode=verify-full`)).rejects.toThrow(/certificate/);
    vi.stubEnv("PGSSLMODE", "verify-full");
    vi.stubEnv("PGSSLROOTCERT", postgres.certificate);
    const database = await openPostgres(postgres.getUrl("localhost"));
    await database.close();
    await expect(openPostgres(postgres.url)).rejects.toThrow(/certificate/);
    vi.unstubAllEnvs();
  });

  it.each([
    ["sslmode=verify", /sslmode of the database URL is "verify".*verify-ca, verify-full/],
    ["sslmode=verify-ca", /verify-ca requires specifying a CA with sslrootcert/],
    ["ssl=false", /has ssl="false".*sslmode/],
    ["sslmode=require&sslrootcert=system", /sslmode=verify-full/],
  ])("rejects %s before connecting", async (parameters, message) => {
    const error = await openPostgres(`${postgres.url}?${parameters}`).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "ERR_ROLLOUT_DATABASE", message: expect.stringMatching(message) });
  });

  it("reads the password from PGPASSWORD or a password file", async () => {
    const url = postgres.url.replace(/:[^:@/]+@/, "@");
    expect(url).not.toContain("%");
    await expect(openPostgres(url)).rejects.toThrow(/password/);
    vi.stubEnv("PGPASSWORD", POSTGRES_PASSWORD);
    await (await openPostgres(url)).close();
    vi.unstubAllEnvs();
    const directory = mkdtempSync(join(tmpdir(), "email-security-pgpass-"));
    const file = join(directory, "pgpass");
    writeFileSync(file, `*:*:*:postgres:${POSTGRES_PASSWORD.replaceAll(":", "\\:")}\n`, { mode: 0o600 });
    vi.stubEnv("PGPASSFILE", file);
    await (await openPostgres(url)).close();
    vi.unstubAllEnvs();
    rmSync(directory, { recursive: true });
  });

  it("connects over a Unix socket", async () => {
    const database = await openPostgres(postgres.socketUrl);
    expect(await database.query("select inet_client_addr() is null as is_socket")).toEqual([{ is_socket: 1 }]);
    await database.close();
  });
});

describe("a PostgreSQL journal transaction", () => {
  it("retries after a broken connection only if nothing was committed", async () => {
    await using cutter = await startCommitCutter(await postgres.createDatabase("commits"));
    // The proxy has to read the traffic, so TLS is off.
    const database = await openPostgres(`${cutter.url}?sslmode=disable`);
    await database.query("create table events (note text not null)");
    for (const cut of ["commit", "answer"] as const) {
      cutter.cuts.push(cut);
      let attempts = 0;
      const rows = await database.transaction(async (inside) => {
        attempts++;
        return await inside.query("insert into events (note) values ($1) returning note", [cut]);
      });
      expect({ cut, attempts, rows }).toEqual({
        cut,
        attempts: cut === "commit" ? 2 : 1,
        rows: [{ note: cut }],
      });
    }
    expect(cutter.cuts).toEqual([]);
    expect(await postgres.runSql("select count(*) from pg_stat_activity where state like 'idle in transaction%'")).toBe(
      "0",
    );
    expect(await database.query("select note from events order by note")).toEqual([
      { note: "answer" },
      { note: "commit" },
    ]);
    await database.close();
  });

  it("rolls back when its callback ignores a failed statement", async () => {
    const database = await openPostgres(await postgres.createDatabase("swallowed"));
    await database.query("create table events (note text not null)");
    const work = database.transaction(async (inside) => {
      await inside.query("insert into events (note) values ('first')");
      await inside.query("insert into events (note) values (null)").catch(() => {});
    });
    await expect(work).rejects.toMatchObject({
      code: "ERR_ROLLOUT_DATABASE",
      message: expect.stringContaining("transaction is aborted"),
    });
    expect(await database.query("select note from events")).toEqual([]);
    await database.close();
  });
});
