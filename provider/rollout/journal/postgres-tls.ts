import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ConnectionOptions } from "node:tls";
import { readPlainFile } from "../../machine/plain-file";
import { quote } from "../../settings/text";
import { DatabaseError } from "./database-error";

/** How a connection is encrypted. */
export interface Tls {
  /** As `pg` takes it. */
  readonly ssl: false | ConnectionOptions;
  /** Whether it goes on in plain text where the server says that it has no TLS. */
  readonly mayBePlain: boolean;
}

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
type Mode = (typeof MODES)[number];

/** What of an address is read here, and not by `pg`, to which some of it means something else. */
export const TLS_PARAMETERS = ["sslmode", "ssl", "sslrootcert", "sslcert", "sslkey", "uselibpqcompat"];

/**
 * What an address, and else PostgreSQL's environment variables, say of TLS, as PostgreSQL's own programs read it; where nobody
 * says anything, `prefer`: with TLS where the server has it, whoever that is. `allow` is the same here.
 *
 * @throws {DatabaseError} when a file can't be read, or what is said contradicts itself.
 */
export function tlsOf(parameters: URLSearchParams, environment: NodeJS.ProcessEnv): Tls {
  const said = (name: string): string | undefined =>
    parameters.get(name) || environment[`PG${name.toUpperCase()}`] || undefined;
  const root = said("sslrootcert") ?? own("root.crt");
  const mode = modeOf(parameters, said("sslmode"), root);
  if (mode === "disable") return { ssl: false, mayBePlain: false };
  const certificate = said("sslcert") ?? own("postgresql.crt");
  const key = said("sslkey") ?? own("postgresql.key");
  const client = {
    ...(certificate === undefined ? {} : { cert: read(certificate) }),
    ...(certificate === undefined || key === undefined ? {} : { key: read(key) }),
  };
  if (mode === "allow" || mode === "prefer") {
    return { ssl: { ...client, rejectUnauthorized: false }, mayBePlain: true };
  }
  // Without a file, those that Node.js trusts.
  const authorities = root === undefined || root === "system" ? {} : { ca: read(root) };
  if (mode === "verify-full") return { ssl: { ...client, ...authorities }, mayBePlain: false };
  if (root === undefined && mode === "verify-ca") {
    throw new DatabaseError(
      "sslmode=verify-ca needs the certificate of the authority: &sslrootcert=<file>. With the authorities that everybody trusts, sslmode=verify-full, which also looks at the server's name.",
    );
  }
  // That of an authority makes `require` look whether the server's is of it.
  const isVerified = root !== undefined;
  return {
    ssl: { ...client, ...authorities, rejectUnauthorized: isVerified, checkServerIdentity: () => undefined },
    mayBePlain: false,
  };
}

function modeOf(parameters: URLSearchParams, said: string | undefined, root: string | undefined): Mode {
  const old = parameters.get("ssl");
  const byOld = old === null ? undefined : /^(true|1)$/.test(old) ? "require" : "disable";
  const mode = (parameters.get("sslmode") || byOld) ?? said ?? (root === "system" ? "verify-full" : "prefer");
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

/** A file where PostgreSQL's own programs look for it. */
function own(name: string): string | undefined {
  const file = join(homedir(), ".postgresql", name);
  return existsSync(file) ? file : undefined;
}

function read(file: string): Buffer {
  try {
    return readPlainFile(file);
  } catch (cause) {
    throw new DatabaseError(
      `The database's URL can't be used: ${quote(file, 300)} can't be read: ${(cause as Error).message}`,
      { cause },
    );
  }
}
