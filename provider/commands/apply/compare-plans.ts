import { SAID_FIELD_NAMES, saidOf } from "../../files/element-fields";
import type { Change, Plan, Standing } from "../../plan/plan";
import { hashOfTouched, isOldDigest, partsOfDigest } from "../../settings/plan-digest";
import { standingText } from "../../settings/standing-text";
import { printable } from "../../settings/text";

/** What is told of the digest of an earlier release. */
export const OLD_DIGEST =
  "The digest is that of a plan which an earlier release made: it does not hold for all that a plan shows. Make the plan anew, and have it reviewed.";

/** The service keeps who made what is there: by a key that many use that is its label, and of a later change it is nobody. */
const UNKNOWN_AUTHOR_TEXT = "who changed it since, the service does not tell";

/** What moved between a plan that was reviewed and one that was made now. */
export interface Moved {
  /** The tenant, what is declared, or what the tenant holds. */
  readonly what: "digest" | "tenant" | "desired" | "observed";
  /** A sentence that says so. */
  readonly message: string;
  /** What moved, a line each, where the reviewed plan is there to tell. */
  readonly details: readonly string[];
}

/**
 * Whether what was reviewed is what would be applied now. What the reviewed plan changes and is done already, as by a run
 * that was interrupted, has not moved: that takes the reviewed plan itself, and not only its digest.
 *
 * @param digest of the plan that was reviewed.
 * @param currentPlan the plan made anew, of the same files, stack and tenant.
 * @param reviewedPlan the plan that was reviewed, where it is at hand.
 * @returns undefined when nothing moved.
 */
export function movedSince(digest: string, currentPlan: Plan, reviewedPlan?: Plan): Moved | undefined {
  const reviewedParts = partsOfDigest(digest);
  const currentParts = partsOfDigest(currentPlan.digest);
  if (isOldDigest(digest)) return { what: "digest", message: OLD_DIGEST, details: [] };
  if (reviewedParts === undefined || currentParts === undefined) {
    return {
      what: "digest",
      message: `"${printable(digest.slice(0, 120))}" is no digest of a plan; it begins with v2- and stands at the end of the plan.`,
      details: [],
    };
  }
  if (reviewedPlan !== undefined && !isDigestOfPlan(digest, reviewedPlan)) {
    return {
      what: "digest",
      message:
        "The digest is not that of the plan that was given with it: one of the two is of another review.",
      details: [`  given  ${printable(digest)}`, `  plan   ${printable(reviewedPlan.digest)}`],
    };
  }
  if (reviewedParts.tenant !== currentParts.tenant) {
    const reviewedTarget = reviewedPlan === undefined ? "" : `, and not ${formatPlanTarget(reviewedPlan)}`;
    return {
      what: "tenant",
      message: `This is another tenant or stack than was reviewed: ${formatPlanTarget(currentPlan)}${reviewedTarget}.`,
      details: [],
    };
  }
  if (reviewedParts.desired !== currentParts.desired) {
    return {
      what: "desired",
      message:
        "What is declared is not what was reviewed: the files changed since, or something in them has expired.",
      details: reviewedPlan === undefined ? [] : describeDeclarationChanges(reviewedPlan, currentPlan),
    };
  }
  if (reviewedParts.observed === currentParts.observed) return undefined;
  const details = reviewedPlan === undefined ? [] : describePlanDifferences(reviewedPlan, currentPlan);
  // All that is left to do was reviewed; the rest is done.
  if (reviewedPlan !== undefined && details.length === 0) return undefined;
  return {
    what: "observed",
    message: "The tenant is not as it was when this was reviewed.",
    details,
  };
}

/** Of what is declared: the rules and options that differ, and what is said of each change. */
function describeDeclarationChanges(reviewedPlan: Plan, currentPlan: Plan): string[] {
  const [oldRules, newRules] = [reviewedPlan.rules ?? {}, currentPlan.rules ?? {}];
  const ruleLines = [...new Set([...Object.keys(oldRules), ...Object.keys(newRules)])]
    .filter((path) => oldRules[path] !== newRules[path])
    .map((path) => `  ${path}: was ${oldRules[path] ?? "not said"}, is ${newRules[path] ?? "not said"}`);
  const reviewedChanges = new Map(
    reviewedPlan.changes.map((change) => [`${change.kind} ${change.key}`, change]),
  );
  const metadataLines = currentPlan.changes.flatMap((change) => {
    const reviewedChange = reviewedChanges.get(`${change.kind} ${change.key}`);
    if (reviewedChange === undefined) return [];
    const [oldMetadata, newMetadata] = [getChangeMetadata(reviewedChange), getChangeMetadata(change)];
    return METADATA_FIELDS.flatMap((field) =>
      oldMetadata[field] === newMetadata[field]
        ? []
        : [
            `  ${formatChangeName(change)}: ${field} was ${oldMetadata[field] ?? "not said"}, is ${newMetadata[field] ?? "not said"}`,
          ],
    );
  });
  const details = [
    ...ruleLines.map(printable),
    ...metadataLines.map(printable),
    ...describePlanDifferences(reviewedPlan, currentPlan),
  ];
  if (details.length > 0) return details;
  return [
    "  of something that is there as declared: its end, ticket, owner, approval or acceptRisk; `git diff` shows which",
  ];
}

