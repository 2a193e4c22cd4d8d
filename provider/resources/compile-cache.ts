import module from "node:module";
import { getCompileCacheDirectory } from "../engine/cache-directory";

/*
 * Imported first: Pulumi starts new program and provider processes for each command, and a small one spends half of its
 * time on compiling the same packages again. Node.js caches the compiled code in a directory of the user.
 * NODE_DISABLE_COMPILE_CACHE=1 disables this, and a cache directory configured for Node.js takes precedence.
 */
try {
  module.enableCompileCache(getCompileCacheDirectory(process.env));
} catch {
  // Without the cache, the start is only slower.
}

/** Writes the compiled code to the cache regularly, because a provider process is killed and can't do so at exit. */
export function startCompileCacheFlush(): void {
  setInterval(() => module.flushCompileCache(), 250).unref();
}
