import { truncateByDanger } from "./danger";
import { sanitizeLine } from "./text";

/** Limits on how much of a list one run may remove. */
export interface RemovalLimits {
  /** The maximum number of removals. Replaces the default limits. */
  readonly maxRemovals?: number;
  /** The maximum share of the list to remove, 0 to 1. Replaces the default limits; 1 allows a run to empty the list. */
  readonly maxRemovalFraction?: number;
  readonly confirmRemovals?: number;
}

/** The largest share of a list that one run removes without confirmation. */
export const DEFAULT_MAX_REMOVAL_FRACTION = 0.3;

/** Fewer removals than this never exceed the default share. */
export const MIN_GUARDED_REMOVALS = 10;

const MAX_SHOWN_NAMES = 5;

export interface Removals {
  /** The removed items: a name such as "deny evil.example", and the list that holds the item. */
  readonly removedItems: readonly { readonly name: string; readonly from?: string | undefined }[];
  readonly countBefore: number;
  readonly countAfter: number;
  readonly noun: readonly [one: string, many: string];
}

/**
 * Checks whether a run removes too much. By default, it may remove at most 30 % of a list, or fewer than 10 items. It
 * may never empty the list. The program can set other limits.
 *
 * @param previousConfirmation the `confirmRemovals` of the previous run, which was valid for that run only.
 * @returns the reason to block the run, in simple language for a person under pressure. Undefined if the run may
 * continue.
 */
export function validateRemovals(
  removals: Removals,
  limits: RemovalLimits,
  previousConfirmation?: number,
): string | undefined {
  const count = removals.removedItems.length;
  if (count === 0) return undefined;
  const { confirmRemovals } = limits;
  const isUsed = confirmRemovals !== undefined && confirmRemovals === previousConfirmation;
  if (confirmRemovals === count && !isUsed) return undefined;
  const limit = findExceededLimit(removals, limits);
  if (limit === undefined) return undefined;

  const share = Math.round((count / removals.countBefore) * 100);
  const countText = `${count} of ${removals.countBefore} ${removals.noun[1]}`;
  const truncated = truncateByDanger(removals.removedItems, MAX_SHOWN_NAMES, ({ from }) => ({ from }));
  const visibleLines = truncated.visible.map(({ name }) => `  - ${sanitizeLine(name)}`);
  const hiddenLines = truncated.hiddenText === undefined ? [] : [`  … and ${truncated.hiddenText}`];
  const confirmationText = isUsed
    ? `(confirmRemovals: ${count} was used by the last run, and is only valid for one run: remove it.)`
    : confirmRemovals === undefined
      ? `confirmRemovals: ${count}   allows it for this one run; remove it afterwards.`
      : `confirmRemovals: ${count}   allows it for this one run; it is currently ${confirmRemovals}, which isn't the number of removals.`;
  return [
    `would lose ${countText} (${share} %)${removals.countAfter === 0 ? ", all of them" : ""}. ${limit.reason}`,
    ...visibleLines,
    ...hiddenLines,
    "Nothing was changed. If this isn't intended, check the program's input: a truncated file, a filter, a wrong stack.",
    "If it is intended, set one of these for the list:",
    `  ${confirmationText}`,
    ...limit.remedies.map((remedy) => `  ${remedy}`),
  ].join("\n");
}

interface ExceededLimit {
  readonly reason: string;
  readonly remedies: readonly string[];
}

function findExceededLimit(
  { removedItems, countBefore, countAfter }: Removals,
  limits: RemovalLimits,
): ExceededLimit | undefined {
  const count = removedItems.length;
  const { maxRemovals, maxRemovalFraction } = limits;
  const fraction = count / countBefore;
  const raisedFraction = Math.min(1, Math.ceil(fraction * 100) / 100);
  const remedyTexts = {
    count: `maxRemovals: ${count}   allows every run to remove that many.`,
    fraction: `maxRemovalFraction: ${raisedFraction}   allows every run to remove that fraction.`,
  };
  if (maxRemovals !== undefined && count > maxRemovals) {
    return {
      reason: `One run may remove at most ${maxRemovals} (maxRemovals).`,
      remedies: [remedyTexts.count],
    };
  }
  if (maxRemovalFraction !== undefined && fraction > maxRemovalFraction) {
    return {
      reason: `One run may remove at most ${formatPercent(maxRemovalFraction)} (maxRemovalFraction).`,
      remedies: [remedyTexts.fraction],
    };
  }
  if (countAfter === 0 && maxRemovalFraction !== 1) {
    const remedies = ["maxRemovalFraction: 1   allows every run to remove all of them."];
    return { reason: "A list is never emptied without explicit confirmation.", remedies };
  }
  if (maxRemovals !== undefined || maxRemovalFraction !== undefined) return undefined;
  if (count < MIN_GUARDED_REMOVALS || fraction <= DEFAULT_MAX_REMOVAL_FRACTION) return undefined;
  return {
    reason: `One run may remove at most ${formatPercent(DEFAULT_MAX_REMOVAL_FRACTION)}.`,
    remedies: [remedyTexts.count, remedyTexts.fraction],
  };
}

function formatPercent(fraction: number): string {
  return `${Math.round(fraction * 1000) / 10} %`;
}
