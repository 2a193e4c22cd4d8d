import type { Database } from "../../provider/rollout/database/database";
import { Journal } from "../../provider/rollout/journal/journal";
import type { RolloutSpec, TenantSummary } from "../../provider/rollout/journal/rollout-record";
import { createTarget } from "./rollout-target";

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

const SUMMARY: TenantSummary = {
  planned: { added: 0, changed: 0, removed: 0 },
  changes: [],
  alarms: { danger: 0, warning: 0 },
  resource: "settings",
  isStackThere: true,
};

/** @param backend the fingerprint of the state backend. */
export async function fleetJournal(database: Database, backend: string): Promise<FleetJournal> {
  let now = Date.UTC(2026, 10, 9, 9);
  const journal = await Journal.open(database, () => now);
  return {
    rollout: async (bundle, tenants, project = "p", read = new Map()) => {
      now += 24 * 60 * 60 * 1_000;
      const names = Object.keys(tenants);
      const wave = { name: "all", tenants: names, maxConcurrent: 2, tolerated: 0, soakMs: 0, gate: false };
      const spec: RolloutSpec = {
        source: "tenants.yaml",
        project,
        today: new Date(now).toISOString().slice(0, 10),
        backend,
        services: [],
        waves: [wave],
      };
      const targets = names.map((name) => ({
        ...createTarget(name, "https://a.example"),
        settings: `settings/${name}.yaml`,
      }));
      const id = await journal.create(spec, targets);
      await journal.recordPlans(
        id,
        names.map((name) => ({
          ...{ name, state: tenants[name] ?? "pending", digest: "" },
          ...(read.has(name) ? { summary: { ...SUMMARY, ...read.get(name) } } : {}),
        })),
      );
      await journal.completePlanning(id, "r2-reviewed", { bundle, directory: "." });
      await journal.start(id, { retry: false });
      return id;
    },
    [Symbol.asyncDispose]: async () => await journal.close(),
  };
}
