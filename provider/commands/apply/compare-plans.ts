import { formatEntryState } from "../../model/entry-state-text";
import { hashChanges, isLegacyDigest, parsePlanDigest } from "../../model/plan-digest";
import { sanitizeLine } from "../../model/text";
import type { Plan, PlanChange, PlanEntryState } from "../../plan/plan";
import { METADATA_FIELD_NAMES, pickMetadata } from "../../settings-files/element-fields";

export const OLD_DIGEST_MESSAGE =
  "The digest belongs to a plan of an earlier release and doesn't cover everything that a plan shows. Create the plan again, and have it reviewed.";

/** The service records only who created an entry (for a shared key, the key's label), not who changed it later. */
const UNKNOWN_AUTHOR_TEXT = "the service doesn't report who changed it since";

export interface StaleReason {
  /**
   * The part that changed: the tenant, the desired state or the actual state. `digest` means that the digest itself is invalid, old or from
   * another plan.
   */
  readonly part: "digest" | "tenant" | "desired" | "observed";
  readonly message: string;
  /** One line for each difference. Empty without the reviewed plan. */
  readonly details: readonly string[];
}

/**
 * Checks whether the current plan still matches the reviewed one. Changes that are already done, for example by an interrupted run, don't
 * make a plan stale. Detecting them requires the reviewed plan itself, not only its digest.
 *
 * @param currentPlan a new plan for the same files, stack and tenant.
 * @returns the difference, or undefined if the plan is not stale.
 */
export function findStaleReason(digest: string, currentPlan: Plan, reviewedPlan?: Plan): StaleReason | undefined {
  const reviewedParts = parsePlanDigest(digest);
  const currentParts = parsePlanDigest(currentPlan.digest);
  if (isLegacyDigest(digest)) return { part: "digest", message: OLD_DIGEST_MESSAGE, details: [] };
  if (reviewedParts === undefined || currentParts === undefined) {
    return {
      part: "digest",
      message: `"${sanitizeLine(digest.slice(0, 120))}" isn't a valid plan digest; a digest begins with v2- and is at the end of the plan.`,
      details: [],
    };
  }
  if (reviewedPlan !== undefined && !isDigestOfPlan(digest, reviewedPlan)) {
    return {
      part: "digest",
      message: "The digest doesn't match the given plan: one of the two belongs to another review.",
      details: [`  given  ${sanitizeLine(digest)}`, `  plan   ${sanitizeLine(reviewedPlan.digest)}`],
    };
  }
  if (reviewedParts.tenant !== currentParts.tenant) {
    const reviewedTarget = reviewedPlan === undefined ? "" : `, and not ${formatPlanTarget(reviewedPlan)}`;
    return {
      part: "tenant",
      message: `This is a different tenant or stack than the reviewed one: ${formatPlanTarget(currentPlan)}${reviewedTarget}.`,
      details: [],
    };
  }
  if (reviewedParts.desired !== currentParts.desired) {
    return {
      part: "desired",
      message:
        "The declared settings differ from the reviewed ones: the files changed since, or an entry in them has expired.",
      details: reviewedPlan === undefined ? [] : describeDeclarationChanges(reviewedPlan, currentPlan),
    };
  }
  if (reviewedParts.observed === currentParts.observed) return undefined;
  const details = reviewedPlan === undefined ? [] : describePlanDifferences(reviewedPlan, currentPlan);
  // All remaining changes were reviewed; the others are already done.
  if (reviewedPlan !== undefined && details.length === 0) return undefined;
  return {
    part: "observed",
    message: "The tenant has changed since the review.",
    details,
  };
}

function describeDeclarationChanges(reviewedPlan: Plan, currentPlan: Plan): string[] {
  const [oldRules, newRules] = [reviewedPlan.rules ?? {}, currentPlan.rules ?? {}];
  const ruleLines = [...new Set([...Object.keys(oldRules), ...Object.keys(newRules)])]
    .filter((path) => oldRules[path] !== newRules[path])
    .map((path) => `  ${path}: was ${oldRules[path] ?? "not set"}, is ${newRules[path] ?? "not set"}`);
  const reviewedChanges = new Map(reviewedPlan.changes.map((change) => [`${change.kind} ${change.key}`, change]));
  const metadataLines = currentPlan.changes.flatMap((change) => {
    const reviewedChange = reviewedChanges.get(`${change.kind} ${change.key}`);
    if (reviewedChange === undefined) return [];
    const [oldMetadata, newMetadata] = [getChangeMetadata(reviewedChange), getChangeMetadata(change)];
    return METADATA_FIELDS.flatMap((field) =>
      oldMetadata[field] === newMetadata[field]
        ? []
        : [
            `  ${formatChangeName(change)}: ${field} was ${oldMetadata[field] ?? "not set"}, is ${newMetadata[field] ?? "not set"}`,
          ],
    );
  });
  const details = [
    ...ruleLines.map(sanitizeLine),
    ...metadataLines.map(sanitizeLine),
    ...describePlanDifferences(reviewedPlan, currentPlan),
  ];
  if (details.length > 0) return details;
  return [
    "  only in metadata of an entry that exists as declared: its expiry, ticket, owner, approval or acceptRisk; `git diff` shows which",
  ];
}

