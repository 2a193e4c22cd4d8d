import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import {
  buildLibraryPath,
  type DebianServer,
  getUnpackedDirectory,
  installPackage,
  listPackageNames,
  unpackPackage,
} from "./debian-packages";

/** The programs of a PostgreSQL server, and the environment for running them. */
export interface PostgresPrograms {
  /** The directory with `initdb`, `postgres` and `psql`. */
  readonly directory: string;
  /** Additional environment variables for them, such as the path of their libraries. */
  readonly environment: NodeJS.ProcessEnv;
}

const REQUIRED_PROGRAMS = ["initdb", "postgres", "psql"];
const SERVER: DebianServer = { label: "PostgreSQL", packageName: "postgresql", cacheName: "postgresql" };

/**
 * Finds the programs of a PostgreSQL server: on PATH, where Debian or Homebrew installs them, or in the user's cache
 * directory. If there are none, installs Debian's packages when run as root; otherwise, unpacks them into the cache
 * directory.
 *
 * @throws Error if the programs can't be found or installed; the message says what to install.
 */
export async function findOrInstallPostgres(): Promise<PostgresPrograms> {
  const programs = findInstalled() ?? findUnpacked();
  if (programs !== undefined) return programs;
  if (await installPackage(SERVER)) return findInstalled() ?? throwMissing();
  if (await unpackPackage(SERVER)) return findUnpacked() ?? throwMissing();
  return throwMissing();
}

function findInstalled(): PostgresPrograms | undefined {
  const directory = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...listPackageNames("/usr/lib/postgresql").map((version) => join("/usr/lib/postgresql", version, "bin")),
    ...["/opt/homebrew/opt", "/usr/local/opt"].flatMap((prefix) =>
      listPackageNames(prefix, "postgresql").map((name) => join(prefix, name, "bin")),
    ),
  ].find((candidate) => candidate !== "" && isComplete(candidate));
  return directory === undefined ? undefined : { directory, environment: {} };
}

/** Returns the programs that an earlier run has unpacked. */
function findUnpacked(): PostgresPrograms | undefined {
  const root = getUnpackedDirectory(SERVER);
  const base = join(root, "usr", "lib", "postgresql");
  const directory = listPackageNames(base)
    .map((version) => join(base, version, "bin"))
    .find(isComplete);
  if (directory === undefined) return undefined;
  return { directory, environment: { LD_LIBRARY_PATH: buildLibraryPath(root, join(dirname(directory), "lib")) } };
}

function throwMissing(): never {
  throw new Error(
    "These tests need a PostgreSQL server (14 or newer), and there is none on PATH, in /usr/lib/postgresql or from Homebrew. " +
      "Install it: `apt-get install postgresql` on Debian and Ubuntu, `brew install postgresql@17` on macOS.",
  );
}

function isComplete(directory: string): boolean {
  return REQUIRED_PROGRAMS.every((program) => existsSync(join(directory, program)));
}
