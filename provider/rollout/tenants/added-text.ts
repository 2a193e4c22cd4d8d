import { lineText } from "../../files/finding";
import { type Change, changeTransition, type Plan } from "../../plan/plan";
import { SIGNS } from "../../plan/render/plan-words";
import { hanging } from "../../render/columns";
import { counted, number } from "../../render/words";
import { cutByDanger, sortByDanger } from "../../settings/danger";
import { excerpt, harmless, printable } from "../../settings/text";
import type { AddedTenant } from "./add-tenant";
import type { AvoidedStack } from "./choose-stack";
import type { PlacedTenant } from "./place-tenant";

/** The maximum number of the first rollout's changes to show. */
const MAX_LISTED = 20;
const MAX_LINE_LENGTH = 200;

/**
 * Describes the new tenant and its first rollout for a terminal, with a trailing newline.
 *
 * @param avoided stacks that it doesn't get, though they have its name.
 * @param baseline the file that is included; undefined: none.
 */
export function addedText(
  { target, wave }: PlacedTenant,
  { made, plan, hasStack }: AddedTenant,
  avoided: readonly AvoidedStack[],
  baseline: string | undefined,
  width: number,
): string {
  const { entries, vips, shared, risky, moved, otherComment, automatic, likelyOwnDomains } = made;
  const countsText = `${counted(entries, "allow/deny entry", "allow/deny entries")} and ${counted(vips, "VIP")}`;
  const sharedText =
    baseline === undefined || shared === 0 ? "" : `, beside ${number(shared)} as ${baseline} declares them`;
  const sentences = [
    `${target.settings} declares what ${target.name} holds: ${countsText}${sharedText}. Its wave is ${wave}.`,
    ...(likelyOwnDomains.length === 0
      ? []
      : [
          `Its own domains seem to be ${likelyOwnDomains.join(", ")}: look at them, a key of another tenant is told by them.`,
        ]),
    ...(risky === 0
      ? []
      : [
          `${number(risky)} of them ${risky === 1 ? "is" : "are"} risky, and declared as to be reviewed: look for acceptRisk.`,
        ]),
    ...sortByDanger(moved, ({ list }) => ({ from: list, to: list === "deny" ? "allow" : "deny" }))
      .slice(0, MAX_LISTED)
      .map(
        ({ list, value, place }) =>
          `Otherwise than ${lineText(place)}, which has it under ${list}, ${value} stays on the other list here: is that meant?`,
      ),
    ...(moved.length > MAX_LISTED
      ? [`… and ${number(moved.length - MAX_LISTED)} more: look for remove in the file.`]
      : []),
    ...(otherComment === 0
      ? []
      : [`${number(otherComment)} with another comment than ${baseline ?? "the baseline"} has keep theirs.`]),
    ...(automatic === 0
      ? []
      : [`${counted(automatic, "VIP")} by automatic detection ${automatic === 1 ? "is" : "are"} left to it.`]),
    ...avoided.map(
      ({ stack, why, isKept }) =>
        `It gets the stack ${target.stack} and not ${stack}: ${why}.${isKept ? ` If it is the same tenant all the same, remove \`stack\` from its lines in ${printable(target.place.file)} before its first rollout.` : ""}`,
    ),
    ...(hasStack ? [`Its stack ${target.stack} was kept: the next rollout goes on with what that declared.`] : []),
    ...describeFirstRollout(plan, baseline, getRolloutSubject(hasStack)),
  ];
  const lines = sentences.flatMap((sentence) => hanging(0, excerpt(sentence, 2_000), width));
  return `${harmless([...lines, ...renderAddedChanges(plan)].join("\n"))}\n`;
}

function getRolloutSubject(hasStack: boolean | undefined): string {
  switch (hasStack) {
    case true:
      return "That rollout";
    case false:
      return "A first rollout, with a new stack,";
    case undefined:
      return "A first rollout, if there is no stack yet,";
  }
}

/** Describes the effects of the first rollout, in sentences. */
function describeFirstRollout({ changes, guards }: Plan, baseline: string | undefined, subject: string): string[] {
  if (guards.length > 0) {
    return [`${subject} would be stopped:`, ...guards.map(({ message }) => message)];
  }
  if (changes.length === 0) return [`${subject} writes nothing: all is as declared.`];
  const added = changes.filter(({ sign }) => sign === "add").length;
  const effect =
    added === changes.length
      ? `bring ${counted(added, "entry or VIP", "entries and VIPs")} that it lacks of ${baseline ?? "its files"}`
      : `change ${counted(changes.length, "entry or VIP", "entries and VIPs")}`;
  return [`${subject} would ${effect}:`];
}

function renderAddedChanges({ changes }: Plan): string[] {
  const { shown, more } = cutByDanger(changes, MAX_LISTED, changeTransition);
  return [
    ...shown.map((change) => `  ${excerpt(formatChangeLine(change), MAX_LINE_LENGTH)}`),
    ...(more === undefined ? [] : [`  … and ${more}`]),
  ];
}

function formatChangeLine({ sign, kind, value, before, after, place }: Change): string {
  const list = kind === "vip" ? "VIP" : (after?.list ?? before?.list ?? "");
  const locationText = place === undefined ? "" : ` (${lineText(place)})`;
  return `${SIGNS[sign]} ${list} ${printable(value)}${locationText}`;
}
