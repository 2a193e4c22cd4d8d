import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { getCacheDirectory } from "../../provider/engine";
import { createOnce } from "./create-directory-once";

const run = promisify(execFile);

const NO_DIALOGUE = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };

/** A server for the tests, from a package of Debian. */
export interface DebianServer {
  /** The server in messages. */
  readonly label: string;
  readonly packageName: string;
  /** The name of the directory in the cache. */
  readonly cacheName: string;
}

/** Returns the directory with the unpacked packages of a server, whether or not it exists. */
export function getUnpackedDirectory({ cacheName }: DebianServer): string {
  return join(getCacheDirectory(), "test", `${cacheName}-${process.arch}`);
}

/** Installs a package as root, on Debian and its derivatives. Returns whether it did. */
export async function installPackage({ label, packageName }: DebianServer): Promise<boolean> {
  if (!isRoot() || !existsSync("/usr/bin/apt-get")) return false;
  console.log(`${label} for the tests: installing Debian's package with apt-get, because none is installed`);
  try {
    await runWithCurrentLists(() =>
      run("apt-get", ["install", "--yes", "--no-install-recommends", packageName], { env: NO_DIALOGUE }),
    );
    return true;
  } catch (error) {
    console.log(`${label} for the tests: apt-get could not: ${getLastLine(error)}`);
    return false;
  }
}

/**
 * Unpacks a package and the dependencies that aren't installed into the cache directory, without installing them.
 * Returns whether it did.
 */
export async function unpackPackage(server: DebianServer): Promise<boolean> {
  if (!existsSync("/usr/bin/apt-get") || !existsSync("/usr/bin/dpkg")) return false;
  const { label, packageName } = server;
  console.log(
    `${label} for the tests: unpacking Debian's packages into the cache directory, because none is installed`,
  );
  try {
    await createOnce(getUnpackedDirectory(server), async (root) => {
      const archives = join(root, "archives");
      await mkdir(archives);
      await runWithCurrentLists(async () =>
        run("apt-get", ["download", ...(await listNeededPackages(packageName))], { cwd: archives }),
      );
      for (const archive of readdirSync(archives)) await run("dpkg", ["-x", join(archives, archive), root]);
      await rm(archives, { recursive: true });
    });
    return true;
  } catch (error) {
    console.log(`${label} for the tests: the packages could not be downloaded: ${getLastLine(error)}`);
    return false;
  }
}

/** Returns the value of `LD_LIBRARY_PATH` for unpacked programs. */
export function buildLibraryPath(root: string, ...further: readonly string[]): string {
  const libraries = ["usr/lib", "lib"].flatMap((directory) =>
    listPackageNames(join(root, directory), "", /-linux-gnu/).map((triplet) => join(root, directory, triplet)),
  );
  return [...libraries, ...further].join(":");
}

/** Returns the names in a directory, newest version first; empty if the directory doesn't exist. */
export function listPackageNames(directory: string, start = "", pattern = /./): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => name.startsWith(start) && pattern.test(name))
    .sort((a, b) => b.localeCompare(a, undefined, { numeric: true }));
}

/** Updates the lists of packages if an action fails, which needs root, and repeats the action. */
async function runWithCurrentLists(action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!isRoot()) throw error;
    await run("apt-get", ["update"], { env: NO_DIALOGUE });
    await action();
  }
}

/** Returns a package and its dependencies that aren't installed. */
async function listNeededPackages(packageName: string): Promise<string[]> {
  const flags = ["--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"];
  const { stdout: all } = await run("apt-cache", ["depends", "--recurse", ...flags, packageName]);
  const names = [...new Set(all.split("\n").filter((line) => /^\w/.test(line)))];
  if (names.length === 0) throw new Error(`apt knows no package ${packageName}`);
  const { stdout: here } = await run("dpkg", ["--get-selections"]);
  const installed = new Set(
    here
      .split("\n")
      .filter((line) => line.endsWith("\tinstall"))
      .map((line) => line.split(/[:\t]/)[0]),
  );
  return names.filter((name) => !installed.has(name));
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function getLastLine(error: unknown): string {
  const { stderr = "", message } = error as { stderr?: string; message: string };
  return (stderr || message).trim().split("\n").at(-1) ?? "";
}
