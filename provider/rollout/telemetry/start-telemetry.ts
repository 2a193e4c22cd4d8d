import { missing } from "../../settings/optional-parts";
import { telemetryAsked } from "../../settings/telemetry-asked";
import { excerpt } from "../../settings/text";
import type { RolloutReport } from "../report/rollout-report";
import type { Telemetry } from "./telemetry";

export interface TelemetryOptions {
  /** How long the end waits for the collector, in milliseconds. 5,000 when left out. */
  readonly waitMs?: number;
}

/**
 * Traces and metrics of a rollout, where the environment asks for them as OpenTelemetry says:
 * `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER`, `OTEL_CONFIG_FILE`, and not
 * `OTEL_SDK_DISABLED=true`. Spans begin under `TRACEPARENT` where it is set. They tell the names of the rollout, its
 * waves and tenants, and codes of errors; no entry, no message and no key. The SDK is loaded only then, and where it is installed:
 * that it is not, {@link missing} says before anything is begun.
 *
 * @param environment the variables of this process: the SDK reads more of them itself.
 * @param report what is known when the first event comes.
 * @returns undefined where nobody asks, or the SDK is not installed. What fails does not fail the rollout: the end tells it.
 */
export async function startTelemetry(
  environment: Readonly<NodeJS.ProcessEnv>,
  report: RolloutReport,
  { waitMs = 5_000 }: TelemetryOptions = {},
): Promise<Telemetry | undefined> {
  const asked = telemetryAsked(environment);
  if ((!asked.traces && !asked.metrics) || missing("telemetry") !== undefined) return undefined;
  try {
    const { RolloutTelemetry } = await import("./rollout-telemetry.js");
    return new RolloutTelemetry(environment, asked, report, waitMs);
  } catch (error) {
    return {
      happened: () => {},
      end: async () => `Telemetry could not be started: ${excerpt(String(error), 300)}`,
    };
  }
}
