import type { TenantMailHistory } from "../../plan/evidence";
import type { ObservedState } from "../../plan/observed-state";
import { REVIEW_KINDS } from "./review-kinds";
import type { ReviewItem, ReviewReason, ReviewReport } from "./review-schema";

/** The items to review, and what could not be read or checked. */
export type Review = Pick<ReviewReport, "items" | "missingEvidence" | "limitations">;

/** The tenant's actual state, and the evidence from its mail. */
export interface TenantData {
  readonly observed: ObservedState;
  readonly base: TenantMailHistory;
}

/** Adds reasons to an item, the worst first. */
export function addReasons(item: Omit<ReviewItem, "reasons">, reasons: readonly ReviewReason[]): ReviewItem {
  return { ...item, reasons: reasons.toSorted((a, b) => getReasonRank(a) - getReasonRank(b)) };
}

/** Compares items for sorting: the worst first, then by value. */
export function compareReviewItems(left: ReviewItem, right: ReviewItem): number {
  const [{ reasons: a }, { reasons: b }] = [left, right];
  return (
    getReasonRank(a[0]) - getReasonRank(b[0]) || (left.value < right.value ? -1 : Number(left.value > right.value))
  );
}

function getReasonRank(reason: ReviewReason | undefined): number {
  return reason === undefined ? REVIEW_KINDS.length : REVIEW_KINDS.indexOf(reason.kind);
}
