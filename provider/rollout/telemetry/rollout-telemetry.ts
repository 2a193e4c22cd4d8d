import { context, DiagLogLevel, diag, metrics, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { startNodeSdk } from "@opentelemetry/sdk-node";
import type { Asked } from "../../settings/telemetry-asked";
import { excerpt } from "../../settings/text";
import type { RolloutEvent } from "../report/rollout-event";
import type { RolloutReport } from "../report/rollout-report";
import { RolloutMetrics } from "./rollout-metrics";
import { RolloutTrace } from "./rollout-trace";
import type { Telemetry } from "./telemetry";

/** Telemetry by the OpenTelemetry SDK, as the environment sets it up. Its loading takes a while: see `startTelemetry`. */
export class RolloutTelemetry implements Telemetry {
  readonly #waitMs: number;
  readonly #sdk: ReturnType<typeof startNodeSdk>;
  readonly #trace: RolloutTrace;
  readonly #metrics: RolloutMetrics;
  #problem: string | undefined;

  constructor(environment: Readonly<NodeJS.ProcessEnv>, asked: Asked, report: RolloutReport, waitMs: number) {
    this.#waitMs = waitMs;
    this.#sdk = startNodeSdk(sdkOptions(environment, asked));
    this.#listen();
    const parent = propagation.extract(ROOT_CONTEXT, {
      traceparent: environment["TRACEPARENT"],
      tracestate: environment["TRACESTATE"],
    });
    this.#trace = new RolloutTrace(trace.getTracer(SCOPE), parent, report);
    this.#metrics = new RolloutMetrics(metrics.getMeter(SCOPE), report);
    // Libraries that this process has loaded would tell of themselves, with what is none of the collector's business.
    for (const global of [trace, metrics, propagation, context]) global.disable();
  }

  happened(event: RolloutEvent): void {
    this.#trying(() => {
      this.#trace.happened(event);
      this.#metrics.happened(event);
    });
  }

  async end(report: RolloutReport): Promise<string | undefined> {
    this.#trying(() => {
      this.#trace.end(report);
      this.#metrics.end(report);
    });
    const { promise: late, resolve } = Promise.withResolvers<string>();
    const timer = setTimeout(resolve, this.#waitMs, `no answer within ${this.#waitMs / 1_000} s`);
    const sent = this.#sdk.shutdown().catch(String);
    const problem = (await Promise.race([sent, late])) ?? this.#problem;
    clearTimeout(timer);
    diag.disable();
    return problem === undefined ? undefined : `Telemetry could not all be sent: ${excerpt(problem, 300)}`;
  }

  /** What the SDK complains of. It would print it into the midst of what people read. */
  #listen(): void {
    const complain = (message: string, ...about: unknown[]) => {
      this.#problem ??= [message, ...about.map(String)].join(" ");
    };
    const ignore = () => {};
    diag.setLogger(
      { error: complain, warn: ignore, info: ignore, debug: ignore, verbose: ignore },
      { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true },
    );
  }

  #trying(what: () => void): void {
    try {
      what();
    } catch (error) {
      this.#problem ??= String(error);
    }
  }
}

/** The name of what these spans and measurements come from. */
const SCOPE = "pulumi-email-security";

function sdkOptions(
  environment: Readonly<NodeJS.ProcessEnv>,
  asked: Asked,
): Parameters<typeof startNodeSdk>[0] {
  const name = environment["OTEL_SERVICE_NAME"];
  return {
    logLevel: "none",
    logRecordProcessors: [],
    ...(!asked.traces && { spanProcessors: [] }),
    ...(!asked.metrics && { metricReaders: [] }),
    // By default the SDK tells the command line and the user of this process.
    ...(environment["OTEL_NODE_RESOURCE_DETECTORS"] === undefined && {
      resourceDetectors: [{ detect: () => ({ attributes: { "service.name": "email-security" } }) }],
      ...(name !== undefined && name !== "" && { resourceAttributes: { "service.name": name } }),
    }),
  };
}
