import { Client, type ClientConfig } from "pg";
import { sanitizeLine } from "../../model/text";
import { DatabaseError } from "./database-error";
import { closeConnection } from "./postgres-session";
import { addTlsParameters, disableTls } from "./postgres-tls";

/** The schema of journals if the URL names no other. */
const DEFAULT_SCHEMA = "email_security";

const NO_TLS_MESSAGE = "The server does not support SSL connections";

const CONNECT_TIMEOUT_MS = 10_000;

interface ConnectionSettings
  extends Pick<ClientConfig, "application_name" | "keepAlive" | "keepAliveInitialDelayMillis"> {
  readonly connectionString: string;
  readonly connectionTimeoutMillis: number;
}

export interface PostgresConnection {
  readonly config: ConnectionSettings;
  /** `PostgreSQL at db.example:5432/rollouts`, without the password. */
  readonly name: string;
  readonly schema: string;
  readonly queueSchema: string;
  /** Converts an error of `pg` to one of ours, which says what failed, why, and what to do. Returns our own errors unchanged. */
  toDatabaseError(error: unknown, action: string): Error;
}

/**
 * Parses the URL of a database: `postgres://user:password@host:port/database`. `sslmode` has the same meaning as for libpq ({@link
 * addTlsParameters}).
 * If plain text is allowed, it connects once to find out whether the server has TLS. A `search_path` among the URL's `options` names the
 * schema of the journal. The default is `email_security`. PostgreSQL's environment variables supply omitted parts.
 *
 * @throws {DatabaseError} if the URL is invalid.
 */
export async function resolvePostgresConnection(url: string): Promise<PostgresConnection> {
  let parsed: URL;
  try {
    // A URL with a socket has its directory among the parameters, and no host.
    parsed = new URL(url.replace("@/", "@socket/"));
  } catch {
    throw buildInvalidUrlError();
  }
  if (!["postgres:", "postgresql:"].includes(parsed.protocol)) throw buildInvalidUrlError();
  const tls = addTlsParameters(url, process.env);
  const encryptedSettings: ConnectionSettings = {
    connectionString: tls.url,
    application_name: "email-security",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // TCP keepalive probes detect a peer that vanished without closing the connection.
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  };
  const { host, port, database = "", user = "", password } = createClient(encryptedSettings);
  // A local socket can't be intercepted.
  const isPlaintext = host.startsWith("/") || (tls.isPlaintextAllowed && (await isTlsMissing(encryptedSettings)));
  const config: ConnectionSettings = isPlaintext
    ? { ...encryptedSettings, connectionString: disableTls(url) }
    : encryptedSettings;
  const schema = parseSchema(parsed.searchParams.get("options") ?? "");
  const name = `PostgreSQL at ${sanitizeLine(host)}:${port}/${sanitizeLine(database)}`;
  return {
    config,
    name,
    schema,
    queueSchema: `${schema}_queue`,
    toDatabaseError: (error, action) => {
      if (error instanceof DatabaseError) return error;
      const message = redactSecrets(getPostgresMessage(error), [password, parsed.password, url]);
      const text = `${name}, as ${sanitizeLine(user)}: ${action} failed: ${sanitizeLine(message)}. ${getPostgresAdvice(error)}`;
      return new DatabaseError(text, { cause: error });
    },
  };
}

/** Whether the connection was lost or is unavailable now. The operation may be retried on another connection. */
export function isConnectionLost(error: unknown): boolean {
  const { code, message, cause } = getErrorParts(error);
  if (CONNECTION_LOST_CODES.has(code) || code.startsWith("08") || CONNECTION_LOST_MESSAGE.test(message)) return true;
  return cause !== undefined && isConnectionLost(cause);
}

/** Whether a transaction lost a race, or the server was overloaded. It may be retried. */
export function isTransactionConflict(error: unknown): boolean {
  const { code, cause } = getErrorParts(error);
  return RACE_CODES.has(code) || (cause !== undefined && isTransactionConflict(cause));
}

