import type { ChangeMessage } from "../../gitops/commit-change";
import { driftTransition } from "../../gitops/drift";
import { cutByDanger, type Transition } from "../../settings/danger";
import { excerpt } from "../../settings/text";
import { ADOPTABLE, type AdoptStep } from "./drift-steps";

/** How what was adopted from a tenant is told in git, and to those who review it: what, by whom it was made, what is lost. */
export function adoptMessage(adopted: readonly AdoptStep[]): ChangeMessage {
  const [first] = adopted;
  const name = first?.items[0]?.value ?? "";
  const more = adopted.length > 1 ? `-and-${adopted.length - 1}-more` : "";
  const title =
    adopted.length === 1 && first !== undefined
      ? `Adopt from the tenant: ${first.as} ${stepName(first)}`
      : `Adopt from the tenant: ${countsOf(adopted)}`;
  const { shown, more: hidden } = cutByDanger(adopted, SHOWN, stepTransition);
  const rest = hidden === undefined ? [] : [`- and ${hidden}; the diff shows all of them`];
  return { title, body: [...shown.map(lineOf), ...rest].join("\n"), branch: `adopt-${name}${more}` };
}

const SHOWN = 100;

/** What the files declare otherwise once it is adopted. */
export function stepTransition({ items }: AdoptStep): Transition {
  // A changed scope is two items: the declared one that is missing, and the one that is there.
  const [first, last] = [items[0], items.at(-1)];
  return { from: first && driftTransition(first).from, to: last && driftTransition(last).to };
}

/** What was adopted, counted: `2 added, 1 removed`. */
export function countsOf(adopted: readonly AdoptStep[]): string {
  return ADOPTABLE.flatMap((as) => {
    const count = adopted.filter((step) => step.as === as).length;
    return count === 0 ? [] : [`${count} ${as}`];
  }).join(", ");
}

/** What it is about: `deny evil.example`. */
export function stepName({ items }: AdoptStep): string {
  const item = items.at(-1);
  const list = item?.kind === "vip" ? "VIP" : (item?.there ?? item?.declared)?.list;
  return `${list} ${excerpt(item?.value ?? "", 300)}`;
}

function lineOf(step: AdoptStep): string {
  const { by, at } = step.items.at(-1)?.there ?? {};
  const who = by === undefined ? "" : ` by ${excerpt(by)}`;
  const when = at === undefined ? "" : ` on ${excerpt(at)}`;
  const made = who + when === "" ? "" : `, made${who}${when}`;
  const lost = step.lost === undefined ? "" : `; ${step.lost}`;
  return `- ${step.as} ${stepName(step)}${made}${lost}`;
}
