const CHECK_EVERY_MS = 2_000;

/**
 * What a process that holds a tenant's key owes it: to end with the engine that started it, and to leave no report of a
 * crash with its environment in it.
 */
export function guardProcess(): void {
  // The report that Node.js writes when it crashes, where it is told to, would hold the environment, and the key in it.
  if (process.report !== undefined) process.report.excludeEnv = true;
  exitWithParent();
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
