import { getClosedHoursEnd } from "./closed-hours";
import type { RolloutState, TenantState, Wave, WaveState } from "./wave";

export interface RunState {
  readonly state: RolloutState;
  readonly waves: readonly WaveRunState[];
  /** How many tenants may fail in the whole rollout. Undefined: only the waves have limits. */
  readonly tolerated: number | undefined;
  readonly until: string | undefined;
  /** Whether a person requested a stop. */
  readonly isStopping: boolean;
  /** The first pending tenants of the running wave, in order: enough to fill its concurrency. */
  readonly pending: readonly PendingTenant[];
  /** How many more tenants may start now, for each service address with a limit. Counts all rollouts. */
  readonly freeSlotsByAddress: ReadonlyMap<string, number>;
  /** Whether to ignore closed hours. Default: false. */
  readonly anyTime?: boolean;
  /** How many more tenants the workers can start now. */
  readonly capacity: number;
}

export interface PendingTenant {
  readonly name: string;
  readonly address: string;
}

export interface WaveRunState {
  readonly wave: Wave;
  readonly state: WaveState;
  readonly counts: Readonly<Record<TenantState, number>>;
  readonly soakUntilMs: number | undefined;
  readonly isApproved: boolean;
  /** The result of its health check. Undefined before the check. */
  readonly health: { readonly isHealthy: boolean; readonly message: string } | undefined;
}

/** The next step. Waves are identified by index, from 0. */
export type RolloutStep =
  /** Wait until a tenant finishes, or until this time. */
  | { readonly kind: "wait"; readonly untilMs?: number }
  | { readonly kind: "begin"; readonly wave: number }
  /** Start nothing until then. A later run must resume the rollout. */
  | { readonly kind: "pause"; readonly wave: number; readonly untilMs: number; readonly reason: string }
  | { readonly kind: "dispatch"; readonly wave: number; readonly tenants: readonly string[] }
  | { readonly kind: "soak"; readonly wave: number; readonly untilMs: number }
  | { readonly kind: "check"; readonly wave: number }
  | { readonly kind: "settle"; readonly wave: number }
  /** Wait for a person to resume the rollout. */
  | { readonly kind: "hand-over"; readonly wave: number; readonly reason: string; readonly isGate: boolean }
  | { readonly kind: "stop"; readonly reason: string }
  | { readonly kind: "finish" };

/**
 * Chooses the next step of a rollout. It is a pure function, shared by one machine, many machines and the simulation.
 *
 * It starts no tenant after more have failed than a wave, or the rollout, tolerates. A wave therefore has at most
 * `tolerated + maxConcurrent` failures: with one tenant at a time, one more than tolerated. The same limit holds for the whole rollout with
 * the largest `maxConcurrent` of its waves, because waves run one after another. Tenants that could not be planned count as failed from the
 * beginning of their wave. The rollout stops only after all running tenants have finished.
 */
export function chooseNextStep(runState: RunState, nowMs: number): RolloutStep {
  const { waves, state } = runState;
  if (state !== "running") return { kind: "wait" };
  const index = waves.findIndex((wave) => wave.state !== "done");
  const current = waves[index];
  if (current === undefined) return { kind: "finish" };
  const isBusy = countRunning(waves) > 0;
  const failureReason = describeExcessFailures(runState);
  if (failureReason !== undefined) return isBusy ? { kind: "wait" } : { kind: "stop", reason: failureReason };
  if (runState.isStopping) return isBusy ? { kind: "wait" } : { kind: "stop", reason: STOPPED_BY_PERSON };
  return chooseStep(index, current, runState, nowMs);
}

export const STOPPED_BY_PERSON = "It was stopped by a person.";

function chooseStep(index: number, current: WaveRunState, runState: RunState, nowMs: number): RolloutStep {
  const { wave, counts } = current;
  switch (current.state) {
    case "pending":
      return getClosedHoursStep(index, current, runState, nowMs) ?? { kind: "begin", wave: index };
    case "running": {
      if (counts.pending > 0)
        return getClosedHoursStep(index, current, runState, nowMs) ?? chooseReleaseStep(index, current, runState);
      if (counts.queued + counts.running > 0) return { kind: "wait" };
      if (!needsReview(index, current, runState.waves)) return chooseStepAfterReview(index, current, runState);
      if (wave.soakMs > 0) return { kind: "soak", wave: index, untilMs: nowMs + wave.soakMs };
      return chooseStepAfterSoak(index, current, runState);
    }
    case "soaking": {
      const { soakUntilMs = nowMs } = current;
      return nowMs < soakUntilMs
        ? { kind: "wait", untilMs: soakUntilMs }
        : chooseStepAfterSoak(index, current, runState);
    }
    case "checking":
      return chooseStepAfterSoak(index, current, runState);
    // It is gated: a wave that is done is never the current one.
    default:
      return chooseStepAfterReview(index, current, runState);
  }
}

