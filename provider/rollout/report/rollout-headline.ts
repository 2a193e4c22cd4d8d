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
import { createSkipLookup } from "../journal/skips";
import type { RolloutReport, TenantReport } from "../model/rollout-report";
import { isFinalState, type TenantState } from "../model/wave";
import { formatSkippedSentence, NO_SKIPPED_TENANTS } from "./skipped-tenants";
import { formatTenantNames } from "./tenant-names";

/** Counts the finished tenants. Excludes those that a run left behind when it ended. */
export function countFinishedTenants(counts: Readonly<Record<TenantState, number>>): number {
  return counts.done + counts.unchanged + counts.failed + counts.skipped;
}

export function buildRolloutHeadline(report: RolloutReport): SafeText {
  const reasonText = describeReason(report);
  const progressText = [...describeProgress(report), ...formatSkippedSentence(report)];
  return reasonText.length === 0 ? progressText : [...reasonText, " ", ...progressText];
}

/** Explains the state of a rollout, with the time since when, or until when. */
function describeReason({ state, reason, isHeld, waitingSince, waves }: RolloutReport): SafeText {
  const reasonText = reason === undefined ? [] : [untrustedSentence(reason)];
  switch (state) {
    case "waiting":
      return waitingSince === undefined
        ? reasonText
        : [...reasonText, ...safeText` It has waited since ${formatMinute(waitingSince)}.`];
    case "running": {
      if (!isHeld) return reasonText;
      const activeWave = waves.find((wave) => wave.state === "soaking" || wave.state === "checking");
      if (activeWave === undefined) return reasonText;
      if (activeWave.state === "checking")
        return safeText`The health of the wave ${untrusted(activeWave.name)} is being checked.`;
      const untilText: SafeText =
        activeWave.soakUntil === undefined ? [] : safeText` until ${formatTimestamp(activeWave.soakUntil)}`;
      return safeText`The wave ${untrusted(activeWave.name)} is through, and soaks${untilText}.`;
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
  task,
}: RolloutReport): SafeText {
  // Skipped tenants have their own sentence.
  const total = tenants.length - counts.skipped;
  const finishedCount = countFinishedTenants(counts) - counts.skipped;
  if (state === "planned") {
    const failedText = counts.failed > 0 ? `, ${formatNumber(counts.failed)} failed` : "";
    return safeText`${formatCount(total, "tenant")} in ${formatCount(waves.length, "wave")}: ${formatCount(
      total - counts.unchanged - counts.failed,
      "tenant",
    )} to change, ${counts.unchanged} ${task === undefined ? "as declared already" : "left as they are"}${failedText}.`;
  }
  // The present state of these tenants is unknown here.
  if (isFinalState(state)) {
    return safeText`It changed ${counts.done} of ${formatCount(total, "tenant")}, ${counts.failed} failed, ${
      total - finishedCount
    } were left.`;
  }
  if (task !== undefined) {
    const { done, unchanged, failed } = counts;
    const untouchedTenants = tenants.filter(({ left = [] }) => left.length > 0).length;
    const untouchedText =
      untouchedTenants === 0 ? "" : ` In ${formatCount(untouchedTenants, "tenant")} something stays, as its plan told.`;
    return safeText`It changed ${done} of ${formatCount(total, "tenant")}, and left ${unchanged} as they are. ${failed} failed, and ${total - finishedCount} are still to do.${untouchedText}`;
  }
  const goesToFiles = rollsBack === undefined || rollsBackTo?.startsWith("the files") === true;
  const formatGoal = (subject: string) =>
    goesToFiles ? safeText`what is declared` : safeText`what ${subject} held before ${untrusted(rollsBack ?? "")}`;
  // A tenant that was skipped after it was finished is counted only as skipped.
  const findSkip = createSkipLookup(skipped);
  const holding = tenants.filter((tenant) => HOLDING_STATES.has(tenant.state) && findSkip(tenant) === undefined);
  const leftCount = total - finishedCount;
  const heldTotal = holding.length + counts.failed + leftCount;
  const changedTenants = rollsBack === undefined ? [] : findChangedTenants(holding);
  if (changedTenants.length > 0) {
    const matchingCount = holding.length - changedTenants.length;
    const failedText = counts.failed > 0 ? `, ${formatNumber(counts.failed)} failed` : "";
    const openText = leftCount > 0 ? `, ${formatNumber(leftCount)} left` : "";
    return safeText`${matchingCount} of ${formatCount(heldTotal, "tenant")} hold ${formatGoal("they")}${failedText}${openText}. Somebody changed ${formatTenantNames(changedTenants)} after the rollout; what was changed stays.`;
  }
  if (holding.length === heldTotal) {
    if (skipped.length > 0) {
      return heldTotal === 0
        ? safeText`Nothing is left of it to do.`
        : safeText`${formatCount(heldTotal, "tenant")} ${heldTotal === 1 ? "holds" : "hold"} ${formatGoal(heldTotal === 1 ? "it" : "they")}.`;
    }
    return heldTotal === 1
      ? safeText`The one tenant holds ${formatGoal("it")}.`
      : safeText`All ${formatCount(heldTotal, "tenant")} hold ${formatGoal("they")}.`;
  }
  return safeText`${holding.length} of ${formatCount(heldTotal, "tenant")} hold ${formatGoal("they")}, ${counts.failed} failed, ${leftCount} left.`;
}

const HOLDING_STATES: ReadonlySet<TenantState> = new Set(["done", "unchanged"]);

/**
 * Finds the tenants that have not returned fully to their previous state, because somebody changed them after the
 * rollout.
 */
function findChangedTenants(tenants: readonly TenantReport[]): readonly TenantReport[] {
  return tenants.filter(({ left = [] }) => left.length > 0);
}
