import { sortByDanger, truncateByDanger } from "../../model/danger";
import { excerpt, sanitizeLine, sanitizeMultiline } from "../../model/text";
import { getChangeTransition, type Plan, type PlanChange } from "../../plan/plan";
import { OPERATION_SYMBOLS } from "../../plan/render/plan-descriptions";
import { formatCount, formatNumber } from "../../render/safe-text";
import { wrapHangingIndent } from "../../render/text-width";
import { formatLineLocation } from "../../settings-files/finding";
import type { AvoidedStack } from "./choose-tenant-stack";
import type { TenantPlacement } from "./place-tenant";
import type { TenantAddition } from "./tenant-addition";

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
      : `, in addition to ${formatNumber(sharedCount)} that ${baseline} declares`;
  const sentences = [
    `${target.settings} declares the content of ${target.name}: ${countsText}${sharedText}. Its wave is ${wave}.`,
    ...(likelyOwnDomains.length === 0
      ? []
      : [
          `Its own domains seem to be ${likelyOwnDomains.join(", ")}: check them, because they reveal a key of another tenant.`,
        ]),
    ...(risky === 0
      ? []
      : [
          `${formatNumber(risky)} of them ${risky === 1 ? "is" : "are"} risky, and marked for review: search the file for acceptRisk.`,
        ]),
    ...sortByDanger(relistedEntries, ({ list }) => ({ from: list, to: list === "deny" ? "allow" : "deny" }))
      .slice(0, MAX_LISTED)
      .map(
        ({ list, value, location }) =>
          `${formatLineLocation(location)} has ${value} under ${list}, but it stays on the other list here: check whether that is intended.`,
      ),
    ...(relistedEntries.length > MAX_LISTED
      ? [`… and ${formatNumber(relistedEntries.length - MAX_LISTED)} more: search the file for remove.`]
      : []),
    ...(changedComments === 0
      ? []
      : [
          `${formatNumber(changedComments)} with a different comment than in ${baseline ?? "the baseline"} keep their own.`,
        ]),
    ...(automatic === 0
      ? []
      : [
          `${formatCount(automatic, "VIP")} from automatic detection ${automatic === 1 ? "stays" : "stay"} undeclared.`,
        ]),
    ...avoided.map(
      ({ stack, reason, isLeftover }) =>
        `It gets the stack ${target.stack} instead of ${stack}: ${reason}.${isLeftover ? ` If it is the same tenant after all, remove \`stack\` from its lines in ${sanitizeLine(target.place.file)} before its first rollout.` : ""}`,
    ),
    ...(hasStack ? [`Its stack ${target.stack} was kept: the next rollout continues with its declarations.`] : []),
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

function describeFirstRollout({ changes, blockers }: Plan, baseline: string | undefined, subject: string): string[] {
  if (blockers.length > 0) {
    return [`${subject} would be stopped:`, ...blockers.map(({ message }) => message)];
  }
  if (changes.length === 0) return [`${subject} would write nothing: the tenant matches its files.`];
  const added = changes.filter(({ operation }) => operation === "add").length;
  const effect =
    added === changes.length
      ? `add ${formatCount(added, "entry or VIP", "entries and VIPs")} of ${baseline ?? "its files"}`
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

function formatChangeLine({ operation, kind, value, before, after, place }: PlanChange): string {
  const list = kind === "vip" ? "VIP" : (after?.list ?? before?.list ?? "");
  const locationText = place === undefined ? "" : ` (${formatLineLocation(place)})`;
  return `${OPERATION_SYMBOLS[operation]} ${list} ${sanitizeLine(value)}${locationText}`;
}
