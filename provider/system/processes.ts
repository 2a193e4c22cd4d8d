import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

let machineId: string | undefined;

/**
 * Identifies the scope of process ids: this boot of the machine and, on Linux, the container. Other scopes may share a
 * directory and use the same ids for their own processes.
 */
export function getMachineId(): string {
  const facts = [
    hostname(),
    tryRead(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")),
    tryRead(() => readlinkSync("/proc/self/ns/pid")),
  ];
  machineId ??= createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 6);
  return machineId;
}

/** Returns when a process of this machine started, in hundredths of a second since boot; undefined if unknown. */
export function getProcessStart(pid: number): number | undefined {
  // The name, in parentheses, may hold anything; the start is the 20th field after it.
  const stat = tryRead(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  const start = Number(stat?.split(") ").at(-1)?.split(" ")[19]);
  return Number.isNaN(start) ? undefined : start;
}

/**
 * Returns whether a process of this machine is running.
 *
 * @param start its start time, because a later process may reuse the id. Default: unknown.
 */
export function isRunning(pid: number, start?: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Another user's process exists, but may not be signalled.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const currentStart = start === undefined ? undefined : getProcessStart(pid);
  return currentStart === undefined || currentStart === start;
}

function tryRead(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
