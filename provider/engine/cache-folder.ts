import { homedir } from "node:os";
import { join } from "node:path";

/**
 * The folder for what can be made again, by the platform's own custom; `EMAIL_SECURITY_CACHE_DIR` overrides it.
 *
 * @param env the environment to read; the process's own when left out
 * @param platform as in `process.platform`
 * @returns an absolute path, which may not exist yet
 */
export function cacheFolder(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  return (
    env["EMAIL_SECURITY_CACHE_DIR"] || join(getUserCacheDirectory(env, platform), "pulumi-email-security")
  );
}

/** Where Node.js keeps what it compiled, so that a next process starts faster: `NODE_COMPILE_CACHE`, else a folder of ours. */
export function compiledFolder(env: NodeJS.ProcessEnv): string {
  return env["NODE_COMPILE_CACHE"] || join(cacheFolder(env), "compiled");
}

function getUserCacheDirectory(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  const home = env["HOME"] || env["USERPROFILE"] || homedir();
  if (platform === "win32") return env["LOCALAPPDATA"] || join(home, "AppData", "Local");
  if (platform === "darwin") return join(home, "Library", "Caches");
  return env["XDG_CACHE_HOME"] || join(home, ".cache");
}
