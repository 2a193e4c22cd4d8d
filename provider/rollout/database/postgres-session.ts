import { setTimeout as sleep } from "node:timers/promises";
import type { Client, ClientBase, Pool } from "pg";

/**
 * How soon a server notices that its client's machine is gone: eleven seconds after it last heard of it. Then it takes
 * back what was open, and frees what was held.
 */
export const VANISHED_MS = 11_000;

/** Of each connection. */
const COMMON = {
  tcp_keepalives_idle: "5",
  tcp_keepalives_interval: "2",
  tcp_keepalives_count: "3",
  tcp_user_timeout: `${VANISHED_MS}`,
  // In the middle of a statement too.
  client_connection_check_interval: "2s",
  bytea_output: "hex",
  client_min_messages: "warning",
};

/** Sets what the server knows of these settings for the session of a connection. */
export async function setSession(
  client: ClientBase,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const wanted = { ...COMMON, ...settings };
  const set = (names: readonly string[]) =>
    client.query(
      `select set_config(s.name, w.value, false) from unnest($1::text[], $2::text[]) as w (name, value)
         join pg_settings s on s.name = w.name`,
      [names, names.map((name) => wanted[name as keyof typeof wanted])],
    );
  const names = Object.keys(wanted);
  // A server on another system than Linux knows this one, and refuses it.
  await set(names).catch(() => set(names.filter((name) => name !== "client_connection_check_interval")));
}

/** Ends a connection, or a pool of them; one that answers no more is not waited for. */
export async function ended(connections: Client | Pool): Promise<void> {
  await Promise.race([connections.end().catch(() => {}), sleep(2_000, undefined, { ref: false })]);
}
