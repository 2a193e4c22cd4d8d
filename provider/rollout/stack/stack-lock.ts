import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { z } from "zod";
import { isRunning, startOf } from "../../machine/processes";

/** Who holds a stack, as the engine tells it. */
export interface LockOwner {
  /** As a person reads it: `ci@runner-7 (pid 4711), since 2026-11-21T09:30:00Z`. */
  readonly told: string;
  readonly host: string;
  readonly pid: number;
  readonly sinceMs: number;
}

/** The locks of a stack, as the engine tells of them. */
export interface StackLocks {
  /** Who made them, as a person reads it. */
  readonly told: string;
  /** Each of them; undefined where it is not said whose they all are, as the Pulumi service does. */
  readonly owners: readonly LockOwner[] | undefined;
}

/** Reads who holds a stack from what the engine says when it is locked. */
export function stackLocks(message: string): StackLocks {
  const count = Number(/currently locked by (\d+) lock/.exec(message)?.[1] ?? 0);
  const owners = [...message.matchAll(/created by (\S+)@(\S+) \(pid (\d+)\) at (\S+)/g)].map(
    ([, user = "", host = "", pid = "", since = ""]): LockOwner => ({
      told: `${user}@${host} (pid ${pid}), since ${since}`,
      host,
      pid: Number(pid),
      sinceMs: Date.parse(since),
    }),
  );
  const told = [...new Set(owners.map((owner) => owner.told))].join(" and ") || "another run";
  return { told, owners: count > 0 && owners.length === count ? owners : undefined };
}

const lockFile = z.object({ pid: z.number(), hostname: z.string(), timestamp: z.string() });

/** Reads who holds a stack from a lock's file; undefined where it doesn't say. */
export function lockOwner(file: string): Omit<LockOwner, "told"> | undefined {
  try {
    const { pid, hostname: host, timestamp } = lockFile.parse(JSON.parse(readFileSync(file, "utf8")));
    return { host, pid, sinceMs: Date.parse(timestamp) };
  } catch {
    return undefined;
  }
}

/** What tells whether a lock's process still runs. */
export interface Processes {
  readonly host: string;
  isThere(pid: number): boolean;
  /** What the process is called; undefined where this can't be seen. */
  nameOf(pid: number): string | undefined;
  /** When it began, in milliseconds since 1970; undefined where this can't be seen. */
  startedAtMs(pid: number): number | undefined;
}

/** A lock tells whole seconds, and so does the system of when it began. */
const ROUNDED_MS = 3_000;
/** A clock may be set while Pulumi runs, which makes it seem to have begun later. */
const CLOCK_MS = 60_000;

/**
 * Whether a lock was left by a process of this machine that is no more. Its number may have been given to another since,
 * which then began after the lock was made.
 */
export function isLeftBehind(
  { host, pid, sinceMs }: Omit<LockOwner, "told">,
  processes: Processes = MACHINE,
): boolean {
  if (host !== processes.host) return false;
  if (!processes.isThere(pid)) return true;
  const startedAtMs = processes.startedAtMs(pid);
  const mayBePulumi = /pulumi/i.test(processes.nameOf(pid) ?? "pulumi");
  return startedAtMs !== undefined && startedAtMs > sinceMs + (mayBePulumi ? CLOCK_MS : ROUNDED_MS);
}

/** The processes of this machine. */
const MACHINE: Processes = {
  host: hostname(),
  isThere: isRunning,
  nameOf(pid) {
    const command = proc(`${pid}/cmdline`)?.split("\0")[0];
    // Of another user's process, and of one that has just ended, there may be nothing to read.
    return command === undefined || command === "" ? undefined : `${command} ${proc(`${pid}/comm`) ?? ""}`;
  },
  startedAtMs(pid) {
    const ticks = startOf(pid);
    const bootedAt = /^btime (\d+)$/m.exec(proc("stat") ?? "")?.[1];
    return ticks === undefined || bootedAt === undefined ? undefined : Number(bootedAt) * 1_000 + ticks * 10;
  },
};

/** What Linux tells of its processes; undefined elsewhere. */
function proc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, "utf8");
  } catch {
    return undefined;
  }
}
