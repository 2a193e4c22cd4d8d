import type { ChangeMessage } from "../../gitops/commit-change";
import { type ChangeStep, createTransitionGetter, type ListChange } from "../../gitops/list-change";
import { truncateByDanger } from "../../model/danger";
import { capitalize, excerpt } from "../../model/text";
import { labelTextFields, pickMetadata } from "../../settings-files/element-fields";
import { formatExpiry } from "./format-expiry";

export function buildChangeMessage(change: ListChange, steps: readonly ChangeStep[]): ChangeMessage {
  const pendingSteps = steps.filter(({ isDone }) => !isDone);
  const [first] = pendingSteps;
  const { ticket, comment } = change.metadata;
  const review = "reviewed" in change ? change.reviewed : undefined;
  const action = change.action === "add" && first !== undefined ? first.description.split(" ")[0] : change.action;
  const summary =
    pendingSteps.length === 1 && first !== undefined
      ? first.description
      : `${action} ${pendingSteps.length} values${formatExpiry(change.metadata)}`;
  const ticketSuffix = ticket === undefined ? "" : ` (${excerpt(ticket, 200)})`;
  const { visible, hiddenText } = truncateByDanger(pendingSteps, MAX_LISTED_STEPS, createTransitionGetter(change));
  const lines = [
    ...(pendingSteps.length > 1 ? visible.map((step) => `- ${step.description}`) : []),
    ...(hiddenText === undefined ? [] : [`- and ${hiddenText}; the diff shows all of them`]),
    ...formatLabeledLine("Why", comment ?? review?.reason),
    ...labelTextFields(pickMetadata(change.metadata)).flatMap(([label, text]) =>
      formatLabeledLine(capitalize(label), text),
    ),
    ...formatLabeledLine("Decided by", review?.by),
  ];
  const branchParts = [
    action,
    first?.value.canonical ?? "",
    pendingSteps.length > 1 ? `and-${pendingSteps.length - 1}-more` : "",
    ticket ?? "",
  ];
  return {
    title: `${capitalize(summary)}${ticketSuffix}`,
    body: lines.join("\n"),
    branch: branchParts.filter((part) => part !== "").join("-"),
  };
}

const MAX_LISTED_STEPS = 100;

function formatLabeledLine(label: string, text: string | undefined): string[] {
  return text === undefined ? [] : [`${label}: ${excerpt(text, 1_000)}`];
}
