import type { ChangeMessage } from "../../gitops/commit-change";
import { getDriftTransition } from "../../gitops/detect-drift";
import { type Transition, truncateByDanger } from "../../model/danger";
import { excerpt } from "../../model/text";
import { ADOPTABLE_KINDS, type AdoptionStep } from "./plan-adoption";

export function buildAdoptionMessage(steps: readonly AdoptionStep[]): ChangeMessage {
  const [firstStep] = steps;
  const value = firstStep?.items[0]?.value ?? "";
  const branchSuffix = steps.length > 1 ? `-and-${steps.length - 1}-more` : "";
  const title =
    steps.length === 1 && firstStep !== undefined
      ? `Adopt from the tenant: ${firstStep.driftKind} ${formatAdoptionStepName(firstStep)}`
      : `Adopt from the tenant: ${formatAdoptionCounts(steps)}`;
  const { visible, hiddenText } = truncateByDanger(steps, MAX_LISTED_STEPS, getAdoptionTransition);
  const moreLines = hiddenText === undefined ? [] : [`- and ${hiddenText}; the diff shows all of them`];
  return {
    title,
    body: [...visible.map(formatAdoptionStep), ...moreLines].join("\n"),
    branch: `adopt-${value}${branchSuffix}`,
  };
}

const MAX_LISTED_STEPS = 100;

export function getAdoptionTransition({ items }: AdoptionStep): Transition {
  // A changed scope is two items: the missing declared one, and the actual one.
  const [firstStep, last] = [items[0], items.at(-1)];
  return { from: firstStep && getDriftTransition(firstStep).from, to: last && getDriftTransition(last).to };
}

/** Counts the adopted steps by kind: `2 added, 1 removed`. */
export function formatAdoptionCounts(steps: readonly AdoptionStep[]): string {
  return ADOPTABLE_KINDS.flatMap((action) => {
    const count = steps.filter((step) => step.driftKind === action).length;
    return count === 0 ? [] : [`${count} ${action}`];
  }).join(", ");
}

/** Returns a short name of a step: `deny evil.example`. */
export function formatAdoptionStepName({ items }: AdoptionStep): string {
  const item = items.at(-1);
  const list = item?.kind === "vip" ? "VIP" : (item?.actual ?? item?.declared)?.list;
  return `${list} ${excerpt(item?.value ?? "", 300)}`;
}

function formatAdoptionStep(step: AdoptionStep): string {
  const { createdBy, createdAt } = step.items.at(-1)?.actual ?? {};
  const authorText = createdBy === undefined ? "" : ` by ${excerpt(createdBy)}`;
  const dateText = createdAt === undefined ? "" : ` on ${excerpt(createdAt)}`;
  const creationText = authorText + dateText === "" ? "" : `, created${authorText}${dateText}`;
  const lossText = step.lossNote === undefined ? "" : `; ${step.lossNote}`;
  return `- ${step.driftKind} ${formatAdoptionStepName(step)}${creationText}${lossText}`;
}
