import {
  accessSync,
  constants,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { leanEnvironment } from "../machine/child-environment";
import { describeFailure } from "./run-command";
import { formatVersion, isAtLeast, parseVersion } from "./version";
import { type FoundEngine, MINIMUM_VERSION, type Way, type WayContext, WayError } from "./way";

const VERSION_TIMEOUT_MS = 15_000;

/** Below this a `pulumi` is a shim or a script, whose version may change while its file doesn't. */
const SMALLEST_PROGRAM_BYTES = 1_000_000;

/** What a program in Node.js needs beside the CLI; Pulumi's own downloads hold both. */
const COMPANIONS = ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"];

/** The way of a `pulumi` on PATH: the first that is new enough and has its Node.js host. */
export function pathWay(context: WayContext): Way {
  async function inspect(): Promise<FoundEngine | string[]> {
    const reasons: string[] = [];
    for (const command of findOnPath("pulumi", context.env)) {
      const reason = await inspectOne(command, context);
      if (typeof reason !== "string") return reason;
      reasons.push(reason);
    }
    return reasons;
  }
  return {
    source: "path",
    async find() {
      const found = await inspect();
      return Array.isArray(found) ? undefined : found;
    },
    async obtain() {
      const found = await inspect();
      if (!Array.isArray(found)) return found;
      throw new WayError(
        found.length === 0 ? "there is none" : found.join("\n"),
        `install Pulumi ${formatVersion(MINIMUM_VERSION)} or later (https://www.pulumi.com/docs/iac/download-install/) and put it on PATH`,
      );
    },
  };
}

/**
 * All programs of that name on PATH, in order, as absolute paths.
 *
 * @param name without an extension; on Windows `.exe` and `.cmd` are tried
 */
export function findOnPath(name: string, env: NodeJS.ProcessEnv): string[] {
  const folders = (env[pathKey(env)] ?? "").split(delimiter).filter(isAbsolute);
  return programsIn([...new Set(folders)], name);
}

/** What `PATH` is called in an environment: on Windows mostly `Path`. */
export function pathKey(env: NodeJS.ProcessEnv): string {
  return Object.keys(env).find((key) => key.toUpperCase() === "PATH") ?? "PATH";
}

/** The programs of a name in these folders, in order, with the extensions that Windows wants. */
export function programsIn(folders: readonly string[], name: string): string[] {
  const extensions = process.platform === "win32" ? [".exe", ".cmd"] : [""];
  return folders
    .flatMap((folder) => extensions.map((extension) => join(folder, name + extension)))
    .filter(isProgram);
}

/** The engine, or why this one won't do. */
async function inspectOne(command: string, context: WayContext): Promise<FoundEngine | string> {
  const text = await versionOf(command, context);
  const version = parseVersion(text);
  if (!version) return `${command}: \`pulumi version\` gave ${text}`;
  if (!isAtLeast(version, MINIMUM_VERSION)) {
    return `${command} is ${formatVersion(version)}, older than ${formatVersion(MINIMUM_VERSION)}`;
  }
  const beside = [dirname(command), dirname(realpathSync(command))];
  const missing = COMPANIONS.filter(
    (name) => programsIn(beside, name).length === 0 && findOnPath(name, context.env).length === 0,
  );
  if (missing.length > 0) return `${command} has no ${missing.join(" and no ")} beside it or on PATH`;
  return { command, version: formatVersion(version) };
}

/** What `pulumi version` prints, remembered for as long as the program stays the same file. */
async function versionOf(command: string, { env, engineFolder, run }: WayContext): Promise<string> {
  const { mtimeMs, size } = statSync(command);
  const identity = `${realpathSync(command)} ${mtimeMs} ${size}`;
  const memo = join(engineFolder, "path.json");
  const remembered = readMemo(memo);
  if (remembered?.identity === identity) return remembered.version;

  const result = await run(command, ["version"], {
    env: { ...leanEnvironment(env), PULUMI_SKIP_UPDATE_CHECK: "true" },
    timeoutMs: VERSION_TIMEOUT_MS,
  });
  if (result.exitCode !== 0) return describeFailure(result);
  const version = result.stdout.trim();
  if (size >= SMALLEST_PROGRAM_BYTES && parseVersion(version)) writeMemo(memo, { identity, version });
  return version;
}

interface Memo {
  identity: string;
  version: string;
}

function readMemo(path: string): Memo | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Memo;
  } catch {
    return undefined;
  }
}

function writeMemo(path: string, memo: Memo): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.${process.pid}`, JSON.stringify(memo));
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
