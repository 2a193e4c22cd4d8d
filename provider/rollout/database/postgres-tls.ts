import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { quote } from "../../model/text";
import { DatabaseError } from "./database-error";

export interface TlsUrl {
  /** `pg` gives the parameters the same meaning as libpq. */
  readonly url: string;
  /** Whether to continue in plain text if the server has no TLS, which `pg` doesn't do by itself. */
  readonly isPlaintextAllowed: boolean;
}

const SSL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
type SslMode = (typeof SSL_MODES)[number];

const DEFAULT_FILE_NAMES = {
  sslrootcert: "root.crt",
  sslcert: "postgresql.crt",
  sslkey: "postgresql.key",
} as const;

/**
 * Completes a URL with what libpq reads elsewhere: PostgreSQL's environment variables, the files in `~/.postgresql`, and `prefer` as
 * the default mode. Without these, `pg` connects in plain text, or doesn't verify where libpq does.
 *
 * @throws {DatabaseError} for an invalid or contradictory mode.
 */
export function addTlsParameters(url: string, environment: NodeJS.ProcessEnv): TlsUrl {
  const parameters = parseParameters(url);
  const getVariable = (name: string): string | undefined => environment[`PG${name.toUpperCase()}`] || undefined;
  const getSetting = (name: string): string | undefined => parameters.get(name) || getVariable(name);
  const rootCertificate = getSetting("sslrootcert") ?? findFileInHome(DEFAULT_FILE_NAMES.sslrootcert);
  const mode = resolveSslMode(parameters, getVariable("sslmode"), rootCertificate);
  if (mode === "disable") return { url: disableTls(url), isPlaintextAllowed: false };
  for (const [name, file] of Object.entries(DEFAULT_FILE_NAMES)) {
    const path = getSetting(name) ?? findFileInHome(file);
    if (path !== undefined) parameters.set(name, path);
  }
  // Node.js trusts the authorities of the system by default.
  if (rootCertificate === "system") parameters.delete("sslrootcert");
  parameters.delete("ssl");
  // `pg` lacks `allow`, which differs from `prefer` only in what it tries first.
  parameters.set("sslmode", mode === "allow" ? "prefer" : mode);
  parameters.set("uselibpqcompat", "true");
  return { url: setUrlParameters(url, parameters), isPlaintextAllowed: mode === "allow" || mode === "prefer" };
}

export function disableTls(url: string): string {
  const parameters = parseParameters(url);
  for (const name of ["ssl", "uselibpqcompat", ...Object.keys(DEFAULT_FILE_NAMES)]) parameters.delete(name);
  parameters.set("sslmode", "disable");
  return setUrlParameters(url, parameters);
}

function resolveSslMode(
  parameters: URLSearchParams,
  defaultMode: string | undefined,
  rootCertificate: string | undefined,
): SslMode {
  const ssl = parameters.get("ssl");
  if (ssl !== null && ssl !== "true") {
    throw new DatabaseError(
      `The database URL has ssl=${quote(ssl)}, which PostgreSQL doesn't support. Set sslmode instead, to one of ${SSL_MODES.join(", ")}.`,
    );
  }
  const mode =
    parameters.get("sslmode") ||
    (ssl === "true" ? "require" : defaultMode) ||
    (rootCertificate === "system" ? "verify-full" : "prefer");
  if (!isSslMode(mode)) {
    throw new DatabaseError(
      `The sslmode of the database URL is ${quote(mode)}, which is invalid. Use one of ${SSL_MODES.join(", ")}.`,
    );
  }
  if (rootCertificate === "system" && mode !== "verify-full" && mode !== "disable") {
    throw new DatabaseError(
      `The database URL has sslmode=${mode} with sslrootcert=system: anyone can get a certificate from those authorities. Set sslmode=verify-full.`,
    );
  }
  return mode;
}

function isSslMode(text: string): text is SslMode {
  return SSL_MODES.some((mode) => mode === text);
}

function findFileInHome(name: string): string | undefined {
  const file = join(homedir(), ".postgresql", name);
  return existsSync(file) ? file : undefined;
}

function parseParameters(url: string): URLSearchParams {
  const [, query = ""] = url.split(/\?(.*)/s);
  return new URLSearchParams(query);
}

function setUrlParameters(url: string, parameters: URLSearchParams): string {
  const [address = ""] = url.split("?");
  return `${address}?${parameters}`;
}
