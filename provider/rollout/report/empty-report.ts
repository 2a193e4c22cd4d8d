import { NO_COUNTS } from "../journal/rollout-view";
import { REPORT_FORMAT, type RolloutReport } from "../model/rollout-report";
import type { Task } from "../model/task";

/** Builds the report of a task that applies to no tenant. There is no rollout for it. */
export function emptyReport(source: string, mode: Task, reason: string): RolloutReport {
  const now = new Date().toISOString();
  return {
    format: REPORT_FORMAT,
    id: "none",
    source,
    state: "done",
    isHeld: false,
    reason,
    advice: [],
    digest: "none",
    createdAt: now,
    finishedAt: now,
    task: mode,
    counts: NO_COUNTS,
    waves: [],
    tenants: [],
  };
}
