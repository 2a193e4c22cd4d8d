import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, copyFile, cp, rename } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { goProgram } from "#scripts/go-program";
import { pythonPackages } from "./python-packages";

const run = promisify(execFile);

/** A language that the engine runs programs in by a host that tests build; for Node.js it has its own. */
export type HostedLanguage = "go" | "python" | "yaml";

const HOSTS = resolve("test/support/language-hosts");
const SDK = "github.com/pulumi/pulumi/sdk/v3";
/** Where each host is pinned. The later ones for Go and Python are not published as modules. */
const PROGRAMS = {
  go: { folder: join(HOSTS, "sdk"), package: `${SDK}/go/pulumi-language-go` },
  python: { folder: join(HOSTS, "sdk"), package: `${SDK}/python/cmd/pulumi-language-python` },
  yaml: { folder: join(HOSTS, "yaml"), package: "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml" },
};

/**
 * The folder of a language's host, to be put on PATH: from the user's cache folder; built, the one for YAML in a minute or
 * two, where it isn't there yet.
 */
export async function languageHost(language: HostedLanguage): Promise<string> {
  const command = await goProgram({ name: `pulumi-language-${language}`, ...PROGRAMS[language] });
  const folder = dirname(command);
  if (language === "python") await addExecutor(folder);
  return folder;
}

/** A Python with Pulumi's package, as pinned: the folder with its commands, to be put on PATH. */
export async function pulumiPython(): Promise<string> {
  return await pythonPackages("pulumi-python", join(HOSTS, "python-requirements.txt"));
}

/**
 * Installs a Python package, without what it depends on.
 *
 * @param python the folder with Python's commands
 * @param source the package's folder; nothing is written there
 * @param target a new folder, for PYTHONPATH
 */
export async function installPython(python: string, source: string, target: string): Promise<void> {
  const copy = `${target}.source`;
  await cp(source, copy, { recursive: true });
  const offline = ["--no-index", "--no-deps", "--no-build-isolation"];
  await run(join(python, "python"), [
    "-m",
    "pip",
    "install",
    "--quiet",
    ...offline,
    "--target",
    target,
    copy,
  ]);
}

/** PATH with these folders before all others, then that of the Node.js which runs the tests. */
export function pathWith(...folders: string[]): { PATH: string } {
  return { PATH: [...folders, dirname(process.execPath), process.env["PATH"]].join(delimiter) };
}

/** Why programs in a language can't be run on this machine; undefined when they can. */
export function missingToolchain(language: HostedLanguage): string | undefined {
  if (spawnSync("go", ["version"]).status !== 0) return "there is no Go, which builds the language host";
  const script = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))";
  if (language === "python" && spawnSync("python3", ["-c", script]).status !== 0) {
    return "there is no Python 3.9 or later with venv";
  }
  return undefined;
}

/** Python's host runs programs by a script beside it, which the module of Pulumi's SDK still has in today's release. */
async function addExecutor(folder: string): Promise<void> {
  const name = "pulumi-language-python-exec";
  const target = join(folder, name);
  if (existsSync(target)) return;
  const { stdout } = await run("go", ["mod", "download", "-json", SDK], {
    cwd: resolve("provider/engine/cli"),
    env: { ...process.env, GOFLAGS: "", GOWORK: "off" },
  });
  const { Dir } = JSON.parse(stdout) as { Dir: string };
  const unfinished = `${target}.${process.pid}`;
  await copyFile(join(Dir, "python", "cmd", name), unfinished);
  await chmod(unfinished, 0o755);
  await rename(unfinished, target);
}
