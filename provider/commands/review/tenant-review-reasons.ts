import { collectEvidence, findMail } from "../../plan/evidence";
import { parseInstant } from "../../plan/mail-records";
import type { ObservedState } from "../../plan/observed-state";
import { formatCount } from "../../render/safe-text";
import { getReviewDueDay, isReviewValid } from "../../settings-files/reviews";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../settings-files/settings-model";
import { isOwnFile } from "../../settings-files/tenant-own-file";
import { DAY_MS, type SuggestContext } from "../suggest/suggest-context";
import { findDepartedVipReason } from "./person-review-reasons";
import type { TenantData } from "./review-items";
import type { ReviewReason } from "./review-schema";

type Declaration = DeclaredEntry | DeclaredVip;

/** Returns the reasons to review a declaration that come from the tenant's data. Suggestions are found elsewhere. */
export function findTenantReasons(
  declaration: Declaration,
  { settings, observed, base, window }: SuggestContext,
): ReviewReason[] {
  const reasons = [findOverdueReason(declaration, settings, observed)];
  const isReviewCurrent = isReviewValid(declaration.reviewed, settings);
  if (declaration.kind === "vip")
    return compactReasons([...reasons, isReviewCurrent ? undefined : findDepartedVipReason(declaration, observed)]);
  const mailCounts = collectEvidence(base, {
    kind: "entry",
    value: declaration.value,
    entryType: declaration.entryType,
  });
  if (declaration.list === "allow" && hasMailSinceReview(declaration, settings, { observed, base }, "reported")) {
    reasons.push(buildReportedReason(mailCounts?.reports ?? 0, window));
  }
  const { days, complete, until } = base.summary;
  const startTime = getStartTime(declaration, observed);
  // Unknown if only part of the window was read, or if the service doesn't report the address.
  const isUnused =
    complete &&
    declaration.entryType !== "ip" &&
    startTime !== undefined &&
    startTime <= (parseInstant(until) ?? 0) - days * DAY_MS &&
    mailCounts?.threats === 0 &&
    mailCounts.reports === 0;
  if (isUnused && !isReviewCurrent) {
    const evidence = `No mail that the service detected came from it ${window}, and nobody reported any; the service doesn't report other mail.`;
    reasons.push({ kind: "unused", evidence: evidence });
  }
  return compactReasons(reasons);
}

export function buildReportedReason(reports: number, window: string): ReviewReason {
  return {
    kind: "reported",
    evidence: `Users reported mail from it ${formatCount(reports, "time")} ${window}.`,
  };
}

/** Returns whether malicious or reported mail from the sender is newer than its last review. */
export function hasMailSinceReview(
  declaration: Declaration,
  settings: Settings,
  tenantData: TenantData | undefined,
  mailKind: "malicious" | "reported",
): boolean {
  if (declaration.kind === "vip" || tenantData === undefined) return false;
  const { threats, reports } = findMail(tenantData.base, {
    kind: "entry",
    value: declaration.value,
    entryType: declaration.entryType,
  });
  const isMalicious = ({ verdict }: { readonly verdict: string }): boolean => verdict === "malicious";
  const times = [
    ...(mailKind === "malicious" ? threats.filter(isMalicious).map(({ detectedAt }) => detectedAt) : []),
    ...(mailKind === "malicious" ? reports.filter(isMalicious) : reports).map(({ time }) => time),
  ];
  const { reviewed } = declaration;
  // A decision in a shared file is for all tenants that include it, so it does not cover this tenant's mail.
  const isOwn = isOwnFile(declaration.location.file, settings);
  if (!isOwn || !isReviewValid(reviewed, settings)) return times.length > 0;
  return times.some((time) => {
    const instant = parseInstant(time);
    return instant === undefined || new Date(instant).toISOString().slice(0, 10) > reviewed.on;
  });
}

/**
 * Returns a reason if the review of an entry or VIP is overdue. Without a review, the interval starts on the day the
 * tenant got it.
 */
function findOverdueReason(
  declaration: Declaration,
  { policy, today }: Settings,
  observed: ObservedState,
): ReviewReason | undefined {
  const { reviewEvery } = policy;
  if (declaration.reviewed !== undefined || reviewEvery === undefined) return undefined;
  if (!(declaration.kind === "vip" ? observed.vips : observed.entries).has(declaration.key)) return undefined;
  const startTime = getStartTime(declaration, observed);
  const due =
    startTime === undefined ? undefined : getReviewDueDay(new Date(startTime).toISOString().slice(0, 10), reviewEvery);
  if (due !== undefined && due > today) return undefined;
  const dueText =
    due === undefined ? "the service doesn't report its creation date" : `its review has been due since ${due}`;
  const evidence = `It has not been reviewed, and ${dueText} (reviewEvery: ${reviewEvery}).`;
  return { kind: "due", evidence };
}

function getStartTime(declaration: Declaration, { entries, vips }: ObservedState): number | undefined {
  if (declaration.kind === "vip") return parseInstant(vips.get(declaration.key)?.date_added);
  return parseInstant(entries.get(declaration.key)?.find(({ list }) => list === declaration.list)?.created_at);
}

function compactReasons(reasons: readonly (ReviewReason | undefined)[]): ReviewReason[] {
  return reasons.filter((reason) => reason !== undefined);
}
