import { sortByDanger } from "../../model/danger";
import { quoteShellWord } from "../../model/shell-word";
import {
  formatCount,
  formatMinute,
  formatNumber,
  joinTexts,
  joinWithAnd,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../render/safe-text";
import { type Finding, isOverrideFinding, sortBySeverity } from "../../settings-files/finding";
import {
  type BacktestAllow,
  type BacktestDeny,
  type ChangeOperation,
  type ChangeSeverity,
  type ExpiredItem,
  FAIL_ON_BLOCKER,
  getExpiredTransition,
  getUnmanagedTransition,
  type Plan,
  type PlanChange,
  type UnmanagedItem,
} from "../plan";
import { buildChangeDetails, type ChangeDetail } from "./change-details";
import { describeEntryKind, formatListName, OPERATION_SYMBOLS } from "./plan-descriptions";

/**
 * The view of a plan that all renderers share. Its order answers the reader's questions: is it dangerous, what changes,
 * what does the mail evidence say, who requested it, what is unmanaged, what is it based on.
 */
export interface PlanView {
  readonly status: PlanStatus;
  /** The plan's status in one or two words: `Refused`, `Danger`. */
  readonly verdict: string;
  readonly headline: SafeText;
  /** `acme at mail-security.example`. */
  readonly tenant: SafeText;
  readonly source: SafeText;
  /** The same formula in all reports: `Plan: 1 to add, 2 to change, 0 to remove`. */
  readonly summary: string;
  readonly tallies: readonly ChangeCount[];
  readonly blockers: Plan["blockers"];
  readonly overrides: readonly Finding[];
  readonly dangers: readonly ChangeView[];
  readonly accepted: readonly ChangeView[];
  readonly warnings: readonly ChangeView[];
  /** Changes without findings or evidence against them. */
  readonly others: readonly ChangeView[];
  /** Lint findings on unchanged entries, the most serious first. */
  readonly findings: readonly Finding[];
  /** The most dangerous first, like `expired`. */
  readonly unmanaged: readonly UnmanagedItem[];
  readonly expired: readonly ExpiredItem[];
  /** Denies that matched no threat; absent without a backtest. */
  readonly unmatchedDenies?: { readonly text: SafeText; readonly keys: readonly string[] };
  readonly basis: readonly SafeText[];
  /** Says how to list the unmanaged entries; empty if there are none. */
  readonly unmanagedNote: SafeText;
  readonly digest: string;
}

export type PlanStatus = "refused" | ChangeSeverity | "empty";

export interface ChangeCount {
  readonly symbol: string;
  readonly word: string;
  readonly count: number;
}

export interface ChangeView {
  readonly change: PlanChange;
  readonly symbol: "+" | "~" | "-";
  readonly word: ChangeOperation;
  readonly list: string;
  /** `domain`, `IP address`, `mailbox`; with the scope if it isn't the default. */
  readonly kind: SafeText;
  readonly details: readonly ChangeDetail[];
  readonly allows?: BacktestAllow;
  readonly denies?: BacktestDeny;
}

export function buildPlanView(plan: Plan): PlanView {
  const allows = indexByKey(plan.backtest?.allows ?? []);
  const denies = indexByKey(plan.backtest?.denies ?? []);
  const changeViews = plan.changes.map((change) =>
    buildChangeView(plan, change, allows.get(change.key), denies.get(change.key)),
  );
  const getBySeverity = (severity: ChangeSeverity) => changeViews.filter(({ change }) => change.severity === severity);
  const [dangers, accepted, warnings, others] = [
    getBySeverity("danger"),
    getBySeverity("accepted"),
    getBySeverity("warning"),
    getBySeverity("none"),
  ];
  const status = getPlanStatus(
    plan.blockers.length > 0,
    { danger: dangers.length, warning: warnings.length, accepted: accepted.length },
    changeViews.length > 0,
  );
  return {
    status,
    verdict: getPlanVerdict(status, plan.evidence.complete),
    headline: formatHeadline(plan, dangers.length, accepted.length, warnings.length),
    tenant: safeText`${untrusted(plan.tenant.name)} at ${untrusted(plan.tenant.host)}`,
    source: formatPlanSource(plan),
    summary: formatPlanSummary(plan.counts),
    tallies: buildTotals(plan),
    blockers: plan.blockers,
    overrides: sortBySeverity(plan.findings.filter(isOverrideFinding)),
    dangers,
    accepted,
    warnings,
    others,
    findings: getOtherFindings(plan),
    unmanaged: sortByDanger(plan.unmanaged, getUnmanagedTransition),
    expired: sortByDanger(plan.expired, getExpiredTransition),
    ...getUnmatchedDenies(plan),
    basis: describeBasis(plan),
    unmanagedNote: formatUnmanagedNote(plan),
    digest: plan.digest,
  };
}

const STATUS_LABELS: Readonly<Record<PlanStatus, string>> = {
  refused: "Refused",
  danger: "Danger",
  accepted: "Risk accepted",
  warning: "Warning",
  none: "No risks found",
  empty: "No changes",
};

/** Returns the name of a plan's status. It says that there are no risks only if all evidence was read. */
export function getPlanVerdict(status: PlanStatus, isComplete: boolean): string {
  return status === "none" && !isComplete ? "Incomplete evidence" : STATUS_LABELS[status];
}

/** Open risks come before accepted ones. */
const STATUS_ORDER = ["danger", "warning", "accepted"] as const;

export function getPlanStatus(
  isBlocked: boolean,
  severityCounts: Readonly<Record<(typeof STATUS_ORDER)[number], number>>,
  hasChanges: boolean,
): PlanStatus {
  if (isBlocked) return "refused";
  return STATUS_ORDER.find((candidate) => severityCounts[candidate] > 0) ?? (hasChanges ? "none" : "empty");
}

/** Names a blocker; an unknown code of another version stays as it is. */
function getBlockerName(code: string): SafeText {
  const name = Object.hasOwn(BLOCKER_NAMES, code) ? BLOCKER_NAMES[code] : undefined;
  return [name ?? untrusted(code)];
}

const BLOCKER_NAMES: Readonly<Record<string, string>> = {
  "removal-guard": "the removal guard",
  exists: "an existing entry",
  protect: "`protect`",
  ignore: "`ignore`",
  preview: "the preview",
  [FAIL_ON_BLOCKER]: "`--fail-on`",
  "other-tenant": "a key that seems to belong to another tenant",
};

function formatHeadline(plan: Plan, dangers: number, accepted: number, warnings: number): SafeText {
  const { changes, blockers, evidence } = plan;
  const risks: SafeText[] = [];
  if (dangers > 0) risks.push([`${formatNumber(dangers)} dangerous`]);
  if (accepted > 0) risks.push([`${formatNumber(accepted)} with an accepted risk`]);
  if (warnings > 0) risks.push([`${formatNumber(warnings)} with a warning`]);
  const total = formatCount(changes.length, "change");
  const riskText = risks.length > 0 ? safeText`${total}: ${joinTexts(risks, ", ")}.` : [];
  if (blockers.length > 0) {
    const codes = [...new Set(blockers.map(({ code }) => code))].slice(0, MAX_CODES).map(getBlockerName);
    return safeText`Blocked by ${joinWithAnd(codes)}. ${riskText.length > 0 ? riskText : `${total}.`}`;
  }
  if (changes.length === 0) return safeText`${untrusted(plan.tenant.name)} matches its declared state.`;
  if (risks.length > 0) return riskText;
  if (evidence.complete) return safeText`${total}, and complete mail evidence.`;
  return safeText`${total} without a finding. The mail evidence is incomplete.`;
}

const MAX_CODES = 3;

function formatPlanSource({ source, createdAt }: Plan): SafeText {
  const [first, ...otherFiles] = source.files;
  const files =
    first === undefined
      ? ["no file"]
      : otherFiles.length === 0
        ? [untrusted(first)]
        : safeText`${untrusted(first)} and ${otherFiles.length} more`;
  const sourceText = source.kind === "preview" ? safeText`a preview of the program, ${files}` : files;
  const stackText = source.stack === undefined ? ["no stack"] : safeText`stack ${untrusted(source.stack)}`;
  return safeText`${sourceText}; ${stackText}; tenant read on ${formatMinute(createdAt)}`;
}

export function formatPlanSummary({
  added,
  changed,
  removed,
}: Pick<Plan["counts"], "added" | "changed" | "removed">): string {
  if (added + changed + removed === 0) return "No changes.";
  return `Plan: ${formatNumber(added)} to add, ${formatNumber(changed)} to change, ${formatNumber(removed)} to remove.`;
}

export function formatOtherCounts({ tallies }: Pick<PlanView, "tallies">): string {
  const otherCounts = tallies.filter(({ symbol, word, count }) => symbol === "" && (count > 0 || word === "unchanged"));
  return `${otherCounts.map(({ word, count }) => `${formatNumber(count)} ${word}`).join(", ")}.`;
}

/** The only report of unmanaged entries that names all of them is that of `drift`, which needs a settings file. */
function formatUnmanagedNote({ unmanaged, source }: Plan): SafeText {
  if (unmanaged.length === 0) return [];
  const note = `${formatCount(unmanaged.length, "unmanaged entry exists", "unmanaged entries exist")} at the tenant.`;
  const [file] = source.files;
  if (source.kind === "preview" || file === undefined) return [note];
  return safeText`${note} ${untrustedSentence(`\`email-security drift ${quoteShellWord(file)}\``)} lists ${unmanaged.length === 1 ? "it" : "them"}.`;
}

function buildTotals({ counts, expired }: Plan): ChangeCount[] {
  const totals: ChangeCount[] = [
    { symbol: "+", word: "to add", count: counts.added },
    { symbol: "~", word: "to change", count: counts.changed },
    { symbol: "-", word: "to remove", count: counts.removed },
    { symbol: "", word: "unchanged", count: counts.unchanged },
    { symbol: "", word: "unmanaged", count: counts.unmanaged },
  ];
  return expired.length > 0 ? [...totals, { symbol: "", word: "expired", count: expired.length }] : totals;
}

function buildChangeView(plan: Plan, change: PlanChange, allows?: BacktestAllow, denies?: BacktestDeny): ChangeView {
  const isAllow = change.after?.list === "allow";
  const [allowed, denied] = isAllow
    ? [allows, undefined]
    : [undefined, change.after?.list === "deny" ? denies : undefined];
  return {
    change,
    symbol: OPERATION_SYMBOLS[change.operation],
    word: change.operation,
    list: formatMovedList(change),
    kind: describeEntryKind(change),
    details: buildChangeDetails(plan, change, allowed, denied),
    ...(allowed && { allows: allowed }),
    ...(denied && { denies: denied }),
  };
}

/** Formats the list of a change; both lists if the entry moves. */
function formatMovedList({ kind, before, after }: PlanChange): string {
  const lists = new Set([before?.list, after?.list].filter((list) => list !== undefined));
  return formatListName({ kind, ...(lists.size === 0 ? {} : { list: [...lists].join(" → ") }) });
}

function getUnmatchedDenies({ backtest, evidence }: Plan): Pick<PlanView, "unmatchedDenies"> {
  // Without threats to match, a missing match means nothing.
  if (backtest === undefined || backtest.threats === 0 || backtest.unmatchedDenies.length === 0) return {};
  const keys = backtest.unmatchedDenies;
  const text = safeText`${keys.length} of ${formatCount(backtest.denyCount, "deny", "denies")} matched no threat in ${formatCount(
    evidence.days,
    "day",
  )}. That alone isn't a reason to remove one.`;
  return { unmatchedDenies: { text, keys } };
}

