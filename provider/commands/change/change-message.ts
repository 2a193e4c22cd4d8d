import type { ChangeMessage } from "../../gitops/commit-change";
import { type Facts, type ListChange, type Step, stepTransition } from "../../gitops/list-change";
import { cutByDanger } from "../../settings/danger";
import { excerpt } from "../../settings/text";

/** Builds the commit message of a list change: a subject line, then the steps, the reason, the ticket and the people responsible. */
export function changeMessage(change: ListChange, steps: readonly Step[]): ChangeMessage {
  const pendingSteps = steps.filter(({ isDone }) => !isDone);
  const [first] = pendingSteps;
  const { ticket, owner, approvedBy, comment, expires }: Facts = change.facts;
  const review = "reviewed" in change ? change.reviewed : undefined;
  const action = change.do === "add" && first !== undefined ? first.what.split(" ")[0] : change.do;
  const summary =
    pendingSteps.length === 1 && first !== undefined
      ? first.what
      : `${action} ${pendingSteps.length} values${expires === undefined ? "" : expires === "never" ? " without end" : ` until ${expires}`}`;
  const ticketSuffix = ticket === undefined ? "" : ` (${excerpt(ticket, 200)})`;
  const { shown, more } = cutByDanger(pendingSteps, MAX_LISTED_STEPS, stepTransition(change));
  const lines = [
    ...(pendingSteps.length > 1 ? shown.map((step) => `- ${step.what}`) : []),
    ...(more === undefined ? [] : [`- and ${more}; the diff shows all of them`]),
    ...formatField("Why", comment ?? review?.reason),
    ...formatField("Ticket", ticket),
    ...formatField("Owner", owner),
    ...formatField("Approved by", approvedBy),
    ...formatField("Decided by", review?.by),
  ];
  const branchParts = [
    action,
    first?.value.canonical ?? "",
    pendingSteps.length > 1 ? `and-${pendingSteps.length - 1}-more` : "",
    ticket ?? "",
  ];
  return {
    title: `${summary.charAt(0).toUpperCase()}${summary.slice(1)}${ticketSuffix}`,
    body: lines.join("\n"),
    branch: branchParts.filter((part) => part !== "").join("-"),
  };
}

const MAX_LISTED_STEPS = 100;

function formatField(label: string, text: string | undefined): string[] {
  return text === undefined ? [] : [`${label}: ${excerpt(text, 1_000)}`];
}
