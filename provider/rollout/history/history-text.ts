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
  const paper = new Paper(color, width);
  for (const [index, one] of rollouts.entries()) {
    if (index > 0) paper.gap();
    paper.text(say`${given(one.id)}  ${stateWords(one, tenant)}  ${minute(one.startedAt)}`, {
      style: "bold",
    });
    for (const words of linesOf(one)) paper.text(words, { indent: 4 });
  }
  if (older > 0) {
    paper.gap();
    paper.text([`… and ${counted(older, "older rollout")}; --limit shows more`], { style: "dim" });
  }
  return paper.toString();
}

/** The state of a rollout, such as `done` or `interrupted`; with a tenant, the outcome of that tenant as well. */
function stateWords(past: PastRollout, tenant = ""): Words {
  const { tenantState } = past;
  const word = stateWord(past);
  return tenantState === undefined
    ? [word]
    : say`${word}, ${given(tenant)} ${TENANT_STATES[tenantState].word}`;
}

function stateWord({ state, isHeld, rolledBackBy }: PastRollout): string {
  if (state === "rolled-back") return rolledBackBy === undefined ? "partly rolled back" : "rolled back";
  return state === "running" && !isHeld ? "interrupted" : state;
}

const SHOWN = 3;

function linesOf(one: PastRollout): readonly Words[] {
  const { by, revision, isChanged, digest, reason, rollsBack, rollsBackTo, prunedAt, changes, source, task } =
    one;
  const took = between(one.startedAt, one.finishedAt);
  const facts: Words[] = [
    [given(source)],
    [tenantsText(one)],
    ...(took === undefined ? [] : [[`took ${duration(took)}`]]),
    ...(by === undefined ? [] : [say`by ${given(by)}`]),
    [given(digest)],
    ...(revision === undefined
      ? []
      : [say`commit ${given(revision.slice(0, 12))}${isChanged === true ? ", not all committed" : ""}`]),
  ];
  return [
    join(facts, " · "),
    ...(changes.length === 0 ? [] : [changesWords(one)]),
    ...(rollsBack === undefined ? [] : [say`rolls back ${given(rollsBack)}: to ${given(rollsBackTo ?? "")}`]),
    ...taskWords(task),
    ...(reason === undefined ? [] : [[sentence(reason)]]),
    ...(prunedAt === undefined
      ? []
      : [say`pruned on ${prunedAt.slice(0, 10)}: its files and whole plans are gone`]),
  ];
}

/** For example: `+12 ~1: + deny evil.example in 7 tenants, - allow a.example, and more`. */
function changesWords({ planned, changes }: PastRollout): Words {
  const shown = changes
    .slice(0, SHOWN)
    .map(
      (change): Words =>
        say`${SIGNS[change.sign]} ${given(listOf(change))} ${given(change.value)}${change.tenants > 1 ? ` in ${number(change.tenants)}` : ""}`,
    );
  return say`${plannedText({ planned })}: ${join(shown, ", ")}${changes.length > SHOWN ? ", …" : ""}`;
}

/** For example: `7 tenants, 1 failed, 2 left`. */
function tenantsText({ counts }: PastRollout): string {
  const { done, unchanged, failed, pending, released, running } = counts;
  const left = pending + released + running;
  return [
    counted(done + unchanged + failed + left, "tenant"),
    ...(failed > 0 ? [`${number(failed)} failed`] : []),
    ...(left > 0 ? [`${number(left)} left`] : []),
  ].join(", ");
}
