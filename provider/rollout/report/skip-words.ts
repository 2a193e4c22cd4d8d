import { given, minute, number, onOneLine, say, sentence, type Words } from "../../render/words";
import type { RolloutReport, SkippedReport } from "../model/rollout-report";
import { tenantNames } from "./tenant-names";

export const NOBODY: NonNullable<RolloutReport["skipped"]> = [];

/** Formats the skipped tenants as a sentence that follows another one. Empty if there are none. */
export function withoutWords({ skipped = NOBODY }: RolloutReport): Words {
  if (skipped.length === 0) return [];
  return say` Skipped: ${tenantNames(skipped)}.`;
}

/** Formats a skipped tenant, with the time, the person and the reason. */
export function skippedWords({ name, since, by, reason }: SkippedReport): Words {
  const skippedByText: Words = by === undefined ? [] : say` by ${given(by)}`;
  return say`${given(name)}, since ${minute(since)}${skippedByText}: ${sentence(onOneLine(reason))}`;
}

/** The heading of the skipped tenants. */
export function skippedHeading(skipped: readonly unknown[]): string {
  return `Skipped (${number(skipped.length)})`;
}
