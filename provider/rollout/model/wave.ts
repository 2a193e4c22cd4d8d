import type { ClosedHours } from "./closed-hours";
import type { RolloutState, TenantState } from "./rollout-report";

export type { RolloutState, TenantState, WaveState } from "./rollout-report";

export interface Wave {
  readonly name: string;
  /** How many of its tenants to change at once. At least 1. */
  readonly maxConcurrent: number;
  /** How many of its tenants may fail. One more failure stops the rollout. */
  readonly tolerated: number;
  /** How long to wait after the wave, in milliseconds. */
  readonly soakMs: number;
  /** Whether a person must resume the rollout before the next wave. */
  readonly gate: boolean;
  readonly health?: HealthCheck;
  /** When no tenant of the wave may start. Default: never. */
  readonly closed?: readonly ClosedHours[];
  readonly tenants: readonly string[];
  /**
   * Tenants with an unreviewed last change from an earlier rollout: its wave was abandoned at the gate, or before it was found
   * healthy. Before other tenants follow, this wave is reviewed as if that change were its own. Absent: none.
   */
  readonly unreviewed?: readonly UnreviewedTenant[];
}

/** A tenant with a change that was not reviewed as its wave requires. */
export interface UnreviewedTenant {
  readonly name: string;
  /** When it was changed, in milliseconds since 1970. */
  readonly sinceMs: number;
}

/** The health criteria of a wave, to meet before the next wave begins. Both kinds may be given. */
export interface HealthCheck {
  /** A program and its arguments, run without a shell. It must exit with 0. */
  readonly command?: readonly string[];
  readonly timeoutMs: number;
  readonly threats?: ThreatLimit;
}

/**
 * The limit on new threats for each tenant of the wave. It compares the threats since the tenant's change with those of an equally long
 * period before it. The wave is unhealthy if they rise by more than `risePercent` and by at least `min`.
 */
export interface ThreatLimit {
  readonly risePercent: number;
  readonly min: number;
}

/** The states in which nothing is left to do for a tenant. */
export const SETTLED_STATES: ReadonlySet<TenantState> = new Set(["unchanged", "done", "failed", "skipped"]);

const OPEN_STATES: ReadonlySet<string> = new Set<RolloutState>(["running", "waiting", "stopped"]);

/** Whether a rollout in this state ended before it was done, and can't be resumed. */
export function isFinalState(state: string): boolean {
  return state === "abandoned" || state === "rolled-back";
}

export function isOpenState(state: string): boolean {
  return OPEN_STATES.has(state);
}
