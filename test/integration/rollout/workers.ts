import { UNLIMITED_REQUESTS } from "../../../provider/client/rate-limiter";
import { openPostgres } from "../../../provider/rollout/database/postgres-database";
import { runRollout } from "../../../provider/rollout/execution/coordinator";
import { Journal } from "../../../provider/rollout/journal/journal";
import type { RolloutSpec } from "../../../provider/rollout/journal/rollout-record";
import type { RolloutEvent } from "../../../provider/rollout/model/rollout-event";
import type { Target } from "../../../provider/rollout/model/target";
import type { Wave } from "../../../provider/rollout/model/wave";
import { AddressHealth } from "../../../provider/rollout/probing/address-health";
import { openPgBossQueue } from "../../../provider/rollout/queue/pg-boss-queue";
import type { Postgres } from "../../support/postgres";
import type { WorkerEvent } from "../../support/rollout-worker";

const ADDRESS = "https://service.example";

/** A started rollout that has no workers yet. */
export interface StartedRollout extends AsyncDisposable {
  readonly id: string;
  readonly journal: Journal;
  readonly events: readonly RolloutEvent[];
  /** Runs it to its end and returns its final state. */
  waitForEnd(): Promise<string>;
}

/** Starts a rollout with waves of the given sizes and concurrency. */
export async function startRollout(
  postgres: Postgres,
  name: string,
  waves: readonly (readonly [tenants: number, maxConcurrent: number])[],
  maxAtService = 100,
): Promise<StartedRollout> {
  const journal = await Journal.open(await openPostgres(postgres.url));
  const queue = await openPgBossQueue(postgres.url, { log: () => {} });
  const spec = createSpec(name, waves, maxAtService);
  const targets = spec.waves.flatMap(({ tenants }) => tenants.map(buildWorkerTarget));
  const id = await journal.create(spec, targets);
  const summary = {
    planned: { added: 1, changed: 0, removed: 0 },
    changes: [],
    severities: { danger: 0, warning: 0 },
    resource: "settings",
    isStackThere: true,
  };
  await journal.recordPlans(
    id,
    targets.map((target) => ({ name: target.name, state: "pending", digest: "d", summary, plan: "{}" })),
  );
  await journal.completePlanning(id, "d", { bundle: new Map(), directory: "." });
  await journal.start(id, { retry: false });
  const events: RolloutEvent[] = [];
  const never = new AbortController().signal;
  return {
    id,
    journal,
    events,
    waitForEnd: () =>
      runRollout(id, {
        journal,
        queue,
        health: {
          rollout: id,
          requestContext: { environment: {}, getTokens: () => UNLIMITED_REQUESTS },
          addressHealth: new AddressHealth({ probe: async () => {} }),
          now: Date.now,
        },
        capacity: 1_000,
        onEvent: (event) => events.push(event),
        stopping: never,
        aborted: never,
        pollMs: 25,
      }),
    [Symbol.asyncDispose]: async () => {
      await queue.drain();
      await journal.close();
    },
  };
}

function createSpec(
  name: string,
  waves: readonly (readonly [tenants: number, maxConcurrent: number])[],
  maxConcurrent: number,
): RolloutSpec {
  return {
    source: "tenants.yaml",
    project: "tenants",
    today: "2026-11-21",
    services: [[ADDRESS, { maxConcurrent }]],
    backend: "file",
    waves: waves.map(
      ([count, maxConcurrent], index): Wave => ({
        name: `wave ${index}`,
        maxConcurrent: maxConcurrent,
        tolerated: 0,
        soakMs: 0,
        gate: false,
        tenants: Array.from({ length: count }, (_, tenant) => `${name}-${index}-${tenant}`),
      }),
    ),
  };
}

function buildWorkerTarget(name: string): Target {
  return {
    name,
    labels: {},
    baseUrl: ADDRESS,
    key: { from: "environment", variable: "KEY" },
    settings: "settings.yaml",
    stack: name,
    allowInsecureHttp: false,
    place: { file: "tenants.yaml" },
  } as Target;
}

/** Returns the tenants that a worker had started and not finished. */
export function listUnfinishedTenants(events: readonly WorkerEvent[]): string[] {
  const listTenants = (kind: string) =>
    events.flatMap((event) => (event.kind === kind && "tenant" in event ? [event.tenant] : []));
  const finished = new Set(listTenants("finished"));
  return listTenants("began")
    .filter((name) => !finished.has(name))
    .sort();
}

/** Returns the largest number of tenants in progress at once. */
export function computePeak(events: readonly RolloutEvent[], wave?: string): number {
  const changes = events.filter(
    (event) =>
      (event.kind === "tenant-started" || event.kind === "tenant-finished") &&
      (wave === undefined || event.wave === wave),
  );
  const running = new Set<string>();
  let most = 0;
  // Sorted by time, with finishes before starts: sequence numbers of two rollouts can't be compared.
  const order = [...changes].sort(
    (a, b) => Date.parse(a.occurredAt) - Date.parse(b.occurredAt) || b.kind.length - a.kind.length || a.seq - b.seq,
  );
  for (const event of order) {
    if (event.kind === "tenant-started") running.add(event.tenant);
    else if (event.kind === "tenant-finished") running.delete(event.tenant);
    most = Math.max(most, running.size);
  }
  return most;
}
