import { fstatSync } from "node:fs";

const CHECK_EVERY_MS = 2_000;

/** Hardens a process that holds a tenant's key: it ends with its engine, and its crash reports omit the environment. */
export function hardenProcess(): void {
  // A crash report of Node.js would contain the environment, including the key.
  if (process.report !== undefined) process.report.excludeEnv = true;
  exitWithParent();
  exitAfterStandardInput();
}

/**
 * Ends this process when its parent is gone. A killed engine can't end its providers, and an orphan would keep the key
 * in memory.
 */
export function exitWithParent(): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, CHECK_EVERY_MS).unref();
}

/**
 * Ends this process when nobody holds the other end of its standard input. The engine holds it while it runs. The
 * parent process may be a shell instead of the engine, or a .cmd file on Windows, which outlives the engine.
 */
function exitAfterStandardInput(): void {
  if (!isPipe(process.stdin.fd)) return;
  process.stdin.once("close", () => process.exit(1)).resume();
  process.stdin.unref();
}

function isPipe(file: number): boolean {
  try {
    const stat = fstatSync(file);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    return false;
  }
}
