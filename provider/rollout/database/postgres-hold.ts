import { Client } from "pg";
import type { Hold } from "./database";
import type { PostgresPlace } from "./postgres-connection";
import { ended, setSession, VANISHED_MS } from "./postgres-session";

/** How often to see whether a hold still stands, in milliseconds. */
const HEARTBEAT_MS = 2_000;
/**
 * Since when nothing may have been heard of the server, in milliseconds. Less than it takes the server to let another
 * one hold the name, so that whoever has lost it knows first.
 */
const SILENCE_MS = VANISHED_MS - 1_000;

/**
 * Holds a name by an advisory lock of PostgreSQL, on a connection of its own. Undefined when somebody else holds it.
 *
 * It is lost when the connection is, when the server is not heard of for ten seconds, or when the session is another
 * one all of a sudden, as behind a pooler. The server frees it at once when this process ends, eleven seconds after this
 * machine has vanished, and half a minute after this process has stopped without ending.
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
    // Of the two numbers of such a lock, the second is the name's.
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
    // It would end with its session, but not before this is answered.
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
