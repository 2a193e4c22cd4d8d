const CHECK_EVERY_MS = 2_000;

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
