import { DETAIL_NAMES, type DetailName } from "../../model/entry-fields";
import { getDetailTexts } from "../../model/entry-state-text";
import {
  formatCount,
  formatDay,
  formatNumber,
  joinTexts,
  joinWithAnd,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../render/safe-text";
import { labelTextFields, pickMetadata } from "../../settings-files/element-fields";
import type { FileLocation } from "../../settings-files/finding";
import type { BacktestAllow, BacktestDeny, Evidence, NamedCount, Plan, PlanChange, RecipientCount } from "../plan";
import {
  describeCreation,
  describeEntryDetails,
  describeFinding,
  describeIdentifier,
  describeLine,
  describeValue,
} from "./plan-descriptions";

/** Builds the details of a change; those that raise the severity come first. */
export function buildChangeDetails(
  plan: Plan,
  change: PlanChange,
  allows?: BacktestAllow,
  denies?: BacktestDeny,
): ChangeDetail[] {
  const isRisk = change.severity !== "none";
  const details: ChangeDetail[] = [
    { label: "risk", text: describeAcceptedRisk(change), isRisk },
    ...DETAIL_NAMES.map((name) => ({ label: name, text: describeDetailChange(change, name) })),
    { label: "reason", text: change.reason === undefined ? [] : [untrustedSentence(change.reason)] },
    { label: "replaces", text: describeReplacements(change) },
    ...buildMailDetails(plan, change, allows),
    ...(change.evidence?.applies === false ? [] : buildBacktestDetails(plan, allows, denies)),
    ...change.findings.map(
      (finding): ChangeDetail => ({
        label: "finding",
        text: describeFinding(finding),
        isRisk: isRisk && (finding.level !== "note" || change.severity === "accepted"),
      }),
    ),
    { label: "approval", text: describeRequest(change) },
    { label: "declared", text: describeOrigin(change) },
    { label: "tenant", text: describeCreation(change.before) },
  ];
  const nonEmptyDetails = details.filter(({ text }) => text.length > 0);
  return [
    ...nonEmptyDetails.filter((fact) => fact.isRisk === true),
    ...nonEmptyDetails.filter((fact) => fact.isRisk !== true),
  ];
}

/** A detail of a change. The label has at most ten letters. */
export interface ChangeDetail {
  readonly label:
    | "mail"
    | "actions"
    | "reports"
    | "backtest"
    | "finding"
    | "risk"
    | DetailName
    | "reason"
    | "replaces"
    | "approval"
    | "declared"
    | "tenant";
  readonly text: SafeText;
  readonly isRisk?: boolean;
}

export function buildMailDetails(
  plan: Pick<Plan, "evidence">,
  change: Pick<PlanChange, "kind" | "evidence" | "severity">,
  allows?: BacktestAllow,
): ChangeDetail[] {
  const { evidence } = change;
  if (evidence === undefined) return [];
  if (!evidence.applies) {
    return [
      {
        label: "mail",
        text: ["No evidence: the service doesn't report the IP addresses of threats."],
      },
    ];
  }
  const isRisk = change.severity !== "none" && (evidence.threats > 0 || evidence.reports > 0);
  return [
    { label: "mail", text: describeThreats(plan, change, evidence, allows), isRisk },
    { label: "actions", text: describeActions(change, evidence), isRisk },
    { label: "reports", text: describeReports(evidence), isRisk },
  ];
}

/** Formats `37 threats in 30 days, 35 malicious, last 2026-11-19; to 4 people, 2 of them VIPs; 31 would have been delivered.` */
function describeThreats(
  plan: Pick<Plan, "evidence">,
  { kind }: Pick<PlanChange, "kind">,
  evidence: Evidence,
  allows: BacktestAllow | undefined,
): SafeText {
  const window = `in ${formatCount(plan.evidence.days, "day")}`;
  const direction = kind === "vip" ? "to this mailbox" : "from this sender";
  if (evidence.threats === 0) return safeText`No threats ${direction} ${window}.`;
  const verdicts = formatCounts(evidence.verdicts, evidence.threats);
  const lastText = evidence.lastThreatAt === undefined ? [] : safeText`, last ${formatDay(evidence.lastThreatAt)}`;
  const hasRecipients = kind === "entry" && evidence.recipientCount > 0;
  const recipientText = hasRecipients ? `; to ${describePeopleCount(evidence.recipientCount, evidence.vipCount)}` : "";
  const deliveredText =
    allows === undefined || allows.deliveredCount === 0
      ? []
      : safeText`; ${allows.deliveredCount} would have been delivered`;
  return safeText`${formatCount(evidence.threats, "threat")} ${kind === "vip" ? "to this mailbox " : ""}${window}${
    verdicts.length > 0 ? safeText`, ${verdicts}` : []
  }${lastText}${recipientText}${deliveredText}.`;
}

function describeActions({ kind }: Pick<PlanChange, "kind">, evidence: Evidence): SafeText {
  const actions = formatCounts(evidence.actions, evidence.threats);
  const senders = describeSenders(evidence, kind);
  const parts = [actions, senders].filter(({ length }) => length > 0);
  return parts.length === 0 ? [] : safeText`${joinTexts(parts, "; ")}.`;
}

function describeSenders({ senders, senderCount }: Evidence, kind: PlanChange["kind"]): SafeText {
  if (senderCount < 2 || kind === "vip") return [];
  if (senders.length < senderCount) return safeText`from ${senderCount} senders`;
  return safeText`from ${joinTexts(
    senders.map(({ name, count }) => safeText`${describeValue(name)} (${count})`),
    ", ",
  )}`;
}

function describeReports({ reports, reportVerdicts, lastReportAt }: Evidence): SafeText {
  if (reports === 0) return [];
  const verdicts = formatCounts(reportVerdicts, reports);
  const lastText = lastReportAt === undefined ? [] : safeText`, last ${formatDay(lastReportAt)}`;
  return safeText`${formatCount(reports, "user report")}${lastText}${
    verdicts.length > 0 ? safeText`; analysis: ${verdicts}` : []
  }.`;
}

function describePeopleCount(people: number, vips: number): string {
  const peopleText = formatCount(people, "person", "people");
  if (vips === 0) return peopleText;
  if (vips === people) return people === 1 ? "1 person, a VIP" : `${peopleText}, all VIPs`;
  return `${peopleText}, ${formatNumber(vips)} of them ${vips === 1 ? "a VIP" : "VIPs"}`;
}

/** Formats `35 malicious, 2 spam`, or `all malicious` for a single verdict. */
function formatCounts(counts: readonly NamedCount[], total: number): SafeText {
  // Always shows the malicious count, even if it is small.
  const isMalicious = ({ name }: NamedCount): number => Number(counts.length > MAX_COUNTS && name === "malicious");
  const visibleCounts = counts.toSorted((a, b) => isMalicious(b) - isMalicious(a)).slice(0, MAX_COUNTS);
  const hiddenCount = counts.length - visibleCounts.length;
  const countTexts = visibleCounts.map(({ name, count }) =>
    count === total && total > 1 && counts.length === 1
      ? safeText`all ${describeIdentifier(name)}`
      : safeText`${count} ${describeIdentifier(name)}`,
  );
  return joinTexts(hiddenCount > 0 ? [...countTexts, [`${hiddenCount} more kinds`]] : countTexts, ", ");
}

const MAX_COUNTS = 6;

function buildBacktestDetails({ evidence }: Plan, allows?: BacktestAllow, denies?: BacktestDeny): ChangeDetail[] {
  const window = `in ${formatCount(evidence.days, "day")}`;
  if (allows !== undefined) {
    const { deliveredCount, verdicts } = allows;
    if (deliveredCount === 0)
      return [{ label: "backtest", text: [`Estimate: no threats would have been delivered ${window}.`] }];
    const verdictText = formatCounts(verdicts, deliveredCount);
    return [
      {
        label: "backtest",
        text: safeText`Estimate: ${formatCount(deliveredCount, "stopped threat")} would have been delivered${
          verdictText.length > 0 ? safeText` (${verdictText})` : []
        }${describeRecipients(allows)}.`,
        isRisk: true,
      },
    ];
  }
  if (denies === undefined) return [];
  const { matchCount, stoppedCount } = denies;
  if (matchCount === 0) return [{ label: "backtest", text: [`Estimate: no matching threats ${window}.`] }];
  const detailText =
    stoppedCount === 0
      ? safeText`Estimate: ${formatCount(matchCount, "matching threat")} ${window}, all stopped without this entry.`
      : safeText`Estimate: of ${formatCount(matchCount, "matching threat")}, this entry would have stopped the ${stoppedCount} that reached a mailbox${describeRecipients(denies)}.`;
  return [{ label: "backtest", text: detailText }];
}

export function describeRecipients(summary: {
  readonly recipients: readonly RecipientCount[];
  readonly recipientCount: number;
  readonly vipCount: number;
}): SafeText {
  if (summary.recipientCount === 0) return [];
  const visibleRecipients = summary.recipients
    .slice(0, MAX_RECIPIENTS)
    .map(({ email, isVip, count }) =>
      isVip ? safeText`${untrusted(email)} (VIP, ${count})` : safeText`${untrusted(email)} (${count})`,
    );
  const hiddenCount = summary.recipientCount - visibleRecipients.length;
  const names = hiddenCount > 0 ? [...visibleRecipients, [`${formatNumber(hiddenCount)} more`]] : visibleRecipients;
  return safeText`, to ${describePeopleCount(summary.recipientCount, summary.vipCount)}: ${joinTexts(names, ", ")}`;
}

const MAX_RECIPIENTS = 4;

function describeAcceptedRisk({ acceptedRiskReason, after }: PlanChange): SafeText {
  const reason = acceptedRiskReason ?? after?.acceptRisk;
  return reason === undefined ? [] : safeText`accepted: ${untrusted(reason)}`;
}

function describeReplacements({ mayReplace = [], after }: PlanChange): SafeText {
  if (mayReplace.length === 0) return [];
  const replacements = mayReplace.map(({ key, before }) => {
    const creationText = describeCreation(before);
    return safeText`${after?.list ?? "entry"} ${untrusted(key)}${creationText.length > 0 ? safeText` (${creationText})` : []}${describeEntryDetails(before)}`;
  });
  return safeText`If the service allows only one entry per value, this replaces ${joinWithAnd(replacements)}.`;
}

function describeDetailChange({ before, after }: PlanChange, name: DetailName): SafeText {
  const [old, current] = [before, after].map((item) => new Map(getDetailTexts(item ?? {})).get(name));
  if (before === undefined || after === undefined) {
    const onlyValue = old ?? current;
    return onlyValue === undefined ? [] : [untrusted(onlyValue)];
  }
  if (old === current) return current === undefined ? [] : safeText`${untrusted(current)} (unchanged)`;
  const formatOptionalValue = (text: string | undefined): SafeText =>
    text === undefined ? ["(none)"] : [untrusted(text)];
  return safeText`${formatOptionalValue(old)} → ${formatOptionalValue(current)}`;
}

function describeRequest({ expires, ...change }: PlanChange): SafeText {
  const parts = labelTextFields(pickMetadata(change)).map(([label, text]) => safeText`${label} ${untrusted(text)}`);
  if (expires !== undefined)
    parts.push(expires === "never" ? ["never expires"] : safeText`expires ${formatDay(expires)}`);
  return joinTexts(parts, ", ");
}

function describeOrigin({ place, overrides, resource }: PlanChange): SafeText {
  const parts: SafeText[] = [];
  if (place !== undefined) parts.push(describeLine(place));
  if (resource !== undefined) parts.push(safeText`resource ${untrusted(resource)}`);
  if (overrides !== undefined && overrides.length > 0) {
    parts.push(safeText`overrides ${describeLocations(overrides)}`);
  }
  return joinTexts(parts, ", ");
}

function describeLocations(locations: readonly FileLocation[]): SafeText {
  const visibleLocations = locations.slice(0, MAX_LOCATIONS).map(describeLine);
  return joinWithAnd(
    locations.length > MAX_LOCATIONS
      ? [...visibleLocations, [`${formatNumber(locations.length - MAX_LOCATIONS)} more`]]
      : visibleLocations,
  );
}

const MAX_LOCATIONS = 3;