/** Returns the step that delays a wave because of closed hours. Running tenants finish first. */
function getClosedHoursStep(
  index: number,
  { wave, counts }: WaveRunState,
  runState: RunState,
  nowMs: number,
): RolloutStep | undefined {
  if (wave.closed === undefined || runState.anyTime === true || counts.pending === 0) return undefined;
  const untilMs = getClosedHoursEnd(wave.closed, nowMs);
  if (untilMs === undefined) return undefined;
  if (countRunning(runState.waves) > 0) return { kind: "wait" };
  const reason = `The wave ${wave.name} doesn't start tenants in these hours (${formatClosedHours(wave.closed)}), before ${new Date(untilMs).toISOString().slice(0, 16).replace("T", " ")} UTC.`;
  return { kind: "pause", wave: index, untilMs, reason };
}

export function formatClosedHours(closedHours: NonNullable<Wave["closed"]>): string {
  return [...new Set(closedHours.map(({ text }) => text))].join(", ");
}

function chooseReleaseStep(
  index: number,
  { wave, counts }: WaveRunState,
  { pending, freeSlotsByAddress, capacity }: RunState,
): RolloutStep {
  const availableSlots = Math.min(capacity, wave.maxConcurrent - counts.queued - counts.running);
  const freeSlots = new Map(freeSlotsByAddress);
  const tenants: string[] = [];
  for (const { name, address } of pending) {
    if (tenants.length >= availableSlots) break;
    const remainingSlots = freeSlots.get(address) ?? Number.POSITIVE_INFINITY;
    if (remainingSlots <= 0) continue;
    freeSlots.set(address, remainingSlots - 1);
    tenants.push(name);
  }
  return tenants.length === 0 ? { kind: "wait" } : { kind: "dispatch", wave: index, tenants };
}

function chooseStepAfterSoak(index: number, current: WaveRunState, runState: RunState): RolloutStep {
  const { wave, health } = current;
  if (wave.health === undefined) return chooseStepAfterReview(index, current, runState);
  if (health === undefined) return { kind: "check", wave: index };
  if (health.isHealthy) return chooseStepAfterReview(index, current, runState);
  return { kind: "stop", reason: `The wave ${wave.name} is unhealthy: ${health.message}` };
}

/** An unchanged wave needs no soak, check or gate. The exception is an unreviewed change of an earlier rollout, if tenants follow. */
function needsReview(index: number, { wave, counts }: WaveRunState, waves: readonly WaveRunState[]): boolean {
  if (counts.done + counts.failed > 0) return true;
  return (wave.unreviewed ?? []).length > 0 && hasPendingAfter(index, waves);
}

function hasPendingAfter(index: number, waves: readonly WaveRunState[]): boolean {
  return waves.slice(index + 1).some(({ counts }) => counts.pending > 0);
}

function chooseStepAfterReview(index: number, current: WaveRunState, { waves, until }: RunState): RolloutStep {
  const { wave, isApproved } = current;
  if (!hasPendingAfter(index, waves) || isApproved) return { kind: "settle", wave: index };
  if (wave.gate && needsReview(index, current, waves)) {
    const reason = `The wave ${wave.name} is finished, and its gate waits for approval.`;
    return { kind: "hand-over", wave: index, reason, isGate: true };
  }
  if (until === wave.name) {
    const reason = `The wave ${wave.name} is finished, and the rollout was to pause after it.`;
    return { kind: "hand-over", wave: index, reason, isGate: false };
  }
  return { kind: "settle", wave: index };
}

function countRunning(waves: readonly WaveRunState[]): number {
  return waves.reduce((sum, { counts }) => sum + counts.queued + counts.running, 0);
}

function describeExcessFailures({ waves, tolerated }: RunState): string | undefined {
  for (const { wave, counts, state } of waves) {
    if (state === "pending" || state === "done" || counts.failed <= wave.tolerated) continue;
    return `${formatFailures(counts.failed)} in the wave ${wave.name}, which tolerates ${wave.tolerated}.`;
  }
  const totalFailures = waves.reduce((sum, { counts, state }) => sum + (state === "pending" ? 0 : counts.failed), 0);
  if (tolerated === undefined || totalFailures <= tolerated) return undefined;
  return `${formatFailures(totalFailures)}, and the rollout tolerates ${tolerated}.`;
}

function formatFailures(count: number): string {
  return count === 1 ? "1 tenant failed" : `${count} tenants failed`;
}
