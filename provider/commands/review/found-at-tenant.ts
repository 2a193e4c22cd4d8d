import { isOwnFile } from "../../files/own-file";
import { dueFrom, holds } from "../../files/reviews";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../files/settings";
import { evidenceOf, mailOf } from "../../plan/evidence";
import type { Observed } from "../../plan/observed";
import { instantOf } from "../../plan/seen-mail";
import { counted } from "../../render/words";
import { type Context, DAY_MS } from "../suggest/suggest-context";
import { leftVip } from "./outsiders";
import type { Reason } from "./review-schema";
import type { Asked } from "./worklist";

type Declaration = DeclaredEntry | DeclaredVip;

/** Returns the reasons that only the tenant's data can give for a declaration, besides suggestions. */
export function foundAtTenant(declaration: Declaration, { settings, observed, base, window }: Context): Reason[] {
  const reasons = [findOverdueReason(declaration, settings, observed)];
  const isReviewCurrent = holds(declaration.reviewed, settings);
  if (declaration.kind === "vip")
    return compactReasons([...reasons, isReviewCurrent ? undefined : leftVip(declaration, observed)]);
  const mailCounts = evidenceOf(base, {
    kind: "entry",
    value: declaration.value,
    entryType: declaration.entryType,
  });
  if (declaration.list === "allow" && hasMailSince(declaration, settings, { observed, base }, "reported")) {
    reasons.push(reportedTold(mailCounts?.reports ?? 0, window));
  }
  const { days, complete, until } = base.summary;
  const startTime = getStartTime(declaration, observed);
  // Unknown for a part of the window, and for an address that the service does not report.
  const isUnused =
    complete &&
    declaration.entryType !== "ip" &&
    startTime !== undefined &&
    startTime <= (instantOf(until) ?? 0) - days * DAY_MS &&
    mailCounts?.threats === 0 &&
    mailCounts.reports === 0;
  if (isUnused && !isReviewCurrent) {
    const evidence = `No mail that the service detected came from it ${window}, and nobody reported any; whether other mail did is not told.`;
    reasons.push({ kind: "unused", evidence: evidence });
  }
  return compactReasons(reasons);
}

/** Builds the reason for an allowed sender whose mail users reported. */
export function reportedTold(reports: number, window: string): Reason {
  return { kind: "reported", evidence: `Users reported mail from it ${counted(reports, "time")} ${window}.` };
}

/** Whether there is such mail that the last decision could not take into account. */
export function hasMailSince(
  declaration: Declaration,
  settings: Settings,
  tenantData: Asked | undefined,
  mailKind: "malicious" | "reported",
): boolean {
  if (declaration.kind === "vip" || tenantData === undefined) return false;
  const { threats, reports } = mailOf(tenantData.base, {
    kind: "entry",
    value: declaration.value,
    entryType: declaration.entryType,
  });
  const isMalicious = ({ verdict }: { readonly verdict: string }): boolean => verdict === "malicious";
  const times = [
    ...(mailKind === "malicious" ? threats.filter(isMalicious).map(({ detected }) => detected) : []),
    ...(mailKind === "malicious" ? reports.filter(isMalicious) : reports).map(({ time }) => time),
  ];
  const { reviewed } = declaration;
  // A decision in a shared file is for all tenants that include it, so it does not cover this tenant's mail.
  const isOwn = isOwnFile(declaration.place.file, settings);
  if (!isOwn || !holds(reviewed, settings)) return times.length > 0;
  return times.some((time) => {
    const instant = instantOf(time);
    return instant === undefined || new Date(instant).toISOString().slice(0, 10) > reviewed.on;
  });
}

/** An entry or VIP without a review is due from the day on which the tenant got it. */
function findOverdueReason(
  declaration: Declaration,
  { policy, today }: Settings,
  observed: Observed,
): Reason | undefined {
  const { reviewEvery } = policy;
  if (declaration.reviewed !== undefined || reviewEvery === undefined) return undefined;
  if (!(declaration.kind === "vip" ? observed.vips : observed.entries).has(declaration.key)) return undefined;
  const startTime = getStartTime(declaration, observed);
  const due =
    startTime === undefined ? undefined : dueFrom(new Date(startTime).toISOString().slice(0, 10), reviewEvery);
  if (due !== undefined && due > today) return undefined;
  const dueText = due === undefined ? "since when it stands the service does not tell" : `it is due since ${due}`;
  const evidence = `Nobody has said that it was reviewed, and ${dueText} (reviewEvery: ${reviewEvery}).`;
  return { kind: "due", evidence };
}

/** Returns when the tenant got the entry or VIP, according to the service. */
function getStartTime(declaration: Declaration, { entries, vips }: Observed): number | undefined {
  if (declaration.kind === "vip") return instantOf(vips.get(declaration.key)?.date_added);
  return instantOf(entries.get(declaration.key)?.find(({ list }) => list === declaration.list)?.created_at);
}

function compactReasons(reasons: readonly (Reason | undefined)[]): Reason[] {
  return reasons.filter((reason) => reason !== undefined);
}
