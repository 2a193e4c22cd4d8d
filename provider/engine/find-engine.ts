import { delimiter, dirname, join, resolve } from "node:path";
import { getCacheDirectory, getCompileCacheDirectory } from "./cache-directory";
import { EngineUnavailableError } from "./engine-unavailable-error";
import {
  type EngineSearchContext,
  type EngineSource,
  getPathKey,
  getPulumiHome,
  type InstalledEngine,
  searchEngine,
} from "./installed-engines";

/** A Pulumi CLI that is ready to run, with its Node.js language host. */
export interface Engine {
  /** The absolute path of the `pulumi` program. */
  readonly command: string;
  /** As in `3.259.0`. */
  readonly version: string;
  readonly source: EngineSource;
  /** The directory of `command`. Put it first on PATH, because the CLI finds its hosts there. */
  readonly directory: string;
  /**
   * Returns the environment for `command`. `directory` and the running Node.js come first on PATH, so the hosts use them too. It
   * sets a compile cache for Node.js and disables the CLI's update check.
   *
   * @param base the environment to extend. Default: the process's own.
   */
  environment<Base extends NodeJS.ProcessEnv>(base?: Base): Base;
}

/** Options for the search. */
export interface EngineOptions {
  /** Our cache directory. Default: `EMAIL_SECURITY_CACHE_DIR`, otherwise the user's cache directory. */
  cacheDir?: string;
  /** The environment to search. Default: the process's own. */
  env?: NodeJS.ProcessEnv;
  /** Called if something takes longer than two seconds. Default: nothing. */
  log?: (line: string) => void;
}

/**
 * Finds an installed Pulumi CLI that is new enough: on PATH, then in `bin` of `PULUMI_HOME` (`~/.pulumi`), then in our
 * cache directory. Takes a few milliseconds and installs nothing.
 *
 * @throws EngineUnavailableError (`ERR_ENGINE_UNAVAILABLE`) if there is none; its message says how to install one.
 */
export async function requireEngine(options: EngineOptions = {}): Promise<Engine> {
  const context = buildSearchContext(options);
  const result = await searchEngine(context);
  if ("command" in result) return convertInstalledEngine(result);
  const searchedPaths = ["PATH", join(getPulumiHome(context.env), "bin"), context.engineDirectory];
  throw new EngineUnavailableError(searchedPaths, result.reasons);
}

/** Returns the engine that {@link requireEngine} finds; undefined if there is none. */
export async function findEngine(options: EngineOptions = {}): Promise<Engine | undefined> {
  const result = await searchEngine(buildSearchContext(options));
  return "command" in result ? convertInstalledEngine(result) : undefined;
}

function buildSearchContext({ env = process.env, cacheDir, log = () => {} }: EngineOptions): EngineSearchContext {
  return { env, engineDirectory: join(resolve(cacheDir ?? getCacheDirectory(env)), "engine"), log };
}

function convertInstalledEngine({ command, version, source }: InstalledEngine): Engine {
  const directory = dirname(command);
  return {
    command,
    version,
    source,
    directory,
    environment<Base extends NodeJS.ProcessEnv>(base = process.env as Base) {
      const key = getPathKey(base);
      const path = [directory, dirname(process.execPath), base[key]].filter(Boolean).join(delimiter);
      return {
        ...base,
        ...buildNoProxyVariables(base),
        [key]: path,
        NODE_COMPILE_CACHE: getCompileCacheDirectory(base),
        PULUMI_SKIP_UPDATE_CHECK: "true",
      };
    },
  };
}

/** The CLI, its hosts and its providers communicate over loopback, which must bypass the environment's proxy. */
function buildNoProxyVariables(base: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = new Set((base["no_proxy"] ?? base["NO_PROXY"] ?? "").split(",").filter((name) => name.trim() !== ""));
  for (const name of ["127.0.0.1", "localhost"]) names.add(name);
  const list = [...names].join(",");
  return { no_proxy: list, NO_PROXY: list };
}
