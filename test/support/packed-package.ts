import { execFile } from "node:child_process";
import { cp, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll } from "vitest";
import { createTestDirectory, type TestDirectory } from "./test-directory";

export const PACKAGE = "pulumi-email-security";

/** The package as published. */
export interface PackedPackage {
  readonly tarball: string;
  readonly version: string;
  /** The paths of its files. */
  readonly files: readonly string[];
  readonly unpackedBytes: number;
}

export type PackageManager = "npm" | "pnpm";

/**
 * Packs a package that is already built, and writes the tarball to a directory.
 *
 * @param source the package's directory. Default: that of this repository's package.
 */
export async function packPackage(destination: string, source = resolve("provider")): Promise<PackedPackage> {
  // The package's own scripts run as before publishing, and their output isn't mixed into the JSON.
  const options = ["--json", "--foreground-scripts=false", `--pack-destination=${destination}`];
  const output = await runNpm(source, "pack", ...options);
  const [packed] = Object.values(
    JSON.parse(output) as Record<
      string,
      { filename: string; version: string; unpackedSize: number; files: { path: string }[] }
    >,
  );
  if (packed === undefined) throw new Error(`npm pack printed no result: ${output}`);
  return {
    tarball: join(destination, packed.filename),
    version: packed.version,
    files: packed.files.map(({ path }) => path),
    unpackedBytes: packed.unpackedSize,
  };
}

/** Packs this repository's package once for all tests of a file. */
export function sharePackage(): () => PackedPackage {
  let directory: TestDirectory;
  let packed: PackedPackage;
  beforeAll(async () => {
    directory = createTestDirectory();
    packed = await packPackage(directory.path);
  });
  afterAll(async () => {
    directory[Symbol.dispose]();
  });
  return () => packed;
}

/**
 * Installs a packed package and its peer dependency as a user would, replacing any other installed release.
 *
 * @param more additional packages, by name.
 */
export async function install(
  directory: string,
  manager: PackageManager,
  packed: PackedPackage,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const dependencies = {
    [PACKAGE]: `file:${packed.tarball}`,
    "@pulumi/pulumi": await readPulumiVersion(),
    ...more,
  };
  await writeManifest(directory, { dependencies });
  if (manager === "npm") await runNpm(directory, "install", "--prefer-offline", "--ignore-scripts");
  else {
    // Without hoisting, a package resolves only its declared dependencies.
    const strict = "--config.hoist=false";
    const asAPerson = ["--ignore-scripts", "--ignore-workspace", "--no-frozen-lockfile"];
    await runPnpm(directory, "install", "--prefer-offline", ...asAPerson, strict);
  }
}

/**
 * Returns the packages that npm installed in a directory only because of this package. Excludes the dependencies of
 * Pulumi and the package itself.
 */
