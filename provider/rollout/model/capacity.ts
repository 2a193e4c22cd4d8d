import { availableParallelism } from "node:os";

/** What one run of the engine takes, with its child processes, in bytes; measured: 280 to 330 MB. */
const BYTES_A_RUN = 350 * 1024 * 1024;

/** How many tenants this machine can change at once: as it has cores, and memory for the engines. At least 1. */
export function engineCapacity(
  cores = availableParallelism(),
  freeBytes = process.availableMemory(),
): number {
  return Math.max(1, Math.min(cores, Math.floor(freeBytes / BYTES_A_RUN)));
}
