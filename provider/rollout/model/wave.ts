import type { ClosedHours } from "./closed-hours";
import type { RolloutState, TenantState } from "./rollout-report";

export type { RolloutState, TenantState, WaveState } from "./rollout-report";

/** A wave of a rollout, its tenants chosen. Plain data: it is kept in the journal. */
export interface Wave {
  readonly name: string;
  /** How many of its tenants are changed at once; 1 or more. */
  readonly maxConcurrent: number;
  /** How many of its tenants may fail: one more, and the rollout stops. */
  readonly tolerated: number;
  /** How long to wait once it is through, in milliseconds. */
  readonly soakMs: number;
  /** Whether a person has to resume the rollout before the next wave. */
  readonly gate: boolean;
  readonly health?: HealthCheck;
  /** When none of its tenants is begun. Default: any time is well. */
  readonly closed?: readonly ClosedHours[];
  /** The names of its tenants, in the order in which they are changed. */
  readonly tenants: readonly string[];
  /**
   * Tenants whose last change, of an earlier rollout, was never let through: its wave was abandoned at its gate, or before it
   * was found well. Before others follow, this wave is looked at as if that change were its own. Absent: none.
   */
  readonly unseen?: readonly UnseenTenant[];
}

/** A tenant that was changed, and whose change nobody has looked at in the way that its wave asks for. */
export interface UnseenTenant {
  readonly name: string;
  /** When it was changed, in milliseconds since 1970. */
  readonly sinceMs: number;
}

/** What must be well after a wave, before the next one begins. Both may be given. */
export interface HealthCheck {
  /** A program and its arguments, run without a shell: it must end with 0. */
  readonly command?: readonly string[];
  /** How long the command may take, in milliseconds. */
  readonly timeoutMs: number;
  readonly threats?: ThreatLimit;
}

/**
 * No tenant of the wave may have more threats than so: those since its change, against those of as long a time before
 * the rollout. Unhealthy is what has risen by more than `risePercent` and by at least `min`.
 */
export interface ThreatLimit {
  readonly risePercent: number;
  readonly min: number;
}

/** The states in which there is nothing left to do for a tenant. */
export const SETTLED: ReadonlySet<TenantState> = new Set(["unchanged", "done", "failed", "skipped"]);

const OPEN: ReadonlySet<string> = new Set<RolloutState>(["running", "waiting", "stopped"]);

/** Whether a rollout in this state was ended before it was done, and can't be resumed. */
export function isEndedState(state: string): boolean {
  return state === "abandoned" || state === "rolled-back";
}

/** Whether something of a rollout in this state is left to go on with. */
export function isOpenState(state: string): boolean {
  return OPEN.has(state);
}
