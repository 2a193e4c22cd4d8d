import type { PlannedRollout } from "../plan-rollout";
import type { RolloutReport } from "./rollout-report";

/** What a rollout would do, before anything was written. */
export function overviewText(report: RolloutReport, guards: PlannedRollout["guards"]): string {
  return `${JSON.stringify({ counts: report.counts, waves: report.waves.map(({ name, counts }) => [name, counts]), guards, errors: report.tenants.filter((t) => t.error).map((t) => [t.name, t.error]) }, null, 1)}\n`;
}
