import { closedUntil } from "./closed-hours";
import type { RolloutState, TenantState, Wave, WaveState } from "./wave";

/** A rollout as its next step is chosen by it. */
export interface RolloutView {
  readonly state: RolloutState;
  readonly waves: readonly WaveView[];
  /** How many tenants may fail in the whole rollout; undefined: no limit but those of the waves. */
  readonly tolerated: number | undefined;
  /** The wave after which a person wants to look. */
  readonly until: string | undefined;
  /** Whether a person asked to begin nothing more. */
  readonly isStopping: boolean;
  /** Of the wave that is running, the tenants that are not begun, in their order; enough to fill its places. */
  readonly pending: readonly PendingTenant[];
  /** The tenants of service addresses with a limit, over all rollouts: how many may be begun now. */
  readonly roomAt: ReadonlyMap<string, number>;
  /** Whether a person wants it done in hours too that waves are closed. Default: false. */
  readonly anyTime?: boolean;
  /** How many more tenants whoever does the work can begin now. */
  readonly capacity: number;
}

export interface PendingTenant {
  readonly name: string;
  /** The service's address. */
  readonly address: string;
}

export interface WaveView {
  readonly wave: Wave;
  readonly state: WaveState;
  readonly counts: Readonly<Record<TenantState, number>>;
  /** Until when it soaks, in milliseconds since 1970. */
  readonly soakUntilMs: number | undefined;
  /** Whether a person resumed the rollout at its gate. */
  readonly isApproved: boolean;
  /** What its health check said; undefined before there was one. */
  readonly health: { readonly isWell: boolean; readonly message: string } | undefined;
}

/** What is to be done next. Waves are named by their index, from 0. */
export type Step =
  /** Nothing, until a tenant is through or this time has come. */
  | { readonly kind: "wait"; readonly untilMs?: number }
  | { readonly kind: "begin"; readonly wave: number }
  /** It begins nothing until then, and is to be gone on with. */
  | { readonly kind: "pause"; readonly wave: number; readonly untilMs: number; readonly reason: string }
  | { readonly kind: "release"; readonly wave: number; readonly tenants: readonly string[] }
  | { readonly kind: "soak"; readonly wave: number; readonly untilMs: number }
  | { readonly kind: "check"; readonly wave: number }
  | { readonly kind: "settle"; readonly wave: number }
  /** It waits for a person, who resumes it. */
  | { readonly kind: "hand-over"; readonly wave: number; readonly reason: string; readonly isGate: boolean }
  | { readonly kind: "stop"; readonly reason: string }
  | { readonly kind: "finish" };

/**
 * What a rollout does next. Pure: the same for one machine and many, for the real one and the simulation.
 *
 * It begins no tenant once more have failed than a wave, or the rollout, tolerates; so at most `tolerated +
 * maxConcurrent` fail in a wave, and at most one more than tolerated where one runs at a time. The same holds for the
 * whole rollout with the largest `maxConcurrent` of its waves, since they take turns. Tenants that could not be planned
 * count as failed from the beginning of their wave. It stops only when all that was begun is through.
 */
export function nextStep(view: RolloutView, nowMs: number): Step {
  const { waves, state } = view;
  if (state !== "running") return { kind: "wait" };
  const index = waves.findIndex((wave) => wave.state !== "done");
  const current = waves[index];
  if (current === undefined) return { kind: "finish" };
  const isBusy = underWay(waves) > 0;
  const tooMany = tooManyFailed(view);
  if (tooMany !== undefined) return isBusy ? { kind: "wait" } : { kind: "stop", reason: tooMany };
  if (view.isStopping) return isBusy ? { kind: "wait" } : { kind: "stop", reason: STOPPED_BY_PERSON };
  return stepOf(index, current, view, nowMs);
}

/** The reason of a rollout that a person stopped. */
export const STOPPED_BY_PERSON = "A person stopped it.";

function stepOf(index: number, current: WaveView, view: RolloutView, nowMs: number): Step {
  const { wave, counts } = current;
  switch (current.state) {
    case "pending":
      return pauseOf(index, current, view, nowMs) ?? { kind: "begin", wave: index };
    case "running": {
      if (counts.pending > 0) return pauseOf(index, current, view, nowMs) ?? release(index, current, view);
      if (counts.released + counts.running > 0) return { kind: "wait" };
      if (!isLookedFor(index, current, view.waves)) return afterLook(index, current, view);
      if (wave.soakMs > 0) return { kind: "soak", wave: index, untilMs: nowMs + wave.soakMs };
      return afterSoak(index, current, view);
    }
    case "soaking": {
      const { soakUntilMs = nowMs } = current;
      return nowMs < soakUntilMs ? { kind: "wait", untilMs: soakUntilMs } : afterSoak(index, current, view);
    }
    case "checking":
      return afterSoak(index, current, view);
    case "gated":
      return afterLook(index, current, view);
    default:
      return { kind: "wait" };
  }
}

