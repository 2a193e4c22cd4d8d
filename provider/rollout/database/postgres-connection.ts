import { Client, type ClientConfig } from "pg";
import { printable } from "../../settings/text";
import { DatabaseError } from "./database-error";
import { ended } from "./postgres-session";
import { completeTls, withoutTls } from "./postgres-tls";

/** Where journals are when the URL names no other schema. */
const DEFAULT_SCHEMA = "email_security";

/** What `pg` says of a server that has no TLS. */
const NO_TLS = "The server does not support SSL connections";

/** How long to wait for a connection, in milliseconds. */
const CONNECT_MS = 10_000;

/** What is set of a connection, as `pg` and the queue understand it alike. */
interface Connecting
  extends Pick<ClientConfig, "application_name" | "keepAlive" | "keepAliveInitialDelayMillis"> {
  readonly connectionString: string;
  readonly connectionTimeoutMillis: number;
}

/** Where a PostgreSQL database is, and how a connection to it is made. */
export interface PostgresPlace {
  readonly config: Connecting;
  /** `postgres at db.example:5432/rollouts`, without the password. */
  readonly name: string;
  /** The schema of the journal. */
  readonly schema: string;
  /** The schema of the queue. */
  readonly queueSchema: string;
  /** An error of `pg` as one of ours: what was done, what came, and what to do. Our own stay as they are. */
  told(error: unknown, doing: string): Error;
}

/**
 * Reads the URL of a database: `postgres://user:password@host:port/database`. `sslmode` means what it does to PostgreSQL's own
 * programs ({@link completeTls}), and a server that lacks TLS is asked for its word on it once; a `search_path` among its `options` names the schema of the journal, which is else `email_security`; what it leaves
 * out comes from PostgreSQL's environment variables.
 *
 * @throws {DatabaseError} when it is none.
 */
export async function postgresPlace(url: string): Promise<PostgresPlace> {
  let parsed: URL;
  try {
    // A socket's folder stands among the parameters, and no host then.
    parsed = new URL(url.replace("@/", "@socket/"));
  } catch {
    throw noUrl();
  }
  if (!["postgres:", "postgresql:"].includes(parsed.protocol)) throw noUrl();
  const tls = completeTls(url, process.env);
  const over: Connecting = {
    connectionString: tls.url,
    application_name: "email-security",
    connectionTimeoutMillis: CONNECT_MS,
    // What has vanished without a word is noticed, on this side as on the server's.
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  };
  const { host, port, database = "", user = "", password } = described(over);
  // Nobody listens in on a socket of this machine.
  const isPlain = host.startsWith("/") || (tls.mayBePlain && (await hasNoTls(over)));
  const config: Connecting = isPlain ? { ...over, connectionString: withoutTls(url) } : over;
  const schema = schemaIn(parsed.searchParams.get("options") ?? "");
  const name = `PostgreSQL at ${printable(host)}:${port}/${printable(database)}`;
  return {
    config,
    name,
    schema,
    queueSchema: `${schema}_queue`,
    told: (error, doing) => {
      if (error instanceof DatabaseError) return error;
      const message = withoutSecrets(messageOf(error), [password, parsed.password, url]);
      const sentence = `${name}, as ${printable(user)}: ${doing} failed: ${printable(message)}. ${adviceOn(error)}`;
      return new DatabaseError(sentence, { cause: error });
    },
  };
}

/** Whether a connection was lost, or there is none to be had now: what was under way may be tried on another. */
export function isConnectionLost(error: unknown): boolean {
  const { code, message, cause } = partsOf(error);
  if (LOST.has(code) || code.startsWith("08") || LOST_MESSAGE.test(message)) return true;
  return cause !== undefined && isConnectionLost(cause);
}

/** Whether a transaction lost a race, or the server had too much to do: it may be tried again. */
export function isRaceLost(error: unknown): boolean {
  const { code, cause } = partsOf(error);
  return RACES.has(code) || (cause !== undefined && isRaceLost(cause));
}

