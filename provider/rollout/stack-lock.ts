import { hostname } from "node:os";

/** Who holds a stack, as the engine tells it. */
export interface LockOwner {
  /** As a person reads it: `ci@runner-7 (pid 4711), since 2026-11-21T09:30:00Z`. */
  readonly told: string;
  readonly host: string;
  readonly pid: number;
}

/**
 * Reads who holds a stack from what the engine says when it is locked; undefined where it says nothing of it, as the
 * Pulumi service does.
 */
export function lockOwner(message: string): LockOwner | undefined {
  const match = /created by (\S+)@(\S+) \(pid (\d+)\) at (\S+)/.exec(message);
  const [, user = "", host = "", pid = "", since = ""] = match ?? [];
  return match === null
    ? undefined
    : { told: `${user}@${host} (pid ${pid}), since ${since}`, host, pid: Number(pid) };
}

/** Whether a lock was left by a process of this machine that is no more. */
export function isLeftBehind({ host, pid }: LockOwner): boolean {
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
