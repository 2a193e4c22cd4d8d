import { availableParallelism } from "node:os";

/**
 * How many tenants to read at once. With three short lists each, their requests fill the concurrency limit of one address. A tenant's rows
 * are in memory while it is read.
 */
export const READ_CONCURRENCY = 32;

/** The memory of one engine run with its child processes, in bytes. Measured: 280 to 330 MB. */
const BYTES_PER_ENGINE = 350 * 1024 * 1024;

/**
 * Returns how many tenants this machine can change at once, limited by its cores and its memory for engines. At least
 * 1.
 */
export function getEngineCapacity(cores = availableParallelism(), freeBytes = process.availableMemory()): number {
  return Math.max(1, Math.min(cores, Math.floor(freeBytes / BYTES_PER_ENGINE)));
}