const METADATA_FIELDS = [...SAID_FIELD_NAMES, "acceptRisk"] as const;

function getChangeMetadata(change: Change) {
  return { ...saidOf(change), acceptRisk: change.after?.acceptRisk ?? change.accepted };
}

function formatChangeName({ kind, key, before, after }: Change): string {
  return printable(`${kind === "vip" ? "VIP" : (after ?? before)?.list} ${key}`);
}

/** Whether a digest is that of a plan: its changes, too, have to be those that the digest is of. */
function isDigestOfPlan(digest: string, plan: Plan): boolean {
  return digest.trim() === plan.digest && partsOfDigest(digest)?.observed === hashOfTouched(plan.changes);
}

function formatPlanTarget({ tenant, source }: Plan): string {
  return printable(`${tenant.host}${source.stack === undefined ? "" : `, stack ${source.stack}`}`);
}

/** What would be done now and was not reviewed so, a line each. */
function describePlanDifferences(reviewedPlan: Plan, currentPlan: Plan): string[] {
  const getKey = ({ kind, key }: Change): string => `${kind} ${key}`;
  const reviewedChanges = new Map(reviewedPlan.changes.map((change) => [getKey(change), change]));
  const evadedRemovals = describeEvadedRemovals(reviewedPlan, currentPlan);
  const differenceLines = currentPlan.changes.flatMap((change) => {
    const reviewedChange = reviewedChanges.get(getKey(change));
    const changeName = formatChangeName(change);
    if (reviewedChange === undefined) {
      const actual =
        change.before === undefined ? "is not there" : `is ${formatOptionalState(change.before)} now`;
      return [
        `  ${changeName}: ${actual}, and would be ${formatResultingState(change)}; the review did not show it`,
      ];
    }
    const expectedReplacements = new Map(
      (reviewedChange.mayReplace ?? []).map((replacement) => [replacement.key, replacement.before]),
    );
    for (const { key, before: actual } of change.mayReplace ?? []) {
      const expectedState = expectedReplacements.get(key);
      if (expectedState !== undefined && formatOptionalState(expectedState) === formatOptionalState(actual))
        continue;
      const reviewText =
        expectedState === undefined
          ? "the review did not show it"
          : `it was ${formatOptionalState(expectedState)} at the review`;
      return [
        `  ${changeName}: may take the place of ${printable(key)}, which is ${formatOptionalState(actual)} now; ${reviewText}`,
      ];
    }
    if (formatOptionalState(reviewedChange.before) !== formatOptionalState(change.before)) {
      // One that was made anew since has its changer told by that.
      const isSameEntry =
        reviewedChange.before !== undefined &&
        formatCreation(reviewedChange.before) === formatCreation(change.before);
      const creatorText = change.before?.by === undefined ? "" : `, made by ${printable(change.before.by)}`;
      const authorText =
        change.before !== undefined && isSameEntry ? `${creatorText}; ${UNKNOWN_AUTHOR_TEXT}` : creatorText;
      return [
        `  ${changeName}: was ${formatOptionalState(reviewedChange.before)} at the review, is ${formatOptionalState(change.before)} now${authorText}`,
      ];
    }
    if (formatCreation(reviewedChange.before) !== formatCreation(change.before)) {
      return [
        `  ${changeName}: was made${formatCreation(reviewedChange.before)} at the review, and is another one now, made${formatCreation(change.before)}`,
      ];
    }
    if (formatOptionalState(reviewedChange.after) !== formatOptionalState(change.after)) {
      return [
        `  ${changeName}: was to be ${formatOptionalState(reviewedChange.after)}, would be ${formatOptionalState(change.after)} now`,
      ];
    }
    return [];
  });
  return [...evadedRemovals, ...differenceLines];
}

/** Of removals that are no longer to be done, the entries of the same value that are there under another scope or list. */
function describeEvadedRemovals(reviewedPlan: Plan, currentPlan: Plan): string[] {
  const getKey = ({ kind, key }: { readonly kind: string; readonly key: string }): string => `${kind} ${key}`;
  const removedKeys = new Set(currentPlan.changes.filter(({ sign }) => sign === "remove").map(getKey));
  const reviewedKeys = new Set(reviewedPlan.unmanaged.map(getKey));
  const newItems = Map.groupBy(
    currentPlan.unmanaged.filter((item) => !reviewedKeys.has(getKey(item))),
    ({ kind, value }) => `${kind} ${value}`,
  );
  return reviewedPlan.changes
    .filter((change) => change.sign === "remove" && !removedKeys.has(getKey(change)))
    .flatMap(({ kind, key, value, before }) =>
      (newItems.get(`${kind} ${value}`) ?? []).map((newItem) =>
        printable(
          `  ${before?.list ?? "VIP"} ${key}: was to be removed, and is there as ${newItem.key} now, ${formatOptionalState(newItem.before)}`,
        ),
      ),
    );
}

function formatCreation(state: Standing | undefined): string {
  const { by, at } = state ?? {};
  return printable(`${by === undefined ? "" : ` by ${by}`}${at === undefined ? "" : ` on ${at}`}`);
}

function formatResultingState({ sign, after }: Change): string {
  return sign === "remove" ? "removed" : formatOptionalState(after);
}

function formatOptionalState(state: Standing | undefined): string {
  return state === undefined ? "nothing" : standingText(state);
}