function describeBasis({ evidence, backtest }: Plan): SafeText[] {
  const { days, threats, reports, from, until, complete, missing } = evidence;
  const hasNoEvidence = threats === 0 && reports === 0 && !complete;
  const scopeText = safeText`${formatCount(threats, "threat")} and ${formatCount(reports, "user report")} from the ${formatCount(
    days,
    "day",
  )} until ${formatMinute(until)}.`;
  const completenessText =
    complete || from === undefined
      ? []
      : [safeText`Incomplete: only the data since ${formatMinute(from)} is complete.`];
  const missingTexts = missing.slice(0, MAX_REASONS).map((reason) => safeText`Missing: ${untrustedSentence(reason)}`);
  const backtestText =
    backtest === undefined
      ? []
      : [
          safeText`The backtest replays ${formatCount(
            backtest.threats,
            "threat",
          )} against the planned lists. It is an estimate, because it contains no mail other than threats.`,
        ];
  if (hasNoEvidence) {
    return missingTexts.length > 0
      ? [["There is no mail evidence."], ...missingTexts]
      : [["The tenant's mail was not read."]];
  }
  return [scopeText, ...completenessText, ...missingTexts, ...backtestText];
}

const MAX_REASONS = 10;

/** Counts changes by kind: `4,000 add deny`, the most frequent first. Summarizes hidden changes. */
export function countChangeKinds(
  changeViews: readonly ChangeView[],
): { readonly name: string; readonly count: number }[] {
  const counts = new Map<string, number>();
  for (const { word, list } of changeViews) counts.set(`${word} ${list}`, (counts.get(`${word} ${list}`) ?? 0) + 1);
  return [...counts].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count);
}

function indexByKey<T extends { readonly key: string }>(items: readonly T[]): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [item.key, item]));
}

function getOtherFindings({ changes, findings }: Plan): Finding[] {
  const changeFindingIds = new Set<string>();
  const changedIds = new Set(changes.map(({ kind, key }) => `${kind} ${key}`));
  for (const change of changes) for (const finding of change.findings) changeFindingIds.add(getFindingId(finding));
  // A change shows its own acceptRisk.
  const isAcceptedRisk = ({ code, subject }: Finding): boolean =>
    code.startsWith("accepted-") && changedIds.has(`${subject?.kind} ${subject?.key}`);
  const otherFindings = findings.filter(
    (finding) =>
      !changeFindingIds.has(getFindingId(finding)) && !isAcceptedRisk(finding) && !isOverrideFinding(finding),
  );
  // An existing allow that lets malicious mail through is the worst finding.
  const isExistingAllow = ({ code }: Finding): number => Number(code === "existing-allow");
  return sortBySeverity(otherFindings.toSorted((a, b) => isExistingAllow(b) - isExistingAllow(a)));
}

function getFindingId({ code, message, place, subject }: Finding): string {
  return JSON.stringify([code, message, place?.file, place?.line, place?.column, subject?.kind, subject?.key]);
}