/** Accepts plain objects as well, because pg-boss emits copies of errors. */
function getErrorParts(error: unknown): {
  readonly code: string;
  readonly message: string;
  readonly cause: unknown;
} {
  const { code, message, cause } = (error ?? {}) as { code?: unknown; message?: unknown; cause?: unknown };
  return { code: String(code ?? ""), message: String(message ?? ""), cause };
}

/** The server is stopping, starting or full, or the network fails. */
const CONNECTION_LOST_CODES = new Set([
  ...["57P01", "57P02", "57P03", "57P05", "25P03", "53300"],
  ...["ECONNRESET", "ECONNREFUSED", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "ENETDOWN", "EAI_AGAIN"],
  // The socket of a server that isn't running.
  "ENOENT",
]);
const CONNECTION_LOST_MESSAGE = /connection terminated|timeout exceeded when trying|query read timeout|not queryable/i;
/** Serialization failure, deadlock, lock timeout, statement timeout. */
const RACE_CODES = new Set(["40001", "40P01", "55P03", "57014"]);

function buildInvalidUrlError(): DatabaseError {
  return new DatabaseError(
    "Invalid PostgreSQL URL. Use postgres://user:password@host:5432/database, and percent-encode special characters in the password.",
  );
}

/** Whether the server reports that it has no TLS. The next connection reports any other problem. */
async function isTlsMissing(config: ClientConfig): Promise<boolean> {
  const client = new Client(config);
  client.on("error", () => {});
  try {
    await client.connect();
    return false;
  } catch (error) {
    return getPostgresMessage(error) === NO_TLS_MESSAGE;
  } finally {
    await closeConnection(client);
  }
}

function createClient(config: ClientConfig): Client {
  try {
    return new Client(config);
  } catch (cause) {
    // For example, a certificate file is missing.
    throw new DatabaseError(`The database URL is invalid: ${sanitizeLine(getPostgresMessage(cause))}`, {
      cause,
    });
  }
}

function parseSchema(options: string): string {
  const [, schema] = /search_path=(\S+)/.exec(options) ?? [];
  if (schema === undefined) return DEFAULT_SCHEMA;
  if (/^[a-z_][a-z0-9_]{0,50}$/.test(schema)) return schema;
  throw new DatabaseError(
    "The search_path in the database URL isn't a single schema name. Use lowercase letters, digits and _, at most 50 characters.",
  );
}

function getPostgresMessage(error: unknown): string {
  // After several addresses failed, the aggregate error has no message of its own.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(getPostgresMessage).join("; ");
  return getErrorParts(error).message || String(error);
}

function redactSecrets(text: string, secrets: readonly (string | null | undefined)[]): string {
  return secrets.reduce<string>((redacted, secret) => (secret ? redacted.replaceAll(secret, "…") : redacted), text);
}

function getPostgresAdvice(error: unknown): string {
  const { code, message } = getErrorParts(error);
  if (message === NO_TLS_MESSAGE) {
    return "Enable TLS on the server; or, if the network is trusted, set sslmode=disable.";
  }
  const advice = ADVICE.find(([codes]) => codes.test(code))?.[1];
  if (advice !== undefined) return advice;
  return isConnectionLost(error)
    ? "Check that the server is running and reachable from here."
    : "Check the server's log for details.";
}

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^28/, "Check the user and the password in the URL, and whether pg_hba.conf allows this connection."],
  [/^3D000$/, "Create the database first, with createdb."],
  [
    /^(42501|3F000)$/,
    "Allow the user to create schemas in this database, or create the schema and make the user its owner.",
  ],
  [/^53(1|2)/, "The server is out of disk space or memory. Free some, then continue; committed data is kept."],
  [
    /^42(P01|703)$/,
    "The tables were changed by something else. Restore them from a backup, or start a new rollout with another database.",
  ],
  [/^53300$/, "Raise the server's max_connections, or run fewer workers."],
  [/^25006$/, "The server is a read-only replica. Use the address of the primary."],
  [/^ENOTFOUND$/, "Check the host in the URL."],
  [/CERT|SELF_SIGNED|ALTNAME/, "Add the certificate of the authority: &sslrootcert=<file>."],
];
