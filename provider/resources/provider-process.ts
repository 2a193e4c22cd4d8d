import { fstatSync } from "node:fs";

const CHECK_EVERY_MS = 2_000;

/**
 * What a process that holds a tenant's key owes it: to end with the engine that started it, and to leave no report of a
 * crash with its environment in it.
 */
export function hardenProcess(): void {
  // The report that Node.js writes when it crashes, where it is told to, would hold the environment, and the key in it.
  if (process.report !== undefined) process.report.excludeEnv = true;
  exitWithParent();
  exitAfterStandardInput();
}

/**
 * Ends this process when the one that started it is gone. An engine that is killed can't end its providers, and one
 * that stayed would keep the key in its memory.
 */
export function exitWithParent(): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, CHECK_EVERY_MS).unref();
}

/**
 * Ends this process when nobody holds the other end of its standard input any more. The engine does, as long as it runs; what
 * started this process need not be the engine, but a shell, or on Windows a .cmd file, that outlives it.
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
