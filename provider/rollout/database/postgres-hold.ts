import { Client } from "pg";
import type { Hold } from "./database";
import type { PostgresPlace } from "./postgres-connection";
import { ended, setSession, VANISHED_MS } from "./postgres-session";

/** How often to check a hold, in milliseconds. */
const HEARTBEAT_MS = 2_000;
/**
 * The longest silence of the server before a hold counts as lost, in milliseconds. It is shorter than the time after which
 * the server lets another client hold the name. The previous holder therefore notices first.
 */
const SILENCE_MS = VANISHED_MS - 1_000;

/**
 * Holds a name with an advisory lock of PostgreSQL, on its own connection. Returns undefined if another client holds it.
 *
 * The hold is lost with the connection, after ten seconds of silence from the server, or when the session changes, as behind a
 * pooler. The server releases it at once when this process ends, eleven seconds after this machine vanishes,
 * and 30 seconds after this process hangs.
 */
export async function holdInPostgres(
  place: PostgresPlace,
  name: string,
  lost: (why: string) => void,
): Promise<Hold | undefined> {
  const client = new Client({ ...place.config, query_timeout: SILENCE_MS });
  let hold: HeldName | undefined;
  client.on("error", (error) => hold?.lose(error.message));
  client.on("end", () => hold?.lose("the connection ended"));
  try {
    await client.connect();
    await setSession(client, { idle_session_timeout: "30s" });
    // The lock has two keys: a namespace, and the name.
    const sent = performance.now();
    const { rows } = await client.query("select pg_try_advisory_lock(hashtext($1), hashtext($2)) as held", [
      `${place.schema} holds`,
      name,
    ]);
    if (rows[0]?.["held"] === true) {
      hold = new HeldName(client, lost, sent);
      return hold;
    }
    await ended(client);
    return undefined;
  } catch (error) {
    await ended(client);
    throw place.told(error, "taking a lock");
  }
}

class HeldName implements Hold {
  readonly #client: Client;
  readonly #tell: (why: string) => void;
  #isOver = false;
  #heartbeat: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout;

  constructor(client: Client, tell: (why: string) => void, heard: number) {
    this.#client = client;
    this.#tell = tell;
    this.#deadline = this.#silenceFrom(heard);
    this.#next();
  }

  async release(): Promise<void> {
    if (this.#isOver) return;
    this.#end();
    // The lock ends with the session, but this call confirms the release.
    await this.#client.query("select pg_advisory_unlock_all()").catch(() => {});
    await ended(this.#client);
  }

  lose(why: string): void {
    if (this.#isOver) return;
    this.#end();
    void ended(this.#client);
    this.#tell(why);
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#heartbeat);
    clearTimeout(this.#deadline);
  }

  #next(): void {
    this.#heartbeat = setTimeout(() => void this.#beat(), HEARTBEAT_MS);
  }

  async #beat(): Promise<void> {
    const sent = performance.now();
    try {
      const { rows } = await this.#client.query(
        "select 1 from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and granted",
      );
      if (this.#isOver) return;
      if (rows.length === 0) {
        this.lose("the session that held it is gone; a pooler such as PgBouncer must keep sessions apart");
        return;
      }
    } catch (error) {
      this.lose((error as Error).message);
      return;
    }
    clearTimeout(this.#deadline);
    this.#deadline = this.#silenceFrom(sent);
    this.#next();
  }

  #silenceFrom(heard: number): NodeJS.Timeout {
    const leftMs = heard + SILENCE_MS - performance.now();
    return setTimeout(() => this.lose("the server was not heard of for ten seconds"), leftMs);
  }
}
