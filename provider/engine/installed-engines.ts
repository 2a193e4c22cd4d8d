import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { minimalEnv } from "../system/child-environment";
import { describeRunFailure, runCommand } from "./run-command";
import { formatVersion, isAtLeast, parseVersion, type SemanticVersion } from "./version";

/**
 * The location of an installed Pulumi CLI: on PATH, in the directory of Pulumi's installer, or in this package's cache.
 */
export type EngineSource = "path" | "pulumi-home" | "cache";

/** The minimum version of the CLI. */
export const MINIMUM_VERSION: SemanticVersion = [3, 200, 0];

export interface InstalledEngine {
  readonly source: EngineSource;
  /** The absolute path of the `pulumi` program. */
  readonly command: string;
  /** As in `3.259.0`. */
  readonly version: string;
}

/** The result of a search: an engine, or the reasons why each candidate can't be used. */
export type EngineSearchResult = InstalledEngine | { readonly reasons: readonly string[] };

export interface EngineSearchContext {
  readonly env: NodeJS.ProcessEnv;
  /** The directory of engines in our cache; may not exist yet. */
  readonly engineDirectory: string;
  readonly log: (line: string) => void;
}

const VERSION_TIMEOUT_MS = 15_000;
const LOG_DELAY_MS = 2_000;

/** A smaller `pulumi` is a shim or a script, whose version may change while its file doesn't. */
const MIN_PROGRAM_BYTES = 1_000_000;

/** The programs that a Node.js program needs in addition to the CLI; Pulumi's own downloads contain both. */
const COMPANION_PROGRAMS = ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"];

/** The file that only a complete installation in our cache contains. */
export const ENGINE_MANIFEST = "engine.json";

/** Searches for the first Pulumi CLI that is new enough and has its Node.js host. */
export async function searchEngine(context: EngineSearchContext): Promise<EngineSearchResult> {
  const reasons: string[] = [];
  const candidates = [
    ...findOnPath("pulumi", context.env).map((command) => ({ source: "path" as const, command })),
    ...findProgramFiles([join(getPulumiHome(context.env), "bin")], "pulumi").map((command) => ({
      source: "pulumi-home" as const,
      command,
    })),
  ];
  for (const { source, command } of candidates) {
    const version = await readUsableVersion(command, context);
    if (typeof version !== "string") return { source, command, version: formatVersion(version) };
    reasons.push(version);
  }
  return findNewestCached(context.engineDirectory) ?? { reasons };
}

/** Returns Pulumi's own directory: `PULUMI_HOME`, else `.pulumi` in the user's home directory. */
export function getPulumiHome(env: NodeJS.ProcessEnv): string {
  return env["PULUMI_HOME"] || join(env["HOME"] || env["USERPROFILE"] || homedir(), ".pulumi");
}

/** Returns the directory name of a version in our cache. The programs are in its `bin`. */
export function getInstallationName(version: string): string {
  return `${version}-${process.platform}-${process.arch}`;
}

export function getProgramFileName(name: string): string {
  return process.platform === "win32" ? `${name}.exe` : name;
}

/** Returns the newest complete installation in our cache; undefined if there is none. */
function findNewestCached(engineDirectory: string): InstalledEngine | undefined {
  return listDirectories(engineDirectory)
    .flatMap((name) => {
      const version = parseVersion(name);
      return version !== undefined && name === getInstallationName(formatVersion(version)) ? [version] : [];
    })
    .filter((version) => isAtLeast(version, MINIMUM_VERSION))
    .sort((a, b) => (isAtLeast(a, b) ? -1 : 1))
    .map((version) => findCachedEngine(engineDirectory, formatVersion(version)))
    .find((engine) => engine !== undefined);
}

/** Returns the complete installation of a version in our cache; undefined if there is none. */
export function findCachedEngine(engineDirectory: string, version: string): InstalledEngine | undefined {
  const directory = join(engineDirectory, getInstallationName(version));
  const command = join(directory, "bin", getProgramFileName("pulumi"));
  const isFinished = isProgram(command) && readOptionalJson(join(directory, ENGINE_MANIFEST)) !== undefined;
  return isFinished ? { source: "cache", command, version } : undefined;
}

function listDirectories(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/**
 * Returns all programs of that name on PATH, in order, as absolute paths.
 *
 * @param name without an extension; on Windows, `.exe` and `.cmd` are added.
 */
export function findOnPath(name: string, env: NodeJS.ProcessEnv): string[] {
  const directories = (env[getPathKey(env)] ?? "").split(delimiter).filter(isAbsolute);
  return findProgramFiles([...new Set(directories)], name);
}

/** Returns the name of the `PATH` variable in an environment: on Windows usually `Path`. */
export function getPathKey(env: NodeJS.ProcessEnv): string {
  return Object.keys(env).find((key) => key.toUpperCase() === "PATH") ?? "PATH";
}

/** Returns the programs of a name in these directories, in order, with the platform's extensions. */
export function findProgramFiles(directories: readonly string[], name: string): string[] {
  const extensions = process.platform === "win32" ? [".exe", ".cmd"] : [""];
  return directories
    .flatMap((directory) => extensions.map((extension) => join(directory, name + extension)))
    .filter(isProgram);
}

/** Returns the version of a CLI, or the reason why it can't be used. */
async function readUsableVersion(command: string, context: EngineSearchContext): Promise<SemanticVersion | string> {
  const text = await readEngineVersion(command, context);
  const version = parseVersion(text);
  if (!version) return `${command}: \`pulumi version\` printed ${text}`;
  if (!isAtLeast(version, MINIMUM_VERSION)) {
    return `${command} is ${formatVersion(version)}, older than ${formatVersion(MINIMUM_VERSION)}`;
  }
  const programDirectories = [dirname(command), dirname(realpathSync(command))];
  const missing = COMPANION_PROGRAMS.filter(
    (name) => findProgramFiles(programDirectories, name).length === 0 && findOnPath(name, context.env).length === 0,
  );
  if (missing.length > 0) return `${command} has no ${missing.join(" and no ")} next to it or on PATH`;
  return version;
}

/** Returns the output of `pulumi version`, cached until the program file changes. */
async function readEngineVersion(command: string, { env, engineDirectory, log }: EngineSearchContext): Promise<string> {
  const { mtimeMs, size } = statSync(command);
  const identity = `${realpathSync(command)} ${mtimeMs} ${size}`;
  const cacheFile = join(engineDirectory, "path.json");
  const cached = readOptionalJson(cacheFile) as CachedVersion | undefined;
  if (cached?.identity === identity) return cached.version;

  const timer = setTimeout(() => log(`Waiting for the version of ${command} ...`), LOG_DELAY_MS);
  const result = await runCommand(command, ["version"], {
    env: { ...minimalEnv(env), PULUMI_SKIP_UPDATE_CHECK: "true" },
    timeoutMs: VERSION_TIMEOUT_MS,
  });
  clearTimeout(timer);
  if (result.exitCode !== 0) return describeRunFailure(result);
  const version = result.stdout.trim();
  if (size >= MIN_PROGRAM_BYTES && parseVersion(version)) writeCachedVersion(cacheFile, { identity, version });
  return version;
}

interface CachedVersion {
  readonly identity: string;
  readonly version: string;
}

function readOptionalJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

function writeCachedVersion(path: string, cachedVersion: CachedVersion): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.${process.pid}`, JSON.stringify(cachedVersion));
    renameSync(`${path}.${process.pid}`, path);
  } catch {
    // Without the cache, for example in a read-only home directory, only speed is lost.
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
