import { cutByDanger } from "./danger";
import { printable } from "./text";

/** How much of a list one run may remove. */
export interface RemovalLimits {
  /** At most so many. Where it is given, it holds instead of the defaults. */
  readonly maxRemovals?: number;
  /** At most this share of the list, 0 to 1. Where it is given, it holds instead of the defaults; 1 lets a list be emptied. */
  readonly maxRemovalFraction?: number;
  /** The exact number of removals that was looked at and is meant, for one run. */
  readonly confirmRemovals?: number;
}

/** The largest share of a list that one run removes without being asked. */
export const DEFAULT_MAX_REMOVAL_FRACTION = 0.3;

/** Fewer removals than this are never too many, whatever their share. */
export const MIN_GUARDED_REMOVALS = 10;

/** How many names a refusal shows. */
const MAX_SHOWN_NAMES = 5;

/** What a run would remove. */
export interface Removals {
  /** How each is called, as in "deny evil.example", and the list that it is on. */
  readonly removed: readonly { readonly name: string; readonly from?: string | undefined }[];
  /** How many the list holds before. */
  readonly before: number;
  /** How many it holds afterwards of those that are declared. */
  readonly after: number;
  /** What one and several are called. */
  readonly noun: readonly [one: string, many: string];
}

/**
 * Whether a run would remove more than it may: more than 30 % of the list and at least 10, or all of it, or more than
 * the program says.
 *
 * @param previousConfirmation the `confirmRemovals` of the run before: it was good for that run only.
 * @returns the reason to refuse, written for a tired person; undefined when the run may go on.
 */
export function guardRemovals(
  removals: Removals,
  limits: RemovalLimits,
  previousConfirmation?: number,
): string | undefined {
  const count = removals.removed.length;
  if (count === 0) return undefined;
  const { confirmRemovals } = limits;
  const isUsed = confirmRemovals !== undefined && confirmRemovals === previousConfirmation;
  if (confirmRemovals === count && !isUsed) return undefined;
  const limit = findExceededLimit(removals, limits);
  if (limit === undefined) return undefined;

  const share = Math.round((count / removals.before) * 100);
  const countText = `${count} of ${removals.before} ${removals.noun[1]}`;
  const truncated = cutByDanger(removals.removed, MAX_SHOWN_NAMES, ({ from }) => ({ from }));
  const visibleLines = truncated.shown.map(({ name }) => `  - ${printable(name)}`);
  const hiddenLines = truncated.more === undefined ? [] : [`  … and ${truncated.more}`];
  const confirmationText = isUsed
    ? `(confirmRemovals: ${count} was used by the last run, and is good for one run only: take it away.)`
    : confirmRemovals === undefined
      ? `confirmRemovals: ${count}   lets this one run do it; take it away afterwards.`
      : `confirmRemovals: ${count}   lets this one run do it; ${confirmRemovals} is written now, which is another number than is removed.`;
  return [
    `would lose ${countText} (${share} %)${removals.after === 0 ? ", all there are" : ""}. ${limit.why}`,
    ...visibleLines,
    ...hiddenLines,
    "Nothing was changed. If you did not mean this, look at what the program reads: a file cut short, a filter, a wrong stack.",
    "If you mean it, write one of these at the list:",
    `  ${confirmationText}`,
    ...limit.remedies.map((remedy) => `  ${remedy}`),
  ].join("\n");
}

interface ExceededLimit {
  readonly why: string;
  readonly remedies: readonly string[];
}

function findExceededLimit(
  { removed, before, after }: Removals,
  limits: RemovalLimits,
): ExceededLimit | undefined {
  const count = removed.length;
  const { maxRemovals, maxRemovalFraction } = limits;
  const fraction = count / before;
  const raisedFraction = Math.min(1, Math.ceil(fraction * 100) / 100);
  const remedyTexts = {
    count: `maxRemovals: ${count}   lets every run remove as many.`,
    fraction: `maxRemovalFraction: ${raisedFraction}   lets every run remove as large a share.`,
  };
  if (maxRemovals !== undefined && count > maxRemovals) {
    return { why: `At most ${maxRemovals} may go in one run (maxRemovals).`, remedies: [remedyTexts.count] };
  }
  if (maxRemovalFraction !== undefined && fraction > maxRemovalFraction) {
    return {
      why: `At most ${formatPercent(maxRemovalFraction)} may go in one run (maxRemovalFraction).`,
      remedies: [remedyTexts.fraction],
    };
  }
  if (after === 0 && maxRemovalFraction !== 1) {
    const remedies = ["maxRemovalFraction: 1   lets every run remove all there is."];
    return { why: "A list is never emptied without being told so.", remedies };
  }
  if (maxRemovals !== undefined || maxRemovalFraction !== undefined) return undefined;
  if (count < MIN_GUARDED_REMOVALS || fraction <= DEFAULT_MAX_REMOVAL_FRACTION) return undefined;
  return {
    why: `At most ${formatPercent(DEFAULT_MAX_REMOVAL_FRACTION)} may go in one run.`,
    remedies: [remedyTexts.count, remedyTexts.fraction],
  };
}

function formatPercent(fraction: number): string {
  return `${Math.round(fraction * 1000) / 10} %`;
}
