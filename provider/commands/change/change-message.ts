import type { ChangeMessage } from "../../gitops/commit-change";
import { type Facts, type ListChange, type Step, stepTransition } from "../../gitops/list-change";
import { cutByDanger } from "../../settings/danger";
import { excerpt } from "../../settings/text";

/** How a change of lists is told in git, on one line and below it: what, on what ticket, who answers for it. */
export function changeMessage(change: ListChange, steps: readonly Step[]): ChangeMessage {
  const done = steps.filter(({ isDone }) => !isDone);
  const [first] = done;
  const { ticket, owner, approvedBy, comment, expires }: Facts = change.facts;
  const decided = "reviewed" in change ? change.reviewed : undefined;
  const verb = change.do === "add" && first !== undefined ? first.what.split(" ")[0] : change.do;
  const what =
    done.length === 1 && first !== undefined
      ? first.what
      : `${verb} ${done.length} values${expires === undefined ? "" : expires === "never" ? " without end" : ` until ${expires}`}`;
  const behind = ticket === undefined ? "" : ` (${excerpt(ticket, 200)})`;
  const { shown, more } = cutByDanger(done, SHOWN, stepTransition(change));
  const lines = [
    ...(done.length > 1 ? shown.map((step) => `- ${step.what}`) : []),
    ...(more === undefined ? [] : [`- and ${more}; the diff shows all of them`]),
    ...about("Why", comment ?? decided?.reason),
    ...about("Ticket", ticket),
    ...about("Owner", owner),
    ...about("Approved by", approvedBy),
    ...about("Decided by", decided?.by),
  ];
  const branch = [
    verb,
    first?.value.canonical ?? "",
    done.length > 1 ? `and-${done.length - 1}-more` : "",
    ticket ?? "",
  ];
  return {
    title: `${what.charAt(0).toUpperCase()}${what.slice(1)}${behind}`,
    body: lines.join("\n"),
    branch: branch.filter((one) => one !== "").join("-"),
  };
}

const SHOWN = 100;

function about(label: string, text: string | undefined): string[] {
  return text === undefined ? [] : [`${label}: ${excerpt(text, 1_000)}`];
}
