import type { Plan } from "../../provider/plan/plan";
import { formatPlanJson } from "../../provider/plan/render/plan-json";
import type { Database } from "../../provider/rollout/database/database";
import { Journal } from "../../provider/rollout/journal/journal";
import type { PlannedTenant, RolloutSpec, TenantSummary } from "../../provider/rollout/journal/rollout-record";
import type { RecordedChange } from "../../provider/rollout/model/history-schema";
import type { TenantError } from "../../provider/rollout/model/rollout-report";
import type { Target } from "../../provider/rollout/model/target";
import type { JobQueue } from "../../provider/rollout/queue/job-queue";
import { emptyPlan } from "./plans";
import { createTarget } from "./rollout-target";

/** The properties of a rollout to write to a journal. */
export interface RolloutFixture {
  /** The planned changes of each tenant, in wave order; a tenant without changes is unchanged. */
  readonly tenants: Readonly<Record<string, readonly RecordedChange[]>>;
  /** The tenants that fail. */
  readonly failing?: readonly string[];
  /** The final state. Default: done. `waiting`, `stopped` and `running` end after the first tenant with changes. */
  readonly end?: "done" | "abandoned" | "waiting" | "stopped" | "running";
  /** Settings files by path. Default for each tenant: an empty file. */
  readonly files?: Readonly<Record<string, string>>;
  readonly spec?: Partial<RolloutSpec>;
  /** The lowest sequence number it may get. Default: the one after all in the journal. */
  readonly seq?: number;
}

export const FAILED: TenantError = {
  code: "ERR_AUTH",
  message: "No key.",
  advice: "Give one.",
  phase: "apply",
};

const QUEUE: JobQueue = { enqueue: async () => {}, start: () => {}, drain: async () => {} };

/** Writes a rollout as a run does: one wave, and each tenant through the journal's own methods. Returns its id. */
export async function writeRollout(journal: Journal, writing: RolloutFixture): Promise<string> {
  const { tenants, failing = [], end = "done", files = {}, spec, seq = 0 } = writing;
  const names = Object.keys(tenants);
  const id = await storeStartedRollout(
    journal,
    {
      ...{ source: "tenants.yaml", project: "p", today: "2026-11-21", services: [], backend: "b" },
      waves: [{ name: "all", maxConcurrent: 9, tolerated: 9, soakMs: 0, gate: false, tenants: names }],
      ...spec,
    },
    names.map((name) => createTarget(name, "https://a.example")),
    names.map((name) => {
      const changes = tenants[name] ?? [];
      const isPending = changes.length > 0;
      return {
        ...{
          name,
          state: isPending ? "pending" : "unchanged",
          digest: `v2-${name}`,
          summary: summarizeChanges(changes),
        },
        ...(isPending ? { plan: planWith(changes) } : {}),
      };
    }),
    {
      bundle: new Map(
        Object.entries({
          ...Object.fromEntries(names.map((name) => [`${name}.yaml`, "version: 1\n"])),
          ...files,
        }).map(([path, text]) => [path, Buffer.from(text)]),
      ),
      start: { by: "dana@build-7", seq },
    },
  );
  await journal.setWaveState(id, 0, "running");
  for (const name of names) {
    if (tenants[name]?.length === 0) continue;
    await journal.dispatch(id, 0, [name], QUEUE);
    const claimed = await journal.claim({ rollout: id, wave: 0, tenant: name, retryRound: 0 }, "build-7:1");
    if (claimed === undefined) throw new Error(`${name} was not begun.`);
    if (end === "running") return id;
    await journal.finish(claimed, failing.includes(name) ? FAILED : undefined);
    if (end === "waiting") {
      await journal.recordWaiting(id, 0, "Its gate waits for approval.");
      return id;
    }
    if (end === "stopped") {
      await journal.stop(id, "It was stopped by a person.");
      return id;
    }
  }
  await journal.setWaveState(id, 0, "done");
  if (end === "abandoned") await journal.abandon(id, "It was abandoned by a person.");
  else await journal.finishRollout(id);
  return id;
}

