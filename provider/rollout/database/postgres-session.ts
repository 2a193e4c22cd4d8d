import { setTimeout as sleep } from "node:timers/promises";
import type { Client, ClientBase, Pool } from "pg";

/**
 * How soon a server notices that its client's machine is gone: eleven seconds after its last sign of life. The server then rolls back
 * open transactions and releases held locks.
 */
export const PEER_TIMEOUT_MS = 11_000;

const COMMON_SETTINGS = {
  tcp_keepalives_idle: "5",
  tcp_keepalives_interval: "2",
  tcp_keepalives_count: "3",
  tcp_user_timeout: `${PEER_TIMEOUT_MS}`,
  // Also checks during a statement.
  client_connection_check_interval: "2s",
  bytea_output: "hex",
  client_min_messages: "warning",
};

export async function applySessionSettings(
  client: ClientBase,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const allSettings = { ...COMMON_SETTINGS, ...settings };
  const applySettings = (names: readonly string[]) =>
    client.query(
      `select set_config(s.name, w.value, false) from unnest($1::text[], $2::text[]) as w (name, value)
         join pg_settings s on s.name = w.name`,
      [names, names.map((name) => allSettings[name as keyof typeof allSettings])],
    );
  const names = Object.keys(allSettings);
  // Servers on systems other than Linux know this setting but reject it.
  await applySettings(names).catch(() =>
    applySettings(names.filter((name) => name !== "client_connection_check_interval")),
  );
}

/** Closes a connection or a pool, without waiting for one that no longer answers. */
export async function closeConnection(connections: Client | Pool): Promise<void> {
  await Promise.race([connections.end().catch(() => {}), sleep(2_000, undefined, { ref: false })]);
}
