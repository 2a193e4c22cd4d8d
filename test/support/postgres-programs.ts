import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { getCacheDirectory } from "../../provider/engine";
import { createOnce } from "./cached-directory";

const run = promisify(execFile);

/** The programs of a PostgreSQL server, and the environment for running them. */
export interface PostgresPrograms {
  /** The directory with `initdb`, `postgres` and `psql`. */
  readonly directory: string;
  /** Additional environment variables for them, such as the path of their libraries. */
  readonly environment: NodeJS.ProcessEnv;
}

const REQUIRED_PROGRAMS = ["initdb", "postgres", "psql"];

/**
 * Finds the programs of a PostgreSQL server: on PATH, where Debian or Homebrew installs them, or in the user's cache
 * directory. If there are none, installs Debian's packages when run as root; otherwise, unpacks them into the cache
 * directory.
 *
 * @throws Error if the programs can't be found or installed; the message says what to install.
 */
export async function findOrInstallPostgres(): Promise<PostgresPrograms> {
  return findInstalled() ?? findUnpacked() ?? (await installPackages()) ?? (await downloadPackages()) ?? throwMissing();
}

function findInstalled(): PostgresPrograms | undefined {
  const directory = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...listNames("/usr/lib/postgresql").map((version) => join("/usr/lib/postgresql", version, "bin")),
    ...["/opt/homebrew/opt", "/usr/local/opt"].flatMap((prefix) =>
      listNames(prefix, "postgresql").map((name) => join(prefix, name, "bin")),
    ),
  ].find((candidate) => candidate !== "" && isComplete(candidate));
  return directory === undefined ? undefined : { directory, environment: {} };
}

/** Installs the packages as root, on Debian and its derivatives. */
async function installPackages(): Promise<PostgresPrograms | undefined> {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return undefined;
  console.log("PostgreSQL for the tests: installing Debian's package with apt-get, because none is installed");
  const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const install = () =>
    run("apt-get", ["install", "--yes", "--no-install-recommends", "postgresql"], { env: environment });
  try {
    await install().catch(async () => {
      await run("apt-get", ["update"], { env: environment });
      await install();
    });
  } catch (error) {
    console.log(`PostgreSQL for the tests: apt-get could not: ${lastLine(error)}`);
    return undefined;
  }
  return findInstalled();
}

/** Returns the programs that {@link downloadPackages} left in an earlier run. */
function findUnpacked(): PostgresPrograms | undefined {
  const root = getUnpackDirectory();
  const base = join(root, "usr", "lib", "postgresql");
  const directory = listNames(base)
    .map((version) => join(base, version, "bin"))
    .find(isComplete);
  if (directory === undefined) return undefined;
  const triplets = listNames(join(root, "usr", "lib"), "", /-linux-gnu/);
  const libraries = [...triplets.map((triplet) => join(root, "usr", "lib", triplet)), join(dirname(directory), "lib")];
  return { directory, environment: { LD_LIBRARY_PATH: libraries.join(":") } };
}

/** Unpacks Debian's packages without installing them, for users who aren't root. */
async function downloadPackages(): Promise<PostgresPrograms | undefined> {
  if (!existsSync("/usr/bin/apt-get") || !existsSync("/usr/bin/dpkg")) return undefined;
  console.log(
    "PostgreSQL for the tests: unpacking Debian's packages into the cache directory, because none is installed",
  );
  try {
    await createOnce(getUnpackDirectory(), async (root) => {
      const archives = join(root, "archives");
      await mkdir(archives);
      await run("apt-get", ["download", ...(await neededPackages())], { cwd: archives });
      for (const archive of readdirSync(archives)) await run("dpkg", ["-x", join(archives, archive), root]);
      await rm(archives, { recursive: true });
    });
  } catch (error) {
    console.log(`PostgreSQL for the tests: the packages could not be downloaded: ${lastLine(error)}`);
    return undefined;
  }
  return findUnpacked();
}

/** Returns the server's package and its dependencies that aren't installed. */
async function neededPackages(): Promise<string[]> {
  const { stdout: candidates } = await run("apt-cache", ["depends", "--no-recommends", "--no-suggests", "postgresql"]);
  const server = /Depends: (postgresql-\d+)/.exec(candidates)?.[1];
  if (server === undefined) throw new Error("apt knows no package postgresql");
  const flags = ["--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"];
  const { stdout: all } = await run("apt-cache", ["depends", "--recurse", ...flags, server]);
  const names = [...new Set(all.split("\n").filter((line) => /^\w/.test(line)))];
  const { stdout: installedText } = await run("dpkg", ["--get-selections"]);
  const installed = new Set(
    installedText
      .split("\n")
      .filter((line) => line.endsWith("\tinstall"))
      .map((line) => line.split(/[:\t]/)[0]),
  );
  return names.filter((name) => !installed.has(name));
}

function throwMissing(): never {
  throw new Error(
    "These tests need a PostgreSQL server (14 or newer), and there is none on PATH, in /usr/lib/postgresql or from Homebrew. " +
      "Install it: `apt-get install postgresql` on Debian and Ubuntu, `brew install postgresql@17` on macOS.",
  );
}

function getUnpackDirectory(): string {
  return join(getCacheDirectory(), "test", `postgresql-${process.arch}`);
}

function isComplete(directory: string): boolean {
  return REQUIRED_PROGRAMS.every((program) => existsSync(join(directory, program)));
}

/** Returns the names in a directory, newest version first; empty if the directory doesn't exist. */
function listNames(directory: string, start = "", pattern = /./): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => name.startsWith(start) && pattern.test(name))
    .sort((a, b) => b.localeCompare(a, undefined, { numeric: true }));
}

function lastLine(error: unknown): string {
  const { stderr = "", message } = error as { stderr?: string; message: string };
  return (stderr || message).trim().split("\n").at(-1) ?? "";
}