/** Stores a rollout as planning does, and starts it. Returns its id. */
async function storeStartedRollout(
  journal: Journal,
  spec: RolloutSpec,
  targets: readonly Target[],
  plans: readonly PlannedTenant[],
  {
    bundle,
    digest,
    start = {},
  }: {
    readonly bundle: ReadonlyMap<string, Uint8Array>;
    /** Default: one made from the id. */
    readonly digest?: string;
    readonly start?: { readonly by?: string; readonly seq?: number };
  },
): Promise<string> {
  const id = await journal.create(spec, targets);
  await journal.recordPlans(id, plans);
  await journal.completePlanning(id, digest ?? `r2-${id.slice(-6)}`, { bundle, directory: "." });
  await journal.start(id, { retry: false, ...start });
  return id;
}

/** A journal to which tests write rollouts that never ran. */
export interface FleetJournal extends AsyncDisposable {
  /**
   * Starts a rollout with one wave, one day after the previous one. Returns its id.
   *
   * @param files settings files by path; each tenant's is `settings/NAME.yaml`.
   * @param read the planning's snapshots of tenants, by name. Default: none.
   */
  rollout(
    files: ReadonlyMap<string, Uint8Array>,
    tenants: Readonly<Record<string, "unchanged" | "pending">>,
    project?: string,
    read?: ReadonlyMap<string, Pick<TenantSummary, "identity" | "fingerprint" | "marker">>,
  ): Promise<string>;
}

/** @param backend the fingerprint of the state backend. */
export async function openFleetJournal(database: Database, backend: string): Promise<FleetJournal> {
  let nowMs = Date.UTC(2026, 10, 9, 9);
  const journal = await Journal.open(database, () => nowMs);
  return {
    rollout: async (bundle, tenants, project = "p", read = new Map()) => {
      nowMs += 24 * 60 * 60 * 1_000;
      const names = Object.keys(tenants);
      return await storeStartedRollout(
        journal,
        {
          source: "tenants.yaml",
          project,
          today: new Date(nowMs).toISOString().slice(0, 10),
          backend,
          services: [],
          waves: [{ name: "all", tenants: names, maxConcurrent: 2, tolerated: 0, soakMs: 0, gate: false }],
        },
        names.map((name) => ({ ...createTarget(name, "https://a.example"), settings: `settings/${name}.yaml` })),
        names.map((name) => ({
          ...{ name, state: tenants[name] ?? "pending", digest: "" },
          ...(read.has(name) ? { summary: { ...summarizeChanges([]), resource: "settings", ...read.get(name) } } : {}),
        })),
        { bundle, digest: "r2-reviewed" },
      );
    },
    [Symbol.asyncDispose]: async () => await journal.close(),
  };
}

/** Builds the change that adds an entry to a list. */
export function createAddition(value: string, more: Partial<RecordedChange> = {}): RecordedChange {
  return {
    operation: "add",
    kind: "entry",
    key: value,
    value,
    after: { list: "deny", comment: "INC-1" },
    ...more,
  };
}

function planWith(changes: readonly RecordedChange[]): string {
  const plan: Plan = {
    ...emptyPlan,
    changes: changes.map((change) => ({ ...change, findings: [], severity: "none" })),
  };
  return formatPlanJson(plan);
}

function summarizeChanges(changes: readonly RecordedChange[]): TenantSummary {
  const count = (operation: RecordedChange["operation"]) =>
    changes.filter((change) => change.operation === operation).length;
  return {
    planned: { added: count("add"), changed: count("change"), removed: count("remove") },
    changes: changes.slice(0, 20).map(({ operation, kind, value, after, before }) => {
      const lists = new Set([before?.list, after?.list].filter((list) => list !== undefined));
      return { operation, kind, value, ...(lists.size === 0 ? {} : { list: [...lists].join(" → ") }) };
    }),
    severities: { danger: 0, warning: 0 },
    resource: "a",
    isStackThere: true,
  };
}
