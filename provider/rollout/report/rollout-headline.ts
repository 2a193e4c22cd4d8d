import {
  formatCount,
  formatMinute,
  formatNumber,
  formatTimestamp,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../render/safe-text";
import { createSkipLookup } from "../journal/tenant-skips";
import type { RolloutReport, TenantReport } from "../model/rollout-report";
import { isFinalState, type TenantState } from "../model/wave";
import { formatTenantNames } from "./format-tenant-names";
import { formatSkippedSentence, NO_SKIPPED_TENANTS } from "./skipped-tenants";

/** Counts the finished tenants. Excludes those that a run left behind when it ended. */
export function countFinishedTenants(counts: Readonly<Record<TenantState, number>>): number {
  return counts.done + counts.unchanged + counts.failed + counts.skipped;
}

export function buildRolloutHeadline(report: RolloutReport): SafeText {
  const reasonText = describeReason(report);
  const progressText = [...describeProgress(report), ...formatSkippedSentence(report)];
  return reasonText.length === 0 ? progressText : [...reasonText, " ", ...progressText];
}

function describeReason({ state, reason, isActive, waitingSince, waves }: RolloutReport): SafeText {
  const reasonText = reason === undefined ? [] : [untrustedSentence(reason)];
  switch (state) {
    case "waiting":
      return waitingSince === undefined
        ? reasonText
        : [...reasonText, ...safeText` Waiting since ${formatMinute(waitingSince)}.`];
    case "running": {
      if (!isActive) return reasonText;
      const activeWave = waves.find((wave) => wave.state === "soaking" || wave.state === "checking");
      if (activeWave === undefined) return reasonText;
      if (activeWave.state === "checking")
        return safeText`The health check of wave ${untrusted(activeWave.name)} is running.`;
      const untilText: SafeText =
        activeWave.soakUntil === undefined ? [] : safeText` until ${formatTimestamp(activeWave.soakUntil)}`;
      return safeText`Wave ${untrusted(activeWave.name)} is soaking${untilText}.`;
    }
    default:
      return reasonText;
  }
}

function describeProgress({
  counts,
  tenants,
  state,
  waves,
  rollsBack,
  rollsBackTo,
  skipped = NO_SKIPPED_TENANTS,
  mode,
}: RolloutReport): SafeText {
  // Skipped tenants have their own sentence.
  const total = tenants.length - counts.skipped;
  const finishedCount = countFinishedTenants(counts) - counts.skipped;
  if (state === "planned") {
    const failedText = counts.failed > 0 ? `, ${formatNumber(counts.failed)} failed` : "";
    return safeText`${formatCount(total, "tenant")} in ${formatCount(waves.length, "wave")}: ${formatCount(
      total - counts.unchanged - counts.failed,
      "tenant",
    )} to change, ${counts.unchanged} unchanged${failedText}.`;
  }
  // The present state of these tenants is unknown here.
  if (isFinalState(state)) {
    return safeText`${counts.done} of ${formatCount(total, "tenant")} changed, ${counts.failed} failed, ${
      total - finishedCount
    } not started.`;
  }
  if (mode !== undefined) {
    const { done, unchanged, failed } = counts;
    const unrevertedTenants = tenants.filter(({ unreverted = [] }) => unreverted.length > 0).length;
    const unrevertedText =
      unrevertedTenants === 0
        ? ""
        : ` Some changes of ${formatCount(unrevertedTenants, "tenant")} are not reverted, as planned.`;
    return safeText`${done} of ${formatCount(total, "tenant")} changed, ${unchanged} unchanged, ${failed} failed, ${total - finishedCount} pending.${unrevertedText}`;
  }
  const restoresFiles = rollsBack === undefined || rollsBackTo?.startsWith("the files") === true;
  const formatTargetState = (possessive: string) =>
    restoresFiles ? safeText`${possessive} files` : safeText`${possessive} state before ${untrusted(rollsBack ?? "")}`;
  // A tenant that was skipped after it was finished is counted only as skipped.
  const findSkip = createSkipLookup(skipped);
  const matching = tenants.filter((tenant) => MATCHING_STATES.has(tenant.state) && findSkip(tenant) === undefined);
  const pendingCount = total - finishedCount;
  const includedCount = matching.length + counts.failed + pendingCount;
  const changedTenants = rollsBack === undefined ? [] : findChangedTenants(matching);
  if (changedTenants.length > 0) {
    const matchingCount = matching.length - changedTenants.length;
    const failedText = counts.failed > 0 ? `, ${formatNumber(counts.failed)} failed` : "";
    const openText = pendingCount > 0 ? `, ${formatNumber(pendingCount)} pending` : "";
    return safeText`${matchingCount} of ${formatCount(includedCount, "tenant")} match ${formatTargetState("their")}${failedText}${openText}. ${formatTenantNames(changedTenants)} changed after the rollout; those changes stay.`;
  }
  if (matching.length === includedCount) {
    if (skipped.length > 0) {
      return includedCount === 0
        ? safeText`Nothing remains to do.`
        : safeText`${formatCount(includedCount, "tenant")} ${includedCount === 1 ? "matches" : "match"} ${formatTargetState(includedCount === 1 ? "its" : "their")}.`;
    }
    return includedCount === 1
      ? safeText`The tenant matches ${formatTargetState("its")}.`
      : safeText`All ${formatCount(includedCount, "tenant")} match ${formatTargetState("their")}.`;
  }
  return safeText`${matching.length} of ${formatCount(includedCount, "tenant")} match ${formatTargetState("their")}, ${counts.failed} failed, ${pendingCount} pending.`;
}

const MATCHING_STATES: ReadonlySet<TenantState> = new Set(["done", "unchanged"]);

/**
 * Finds the tenants that have not returned fully to their previous state, because somebody changed them after the
 * rollout.
 */
function findChangedTenants(tenants: readonly TenantReport[]): readonly TenantReport[] {
  return tenants.filter(({ unreverted = [] }) => unreverted.length > 0);
}
