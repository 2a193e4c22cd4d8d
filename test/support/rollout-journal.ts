import { openJournalDatabase } from "../../provider/rollout/database/open-database";
import { Journal } from "../../provider/rollout/journal/journal";
import type { RolloutSpec, TenantSummary } from "../../provider/rollout/journal/rollout-record";
import type { JobQueue } from "../../provider/rollout/queue/job-queue";
import { createTarget } from "./rollout-target";

const QUEUE = { enqueue: async () => {}, start: () => {} } as unknown as JobQueue;

/** Writes a journal with one rollout that added an entry at acme and failed at globex. */
export async function journalAt(place: string): Promise<string> {
  const database = await openJournalDatabase(place);
  const journal = await Journal.open(database, () => Date.UTC(2026, 10, 2, 9));
  const spec = {
    source: "tenants.yaml",
    project: "p",
    today: "2026-11-02",
    backend: "b",
    services: [],
    waves: [
      { name: "canary", tenants: ["acme"], maxConcurrent: 2, tolerated: 0, soakMs: 0, gate: false },
      { name: "rest", tenants: ["globex"], maxConcurrent: 2, tolerated: 0, soakMs: 0, gate: false },
    ],
  } as unknown as RolloutSpec;
  const targets = ["acme", "globex"].map((name) => createTarget(name, "https://a.example"));
  const id = await journal.create(spec, targets);
  const plan = JSON.stringify({
    changes: [{ sign: "add", kind: "entry", key: "flood.example", value: "flood.example", after: { list: "deny" } }],
  });
  const summary = { resource: "a", isStackThere: true } as unknown as TenantSummary;
  await journal.recordPlans(
    id,
    targets.map(({ name }) => ({ name, state: "pending" as const, digest: `v2-${name}`, summary, plan })),
  );
  await journal.completePlanning(id, "r2-reviewed", { bundle: new Map(), directory: "." });
  await journal.start(id, { retry: false });
  await journal.setWaveState(id, 0, "running");
  await journal.dispatch(id, 0, ["acme"], QUEUE);
  const claimed = await journal.claim({ rollout: id, wave: 0, tenant: "acme", retryRound: 0 }, "here:1");
  if (claimed === undefined) throw new Error("It was not begun.");
  await journal.finish(claimed, undefined);
  await journal.close();
  return id;
}
