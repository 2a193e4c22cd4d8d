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
import { minimalEnv } from "../machine/child-environment";
import { describeRunFailure, runCommand } from "./run-command";
import { formatVersion, isAtLeast, parseVersion, type SemanticVersion } from "./version";

/** Where a Pulumi CLI is installed: on PATH, where Pulumi's installer puts it, or in this package's cache. */
export type EngineSource = "path" | "pulumi-home" | "cache";

/** The oldest CLI that is used. */
export const MINIMUM_VERSION: SemanticVersion = [3, 200, 0];

/** A Pulumi CLI that can be used. */
export interface InstalledEngine {
  readonly source: EngineSource;
  /** The absolute path of the `pulumi` program. */
  readonly command: string;
  /** As in `3.259.0`. */
  readonly version: string;
}

/** What a search found: an engine, or why each candidate can't be used. */
export type EngineSearchResult = InstalledEngine | { readonly reasons: readonly string[] };

/** Where and how to search. */
export interface EngineSearchContext {
  readonly env: NodeJS.ProcessEnv;
  /** The directory of engines in our cache; may not exist yet. */
  readonly engineDirectory: string;
  readonly log: (line: string) => void;
}

const VERSION_TIMEOUT_MS = 15_000;
const LOG_DELAY_MS = 2_000;

/** Below this a `pulumi` is a shim or a script, whose version may change while its file doesn't. */
const MIN_PROGRAM_BYTES = 1_000_000;

/** What a program in Node.js needs beside the CLI; Pulumi's own downloads hold both. */
const COMPANION_PROGRAMS = ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"];

/** The file that only a finished installation in our cache holds. */
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
    const version = await checkEngine(command, context);
    if (typeof version !== "string") return { source, command, version: formatVersion(version) };
    reasons.push(version);
  }
  return findNewestCached(context.engineDirectory) ?? { reasons };
}

/** Pulumi's own directory: `PULUMI_HOME`, else `.pulumi` in the user's home directory. */
export function getPulumiHome(env: NodeJS.ProcessEnv): string {
  return env["PULUMI_HOME"] || join(env["HOME"] || env["USERPROFILE"] || homedir(), ".pulumi");
}

/** The directory of one version in our cache: the programs are in its `bin`. */
export function getInstallationName(version: string): string {
  return `${version}-${process.platform}-${process.arch}`;
}

/** The file name of a program on this platform. */
export function getProgramFileName(name: string): string {
  return process.platform === "win32" ? `${name}.exe` : name;
}

/** The newest finished installation in our cache; undefined without one. */
function findNewestCached(engineDirectory: string): InstalledEngine | undefined {
  return listDirectories(engineDirectory)
    .flatMap((name) => {
      const version = parseVersion(name);
      return version !== undefined && name === getInstallationName(formatVersion(version)) ? [version] : [];
    })
    .filter((version) => isAtLeast(version, MINIMUM_VERSION))
    .sort((one, other) => (isAtLeast(one, other) ? -1 : 1))
    .map((version) => findCachedEngine(engineDirectory, formatVersion(version)))
    .find((engine) => engine !== undefined);
}

/** The finished installation of a version in our cache; undefined without one. */
export function findCachedEngine(engineDirectory: string, version: string): InstalledEngine | undefined {
  const directory = join(engineDirectory, getInstallationName(version));
  const command = join(directory, "bin", getProgramFileName("pulumi"));
  const isFinished = isProgram(command) && readJson(join(directory, ENGINE_MANIFEST)) !== undefined;
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
 * All programs of that name on PATH, in order, as absolute paths.
 *
 * @param name without an extension; on Windows `.exe` and `.cmd` are tried
 */
export function findOnPath(name: string, env: NodeJS.ProcessEnv): string[] {
  const directories = (env[getPathKey(env)] ?? "").split(delimiter).filter(isAbsolute);
  return findProgramFiles([...new Set(directories)], name);
}

/** What `PATH` is called in an environment: on Windows mostly `Path`. */
export function getPathKey(env: NodeJS.ProcessEnv): string {
  return Object.keys(env).find((key) => key.toUpperCase() === "PATH") ?? "PATH";
}

/** The programs of a name in these folders, in order, with the extensions that Windows wants. */
export function findProgramFiles(directories: readonly string[], name: string): string[] {
  const extensions = process.platform === "win32" ? [".exe", ".cmd"] : [""];
  return directories
    .flatMap((directory) => extensions.map((extension) => join(directory, name + extension)))
    .filter(isProgram);
}

/** The version of a CLI, or why it can't be used. */
async function checkEngine(command: string, context: EngineSearchContext): Promise<SemanticVersion | string> {
  const text = await readEngineVersion(command, context);
  const version = parseVersion(text);
  if (!version) return `${command}: \`pulumi version\` gave ${text}`;
  if (!isAtLeast(version, MINIMUM_VERSION)) {
    return `${command} is ${formatVersion(version)}, older than ${formatVersion(MINIMUM_VERSION)}`;
  }
  const programDirectories = [dirname(command), dirname(realpathSync(command))];
  const missing = COMPANION_PROGRAMS.filter(
    (name) => findProgramFiles(programDirectories, name).length === 0 && findOnPath(name, context.env).length === 0,
  );
  if (missing.length > 0) return `${command} has no ${missing.join(" and no ")} beside it or on PATH`;
  return version;
}

/** What `pulumi version` prints, remembered for as long as the program stays the same file. */
async function readEngineVersion(command: string, { env, engineDirectory, log }: EngineSearchContext): Promise<string> {
  const { mtimeMs, size } = statSync(command);
  const identity = `${realpathSync(command)} ${mtimeMs} ${size}`;
  const cacheFile = join(engineDirectory, "path.json");
  const cached = readJson(cacheFile) as CachedVersion | undefined;
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

function readJson(path: string): unknown {
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
    // Only speed is lost, as in a home that can't be written.
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
