import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startTelemetry } from "../../../../provider/rollout/telemetry/start-telemetry";
import { type PlayedRollout, playRollout, rollouts } from "../../../support/rollouts";

/** What a collector was sent. */
interface Received {
  readonly path: string;
  readonly type: string;
  readonly body: Buffer;
}

const closing: (() => void)[] = [];

afterEach(() => {
  vi.unstubAllEnvs();
  for (const close of closing.splice(0)) close();
});

/** A collector on loopback. One that hangs takes everything and never answers. */
async function collector({
  hangs = false,
  status = 200,
} = {}): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const type = request.headers["content-type"] ?? "";
      received.push({ path: request.url ?? "", type, body: Buffer.concat(chunks) });
      if (!hangs) response.writeHead(status, { "content-type": type }).end(type.includes("json") ? "{}" : "");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

async function tell(
  { before, events, after }: PlayedRollout,
  variables: Record<string, string>,
  waitMs?: number,
) {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const telemetry = await startTelemetry(process.env, before, waitMs === undefined ? {} : { waitMs });
  for (const event of events) telemetry?.happened(event);
  return { telemetry, problem: await telemetry?.end(after) };
}

type Attribute = { key: string; value: Record<string, string> };
interface Sent {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code?: number };
  attributes: Attribute[];
}

function spansIn(received: readonly Received[]) {
  const sent = received
    .filter(({ path }) => path === "/v1/traces")
    .flatMap(({ body }) => JSON.parse(body.toString()).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }): Sent[] => spans);
  return sent.map((span) => ({ ...span, attributes: read(span.attributes) }));
}

interface Point {
  attributes: Attribute[];
  asInt?: string;
  asDouble?: number;
  count?: string;
  sum?: number;
}

function metricsIn(received: readonly Received[]): Map<string, Point[]> {
  const metrics = received
    .filter(({ path }) => path === "/v1/metrics")
    .flatMap(({ body }) => JSON.parse(body.toString()).resourceMetrics)
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap(({ metrics: all }) => all);
  return new Map(metrics.map(({ name, sum, histogram }) => [name, (sum ?? histogram).dataPoints]));
}

function read(attributes: readonly Attribute[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value["stringValue"] ?? Number(value["intValue"])]),
  );
}

const nanos = (time: string | undefined) => `${Date.parse(time ?? "")}000000`;

