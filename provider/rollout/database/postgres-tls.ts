import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { quote } from "../../settings/text";
import { DatabaseError } from "./database-error";

/** A database URL with complete TLS parameters. */
export interface TlsUrl {
  /** `pg` gives the parameters the same meaning as libpq. */
  readonly url: string;
  /** Whether to continue in plain text if the server has no TLS, which `pg` doesn't do by itself. */
  readonly mayBePlain: boolean;
}

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
type Mode = (typeof MODES)[number];

const FILES = { sslrootcert: "root.crt", sslcert: "postgresql.crt", sslkey: "postgresql.key" } as const;

/**
 * Completes a URL with what libpq reads elsewhere: PostgreSQL's environment variables, the files in `~/.postgresql`, and `prefer` as
 * the default mode. Without these, `pg` connects in plain text, or doesn't verify where libpq does.
 *
 * @throws {DatabaseError} for an invalid or contradictory mode.
 */
export function completeTls(url: string, environment: NodeJS.ProcessEnv): TlsUrl {
  const parameters = parametersIn(url);
  const variable = (name: string): string | undefined => environment[`PG${name.toUpperCase()}`] || undefined;
  const read = (name: string): string | undefined => parameters.get(name) || variable(name);
  const root = read("sslrootcert") ?? fileInHome(FILES.sslrootcert);
  const mode = modeOf(parameters, variable("sslmode"), root);
  if (mode === "disable") return { url: withoutTls(url), mayBePlain: false };
  for (const [name, file] of Object.entries(FILES)) {
    const path = read(name) ?? fileInHome(file);
    if (path !== undefined) parameters.set(name, path);
  }
  // Node.js trusts the authorities of the system by default.
  if (root === "system") parameters.delete("sslrootcert");
  parameters.delete("ssl");
  // `pg` lacks `allow`, which differs from `prefer` only in what it tries first.
  parameters.set("sslmode", mode === "allow" ? "prefer" : mode);
  parameters.set("uselibpqcompat", "true");
  return { url: withParameters(url, parameters), mayBePlain: mode === "allow" || mode === "prefer" };
}

/** Returns the same URL for a connection in plain text. */
export function withoutTls(url: string): string {
  const parameters = parametersIn(url);
  for (const name of ["ssl", "uselibpqcompat", ...Object.keys(FILES)]) parameters.delete(name);
  parameters.set("sslmode", "disable");
  return withParameters(url, parameters);
}

function modeOf(parameters: URLSearchParams, byDefault: string | undefined, root: string | undefined): Mode {
  const ssl = parameters.get("ssl");
  if (ssl !== null && ssl !== "true") {
    throw new DatabaseError(
      `The database's URL has ssl=${quote(ssl)}, which PostgreSQL doesn't know. Give sslmode instead: one of ${MODES.join(", ")}.`,
    );
  }
  const mode =
    parameters.get("sslmode") ||
    (ssl === "true" ? "require" : byDefault) ||
    (root === "system" ? "verify-full" : "prefer");
  if (!isMode(mode)) {
    throw new DatabaseError(`The database's sslmode is ${quote(mode)}: give one of ${MODES.join(", ")}.`);
  }
  if (root === "system" && mode !== "verify-full" && mode !== "disable") {
    throw new DatabaseError(
      `The database's sslmode is ${mode} with sslrootcert=system: anybody can have a certificate of those authorities. Give sslmode=verify-full.`,
    );
  }
  return mode;
}

function isMode(text: string): text is Mode {
  return MODES.some((mode) => mode === text);
}

function fileInHome(name: string): string | undefined {
  const file = join(homedir(), ".postgresql", name);
  return existsSync(file) ? file : undefined;
}

function parametersIn(url: string): URLSearchParams {
  const [, query = ""] = url.split(/\?(.*)/s);
  return new URLSearchParams(query);
}

function withParameters(url: string, parameters: URLSearchParams): string {
  const [address = ""] = url.split("?");
  return `${address}?${parameters}`;
}
