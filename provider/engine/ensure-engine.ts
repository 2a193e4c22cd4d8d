import { delimiter, dirname, join, resolve } from "node:path";
import { buildWay } from "./build-way";
import { cacheFolder, compiledFolder } from "./cache-folder";
import { EngineOptionError } from "./engine-option-error";
import { type EngineAttempt, EngineUnavailableError } from "./engine-unavailable-error";
import { pathKey, pathWay } from "./path-way";
import { runCommand } from "./run-command";
import type { EngineSource, FoundEngine, Way, WayContext } from "./way";

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

/** How an engine is looked for. */
export interface EngineOptions {
  /** Where engines are cached. Default: `EMAIL_SECURITY_CACHE_DIR`, else the user's cache folder. */
  cacheDir?: string;
  /** Only this way. Default: `EMAIL_SECURITY_ENGINE`, else `path` and `build`, in this order. */
  only?: EngineSource;
  /** The environment to look in. Default: the process's own. */
  env?: NodeJS.ProcessEnv;
  /** Told what is being done, when it takes long. Default: nothing is said. */
  log?: (line: string) => void;
  /** Told every second how far it is, for one line that is written over. Default: `log`, every 15 seconds. */
  onProgress?: (status: string) => void;
}

const WAYS: Record<EngineSource, (context: WayContext) => Way> = {
  path: pathWay,
  build: buildWay,
};

const PROGRESS_INTERVAL_MS = 15_000;

/**
 * Finds a Pulumi CLI or makes one: one on PATH that is new enough; a build from Go modules, whose sums are pinned, which takes
 * some four minutes. That is done once and kept in the user's cache folder, so later calls take some milliseconds.
 * Several processes may call it at once. No program is downloaded: nothing here could tell whether it is Pulumi's.
 *
 * @throws EngineUnavailableError (`ERR_ENGINE_UNAVAILABLE`) when no way led to one; its message says what would help
 * @throws EngineOptionError (`ERR_ENGINE_OPTION`) when `EMAIL_SECURITY_ENGINE` names no way
 */
export async function ensureEngine(options: EngineOptions = {}): Promise<Engine> {
  const { ways, log } = waysOf(options);
  return firstOf(ways, log);
}

/**
 * The engine that {@link ensureEngine} would take without installing anything; undefined when there is none. Takes some
 * milliseconds.
 *
 * @throws EngineOptionError (`ERR_ENGINE_OPTION`) when `EMAIL_SECURITY_ENGINE` names no way
 */
export async function findEngine(
  options: Pick<EngineOptions, "cacheDir" | "only" | "env"> = {},
): Promise<Engine | undefined> {
  return await foundIn(waysOf(options).ways);
}

function waysOf(options: EngineOptions): { ways: readonly Way[]; log: (line: string) => void } {
  const env = options.env ?? process.env;
  const log = options.log ?? (() => {});
  const context: WayContext = {
    env,
    engineFolder: join(resolve(options.cacheDir ?? cacheFolder(env)), "engine"),
    log,
    progress: options.onProgress ?? atIntervals(log),
    run: runCommand,
  };
  const only = options.only ?? sourceFrom(env);
  const sources: EngineSource[] = only ? [only] : ["path", "build"];
  return { ways: sources.map((source) => WAYS[source](context)), log };
}

async function foundIn(ways: readonly Way[]): Promise<Engine | undefined> {
  for (const way of ways) {
    const found = await way.find();
    if (found) return engineOf(found, way.source);
  }
  return undefined;
}

/** The engine of the first way that has one already, else of the first that gets one. */
export async function firstOf(ways: readonly Way[], log: (line: string) => void): Promise<Engine> {
  const found = await foundIn(ways);
  if (found) return found;
  const attempts: EngineAttempt[] = [];
  for (const way of ways) {
    try {
      return engineOf(await way.obtain(), way.source);
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause));
      attempts.push({ source: way.source, error });
      if (way.source !== "path") log(`That didn't work: ${error.message}`);
    }
  }
  throw new EngineUnavailableError(attempts);
}

function engineOf({ command, version }: FoundEngine, source: EngineSource): Engine {
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
        ...withoutProxyForLoopback(base),
        [key]: path,
        NODE_COMPILE_CACHE: compiledFolder(base),
        PULUMI_SKIP_UPDATE_CHECK: "true",
      };
    },
  };
}

/** The CLI, its hosts and its providers talk to each other on loopback; a proxy of the environment must not get that. */
function withoutProxyForLoopback(base: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = new Set(
    (base["no_proxy"] ?? base["NO_PROXY"] ?? "").split(",").filter((name) => name.trim() !== ""),
  );
  for (const name of ["127.0.0.1", "localhost"]) names.add(name);
  const list = [...names].join(",");
  return { no_proxy: list, NO_PROXY: list };
}

function sourceFrom(env: NodeJS.ProcessEnv): EngineSource | undefined {
  const name = env["EMAIL_SECURITY_ENGINE"];
  if (!name) return undefined;
  if (Object.hasOwn(WAYS, name)) return name as EngineSource;
  throw new EngineOptionError(
    `EMAIL_SECURITY_ENGINE is "${name}": give one of ${Object.keys(WAYS).join(", ")}, or leave it unset to try all`,
  );
}

function atIntervals(log: (line: string) => void): (status: string) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  return (status) => {
    if (performance.now() - lastAt < PROGRESS_INTERVAL_MS) return;
    lastAt = performance.now();
    log(status);
  };
}
