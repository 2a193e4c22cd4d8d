import {
  formatNumber,
  formatTimestamp,
  joinWithAnd,
  type SafeText,
  safeText,
  untrustedSentence,
} from "../../render/safe-text";
import type { WaveReport } from "../model/rollout-report";
import { type RolloutStateLabels, TENANT_STATE_ORDER } from "./state-labels";

export function formatWaveState({ state, soakUntil }: WaveReport, { waves }: RolloutStateLabels): SafeText {
  const { word } = waves[state];
  return state === "soaking" && soakUntil !== undefined
    ? safeText`${word} until ${formatTimestamp(soakUntil)}`
    : [word];
}

/** Formats the details of a wave that follow its name and state: `1 failed (2 tolerated) and 20 changed`. */
export function formatWaveSummary(
  { counts, toleratedFailures, health }: WaveReport,
  { tenants: labels }: RolloutStateLabels,
): SafeText {
  const parts = TENANT_STATE_ORDER.filter((state) => counts[state] > 0).map((state): SafeText => {
    const count = `${formatNumber(counts[state])} ${labels[state].word}`;
    return [
      state === "failed" && toleratedFailures > 0 ? `${count} (${formatNumber(toleratedFailures)} tolerated)` : count,
    ];
  });
  const summary = joinWithAnd(parts);
  return health === undefined || health.isHealthy
    ? summary
    : safeText`${summary}; unhealthy: ${untrustedSentence(health.message)}`;
}
