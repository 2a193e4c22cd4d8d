import { formatLineLocation } from "../../files/finding";
import { getChangeTransition, type Plan, type PlanChange } from "../../plan/plan";
import { CHANGE_SIGNS } from "../../plan/render/plan-descriptions";
import { formatCount, formatNumber } from "../../render/safe-text";
import { wrapHangingIndent } from "../../render/text-width";
import { sortByDanger, truncateByDanger } from "../../settings/danger";
import { excerpt, sanitizeLine, sanitizeMultiline } from "../../settings/text";
import type { AvoidedStack } from "./choose-stack";
import type { TenantPlacement } from "./place-tenant";
import type { TenantAddition } from "./tenant-addition";

/** The maximum number of the first rollout's changes to show. */
const MAX_LISTED = 20;
const MAX_LINE_LENGTH = 200;

/**
 * Describes the new tenant and its first rollout for a terminal, with a trailing newline.
 *
 * @param avoided stacks with the tenant's name that it doesn't get.
 * @param baseline the included file. Undefined: none.
 */
export function renderTenantAddition(
  { target, wave }: TenantPlacement,
  { tenantFile, plan, hasStack }: TenantAddition,
  avoided: readonly AvoidedStack[],
  baseline: string | undefined,
  width: number,
): string {
  const { entries, vips, sharedCount, risky, relistedEntries, changedComments, automatic, likelyOwnDomains } =
    tenantFile;
  const countsText = `${formatCount(entries, "allow/deny entry", "allow/deny entries")} and ${formatCount(vips, "VIP")}`;
  const sharedText =
    baseline === undefined || sharedCount === 0
      ? ""
      : `, in addition to ${formatNumber(sharedCount)} as ${baseline} declares them`;
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
          `${formatNumber(risky)} of them ${risky === 1 ? "is" : "are"} risky, and declared as to be reviewed: look for acceptRisk.`,
        ]),
    ...sortByDanger(relistedEntries, ({ list }) => ({ from: list, to: list === "deny" ? "allow" : "deny" }))
      .slice(0, MAX_LISTED)
      .map(
        ({ list, value, location }) =>
          `Otherwise than ${formatLineLocation(location)}, which has it under ${list}, ${value} stays on the other list here: is that meant?`,
      ),
    ...(relistedEntries.length > MAX_LISTED
      ? [`… and ${formatNumber(relistedEntries.length - MAX_LISTED)} more: look for remove in the file.`]
      : []),
    ...(changedComments === 0
      ? []
      : [`${formatNumber(changedComments)} with another comment than ${baseline ?? "the baseline"} has keep theirs.`]),
    ...(automatic === 0
      ? []
      : [`${formatCount(automatic, "VIP")} by automatic detection ${automatic === 1 ? "is" : "are"} left to it.`]),
    ...avoided.map(
      ({ stack, reason, isLeftover }) =>
        `It gets the stack ${target.stack} and not ${stack}: ${reason}.${isLeftover ? ` If it is the same tenant all the same, remove \`stack\` from its lines in ${sanitizeLine(target.place.file)} before its first rollout.` : ""}`,
    ),
    ...(hasStack ? [`Its stack ${target.stack} was kept: the next rollout goes on with what that declared.`] : []),
    ...describeFirstRollout(plan, baseline, getRolloutSubject(hasStack)),
  ];
  const lines = sentences.flatMap((sentence) => wrapHangingIndent(0, excerpt(sentence, 2_000), width));
  return `${sanitizeMultiline([...lines, ...renderAddedChanges(plan)].join("\n"))}\n`;
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
      ? `bring ${formatCount(added, "entry or VIP", "entries and VIPs")} that it lacks of ${baseline ?? "its files"}`
      : `change ${formatCount(changes.length, "entry or VIP", "entries and VIPs")}`;
  return [`${subject} would ${effect}:`];
}

function renderAddedChanges({ changes }: Plan): string[] {
  const { visible, hiddenText } = truncateByDanger(changes, MAX_LISTED, getChangeTransition);
  return [
    ...visible.map((change) => `  ${excerpt(formatChangeLine(change), MAX_LINE_LENGTH)}`),
    ...(hiddenText === undefined ? [] : [`  … and ${hiddenText}`]),
  ];
}

function formatChangeLine({ sign, kind, value, before, after, place }: PlanChange): string {
  const list = kind === "vip" ? "VIP" : (after?.list ?? before?.list ?? "");
  const locationText = place === undefined ? "" : ` (${formatLineLocation(place)})`;
  return `${CHANGE_SIGNS[sign]} ${list} ${sanitizeLine(value)}${locationText}`;
}
