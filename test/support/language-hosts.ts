import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { type Dirent, existsSync } from "node:fs";
import { chmod, copyFile, cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { buildGoProgram } from "#scripts/go-program";
import { getCacheDirectory } from "../../provider/engine";
import { withLock } from "../../provider/engine/lock";
import { installPythonPackages } from "./python-packages";

const run = promisify(execFile);

/** A language whose host tests have to build; the engine ships with the host for Node.js. */
export type HostedLanguage = "go" | "java" | "python" | "yaml";

const HOSTS = resolve("test/support/language-hosts");
const SDK = "github.com/pulumi/pulumi/sdk/v3";
/** The directory that pins each host, and its Go package. Newer Go and Python hosts are not published as modules. */
const PROGRAMS = {
  java: {
    // Pinned together with Java's generator, which is part of the same module.
    directory: resolve("scripts/sdk-languages"),
    package: "github.com/pulumi/pulumi-java/pkg/cmd/pulumi-language-java",
  },
  go: { directory: join(HOSTS, "sdk"), package: `${SDK}/go/pulumi-language-go` },
  python: { directory: join(HOSTS, "sdk"), package: `${SDK}/python/cmd/pulumi-language-python` },
  yaml: { directory: join(HOSTS, "yaml"), package: "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml" },
};

/**
 * The environment for building Go programs: without cgo, like the engine's own binaries, and without optimization,
 * which is a third of the cost of a first compilation of Pulumi's SDK.
 */
export const GO_BUILD = {
  CGO_ENABLED: "0",
  GOFLAGS: "-trimpath '-gcflags=all=-N -l -dwarf=false' '-ldflags=-s -w'",
  GOWORK: "off",
} as const;

/**
 * Returns the directory of a language's host, for PATH. The host is kept in the user's cache directory; if it is
 * missing there, building it takes a minute or two for YAML.
 */
export async function buildLanguageHost(language: HostedLanguage): Promise<string> {
  const command = await buildGoProgram({ name: `pulumi-language-${language}`, ...PROGRAMS[language] });
  const directory = dirname(command);
  if (language === "python") await addExecutor(directory);
  return directory;
}

/** Returns the directory with the commands of a Python that has Pulumi's pinned package, for PATH. */
export async function installPulumiPython(): Promise<string> {
  return await installPythonPackages("pulumi-python", join(HOSTS, "python-requirements.txt"));
}

/**
 * Installs a Python package without its dependencies.
 *
 * @param python the directory with Python's commands
 * @param source the package's directory; nothing is written there
 * @param target a new directory, for PYTHONPATH
 */
export async function installPython(python: string, source: string, target: string): Promise<void> {
  const copy = `${target}.source`;
  await cp(source, copy, { recursive: true });
  const offline = ["--no-index", "--no-deps", "--no-build-isolation"];
  await run(join(python, "python"), ["-m", "pip", "install", "--quiet", ...offline, "--target", target, copy]);
}

/**
 * Builds the SDK for Java and installs it in Maven's repository, unless this exact version is already there.
 *
 * @returns the environment in which Maven finds it.
 */
export async function installJava(): Promise<{ MAVEN_OPTS: string }> {
  const source = resolve("sdk/java");
  const digest = createHash("sha256");
  for (const entry of (await readdir(source, { recursive: true, withFileTypes: true })).sort(comparePaths)) {
    if (entry.isFile()) digest.update(await readFile(join(entry.parentPath, entry.name))).update("\0");
  }
  const repository = join(getCacheDirectory(), "test", "maven");
  const environment = { MAVEN_OPTS: `-Dmaven.repo.local=${repository}` };
  const installed = join(repository, "email-security.digest");
  const expectedHash = digest.digest("hex");
  await mkdir(dirname(repository), { recursive: true });
  // Test files run in parallel.
  await withLock(`${repository}.lock`, async () => {
    if (existsSync(installed) && (await readFile(installed, "utf8")) === expectedHash) return;
    // Removes all other versions, which a program might resolve instead.
    await rm(join(repository, "io", "github"), { recursive: true, force: true });
    const copy = `${repository}.source`;
    await rm(copy, { recursive: true, force: true });
    await cp(source, copy, { recursive: true });
    await run("mvn", ["--quiet", "--batch-mode", "--no-transfer-progress", "install"], {
      cwd: copy,
      env: { ...process.env, ...environment },
      shell: process.platform === "win32",
    });
    await rm(copy, { recursive: true });
    await writeFile(installed, expectedHash);
  });
  return environment;
}

function comparePaths(a: Dirent, b: Dirent): number {
  return join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1;
}

/** Returns a PATH with these directories first, then that of the Node.js which runs the tests. */
export function prependToPath(...directories: string[]): { PATH: string } {
  return { PATH: [...directories, dirname(process.execPath), process.env["PATH"]].join(delimiter) };
}

/** Returns the reason why programs in a language can't run on this machine; undefined if they can. */
export function findMissingToolchain(language: HostedLanguage): string | undefined {
  if (spawnSync("go", ["version"]).status !== 0) return "there is no Go, which builds the language host";
  const script = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))";
  if (language === "python" && spawnSync("python3", ["-c", script]).status !== 0) {
    return "there is no Python 3.9 or later with venv";
  }
  if (language === "java" && spawnSync("mvn", ["--version"]).status !== 0) {
    return "there is no Maven, which builds and runs the program";
  }
  return undefined;
}

/**
 * Python's host runs programs through a script next to it, which the current release of Pulumi's SDK module still
 * contains.
 */
async function addExecutor(directory: string): Promise<void> {
  const name = "pulumi-language-python-exec";
  const target = join(directory, name);
  if (existsSync(target)) return;
  const { stdout } = await run("go", ["mod", "download", "-json", SDK], {
    cwd: resolve("scripts/engine/cli"),
    env: { ...process.env, GOFLAGS: "", GOWORK: "off" },
  });
  const { Dir } = JSON.parse(stdout) as { Dir: string };
  const unfinished = `${target}.${process.pid}`;
  await copyFile(join(Dir, "python", "cmd", name), unfinished);
  await chmod(unfinished, 0o755);
  await rename(unfinished, target);
}
