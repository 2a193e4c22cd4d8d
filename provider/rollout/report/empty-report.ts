import { ZERO_COUNTS } from "../journal/run-state";
import type { RolloutMode } from "../model/rollout-mode";
import { REPORT_FORMAT, type RolloutReport } from "../model/rollout-report";

/** Builds the report of a mode that applies to no tenant, so that there is no rollout. */
export function buildEmptyReport(source: string, mode: RolloutMode, reason: string): RolloutReport {
  const now = new Date().toISOString();
  return {
    format: REPORT_FORMAT,
    id: "none",
    source,
    state: "done",
    isActive: false,
    reason,
    advice: [],
    digest: "none",
    createdAt: now,
    finishedAt: now,
    mode,
    counts: ZERO_COUNTS,
    waves: [],
    tenants: [],
  };
}
