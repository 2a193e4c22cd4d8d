import { connect as connectTcp, isIP } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { Client } from "ldapts";
import { isLoopback } from "../../client/base-url";
import { getErrorCode } from "../../client/connection-failure";
import { UNKNOWN_AUTHORITY_CODES } from "../../client/response-classification";
import { allowsInsecureHttp } from "../../model/environment-variables";
import { maskSecrets } from "../../model/secrets";
import { excerptSentences, quote } from "../../model/text";
import { assertAllowedSource } from "../allowed-sources";
import { type SourceContext, SourceError } from "../source-content";
import { formatSourceVariable, readSourceAccount } from "../source-variables";

const TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 15_000;

/**
 * Connects to an LDAP server and authenticates. `ldaps://` uses TLS from the start. `ldap://` upgrades the connection with StartTLS.
 *
 * @throws {SourceError} if the server can't be reached safely, or rejects the credentials.
 */
export async function connectLdap(address: string, context: SourceContext): Promise<Client> {
  const { environment, name } = context;
  assertAllowedSource(name, address, environment);
  const url = new URL(address);
  if (url.protocol !== "ldap:" && url.protocol !== "ldaps:") {
    throw new SourceError(
      `The source ${name} can't be read. ${quote(address)} isn't an LDAP address. Write ldaps://host.`,
    );
  }
  const tls = buildTlsOptions(url.hostname.replace(/^\[(.+)\]$/, "$1"));
  const client = new Client({
    url: `${url.protocol}//${url.host}`,
    timeout: TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // The client would use TLS from the start if these were set for ldap://.
    ...(url.protocol === "ldaps:" && { tlsOptions: tls }),
    createConnection: connectOnce(connectTcp),
    createSecureConnection: connectOnce(connectTls),
  });
  try {
    if (url.protocol === "ldap:") await startTls(client, tls, isPlainAllowed(url, environment));
    await authenticate(client, context);
    return client;
  } catch (error) {
    await client.unbind().catch(() => undefined);
    throw toSourceError(error, `${url.protocol}//${url.host} can't be used`, context);
  }
}

/** TLS is always verified, whatever NODE_TLS_REJECT_UNAUTHORIZED says. */
function buildTlsOptions(host: string): ConnectionOptions {
  return { host, minVersion: "TLSv1.2", rejectUnauthorized: true, ...(isIP(host) === 0 && { servername: host }) };
}

/**
 * The client reconnects by itself if the server closes the connection, but without authentication and without StartTLS. An anonymous
 * search finds fewer people, so the members that it misses would look as if they had left.
 */
function connectOnce<Connect extends (...parameters: never[]) => unknown>(connect: Connect): Connect {
  let isUsed = false;
  return ((...parameters: never[]) => {
    if (isUsed) throw new Error("the server closed the connection");
    isUsed = true;
    return connect(...parameters);
  }) as Connect;
}

function isPlainAllowed({ hostname }: URL, environment: SourceContext["environment"]): boolean {
  return isLoopback(hostname) || allowsInsecureHttp(environment);
}

/** The result codes of a server without StartTLS: protocolError, unavailable and unwillingToPerform. */
const NO_START_TLS = [2, 52, 53];

async function startTls(client: Client, options: ConnectionOptions, isPlain: boolean): Promise<void> {
  try {
    await client.startTLS(options);
  } catch (error) {
    const hasNoStartTls = NO_START_TLS.includes(getResultCode(error) ?? -1);
    if (!hasNoStartTls) throw error;
    if (!isPlain) throw new Error("the server doesn't support StartTLS; use ldaps://");
  }
}

async function authenticate(client: Client, { environment, name }: SourceContext): Promise<void> {
  const account = readSourceAccount(name, environment);
  if (account === undefined) return;
  try {
    await client.bind(account.user, account.password);
  } catch (error) {
    if (getResultCode(error) !== INVALID_CREDENTIALS) throw error;
    throw new Error(
      `the server rejects the user or the password. Check ${formatSourceVariable(name, "USER")} and ${formatSourceVariable(name, "PASSWORD")}`,
    );
  }
}

const INVALID_CREDENTIALS = 49;

/** Returns the result code of the server (RFC 4511, section 4.1.9); undefined for other failures. */
export function getResultCode(error: unknown): number | undefined {
  const code = error instanceof Error ? (error as { readonly code?: unknown }).code : undefined;
  return typeof code === "number" ? code : undefined;
}

/** Describes a failure without the password and without the client's error, which can hold the request. */
export function toSourceError(error: unknown, problem: string, { environment, name, signal }: SourceContext): Error {
  if (error instanceof SourceError) return error;
  if (signal.aborted) return signal.reason as Error;
  const password = environment[formatSourceVariable(name, "PASSWORD")] ?? "";
  const { message, name: kind } = error instanceof Error ? error : new Error(String(error));
  const reason = getResultCode(error) === undefined ? message : `${kind.replace(/Error$/, "")}: ${message}`;
  const text = excerptSentences(maskSecrets([password], reason.replace(/\s+/g, " ").trim()), 300).replace(/\.$/, "");
  return new SourceError(`The source ${name} can't be read. ${problem}: ${text}.${adviseOnCertificate(error)}`);
}

function adviseOnCertificate(error: unknown): string {
  if (!UNKNOWN_AUTHORITY_CODES.includes(getErrorCode(error))) return "";
  return " If the certificate is from your company's own authority, set NODE_EXTRA_CA_CERTS to the file of the authority's certificate.";
}
