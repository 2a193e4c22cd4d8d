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
  const why = whyOf(report);
  const how = [...howFar(report), ...withoutWords(report)];
  return why.length === 0 ? how : [...why, " ", ...how];
}

/** Explains the state of a rollout, with the time since when, or until when. */
function whyOf({ state, reason, isHeld, waitingSince, waves }: RolloutReport): Words {
  const why = reason === undefined ? [] : [sentence(reason)];
  switch (state) {
    case "waiting":
      return waitingSince === undefined
        ? why
        : [...why, ...say` It has waited since ${minute(waitingSince)}.`];
    case "running": {
      if (!isHeld) return why;
      const open = waves.find((wave) => wave.state === "soaking" || wave.state === "checking");
      if (open === undefined) return why;
      if (open.state === "checking") return say`The health of the wave ${given(open.name)} is being checked.`;
      const until: Words = open.soakUntil === undefined ? [] : say` until ${timeWords(open.soakUntil)}`;
      return say`The wave ${given(open.name)} is through, and soaks${until}.`;
    }
    default:
      return why;
  }
}

function howFar({
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
  const through = throughOf(counts) - counts.skipped;
  if (state === "planned") {
    const failed = counts.failed > 0 ? `, ${number(counts.failed)} failed` : "";
    return say`${counted(total, "tenant")} in ${counted(waves.length, "wave")}: ${counted(
      total - counts.unchanged - counts.failed,
      "tenant",
    )} to change, ${counts.unchanged} ${task === undefined ? "as declared already" : "left as they are"}${failed}.`;
  }
  // The present state of these tenants is unknown here.
  if (isEndedState(state)) {
    return say`It changed ${counts.done} of ${counted(total, "tenant")}, ${counts.failed} failed, ${
      total - through
    } were left.`;
  }
  if (task !== undefined) {
    const { done, unchanged, failed } = counts;
    const staying = tenants.filter(({ left = [] }) => left.length > 0).length;
    const stays = staying === 0 ? "" : ` In ${counted(staying, "tenant")} something stays, as its plan told.`;
    return say`It changed ${done} of ${counted(total, "tenant")}, and left ${unchanged} as they are. ${failed} failed, and ${total - through} are still to do.${stays}`;
  }
  const back = rollsBack === undefined || rollsBackTo?.startsWith("the files") === true;
  const held = (who: string) =>
    back ? say`what is declared` : say`what ${who} held before ${given(rollsBack ?? "")}`;
  const changed = rollsBack === undefined ? [] : changedSince(tenants);
  if (changed.length > 0) {
    const hold = through - counts.failed - changed.length;
    const failed = counts.failed > 0 ? `, ${number(counts.failed)} failed` : "";
    const open = total - through > 0 ? `, ${number(total - through)} left` : "";
    return say`${hold} of ${counted(total, "tenant")} hold ${held("they")}${failed}${open}. Somebody changed ${tenantNames(changed)} after the rollout; what was changed stays.`;
  }
  if (through === total && counts.failed === 0) {
    if (skipped.length > 0) {
      return total === 0
        ? say`Nothing is left of it to do.`
        : say`${counted(total, "tenant")} ${total === 1 ? "holds" : "hold"} ${held(total === 1 ? "it" : "they")}.`;
    }
    return total === 1
      ? say`The one tenant holds ${held("it")}.`
      : say`All ${counted(total, "tenant")} hold ${held("they")}.`;
  }
  return say`${through - counts.failed} of ${counted(total, "tenant")} hold ${held("they")}, ${counts.failed} failed, ${
    total - through
  } left.`;
}

/** Finds the tenants that don't hold all of their previous state, because somebody changed them after the rollout. */
function changedSince(tenants: readonly TenantReport[]): readonly TenantReport[] {
  return tenants.filter(
    ({ state, left = [] }) => left.length > 0 && (state === "done" || state === "unchanged"),
  );
}
