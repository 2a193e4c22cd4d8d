import { omitUndefined } from "../../model/omit-undefined";
import type { Journal } from "../journal/journal";
import type { RolloutRecord, TenantRecord, WaveRecord } from "../journal/rollout-record";
import { createSkipLookup, type SkipLookup } from "../journal/tenant-skips";
import type { RolloutState, UnreviewedTenant, Wave } from "../model/wave";
import { getPlanSignatures } from "./change-signature";
import type { RolledBackChanges, RolloutLock } from "./rollout-lock";

/**
 * Builds the lock of a rollout from the journal's current state.
 *
 * @param journalUrl the location of that journal.
 * @param overrides the state that the journal is about to record. Default: the recorded state.
 */
export async function buildRolloutLock(
  journal: Journal,
  id: string,
  journalUrl: string,
  overrides: Partial<Pick<RolloutRecord, "state" | "reason">> = {},
): Promise<RolloutLock> {
  const record = { ...(await journal.getRollout(id)), ...overrides };
  const [waves, tenants] = [await journal.listWaves(id), await journal.listTenants(id)];
  const { spec, state } = record;
  const isOpen = !CLOSED_STATES.has(state);
  const rolledBack = await readRolledBackChanges(journal, record, tenants);
  return {
    rollout: id,
    project: spec.project,
    state: isOpen ? "open" : "closed",
    status: formatLockStatus(record),
    journal: journalUrl,
    events: (await journal.getLastEvent(id)) ?? 0,
    at: new Date().toISOString(),
    pending: isOpen ? tenants.filter(isPending).map(({ target }) => target.stack) : [],
    unreviewed: waves.flatMap((wave, index) =>
      findUnreviewedStacks(spec.waves[index], wave, tenants, index, createSkipLookup(spec.skipped)),
    ),
    ...omitUndefined({ rolledBack, mode: spec.mode, seq: record.seq }),
  };
}

const CLOSED_STATES: ReadonlySet<RolloutState> = new Set(["done", "abandoned", "rolled-back"]);

function isPending({ state }: TenantRecord): boolean {
  return state === "pending" || state === "queued" || state === "running";
}

const MAX_REASON_LENGTH = 300;

function formatLockStatus({ state, reason = "" }: RolloutRecord): string {
  const reasonText = reason.slice(0, MAX_REASON_LENGTH);
  switch (state) {
    case "waiting":
      return `waits for approval. ${reasonText}`;
    case "stopped":
      return `was stopped. ${reasonText}`;
    case "abandoned":
      return `was abandoned. ${reasonText}`;
    case "rolled-back":
      return `was rolled back. ${reasonText}`;
    case "done":
      return "is finished";
    default:
      return "is in progress, or was interrupted";
  }
}

function findUnreviewedStacks(
  wave: Wave | undefined,
  record: WaveRecord,
  tenants: readonly TenantRecord[],
  index: number,
  findSkip: SkipLookup<unknown>,
): readonly UnreviewedTenant[] {
  if (wave === undefined) return [];
  const isReviewed = isWaveReviewed(wave, record);
  const inherited = new Map((wave.unreviewed ?? []).map(({ name, sinceMs }) => [name, sinceMs]));
  return tenants.flatMap(({ name, wave: tenantWave, attempt, target, startedAtMs, finishedAtMs }) => {
    // A skipped tenant was not reviewed with its wave.
    if (tenantWave !== index || (isReviewed && findSkip(target) === undefined)) return [];
    const sinceMs = attempt > 0 ? (finishedAtMs ?? startedAtMs) : inherited.get(name);
    return sinceMs === undefined ? [] : [{ name: target.stack, sinceMs }];
  });
}

/** Whether the wave's gate, soak and health check are all complete. A wave without successors may be done without them. */
export function isWaveReviewed({ gate, soakMs, health }: Wave, record: WaveRecord): boolean {
  return (
    record.state === "done" &&
    (!gate || record.approvedAtMs !== undefined) &&
    (soakMs === 0 || record.soakUntilMs !== undefined) &&
    (health === undefined || record.health?.isHealthy === true)
  );
}

async function readRolledBackChanges(
  journal: Journal,
  { spec: { rollsBack } }: RolloutRecord,
  tenants: readonly TenantRecord[],
): Promise<RolledBackChanges | undefined> {
  if (rollsBack === undefined) return undefined;
  // A tenant may have had another name in the other rollout.
  const stacks = new Set(tenants.map(({ target }) => target.stack));
  const changes = new Set<string>();
  for (const { name, target } of await journal.listTenants(rollsBack)) {
    const plan = stacks.has(target.stack) ? await journal.readPlan(rollsBack, name) : undefined;
    for (const signature of plan === undefined ? [] : getPlanSignatures(plan)) changes.add(signature);
  }
  return { rollout: rollsBack, changes: [...changes].sort() };
}
