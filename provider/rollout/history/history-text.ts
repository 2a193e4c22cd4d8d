import { listOf, SIGNS } from "../../plan/render/plan-words";
import { Paper } from "../../render/paper";
import { counted, given, join, minute, number, say, sentence, type Words } from "../../render/words";
import { printable } from "../../settings/text";
import { between, duration } from "../model/duration";
import type { PastRollout, RolloutHistory } from "../model/history-schema";
import { TENANT_STATES } from "../report/state-words";
import { plannedText, taskWords } from "../report/told-rollout";

export interface HistoryTextOptions {
  readonly color?: boolean;
  readonly width?: number;
  /** The tenant that the history is restricted to. */
  readonly tenant?: string;
}

/** Renders a history for a terminal, newest first, with a trailing newline. Values from outside are sanitized. */
export function historyText(
  { rollouts, older }: RolloutHistory,
  { color = false, width = 80, tenant }: HistoryTextOptions = {},
): string {
  if (rollouts.length === 0) {
    return tenant === undefined
      ? "There are no rollouts.\n"
      : `No rollout of those that were asked for changed ${printable(tenant)}, or tried to.\n`;
  }
  const page = new Paper(color, width);
  for (const [index, rollout] of rollouts.entries()) {
    if (index > 0) page.gap();
    page.text(say`${given(rollout.id)}  ${formatPastState(rollout, tenant)}  ${minute(rollout.startedAt)}`, {
      style: "bold",
    });
    for (const line of buildRolloutLines(rollout)) page.text(line, { indent: 4 });
  }
  if (older > 0) {
    page.gap();
    page.text([`… and ${counted(older, "older rollout")}; --limit shows more`], { style: "dim" });
  }
  return page.toString();
}

/** The state of a rollout, such as `done` or `interrupted`; with a tenant, the outcome of that tenant as well. */
function formatPastState(rollout: PastRollout, tenant = ""): Words {
  const { tenantState } = rollout;
  const label = getStateLabel(rollout);
  return tenantState === undefined ? [label] : say`${label}, ${given(tenant)} ${TENANT_STATES[tenantState].word}`;
}

function getStateLabel({ state, isHeld, rolledBackBy }: PastRollout): string {
  if (state === "rolled-back") return rolledBackBy === undefined ? "partly rolled back" : "rolled back";
  return state === "running" && !isHeld ? "interrupted" : state;
}

const MAX_CHANGES = 3;

function buildRolloutLines(rollout: PastRollout): readonly Words[] {
  const { by, revision, isChanged, digest, reason, rollsBack, rollsBackTo, prunedAt, changes, source, task } = rollout;
  const durationMs = between(rollout.startedAt, rollout.finishedAt);
  const details: Words[] = [
    [given(source)],
    [formatTenantCounts(rollout)],
    ...(durationMs === undefined ? [] : [[`took ${duration(durationMs)}`]]),
    ...(by === undefined ? [] : [say`by ${given(by)}`]),
    [given(digest)],
    ...(revision === undefined
      ? []
      : [say`commit ${given(revision.slice(0, 12))}${isChanged === true ? ", not all committed" : ""}`]),
  ];
  return [
    join(details, " · "),
    ...(changes.length === 0 ? [] : [formatChanges(rollout)]),
    ...(rollsBack === undefined ? [] : [say`rolls back ${given(rollsBack)}: to ${given(rollsBackTo ?? "")}`]),
    ...taskWords(task),
    ...(reason === undefined ? [] : [[sentence(reason)]]),
    ...(prunedAt === undefined ? [] : [say`pruned on ${prunedAt.slice(0, 10)}: its files and whole plans are gone`]),
  ];
}

/** For example: `+12 ~1: + deny evil.example in 7 tenants, - allow a.example, and more`. */
function formatChanges({ planned, changes }: PastRollout): Words {
  const visibleChanges = changes
    .slice(0, MAX_CHANGES)
    .map(
      (change): Words =>
        say`${SIGNS[change.sign]} ${given(listOf(change))} ${given(change.value)}${change.tenants > 1 ? ` in ${number(change.tenants)}` : ""}`,
    );
  return say`${plannedText({ planned })}: ${join(visibleChanges, ", ")}${changes.length > MAX_CHANGES ? ", …" : ""}`;
}

/** For example: `7 tenants, 1 failed, 2 left`. */
function formatTenantCounts({ counts }: PastRollout): string {
  const { done, unchanged, failed, pending, released, running } = counts;
  const remaining = pending + released + running;
  return [
    counted(done + unchanged + failed + remaining, "tenant"),
    ...(failed > 0 ? [`${number(failed)} failed`] : []),
    ...(remaining > 0 ? [`${number(remaining)} left`] : []),
  ].join(", ");
}
