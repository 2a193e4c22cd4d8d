import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

let machineId: string | undefined;

/**
 * Where the numbers of processes mean the same: this machine since it was started, and on Linux the container. Others may share a
 * folder with it, and have processes of their own by the same numbers.
 */
export function thisMachine(): string {
  const facts = [
    hostname(),
    tryRead(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")),
    tryRead(() => readlinkSync("/proc/self/ns/pid")),
  ];
  machineId ??= createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 6);
  return machineId;
}

/** When a process of this machine began, in hundredths of a second since the boot; undefined where this can't be seen. */
export function startOf(pid: number): number | undefined {
  // The name, in parentheses, may hold anything; the start is the 20th field after it.
  const stat = tryRead(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  const start = Number(stat?.split(") ").at(-1)?.split(" ")[19]);
  return Number.isNaN(start) ? undefined : start;
}

/**
 * Whether a process of this machine runs.
 *
 * @param start when it began: one that began later has been given its number since. Default: it is not known.
 */
export function isRunning(pid: number, start?: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // One of another user runs, and may not be asked.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const currentStart = start === undefined ? undefined : startOf(pid);
  return currentStart === undefined || currentStart === start;
}

function tryRead(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
