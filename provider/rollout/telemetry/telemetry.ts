import type { RolloutEvent } from "../report/rollout-event";
import type { RolloutReport } from "../report/rollout-report";

/** Tells a rollout to whoever collects OpenTelemetry traces and metrics. */
export interface Telemetry {
  /** In the order of events. */
  happened(event: RolloutEvent): void;
  /**
   * Sends what is not sent yet, and waits for it 5 seconds at most. Never throws.
   *
   * @returns why something could not be sent, a sentence for people; undefined when all was.
   */
  end(report: RolloutReport): Promise<string | undefined>;
}