/** What keeps tenants of a wave from being begun now; those that were begun come to their end first. */
function pauseOf(
  index: number,
  { wave, counts }: WaveView,
  view: RolloutView,
  nowMs: number,
): Step | undefined {
  if (wave.closed === undefined || view.anyTime === true || counts.pending === 0) return undefined;
  const untilMs = closedUntil(wave.closed, nowMs);
  if (untilMs === undefined) return undefined;
  if (underWay(view.waves) > 0) return { kind: "wait" };
  const reason = `The wave ${wave.name} begins nothing in these hours (${closedText(wave.closed)}), before ${new Date(untilMs).toISOString().slice(0, 16).replace("T", " ")} UTC.`;
  return { kind: "pause", wave: index, untilMs, reason };
}

/** Closed hours as they were written. */
export function closedText(closed: NonNullable<Wave["closed"]>): string {
  return [...new Set(closed.map(({ text }) => text))].join(", ");
}

function release(
  index: number,
  { wave, counts }: WaveView,
  { pending, roomAt, capacity }: RolloutView,
): Step {
  const places = Math.min(capacity, wave.maxConcurrent - counts.released - counts.running);
  const room = new Map(roomAt);
  const tenants: string[] = [];
  for (const { name, address } of pending) {
    if (tenants.length >= places) break;
    const left = room.get(address);
    if (left !== undefined && left <= 0) continue;
    if (left !== undefined) room.set(address, left - 1);
    tenants.push(name);
  }
  return tenants.length === 0 ? { kind: "wait" } : { kind: "release", wave: index, tenants };
}

function afterSoak(index: number, current: WaveView, view: RolloutView): Step {
  const { wave, health } = current;
  if (wave.health === undefined) return afterLook(index, current, view);
  if (health === undefined) return { kind: "check", wave: index };
  if (health.isWell) return afterLook(index, current, view);
  return { kind: "stop", reason: `The wave ${wave.name} is not well: ${health.message}` };
}

/** A wave in which nothing was changed leaves nothing to look at, unless an earlier rollout left it so, and others follow. */
function isLookedFor(index: number, { wave, counts }: WaveView, waves: readonly WaveView[]): boolean {
  if (counts.done + counts.failed > 0) return true;
  return (wave.unseen ?? []).length > 0 && isLeftAfter(index, waves);
}

function isLeftAfter(index: number, waves: readonly WaveView[]): boolean {
  return waves.slice(index + 1).some(({ counts }) => counts.pending > 0);
}

/** What a person has to say, where there is a next wave. */
function afterLook(index: number, current: WaveView, { waves, until }: RolloutView): Step {
  const { wave, isApproved } = current;
  if (!isLeftAfter(index, waves) || isApproved) return { kind: "settle", wave: index };
  if (wave.gate && isLookedFor(index, current, waves)) {
    const reason = `The wave ${wave.name} is through, and its gate waits for a person.`;
    return { kind: "hand-over", wave: index, reason, isGate: true };
  }
  if (until === wave.name) {
    const reason = `The wave ${wave.name} is through, and the rollout was to go no further.`;
    return { kind: "hand-over", wave: index, reason, isGate: false };
  }
  return { kind: "settle", wave: index };
}

function underWay(waves: readonly WaveView[]): number {
  return waves.reduce((sum, { counts }) => sum + counts.released + counts.running, 0);
}

function tooManyFailed({ waves, tolerated }: RolloutView): string | undefined {
  for (const { wave, counts, state } of waves) {
    if (state === "pending" || state === "done" || counts.failed <= wave.tolerated) continue;
    return `${failures(counts.failed)} in the wave ${wave.name}, which tolerates ${wave.tolerated}.`;
  }
  const all = waves.reduce((sum, { counts, state }) => sum + (state === "pending" ? 0 : counts.failed), 0);
  if (tolerated === undefined || all <= tolerated) return undefined;
  return `${failures(all)}, and the rollout tolerates ${tolerated}.`;
}

function failures(count: number): string {
  return count === 1 ? "1 tenant failed" : `${count} tenants failed`;
}
