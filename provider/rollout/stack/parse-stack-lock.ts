import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { z } from "zod";
import { getProcessStart, isRunning } from "../../system/processes";

export interface LockOwner {
  /** For people: `ci@runner-7 (pid 4711), since 2026-11-21T09:30:00Z`. */
  readonly description: string;
  readonly host: string;
  readonly pid: number;
  readonly sinceMs: number;
}

export interface StackLocks {
  readonly description: string;
  /** Each owner. Undefined if the message doesn't name all of them, as with the Pulumi service. */
  readonly owners: readonly LockOwner[] | undefined;
}

export function parseStackLocks(message: string): StackLocks {
  const count = Number(/currently locked by (\d+) lock/.exec(message)?.[1] ?? 0);
  const owners = [...message.matchAll(/created by (\S+)@(\S+) \(pid (\d+)\) at (\S+)/g)].map(
    ([, user = "", host = "", pid = "", since = ""]): LockOwner => ({
      description: `${user}@${host} (pid ${pid}), since ${since}`,
      host,
      pid: Number(pid),
      sinceMs: Date.parse(since),
    }),
  );
  const description = [...new Set(owners.map((owner) => owner.description))].join(" and ") || "another run";
  return { description, owners: count > 0 && owners.length === count ? owners : undefined };
}

const lockFileSchema = z.object({ pid: z.number(), hostname: z.string(), timestamp: z.string() });

/** Reads the owner from a lock file. Undefined if the file is invalid. */
export function readLockOwner(file: string): Omit<LockOwner, "description"> | undefined {
  try {
    const { pid, hostname: host, timestamp } = lockFileSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    return { host, pid, sinceMs: Date.parse(timestamp) };
  } catch {
    return undefined;
  }
}

/** Information about processes, to find out whether a lock's owner is still running. */
export interface Processes {
  readonly host: string;
  isRunning(pid: number): boolean;
  getName(pid: number): string | undefined;
  /** Returns when it started, in milliseconds since 1970. Undefined if unknown. */
  getStartedAtMs(pid: number): number | undefined;
}

/** Locks and the system's start times are rounded to whole seconds. */
const ROUNDING_TOLERANCE_MS = 3_000;
/** A clock change while Pulumi runs can make its start seem later. */
const CLOCK_TOLERANCE_MS = 60_000;

/**
 * Returns whether a lock belongs to a dead process of this machine. The pid may have been reused, but the new process started after
 * the lock was created.
 */
export function isOrphanedLock(
  { host, pid, sinceMs }: Omit<LockOwner, "description">,
  processes: Processes = LOCAL_PROCESSES,
): boolean {
  if (host !== processes.host) return false;
  if (!processes.isRunning(pid)) return true;
  const startedAtMs = processes.getStartedAtMs(pid);
  const mayBePulumi = /pulumi/i.test(processes.getName(pid) ?? "pulumi");
  return (
    startedAtMs !== undefined && startedAtMs > sinceMs + (mayBePulumi ? CLOCK_TOLERANCE_MS : ROUNDING_TOLERANCE_MS)
  );
}

const LOCAL_PROCESSES: Processes = {
  host: hostname(),
  isRunning,
  getName(pid) {
    const command = readProc(`${pid}/cmdline`)?.split("\0")[0];
    // Empty for processes that have just ended, and possibly for those of other users.
    return command === undefined || command === "" ? undefined : `${command} ${readProc(`${pid}/comm`) ?? ""}`;
  },
  getStartedAtMs(pid) {
    const ticks = getProcessStart(pid);
    const bootedAt = /^btime (\d+)$/m.exec(readProc("stat") ?? "")?.[1];
    return ticks === undefined || bootedAt === undefined ? undefined : Number(bootedAt) * 1_000 + ticks * 10;
  },
};

/** Reads Linux process information. Undefined on other systems. */
function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, "utf8");
  } catch {
    return undefined;
  }
}
