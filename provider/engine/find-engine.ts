import { delimiter, dirname, join, resolve } from "node:path";
import { cacheFolder, compiledFolder } from "./cache-folder";
import { EngineUnavailableError } from "./engine-unavailable-error";
import {
  type EngineSource,
  type InstalledEngine,
  pathKey,
  pulumiHome,
  type SearchContext,
  searchEngine,
} from "./installed-engines";

/** A Pulumi CLI that is ready to run, with the host of programs in Node.js. */
export interface Engine {
  /** The absolute path of the `pulumi` program. */
  readonly command: string;
  /** As in `3.259.0`. */
  readonly version: string;
  readonly source: EngineSource;
  /** The folder of `command`, to be put on PATH first: the CLI finds its hosts there. */
  readonly folder: string;
  /**
   * The environment to run `command` in: with `folder` and the running Node.js first on PATH, so that the hosts run on
   * it too, with a folder in which Node.js keeps what it compiled of their packages, and without the CLI's look for updates.
   *
   * @param base what to add to; the process's own environment when left out
   */
  environment(base?: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
}

/** How an engine is searched for. */
export interface EngineOptions {
  /** Where our cache is. Default: `EMAIL_SECURITY_CACHE_DIR`, else the user's cache folder. */
  cacheDir?: string;
  /** The environment to look in. Default: the process's own. */
  env?: NodeJS.ProcessEnv;
  /** Told what takes longer than two seconds. Default: nothing is said. */
  log?: (line: string) => void;
}

/**
 * Finds an installed Pulumi CLI that is new enough: on PATH, then in `bin` of `PULUMI_HOME` (`~/.pulumi`), then in our cache folder.
 * Takes some milliseconds. It installs nothing.
 *
 * @throws EngineUnavailableError (`ERR_ENGINE_UNAVAILABLE`) when there is none; its message says how to install one
 */
export async function requireEngine(options: EngineOptions = {}): Promise<Engine> {
  const context = buildSearchContext(options);
  const result = await searchEngine(context);
  if ("command" in result) return buildEngine(result);
  const searchedPaths = ["PATH", join(pulumiHome(context.env), "bin"), context.engineFolder];
  throw new EngineUnavailableError(searchedPaths, result.reasons);
}

/** The engine that {@link requireEngine} finds; undefined when there is none. */
export async function findEngine(options: EngineOptions = {}): Promise<Engine | undefined> {
  const result = await searchEngine(buildSearchContext(options));
  return "command" in result ? buildEngine(result) : undefined;
}

function buildSearchContext({ env = process.env, cacheDir, log = () => {} }: EngineOptions): SearchContext {
  return { env, engineFolder: join(resolve(cacheDir ?? cacheFolder(env)), "engine"), log };
}

function buildEngine({ command, version, source }: InstalledEngine): Engine {
  const folder = dirname(command);
  return {
    command,
    version,
    source,
    folder,
    environment(base = process.env) {
      const key = pathKey(base);
      const path = [folder, dirname(process.execPath), base[key]].filter(Boolean).join(delimiter);
      return {
        ...base,
        ...buildNoProxyVariables(base),
        [key]: path,
        NODE_COMPILE_CACHE: compiledFolder(base),
        PULUMI_SKIP_UPDATE_CHECK: "true",
      };
    },
  };
}

/** The CLI, its hosts and its providers talk to each other on loopback; a proxy of the environment must not get that. */
function buildNoProxyVariables(base: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = new Set(
    (base["no_proxy"] ?? base["NO_PROXY"] ?? "").split(",").filter((name) => name.trim() !== ""),
  );
  for (const name of ["127.0.0.1", "localhost"]) names.add(name);
  const list = [...names].join(",");
  return { no_proxy: list, NO_PROXY: list };
}
