/** Which telemetry somebody wants to have. */
export interface Asked {
  readonly traces: boolean;
  readonly metrics: boolean;
}

/**
 * What the environment asks for, as OpenTelemetry says: by `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_TRACES_EXPORTER`,
 * `OTEL_METRICS_EXPORTER`, `OTEL_CONFIG_FILE`, and not with `OTEL_SDK_DISABLED=true`.
 */
export function telemetryAsked(environment: Readonly<NodeJS.ProcessEnv>): Asked {
  // An empty variable is as good as none.
  const of = (name: string) => environment[name]?.trim() ?? "";
  if (of("OTEL_SDK_DISABLED").toLowerCase() === "true") return { traces: false, metrics: false };
  const isConfigured = of("OTEL_CONFIG_FILE") !== "";
  const isAsked = (signal: string) => {
    const exporter = of(`OTEL_${signal}_EXPORTER`);
    if (exporter !== "") return exporter !== "none";
    return (
      isConfigured ||
      of("OTEL_EXPORTER_OTLP_ENDPOINT") !== "" ||
      of(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) !== ""
    );
  };
  return { traces: isAsked("TRACES"), metrics: isAsked("METRICS") };
}
