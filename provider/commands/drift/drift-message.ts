import type { ChangeMessage } from "../../gitops/commit-change";
import { driftTransition } from "../../gitops/drift";
import { cutByDanger, type Transition } from "../../settings/danger";
import { excerpt } from "../../settings/text";
import { ADOPTABLE, type AdoptStep } from "./drift-steps";

/** Builds the commit message of an adoption, also for its reviewers: the changes, their authors and the lost information. */
export function adoptMessage(steps: readonly AdoptStep[]): ChangeMessage {
  const [firstStep] = steps;
  const value = firstStep?.items[0]?.value ?? "";
  const branchSuffix = steps.length > 1 ? `-and-${steps.length - 1}-more` : "";
  const title =
    steps.length === 1 && firstStep !== undefined
      ? `Adopt from the tenant: ${firstStep.as} ${stepName(firstStep)}`
      : `Adopt from the tenant: ${countsOf(steps)}`;
  const { shown, more: moreSteps } = cutByDanger(steps, MAX_LISTED_STEPS, stepTransition);
  const moreLines = moreSteps === undefined ? [] : [`- and ${moreSteps}; the diff shows all of them`];
  return {
    title,
    body: [...shown.map(formatAdoptStep), ...moreLines].join("\n"),
    branch: `adopt-${value}${branchSuffix}`,
  };
}

const MAX_LISTED_STEPS = 100;

/** Returns the transition of the files that a step causes. */
export function stepTransition({ items }: AdoptStep): Transition {
  // A changed scope is two items: the declared one that is missing, and the one that is there.
  const [firstStep, last] = [items[0], items.at(-1)];
  return { from: firstStep && driftTransition(firstStep).from, to: last && driftTransition(last).to };
}

/** Counts the adopted steps by kind: `2 added, 1 removed`. */
export function countsOf(steps: readonly AdoptStep[]): string {
  return ADOPTABLE.flatMap((action) => {
    const count = steps.filter((step) => step.as === action).length;
    return count === 0 ? [] : [`${count} ${action}`];
  }).join(", ");
}

/** Returns a short name of a step: `deny evil.example`. */
export function stepName({ items }: AdoptStep): string {
  const item = items.at(-1);
  const list = item?.kind === "vip" ? "VIP" : (item?.there ?? item?.declared)?.list;
  return `${list} ${excerpt(item?.value ?? "", 300)}`;
}

function formatAdoptStep(step: AdoptStep): string {
  const { by, at } = step.items.at(-1)?.there ?? {};
  const authorText = by === undefined ? "" : ` by ${excerpt(by)}`;
  const dateText = at === undefined ? "" : ` on ${excerpt(at)}`;
  const creationText = authorText + dateText === "" ? "" : `, made${authorText}${dateText}`;
  const lossText = step.lost === undefined ? "" : `; ${step.lost}`;
  return `- ${step.as} ${stepName(step)}${creationText}${lossText}`;
}
