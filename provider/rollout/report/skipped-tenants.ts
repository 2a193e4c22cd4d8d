import { excerpt, quote } from "../../model/text";
import {
  formatMinute,
  formatNumber,
  type SafeText,
  safeText,
  toSingleLine,
  untrusted,
  untrustedSentence,
} from "../../render/safe-text";
import type { SkippedTenant } from "../journal/rollout-record";
import type { RolloutReport, SkippedReport } from "../model/rollout-report";
import { formatTenantNames } from "./format-tenant-names";

export const NO_SKIPPED_TENANTS: NonNullable<RolloutReport["skipped"]> = [];

/** Formats the skipped tenants as a sentence that follows another one. Empty if there are none. */
export function formatSkippedSentence({ skipped = NO_SKIPPED_TENANTS }: RolloutReport): SafeText {
  if (skipped.length === 0) return [];
  return safeText` Skipped: ${formatTenantNames(skipped)}.`;
}

export function formatSkippedTenant({ name, skippedAt, skippedBy, reason }: SkippedReport): SafeText {
  const skippedByText: SafeText = skippedBy === undefined ? [] : safeText` by ${untrusted(skippedBy)}`;
  return safeText`${untrusted(name)}, since ${formatMinute(skippedAt)}${skippedByText}: ${untrustedSentence(toSingleLine(reason))}`;
}

export function formatSkippedHeading(skipped: readonly unknown[]): string {
  return `Skipped (${formatNumber(skipped.length)})`;
}

/** For example: `"t003", since 2026-11-21 03:12 UTC by dana@build-7 (its key is refused)`. */
export function formatSkip({ name, sinceMs, by, reason }: SkippedTenant): string {
  const since = new Date(sinceMs).toISOString().slice(0, 16).replace("T", " ");
  const skippedByText = by === undefined ? "" : ` by ${excerpt(by)}`;
  return `${quote(name)}, since ${since} UTC${skippedByText} (${excerpt(reason.replace(/\s+/g, " "), 300)})`;
}
