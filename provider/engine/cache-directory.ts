import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Returns the platform's cache directory for this package; `EMAIL_SECURITY_CACHE_DIR` overrides it.
 *
 * @param env the environment. Default: the process's own.
 * @param platform as in `process.platform`.
 * @returns an absolute path, which may not exist yet.
 */
export function getCacheDirectory(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  return env["EMAIL_SECURITY_CACHE_DIR"] || join(getUserCacheDirectory(env, platform), "pulumi-email-security");
}

/** Returns the compile cache of Node.js, which speeds up later starts: `NODE_COMPILE_CACHE`, otherwise our own directory. */
export function getCompileCacheDirectory(env: NodeJS.ProcessEnv): string {
  return env["NODE_COMPILE_CACHE"] || join(getCacheDirectory(env), "compiled");
}

function getUserCacheDirectory(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  const home = env["HOME"] || env["USERPROFILE"] || homedir();
  if (platform === "win32") return env["LOCALAPPDATA"] || join(home, "AppData", "Local");
  if (platform === "darwin") return join(home, "Library", "Caches");
  return env["XDG_CACHE_HOME"] || join(home, ".cache");
}