export async function listInstalledPackages(directory: string): Promise<{ packages: string[]; bytes: number }> {
  const lock = await readFile(join(directory, "package-lock.json"), "utf8");
  const { packages } = JSON.parse(lock) as { packages: Record<string, LockedPackage> };
  const pulumiPackages = collectReachable(packages, "node_modules/@pulumi/pulumi");
  const own = `node_modules/${PACKAGE}`;
  const alone = [...collectReachable(packages, own)].filter((path) => path !== own && !pulumiPackages.has(path));
  let bytes = 0;
  for (const path of alone) bytes += await measurePackage(join(directory, path));
  return { packages: alone.map((path) => path.replace(/^.*node_modules\//, "")), bytes };
}

/** A package in npm's lock file. */
interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Returns the places of a package and its transitive dependencies. */
function collectReachable(packages: Readonly<Record<string, LockedPackage>>, from: string, files = new Set<string>()) {
  if (files.has(from)) return files;
  files.add(from);
  const { dependencies, optionalDependencies, peerDependencies } = packages[from] ?? {};
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
    // The nearest one further up, as Node.js resolves it.
    for (let above = from; ; above = above.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, "")) {
      const place = join(above, "node_modules", name);
      if (place in packages) collectReachable(packages, place, files);
      if (place in packages || above === "") break;
    }
  }
  return files;
}

/** Returns a package's size, without the packages nested in it. */
async function measurePackage(directory: string): Promise<number> {
  const sizes = (await readdir(directory, { withFileTypes: true })).map(async (entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? 0 : await measurePackage(path);
    return (await stat(path)).size;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** A program for a directory with installed packages. */
export interface InstalledProgram {
  readonly main: string;
  readonly type: "commonjs" | "module";
  readonly text: string;
}

/** Writes a program and makes it the main program of the project in this directory. */
export async function writeProgram(directory: string, { main, type, text }: InstalledProgram): Promise<void> {
  await writeFile(join(directory, "Pulumi.yaml"), "name: settings\nruntime: nodejs\n");
  await writeFile(join(directory, main), text);
  await writeManifest(directory, { main, type });
}

/** The line that a later release prints whenever it serves a run's resources. */
export const LATER_RELEASE_SERVES = "Release 9.9.9 is at work.";

/**
 * Packs a later release, made from an installed one: all its files are in other places, and it prints a line when it
 * runs. Only the exported names, which users and state may rely on, are the same.
 */
export async function packLaterRelease(installed: string, destination: string): Promise<PackedPackage> {
  using scratch = createTestDirectory();
  const source = join(scratch.path, "package");
  await cp(installed, source, { recursive: true, filter: (path) => basename(path) !== "node_modules" });

  await rename(join(source, "dist"), join(source, "lib"));
  await rename(join(source, "lib", "resources"), join(source, "lib", "serving"));
  for (const file of await readdir(join(source, "lib"), { recursive: true })) {
    if (/\.(js|d\.ts)$/.test(file)) {
      await rewrite(join(source, "lib", file), (text) => text.replace(/(["'](?:\.{1,2}\/)+)resources\b/g, "$1serving"));
    }
  }
  await rewrite(join(source, "package.json"), (text) => {
    const moved = text.replaceAll("dist/resources/", "lib/serving/").replaceAll(/\bdist\b/g, "lib");
    return JSON.stringify({ ...JSON.parse(moved), version: "9.9.9", scripts: {} });
  });
  await rewrite(
    join(source, "lib", "serving", "runtime.js"),
    (text) => `${text}\nprocess.stdout.write(${JSON.stringify(`${LATER_RELEASE_SERVES}\n`)});\n`,
  );
  return await packPackage(destination, source);
}

/** Returns the version of the peer that this repository uses. */
async function readPulumiVersion(): Promise<string> {
  const manifest = await readFile(resolve("node_modules/@pulumi/pulumi/package.json"), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

/** Merges fields into a directory's package.json. */
async function writeManifest(directory: string, fields: Record<string, unknown>): Promise<void> {
  const file = join(directory, "package.json");
  const old = await readFile(file, "utf8").catch(() => '{ "name": "settings", "private": true }');
  await writeFile(file, JSON.stringify({ ...JSON.parse(old), ...fields }, null, 2));
}

async function rewrite(file: string, edit: (text: string) => string): Promise<void> {
  await writeFile(file, edit(await readFile(file, "utf8")));
}

export async function runNpm(directory: string, ...args: string[]): Promise<string> {
  const options = [...args, "--loglevel=error", "--no-audit", "--no-fund", "--no-update-notifier"];
  // Uses the npm that runs the tests, or else the one on PATH.
  const running = process.env["npm_execpath"];
  if (running !== undefined && basename(running) === "npm-cli.js") {
    return await runProgram(directory, process.execPath, [running, ...options]);
  }
  return await runProgram(directory, "npm", options);
}

async function runPnpm(directory: string, ...args: string[]): Promise<string> {
  // pnpm exports only its package.json, so the program is found next to it.
  const program = join(dirname(require.resolve("pnpm")), "bin", "pnpm.cjs");
  return await runProgram(directory, process.execPath, [program, ...args, "--reporter=append-only"]);
}

/** Runs a command in a directory until it exits, and returns its standard output. */
async function runProgram(directory: string, command: string, args: readonly string[]): Promise<string> {
  const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      cwd: directory,
      env: { ...removeScriptVariables(process.env), PATH: path },
      maxBuffer: 64 * 1024 * 1024,
      shell: process.platform === "win32" && command === "npm",
    });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${basename(command)} ${args.join(" ")} failed:\n${stdout}\n${stderr}`, { cause: error });
  }
}

/**
 * Removes the variables with which `npm test` tells its children their package; an installation elsewhere must not see
 * them.
 */
function removeScriptVariables(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const running = /^npm_(package_|lifecycle_|config_(local_prefix|prefix|workspace))|^INIT_CWD$/i;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !running.test(name)));
}
