import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { findOrInstallPostgres, type PostgresPrograms } from "./postgres-programs";

const run = promisify(execFile);

/** The password of the cluster's user, with characters that must be escaped in a URL. */
export const POSTGRES_PASSWORD = "p@ss/word:1%";

/** How the server stops: as with `pg_ctl stop -m fast`, or by a crash. */
export type StopMode = "fast" | "crash";

export interface PostgresServerOptions {
  /** Additional addresses to listen on, besides 127.0.0.1. */
  readonly listen?: readonly string[];
  /** Whether it speaks TLS, with its own certificate for `localhost`. Default: false. */
  readonly tls?: boolean;
}

/**
 * Starts a PostgreSQL server with its own empty cluster in a temporary directory. When this process ends for any
 * reason, the server stops and the directory is removed. Installs or unpacks PostgreSQL first if the machine doesn't
 * have it.
 */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<Postgres> {
  const programs = await findOrInstallPostgres();
  const directory = await mkdtemp("/tmp/email-security-pg-");
  try {
    const user = await findUnprivilegedUser();
    if (user !== undefined) await chown(directory, user.uid, user.gid);
    const certificate = options.tls === true ? await createCertificate(directory, user) : undefined;
    await initializeCluster(programs, directory, user);
    const server = new Postgres(programs, directory, user, options, certificate);
    await server.start();
    return server;
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

export class Postgres implements AsyncDisposable {
  /** The certificate of the authority that signed the server's own; undefined without TLS. */
  readonly certificate: string | undefined;
  readonly #programs: PostgresPrograms;
  readonly #directory: string;
  readonly #user: User | undefined;
  readonly #options: PostgresServerOptions;
  #port = 0;
  #server: ChildProcess | undefined;

  constructor(
    programs: PostgresPrograms,
    directory: string,
    user: User | undefined,
    options: PostgresServerOptions,
    certificate: string | undefined,
  ) {
    this.#programs = programs;
    this.#directory = directory;
    this.#user = user;
    this.#options = options;
    this.certificate = certificate;
  }

  /** The URL of the superuser, over loopback. */
  get url(): string {
    return this.getUrl("127.0.0.1");
  }

  /** The URL over the unix socket. */
  get socketUrl(): string {
    return `postgres://postgres:${encodeURIComponent(POSTGRES_PASSWORD)}@/postgres?host=${encodeURIComponent(this.#directory)}&port=${this.#port}`;
  }

  /** @param database Default: `postgres`. */
  getUrl(host: string, database = "postgres"): string {
    return `postgres://postgres:${encodeURIComponent(POSTGRES_PASSWORD)}@${host}:${this.#port}/${database}`;
  }

  /** Creates an empty database and returns its URL. */
  async createDatabase(name: string): Promise<string> {
    await this.runSql(`create database ${name}`);
    return this.getUrl("127.0.0.1", name);
  }

  /** Runs statements and returns their rows, one per line, with `|` between columns. */
  async runSql(statements: string, database = "postgres"): Promise<string> {
    const args = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1"];
    const { stdout } = await run(
      join(this.#programs.directory, "psql"),
      [...args, "--command", statements, this.getUrl("127.0.0.1", database)],
      { env: { ...process.env, ...this.#programs.environment } },
    );
    return stdout.trim();
  }

  /** Starts the server again on the same port. */
  async start(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const port = this.#port || (await findFreePort());
      const server = this.#spawn(port);
      const log = await this.#waitUntilReady(server);
      if (log === undefined) {
        this.#server = server;
        this.#port = port;
        return;
      }
      // Another process may have taken the port.
      if (attempt === 3) throw new Error(`PostgreSQL didn't start:\n${log}`);
    }
  }

  async stop(end: StopMode = "fast"): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined || server.exitCode !== null) return;
    const exit = once(server, "exit");
    server.stdin?.end(`${end}\n`);
    await exit;
  }

  async restart(end: StopMode = "fast"): Promise<void> {
    await this.stop(end);
    await this.start();
  }

  /** Closes this process's end of the pipe, as when this process is killed. */
  abandon(): void {
    this.#server?.stdin?.destroy();
    this.#server = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("crash");
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Spawns the server under a shell that stops it on request, or when this process is gone. */
  #spawn(port: number): ChildProcess {
    const settings = {
      port: `${port}`,
      listen_addresses: ["127.0.0.1", ...(this.#options.listen ?? [])].join(","),
      unix_socket_directories: this.#directory,
      fsync: "off",
      full_page_writes: "off",
      // The tests need little, and several servers may run at once.
      shared_buffers: "16MB",
      max_connections: "120",
      ...(this.certificate !== undefined && {
        ssl: "on",
        ssl_cert_file: join(this.#directory, "server.crt"),
        ssl_key_file: join(this.#directory, "server.key"),
      }),
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const shell = spawn(
      "/bin/sh",
      [
        "-c",
        WATCHDOG_SCRIPT,
        "sh",
        this.#directory,
        join(this.#programs.directory, "postgres"),
        "-D",
        this.#data,
        ...args,
      ],
      {
        // Ctrl-C is meant for the tests, which then stop the server.
        detached: true,
        cwd: this.#directory,
        stdio: ["pipe", "ignore", "ignore"],
        env: { ...process.env, ...this.#programs.environment, LC_ALL: "C" },
        ...this.#user,
      },
    );
    // A shell that has ended can't read; its exit is reported separately.
    shell.stdin?.on("error", () => {});
    return shell;
  }

  /** Returns undefined once the server accepts connections, or its log if it has ended instead. */
  async #waitUntilReady(server: ChildProcess): Promise<string | undefined> {
    const isUp = async () => {
      const pid = await readFile(join(this.#data, "postmaster.pid"), "utf8").catch(() => "");
      return pid.split("\n")[7]?.startsWith("ready") === true;
    };
    while (server.exitCode === null) {
      if (await isUp()) return undefined;
      await sleep(20);
    }
    return await readFile(join(this.#directory, "log"), "utf8").catch(() => "");
  }

  get #data(): string {
    return join(this.#directory, "data");
  }
}

/**
 * Runs the server, and reads a line that selects how to stop it. If the input ends without such a line, the parent
 * process has died; the script then also removes the directory.
 */
const WATCHDOG_SCRIPT = `
folder=$1; shift
exec 3<&0
"$@" >>"$folder/log" 2>&1 </dev/null 3<&- &
server=$!
(
  read -r end <&3
  [ -n "$end" ] || : >"$folder/abandoned"
  case $end in
    fast) kill -INT $server ;;
    *) kill -QUIT $server ;;
  esac
) &
reader=$!
wait $server
kill $reader 2>/dev/null
[ -e "$folder/abandoned" ] && rm -rf "$folder"
exit 0
`;

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root, so it runs as nobody. */
async function findUnprivilegedUser(): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const readId = async (flag: string) => Number((await run("id", [flag, "nobody"])).stdout);
  return { uid: await readId("-u"), gid: await readId("-g") };
}

async function initializeCluster(programs: PostgresPrograms, directory: string, user: User | undefined): Promise<void> {
  const password = join(directory, "password");
  await writeFile(password, POSTGRES_PASSWORD);
  const args = ["--no-sync", "--username=postgres", "--auth=scram-sha-256", `--pwfile=${password}`];
  await run(
    join(programs.directory, "initdb"),
    [...args, "--encoding=UTF8", "--locale=C", "-D", join(directory, "data")],
    {
      cwd: directory,
      env: { ...process.env, ...programs.environment, LC_ALL: "C" },
      ...user,
    },
  );
  const access = "local all all scram-sha-256\nhost all all all scram-sha-256\n";
  await writeFile(join(directory, "data", "pg_hba.conf"), access);
}

/** Creates a key and a self-signed certificate for `localhost`. Returns the certificate's path. */
async function createCertificate(directory: string, user: User | undefined): Promise<string> {
  const key = join(directory, "server.key");
  const certificate = join(directory, "server.crt");
  await run("openssl", [
    ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"],
    ...["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
  ]);
  for (const file of [key, certificate]) if (user !== undefined) await chown(file, user.uid, user.gid);
  return certificate;
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