const METADATA_FIELDS = [...METADATA_FIELD_NAMES, "acceptRisk"] as const;

function getChangeMetadata(change: PlanChange) {
  return { ...pickMetadata(change), acceptRisk: change.after?.acceptRisk ?? change.acceptedRiskReason };
}

function formatChangeName({ kind, key, before, after }: PlanChange): string {
  return sanitizeLine(`${kind === "vip" ? "VIP" : (after ?? before)?.list} ${key}`);
}

/** Checks whether a digest belongs to a plan. The plan's changes must match the digest too. */
function isDigestOfPlan(digest: string, plan: Plan): boolean {
  return digest.trim() === plan.digest && parsePlanDigest(digest)?.observed === hashChanges(plan.changes);
}

function formatPlanTarget({ tenant, source }: Plan): string {
  return sanitizeLine(`${tenant.host}${source.stack === undefined ? "" : `, stack ${source.stack}`}`);
}

function describePlanDifferences(reviewedPlan: Plan, currentPlan: Plan): string[] {
  const getKey = ({ kind, key }: PlanChange): string => `${kind} ${key}`;
  const reviewedChanges = new Map(reviewedPlan.changes.map((change) => [getKey(change), change]));
  const evadedRemovals = describeEvadedRemovals(reviewedPlan, currentPlan);
  const differenceLines = currentPlan.changes.flatMap((change) => {
    const reviewedChange = reviewedChanges.get(getKey(change));
    const changeName = formatChangeName(change);
    if (reviewedChange === undefined) {
      const actual = change.before === undefined ? "doesn't exist" : `is ${formatOptionalState(change.before)} now`;
      return [`  ${changeName}: ${actual}, and would be ${formatResultingState(change)}; the review didn't show it`];
    }
    const expectedReplacements = new Map(
      (reviewedChange.mayReplace ?? []).map((replacement) => [replacement.key, replacement.before]),
    );
    for (const { key, before: actual } of change.mayReplace ?? []) {
      const expectedState = expectedReplacements.get(key);
      if (expectedState !== undefined && formatOptionalState(expectedState) === formatOptionalState(actual)) continue;
      const reviewText =
        expectedState === undefined
          ? "the review didn't show it"
          : `it was ${formatOptionalState(expectedState)} at the review`;
      return [
        `  ${changeName}: may replace ${sanitizeLine(key)}, which is ${formatOptionalState(actual)} now; ${reviewText}`,
      ];
    }
    if (formatOptionalState(reviewedChange.before) !== formatOptionalState(change.before)) {
      // A recreated entry names its creator, so the note about an unknown author would be wrong.
      const isSameEntry =
        reviewedChange.before !== undefined && formatCreation(reviewedChange.before) === formatCreation(change.before);
      const creatorText =
        change.before?.createdBy === undefined ? "" : `, created by ${sanitizeLine(change.before.createdBy)}`;
      const authorText =
        change.before !== undefined && isSameEntry ? `${creatorText}; ${UNKNOWN_AUTHOR_TEXT}` : creatorText;
      return [
        `  ${changeName}: was ${formatOptionalState(reviewedChange.before)} at the review, is ${formatOptionalState(change.before)} now${authorText}`,
      ];
    }
    if (formatCreation(reviewedChange.before) !== formatCreation(change.before)) {
      return [
        `  ${changeName}: was created${formatCreation(reviewedChange.before)} at the review, and is a different one now, created${formatCreation(change.before)}`,
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

/** Describes entries that keep the value of a dropped removal under another scope or list. */
function describeEvadedRemovals(reviewedPlan: Plan, currentPlan: Plan): string[] {
  const getKey = ({ kind, key }: { readonly kind: string; readonly key: string }): string => `${kind} ${key}`;
  const removedKeys = new Set(currentPlan.changes.filter(({ operation }) => operation === "remove").map(getKey));
  const reviewedKeys = new Set(reviewedPlan.unmanaged.map(getKey));
  const newItems = Map.groupBy(
    currentPlan.unmanaged.filter((item) => !reviewedKeys.has(getKey(item))),
    ({ kind, value }) => `${kind} ${value}`,
  );
  return reviewedPlan.changes
    .filter((change) => change.operation === "remove" && !removedKeys.has(getKey(change)))
    .flatMap(({ kind, key, value, before }) =>
      (newItems.get(`${kind} ${value}`) ?? []).map((newItem) =>
        sanitizeLine(
          `  ${before?.list ?? "VIP"} ${key}: was to be removed, and exists as ${newItem.key} now, ${formatOptionalState(newItem.before)}`,
        ),
      ),
    );
}

function formatCreation(state: PlanEntryState | undefined): string {
  const { createdBy, createdAt } = state ?? {};
  return sanitizeLine(
    `${createdBy === undefined ? "" : ` by ${createdBy}`}${createdAt === undefined ? "" : ` on ${createdAt}`}`,
  );
}

function formatResultingState({ operation, after }: PlanChange): string {
  return operation === "remove" ? "removed" : formatOptionalState(after);
}

function formatOptionalState(state: PlanEntryState | undefined): string {
  return state === undefined ? "nothing" : formatEntryState(state);
}
