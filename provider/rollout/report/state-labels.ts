import type { RolloutReport } from "../model/rollout-report";
import type { TenantState, WaveState } from "../model/wave";

/** The display form of a tenant's or wave's state: a symbol that works without colour, and a word or two. */
export interface StateLabel {
  readonly sign: string;
  readonly word: string;
}

export const TENANT_STATE_LABELS: Readonly<Record<TenantState, StateLabel>> = {
  failed: { sign: "✗", word: "failed" },
  skipped: { sign: "⊘", word: "skipped" },
  running: { sign: "▶", word: "running" },
  done: { sign: "✓", word: "changed" },
  unchanged: { sign: "=", word: "unchanged" },
  queued: { sign: "·", word: "queued" },
  pending: { sign: "·", word: "pending" },
};

export const WAVE_STATE_LABELS: Readonly<Record<WaveState, StateLabel>> = {
  pending: { sign: "·", word: "pending" },
  running: { sign: "▶", word: "running" },
  soaking: { sign: "⧖", word: "soaking" },
  checking: { sign: "▶", word: "health check" },
  gated: { sign: "‖", word: "awaiting approval" },
  done: { sign: "✓", word: "done" },
  stopped: { sign: "✗", word: "stopped" },
};

export interface RolloutStateLabels {
  readonly tenants: Readonly<Record<TenantState, StateLabel>>;
  readonly waves: Readonly<Record<WaveState, StateLabel>>;
}

/** While no run has locked the rollout, no state may suggest that work is in progress. */
export function getStateLabels(report: Pick<RolloutReport, "state" | "isActive">): RolloutStateLabels {
  if (isInProgress(report)) return { tenants: TENANT_STATE_LABELS, waves: WAVE_STATE_LABELS };
  return {
    tenants: { ...TENANT_STATE_LABELS, running: { sign: "▶", word: "interrupted" } },
    waves: {
      ...WAVE_STATE_LABELS,
      running: { sign: "‖", word: "interrupted" },
      checking: { sign: "‖", word: "health check pending" },
    },
  };
}

export function isInProgress({ state, isActive }: Pick<RolloutReport, "state" | "isActive">): boolean {
  return state === "running" && isActive;
}

export const TENANT_STATE_ORDER = Object.keys(TENANT_STATE_LABELS) as TenantState[];
