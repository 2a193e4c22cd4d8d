import type { RolloutReport } from "../model/rollout-report";
import type { TenantState, WaveState } from "../model/wave";

/** The display form of a tenant's or wave's state: a symbol that works without colour, and a word or two. */
export interface StateWords {
  readonly sign: string;
  readonly word: string;
}

export const TENANT_STATES: Readonly<Record<TenantState, StateWords>> = {
  failed: { sign: "✗", word: "failed" },
  skipped: { sign: "⊘", word: "skipped" },
  running: { sign: "▶", word: "running" },
  done: { sign: "✓", word: "changed" },
  unchanged: { sign: "=", word: "unchanged" },
  released: { sign: "·", word: "up next" },
  pending: { sign: "·", word: "to do" },
};

export const WAVE_STATES: Readonly<Record<WaveState, StateWords>> = {
  pending: { sign: "·", word: "not begun" },
  running: { sign: "▶", word: "running" },
  soaking: { sign: "⧖", word: "soaking" },
  checking: { sign: "▶", word: "health check" },
  gated: { sign: "‖", word: "waits for a person" },
  done: { sign: "✓", word: "done" },
  stopped: { sign: "✗", word: "stopped" },
};

/** The display forms of the states of a rollout's tenants and waves. */
export interface RolloutWords {
  readonly tenants: Readonly<Record<TenantState, StateWords>>;
  readonly waves: Readonly<Record<WaveState, StateWords>>;
}

/** Without a run that holds the rollout, no state may suggest that work is in progress. */
export function rolloutWords(report: Pick<RolloutReport, "state" | "isHeld">): RolloutWords {
  if (isUnderWay(report)) return { tenants: TENANT_STATES, waves: WAVE_STATES };
  return {
    tenants: { ...TENANT_STATES, running: { sign: "▶", word: "were under way" } },
    waves: {
      ...WAVE_STATES,
      running: { sign: "‖", word: "interrupted" },
      checking: { sign: "‖", word: "to be checked" },
    },
  };
}

export function isUnderWay({ state, isHeld }: Pick<RolloutReport, "state" | "isHeld">): boolean {
  return state === "running" && isHeld;
}

export const STATES = Object.keys(TENANT_STATES) as TenantState[];