/** Of an error, or of what stands for one: pg-boss tells of copies. */
function partsOf(error: unknown): {
  readonly code: string;
  readonly message: string;
  readonly cause: unknown;
} {
  const { code, message, cause } = (error ?? {}) as { code?: unknown; message?: unknown; cause?: unknown };
  return { code: String(code ?? ""), message: String(message ?? ""), cause };
}

/** A server that ends, starts or has no room, a network that fails. */
const LOST = new Set([
  ...["57P01", "57P02", "57P03", "57P05", "25P03", "53300"],
  ...[
    "ECONNRESET",
    "ECONNREFUSED",
    "EPIPE",
    "ETIMEDOUT",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENETDOWN",
    "EAI_AGAIN",
  ],
  // The socket of a server that is not there.
  "ENOENT",
]);
const LOST_MESSAGE = /connection terminated|timeout exceeded when trying|query read timeout|not queryable/i;
/** Serialization, deadlock, a lock or a statement that took too long, two who made the same schema at once. */
const RACES = new Set(["40001", "40P01", "55P03", "57014"]);

function noUrl(): DatabaseError {
  return new DatabaseError(
    "The database is no URL of PostgreSQL. Give it as postgres://user:password@host:5432/database, with special characters in the password percent-encoded.",
  );
}

/** Whether the server says that it has no TLS. What else may be wrong is told by who connects next. */
async function hasNoTls(config: ClientConfig): Promise<boolean> {
  const client = new Client(config);
  client.on("error", () => {});
  try {
    await client.connect();
    return false;
  } catch (error) {
    return messageOf(error) === NO_TLS;
  } finally {
    await ended(client);
  }
}

function described(config: ClientConfig): Client {
  try {
    return new Client(config);
  } catch (cause) {
    // Such as a certificate's file that is not there.
    throw new DatabaseError(`The database's URL can't be used: ${printable(messageOf(cause))}`, { cause });
  }
}

function schemaIn(options: string): string {
  const [, schema] = /search_path=(\S+)/.exec(options) ?? [];
  if (schema === undefined) return DEFAULT_SCHEMA;
  if (/^[a-z_][a-z0-9_]{0,50}$/.test(schema)) return schema;
  throw new DatabaseError(
    "The search_path in the database's URL is no name of one schema: small letters, digits and _, at most 50 of them.",
  );
}

function messageOf(error: unknown): string {
  // Of several addresses that were tried, none has a message of its own.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return partsOf(error).message || String(error);
}

function withoutSecrets(text: string, secrets: readonly (string | null | undefined)[]): string {
  return secrets.reduce<string>((rest, secret) => (secret ? rest.replaceAll(secret, "…") : rest), text);
}

function adviceOn(error: unknown): string {
  const { code, message } = partsOf(error);
  if (message === NO_TLS) {
    return "Let it have TLS; or, where nobody can listen in on the way there, say so: sslmode=disable.";
  }
  const advice = ADVICE.find(([codes]) => codes.test(code))?.[1];
  if (advice !== undefined) return advice;
  return isConnectionLost(error)
    ? "See whether the server runs and can be reached from here."
    : "See the server's log for more.";
}

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /^28/,
    "See whether the URL's user and password are right, and whether pg_hba.conf lets them in from here.",
  ],
  [/^3D000$/, "Make the database first: createdb."],
  [
    /^(42501|3F000)$/,
    "Give the user the right to create schemas in this database, or make the schema and give it to the user.",
  ],
  [/^53(1|2)/, "The server has no room left. Make some, then go on; what was committed is kept."],
  [
    /^42(P01|703)$/,
    "The tables are not as this program left them: bring them back from a copy, or begin a new rollout with another database.",
  ],
  [/^53300$/, "Raise the server's max_connections, or run fewer workers."],
  [/^25006$/, "It is a replica that only reads: give the address of the primary."],
  [/^ENOTFOUND$/, "See whether the URL's host is right."],
  [/CERT|SELF_SIGNED|ALTNAME/, "Give the authority's certificate: &sslrootcert=<file>."],
];
