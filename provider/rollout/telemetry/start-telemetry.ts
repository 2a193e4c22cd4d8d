import type { RolloutEvent } from "../report/rollout-event";
import type { RolloutReport } from "../report/rollout-report";
export interface Telemetry {
  happened(event: RolloutEvent): void;
  end(report: RolloutReport): Promise<string | undefined>;
}
export function startTelemetry(
  _environment: NodeJS.ProcessEnv,
  _report: RolloutReport,
): Promise<Telemetry | undefined> {
  return Promise.resolve(undefined);
}
