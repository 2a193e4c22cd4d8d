import { given, minute, number, onOneLine, say, sentence, type Words } from "../../render/words";
import type { RolloutReport, SkippedReport } from "../model/rollout-report";
import { tenantNames } from "./tenant-names";

export const NOBODY: NonNullable<RolloutReport["skipped"]> = [];

/** Whom it goes on without: a sentence behind another one; empty where there is nobody. */
export function withoutWords({ skipped = NOBODY }: RolloutReport): Words {
  if (skipped.length === 0) return [];
  return say` Skipped: ${tenantNames(skipped)}.`;
}

/** Who is skipped, since when, who said so and why. */
export function skippedWords({ name, since, by, reason }: SkippedReport): Words {
  const who: Words = by === undefined ? [] : say` by ${given(by)}`;
  return say`${given(name)}, since ${minute(since)}${who}: ${sentence(onOneLine(reason))}`;
}

/** What stands above those that are skipped. */
export function skippedHeading(skipped: readonly unknown[]): string {
  return `Skipped (${number(skipped.length)})`;
}