describe("telemetry", () => {
  test.each([
    {},
    { OTEL_SDK_DISABLED: "true", OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" },
    { OTEL_TRACES_EXPORTER: "none" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "" },
    { OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none", OTEL_EXPORTER_OTLP_ENDPOINT: "http://x" },
    { OTEL_SERVICE_NAME: "x" },
  ])("is none where nobody asks for it: %o", async (environment) => {
    expect(await startTelemetry(environment, rollouts.small.before)).toBeUndefined();
  });

  test("sends a span for the rollout, each wave and each tenant, with the times of the events", async () => {
    const { url, received } = await collector();
    const { problem } = await tell(rollouts.middle, {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      TRACEPARENT: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    });
    expect(problem).toBeUndefined();
    const { before, events, after } = rollouts.middle;
    const spans = spansIn(received);
    expect(spans.map(({ name }) => name).toSorted()).toEqual(
      [
        "rollout",
        ...after.waves.map(({ name }) => `wave ${name}`),
        ...after.tenants.filter(({ attempts }) => attempts > 0).map(({ name }) => `tenant ${name}`),
      ].toSorted(),
    );
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(
      new Set(["4bf92f3577b34da6a3ce929d0e0e4736"]),
    );
    const rollout = spans.find(({ name }) => name === "rollout");
    expect(rollout).toMatchObject({
      parentSpanId: "00f067aa0ba902b7",
      startTimeUnixNano: nanos(events[0]?.at),
      endTimeUnixNano: nanos(events.at(-1)?.at),
      status: { code: 2 },
      attributes: {
        "email_security.rollout.id": before.id,
        "email_security.rollout.digest": before.digest,
        "email_security.rollout.state": "done",
        "email_security.rollout.failed": 1,
      },
    });
    const wave = spans.find(({ name }) => name === "wave rest");
    expect(wave?.parentSpanId).toBe(rollout?.spanId);
    const failed = after.tenants.find(({ state }) => state === "failed");
    expect(spans.find(({ name }) => name === `tenant ${failed?.name}`)).toMatchObject({
      parentSpanId: wave?.spanId,
      startTimeUnixNano: nanos(failed?.startedAt),
      endTimeUnixNano: nanos(failed?.finishedAt),
      status: { code: 2 },
      attributes: {
        "email_security.tenant.name": failed?.name,
        "email_security.wave.name": "rest",
        "email_security.tenant.attempt": 1,
        "email_security.tenant.state": "failed",
        "email_security.worker": failed?.worker,
        "server.address": failed?.host,
        "pulumi.stack": failed?.stack,
        "error.type": failed?.error?.code,
      },
    });
    const good = after.tenants.find(({ state }) => state === "done");
    expect(spans.find(({ name }) => name === `tenant ${good?.name}`)?.status.code ?? 0).toBe(0);
  });

  test("counts tenants by wave and state, and measures how long each took", async () => {
    const { url, received } = await collector();
    await tell(rollouts.stopped, {
      OTEL_METRICS_EXPORTER: "otlp",
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${url}/v1/metrics`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    });
    expect(received.every(({ path }) => path === "/v1/metrics")).toBe(true);
    const metrics = metricsIn(received);
    const { counts, waves } = rollouts.stopped.after;
    const sums = new Map<string, number>();
    for (const { attributes, asInt, asDouble } of metrics.get("email_security.rollout.tenants") ?? []) {
      const { "email_security.tenant.state": state = "" } = read(attributes);
      sums.set(String(state), (sums.get(String(state)) ?? 0) + Number(asInt ?? asDouble));
    }
    expect(Object.fromEntries(sums)).toEqual({
      done: counts.done,
      failed: counts.failed,
      unchanged: counts.unchanged,
      pending: counts.pending,
    });
    const took = metrics.get("email_security.rollout.tenant.duration") ?? [];
    // One failure was found while planning, and took no time.
    expect(took.reduce((sum, { count }) => sum + Number(count), 0)).toBe(counts.done + counts.failed - 1);
    const running = metrics.get("email_security.rollout.tenants.running") ?? [];
    expect(running.map(({ asInt, asDouble }) => Number(asInt ?? asDouble))).toEqual([0, 0]);
    expect(waves).toHaveLength(3);
  });

  test("tells names and codes, and nothing of what lists, messages, labels or this process hold", async () => {
    const { url, received } = await collector();
    const played = playRollout({
      tenants: 20,
      failing: [3, 7],
      text: "-SECRET",
      nameOf: (n) => `tenant-${n}`,
    });
    const hushed = (value: string) => value.replaceAll("-SECRET", "");
    // Names may be told, so that the mark is taken out of these.
    const withoutNames = JSON.parse(
      JSON.stringify(played, (key, value) =>
        typeof value === "string" && ["id", "digest", "wave", "host", "worker", "rollout"].includes(key)
          ? hushed(value)
          : value,
      ),
    ) as PlayedRollout;
    const named = {
      ...withoutNames,
      before: {
        ...withoutNames.before,
        waves: withoutNames.before.waves.map((wave) => ({ ...wave, name: hushed(wave.name) })),
      },
      after: {
        ...withoutNames.after,
        waves: withoutNames.after.waves.map((wave) => ({ ...wave, name: hushed(wave.name) })),
      },
    };
    await tell(named, { OTEL_EXPORTER_OTLP_ENDPOINT: url, EMAIL_SECURITY_API_KEY: "key-SECRET" });
    expect(received.map(({ path }) => path).toSorted()).toContain("/v1/metrics");
    const all = Buffer.concat(received.map(({ body }) => body)).toString("latin1");
    expect(all).toContain("tenant-3");
    expect(all).toContain("ERR_ROLLOUT_LOCKED");
    expect(all).not.toContain("SECRET");
    expect(all).not.toContain("phish");
    expect(all).not.toContain(process.execPath);
    expect(received[0]?.type).toBe("application/x-protobuf");
  });

  test("ends in time when nobody answers, and says so", async () => {
    const { url, received } = await collector({ hangs: true });
    const { problem } = await tell(
      rollouts.small,
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: url,
        OTEL_EXPORTER_OTLP_TIMEOUT: "120000",
        OTEL_BSP_EXPORT_TIMEOUT: "120000",
        OTEL_METRICS_EXPORTER: "none",
      },
      100,
    );
    expect(problem).toBe("Telemetry could not all be sent: no answer within 0.1 s");
    expect(received.map(({ path }) => path)).toEqual(["/v1/traces"]);
  }, 20_000);

  test("a collector that refuses does not fail the rollout, and is told", async () => {
    const { url } = await collector({ status: 400 });
    const { problem } = await tell(rollouts.small, { OTEL_EXPORTER_OTLP_ENDPOINT: url });
    expect(problem).toMatch(/^Telemetry could not all be sent: .*400|Bad Request/);
  });

  test("ends what an interrupted run left open, and begins anew what is taken over", async () => {
    const { url, received } = await collector();
    const { before, events, after } = rollouts.middle;
    const started = events.findIndex(({ kind }) => kind === "tenant-started");
    const [begun] = events.slice(started, started + 1);
    const again = { ...begun, attempt: 2, worker: "other:1", at: "2026-11-21T08:01:02.000Z" } as typeof begun;
    await tell(
      {
        before,
        events: [...events.slice(0, started + 1), ...(again === undefined ? [] : [again])],
        after: { ...after, state: "running" },
      },
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" },
    );
    const tenants = spansIn(received).filter(({ name }) => name === "tenant acme-000");
    expect(tenants.map(({ attributes }) => attributes["email_security.tenant.state"])).toEqual([
      "taken over",
      "interrupted",
    ]);
    expect(spansIn(received).map(({ name }) => name)).toContain("rollout");
  });
});
