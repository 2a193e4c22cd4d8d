import type { RolloutReport } from "../model/rollout-report";
import type { TenantState, WaveState } from "../model/wave";

/** The display form of a tenant's or wave's state: a symbol that works without colour, and a word or two. */
export interface StateLabel {
  readonly symbol: string;
  readonly word: string;
}

export const TENANT_STATE_LABELS: Readonly<Record<TenantState, StateLabel>> = {
  failed: { symbol: "✗", word: "failed" },
  skipped: { symbol: "⊘", word: "skipped" },
  running: { symbol: "▶", word: "running" },
  done: { symbol: "✓", word: "changed" },
  unchanged: { symbol: "=", word: "unchanged" },
  queued: { symbol: "·", word: "queued" },
  pending: { symbol: "·", word: "pending" },
};

export const WAVE_STATE_LABELS: Readonly<Record<WaveState, StateLabel>> = {
  pending: { symbol: "·", word: "pending" },
  running: { symbol: "▶", word: "running" },
  soaking: { symbol: "⧖", word: "soaking" },
  checking: { symbol: "▶", word: "health check" },
  gated: { symbol: "‖", word: "awaiting approval" },
  done: { symbol: "✓", word: "done" },
  stopped: { symbol: "✗", word: "stopped" },
};

export interface RolloutStateLabels {
  readonly tenants: Readonly<Record<TenantState, StateLabel>>;
  readonly waves: Readonly<Record<WaveState, StateLabel>>;
}

/** While no run has locked the rollout, no state may suggest that work is in progress. */
export function getStateLabels(report: Pick<RolloutReport, "state" | "isActive">): RolloutStateLabels {
  if (isInProgress(report)) return { tenants: TENANT_STATE_LABELS, waves: WAVE_STATE_LABELS };
  return {
    tenants: { ...TENANT_STATE_LABELS, running: { symbol: "▶", word: "interrupted" } },
    waves: {
      ...WAVE_STATE_LABELS,
      running: { symbol: "‖", word: "interrupted" },
      checking: { symbol: "‖", word: "health check pending" },
    },
  };
}

export function isInProgress({ state, isActive }: Pick<RolloutReport, "state" | "isActive">): boolean {
  return state === "running" && isActive;
}

export const TENANT_STATE_ORDER = Object.keys(TENANT_STATE_LABELS) as TenantState[];
