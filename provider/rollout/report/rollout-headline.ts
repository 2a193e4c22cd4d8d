import { counted, given, minute, number, say, sentence, timeWords, type Words } from "../../render/words";
import type { RolloutReport, TenantReport } from "../model/rollout-report";
import { isEndedState, type TenantState } from "../model/wave";
import { NOBODY, withoutWords } from "./skip-words";
import { tenantNames } from "./tenant-names";

/** Counts the finished tenants. Excludes those that a run left behind when it ended. */
export function throughOf(counts: Readonly<Record<TenantState, number>>): number {
  return counts.done + counts.unchanged + counts.failed + counts.skipped;
}

export function headlineOf(report: RolloutReport): Words {
  const reasonText = describeReason(report);
  const progressText = [...describeProgress(report), ...withoutWords(report)];
  return reasonText.length === 0 ? progressText : [...reasonText, " ", ...progressText];
}

/** Explains the state of a rollout, with the time since when, or until when. */
function describeReason({ state, reason, isHeld, waitingSince, waves }: RolloutReport): Words {
  const reasonText = reason === undefined ? [] : [sentence(reason)];
  switch (state) {
    case "waiting":
      return waitingSince === undefined
        ? reasonText
        : [...reasonText, ...say` It has waited since ${minute(waitingSince)}.`];
    case "running": {
      if (!isHeld) return reasonText;
      const activeWave = waves.find((wave) => wave.state === "soaking" || wave.state === "checking");
      if (activeWave === undefined) return reasonText;
      if (activeWave.state === "checking")
        return say`The health of the wave ${given(activeWave.name)} is being checked.`;
      const untilText: Words = activeWave.soakUntil === undefined ? [] : say` until ${timeWords(activeWave.soakUntil)}`;
      return say`The wave ${given(activeWave.name)} is through, and soaks${untilText}.`;
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
  skipped = NOBODY,
  task,
}: RolloutReport): Words {
  // Skipped tenants have a sentence of their own.
  const total = tenants.length - counts.skipped;
  const finishedCount = throughOf(counts) - counts.skipped;
  if (state === "planned") {
    const failedText = counts.failed > 0 ? `, ${number(counts.failed)} failed` : "";
    return say`${counted(total, "tenant")} in ${counted(waves.length, "wave")}: ${counted(
      total - counts.unchanged - counts.failed,
      "tenant",
    )} to change, ${counts.unchanged} ${task === undefined ? "as declared already" : "left as they are"}${failedText}.`;
  }
  // The present state of these tenants is unknown here.
  if (isEndedState(state)) {
    return say`It changed ${counts.done} of ${counted(total, "tenant")}, ${counts.failed} failed, ${
      total - finishedCount
    } were left.`;
  }
  if (task !== undefined) {
    const { done, unchanged, failed } = counts;
    const untouchedTenants = tenants.filter(({ left = [] }) => left.length > 0).length;
    const untouchedText =
      untouchedTenants === 0 ? "" : ` In ${counted(untouchedTenants, "tenant")} something stays, as its plan told.`;
    return say`It changed ${done} of ${counted(total, "tenant")}, and left ${unchanged} as they are. ${failed} failed, and ${total - finishedCount} are still to do.${untouchedText}`;
  }
  const goesToFiles = rollsBack === undefined || rollsBackTo?.startsWith("the files") === true;
  const formatGoal = (subject: string) =>
    goesToFiles ? say`what is declared` : say`what ${subject} held before ${given(rollsBack ?? "")}`;
  const changedTenants = rollsBack === undefined ? [] : findChangedTenants(tenants);
  if (changedTenants.length > 0) {
    const matchingCount = finishedCount - counts.failed - changedTenants.length;
    const failedText = counts.failed > 0 ? `, ${number(counts.failed)} failed` : "";
    const openText = total - finishedCount > 0 ? `, ${number(total - finishedCount)} left` : "";
    return say`${matchingCount} of ${counted(total, "tenant")} hold ${formatGoal("they")}${failedText}${openText}. Somebody changed ${tenantNames(changedTenants)} after the rollout; what was changed stays.`;
  }
  if (finishedCount === total && counts.failed === 0) {
    if (skipped.length > 0) {
      return total === 0
        ? say`Nothing is left of it to do.`
        : say`${counted(total, "tenant")} ${total === 1 ? "holds" : "hold"} ${formatGoal(total === 1 ? "it" : "they")}.`;
    }
    return total === 1
      ? say`The one tenant holds ${formatGoal("it")}.`
      : say`All ${counted(total, "tenant")} hold ${formatGoal("they")}.`;
  }
  return say`${finishedCount - counts.failed} of ${counted(total, "tenant")} hold ${formatGoal("they")}, ${counts.failed} failed, ${
    total - finishedCount
  } left.`;
}

/** Finds the tenants that don't hold all of their previous state, because somebody changed them after the rollout. */
function findChangedTenants(tenants: readonly TenantReport[]): readonly TenantReport[] {
  return tenants.filter(({ state, left = [] }) => left.length > 0 && (state === "done" || state === "unchanged"));
}
