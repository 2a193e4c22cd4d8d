import { enumerate, number, say, sentence, timeWords, type Words } from "../../render/words";
import type { WaveReport } from "../model/rollout-report";
import { type RolloutWords, STATES } from "./state-words";

/** Formats the state of a wave: `stopped`, `soaking until 2026-11-21 08:12:05 UTC`. */
export function waveStateWords({ state, soakUntil }: WaveReport, { waves }: RolloutWords): Words {
  const { word } = waves[state];
  return state === "soaking" && soakUntil !== undefined ? say`${word} until ${timeWords(soakUntil)}` : [word];
}

/** Formats the details of a wave, beside its name and state: `1 failed (2 tolerated) and 20 changed`. */
export function waveWords({ counts, tolerated, health }: WaveReport, { tenants: labels }: RolloutWords): Words {
  const parts = STATES.filter((state) => counts[state] > 0).map((state): Words => {
    const count = `${number(counts[state])} ${labels[state].word}`;
    return [state === "failed" && tolerated > 0 ? `${count} (${number(tolerated)} tolerated)` : count];
  });
  const summary = enumerate(parts);
  return health === undefined || health.isWell ? summary : say`${summary}; unhealthy: ${sentence(health.message)}`;
}
