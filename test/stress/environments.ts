import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { getCacheDirectory } from "pulumi-email-security/engine";

/** The conditions of a run. Two that are tested apart and together show which one a red test depends on. */
const ENVIRONMENTS = {
  default: { isRelocated: false, hasJumpingClock: false },
  relocated: { isRelocated: true, hasJumpingClock: false },
  clock: { isRelocated: false, hasJumpingClock: true },
  "relocated+clock": { isRelocated: true, hasJumpingClock: true },
} as const;

export type EnvironmentName = keyof typeof ENVIRONMENTS;

export const ENVIRONMENT_NAMES = Object.keys(ENVIRONMENTS) as EnvironmentName[];

/** The Turkish locale has another lower case of `I`; the time zone has 45 minutes. */
const LOCALE = { LANG: "tr_TR.UTF-8", LC_ALL: "tr_TR.UTF-8", TZ: "Pacific/Chatham" };

const CLOCK = new URL("jumping-clock.mjs", import.meta.url).href;

/**
 * Returns the variables of an environment.
 *
 * @param directory an empty directory, for a new home directory.
 * @param env the environment of this process.
 */
export function buildRunEnvironment(
  name: EnvironmentName,
  directory: string,
  env: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  const { isRelocated, hasJumpingClock } = ENVIRONMENTS[name];
  return {
    ...(isRelocated && { ...LOCALE, ...createHome(join(directory, "home"), env) }),
    ...(hasJumpingClock && { NODE_OPTIONS: `${env["NODE_OPTIONS"] ?? ""} --import=${CLOCK}`.trim() }),
  };
}

/** Returns the prefix of a run's directory. It is short, because the path of a socket has at most 107 bytes. */
export function getDirectoryPrefix(name: EnvironmentName): string {
  return ENVIRONMENTS[name].isRelocated ? "é s-" : "stress-";
}

/** Creates a home directory with the cached engine. The settings and caches of package managers stay those of the machine. */
function createHome(home: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const cache = getCacheDirectory({ HOME: home });
  mkdirSync(dirname(cache), { recursive: true });
  symlinkSync(getCacheDirectory(env), cache, "junction");
  const safe = readCommandOutput("git", "config", "--global", "--get-all", "safe.directory");
  const lines = safe.split("\n").map((path) => `\tdirectory = ${JSON.stringify(path)}\n`);
  writeFileSync(join(home, ".gitconfig"), safe === "" ? "" : `[safe]\n${lines.join("")}`);
  const pipConfig = [".pip/pip.conf", ".config/pip/pip.conf"]
    .map((file) => join(env["HOME"] ?? homedir(), file))
    .find((file) => existsSync(file));
  return {
    HOME: home,
    EMAIL_SECURITY_CACHE_DIR: undefined,
    PULUMI_HOME: undefined,
    XDG_CACHE_HOME: undefined,
    XDG_CONFIG_HOME: undefined,
    XDG_DATA_HOME: undefined,
    XDG_STATE_HOME: undefined,
    npm_config_userconfig: readCommandOutput("npm", "config", "get", "userconfig"),
    npm_config_cache: readCommandOutput("npm", "config", "get", "cache"),
    ...Object.fromEntries(
      ["GOENV", "GOCACHE", "GOMODCACHE"].map((name) => [name, readCommandOutput("go", "env", name)]),
    ),
    ...(pipConfig !== undefined && { PIP_CONFIG_FILE: pipConfig }),
  };
}

/** Returns the output of a command, or an empty text if it fails. */
function readCommandOutput(command: string, ...args: readonly string[]): string {
  try {
    return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "";
  }
}
