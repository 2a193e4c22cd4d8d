import module from "node:module";
import { getCompileCacheDirectory } from "../engine/cache-folder";

/*
 * Imported before all else: Pulumi starts a program and a provider process anew for each command, and half of what a
 * small one takes is to compile the same packages again. Node.js keeps what it compiled in a folder of the user's;
 * NODE_DISABLE_COMPILE_CACHE=1 turns that off, and a Node.js that has its own folder for it keeps that.
 */
try {
  module.enableCompileCache(getCompileCacheDirectory(process.env));
} catch {
  // Slower, and no worse.
}

/** Writes down now and then what was compiled so far; a process that is killed, as a provider is, can't do it at its end. */
export function startCompileCacheFlush(): void {
  setInterval(() => module.flushCompileCache(), 250).unref();
}
