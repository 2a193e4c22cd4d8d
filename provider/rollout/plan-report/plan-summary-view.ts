import { truncateByDanger } from "../../model/danger";
import { FAIL_ON_BLOCKER, getChangeTransition } from "../../plan/plan";
import {
  type ChangeView,
  formatPlanSummary,
  getPlanStatus,
  getPlanVerdict,
  type PlanView,
} from "../../plan/render/plan-view";
import {
  formatCount,
  formatNumber,
  joinTexts,
  joinWithAnd,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../render/safe-text";
import type { RolloutReport, TenantReport } from "../model/rollout-report";
import type { PlannedRollout } from "../planning/plan-rollout";
import type { MailSearchResult } from "../planning/search-tenant-mail";
import { formatFirstNames, MAX_LISTED_NAMES } from "../report/format-tenant-names";
import { describeRolloutMode, findStackOnlyTenants, interleaveLines } from "../report/rollout-report-view";
import { formatSkippedSentence, formatSkippedTenant } from "../report/skipped-tenants";
import type { CombinedPlan } from "./combined-plan";
import { canListInline, type TenantGroups } from "./tenant-group-labels";

export interface PlanSummaryInput {
  readonly report: RolloutReport;
  readonly plannedRollout: Pick<PlannedRollout, "blockers" | "reappliedChanges" | "mail">;
  readonly combinedPlan: CombinedPlan;
}

export interface PlanSummaryView extends Pick<PlanView, "status" | "verdict" | "headline" | "summary" | "tallies"> {
  readonly title: SafeText;
  readonly mailCoverage: SafeText;
  readonly missingEvidence: readonly SafeText[];
  /** The blockers, grouped by code and message, with the names of their tenants. */
  readonly blockers: readonly { readonly code: string; readonly message: string }[];
  readonly reappliedChanges: readonly SafeText[];
  /** Tenants that can't be planned, grouped by reason. */
  readonly failures: readonly { readonly title: SafeText; readonly facts: readonly SafeText[] }[];
  readonly skipped: readonly SafeText[];
  /** The drift that the rollout reverts, with its tenants. Empty in other modes. */
  readonly drift: readonly SafeText[];
  readonly unrevertedChanges: readonly SafeText[];
  readonly unrevertedTitle: string;
  /** The changes of each tenant. Tenants with the same changes share a line. */
  readonly tenantLines: readonly { readonly text: SafeText; readonly count: number }[];
  readonly waves: readonly SafeText[];
}

/**
 * Adds the severities from the tenants' mail to a report. Removes the changes of tenants whose mail reveals that the key belongs to another tenant.
 */
export function addMailSeverities(report: RolloutReport, mail: MailSearchResult | undefined): RolloutReport {
  if (mail === undefined) return report;
  const mismatchedTenants = new Set(mail.blockers.map((blocker) => blocker.tenant));
  const tenants = report.tenants.map((tenant) => {
    if (mismatchedTenants.has(tenant.name)) return hideTenantChanges(tenant);
    const severities = mail.evidenceByTenant.get(tenant.name)?.severities;
    return severities === undefined ? tenant : { ...tenant, severities };
  });
  return { ...report, tenants };
}

function hideTenantChanges({ unreverted: _unrevertedChanges, drift: _drift, ...tenant }: TenantReport): TenantReport {
  const planned = { added: 0, changed: 0, removed: 0 };
  return { ...tenant, planned, changes: [], severities: { danger: 0, accepted: 0, warning: 0 } };
}

export function buildPlanSummaryView({ report, plannedRollout, combinedPlan }: PlanSummaryInput): PlanSummaryView {
  const { source, rollsBack, mode, tenants, counts, waves, skipped = [] } = report;
  const hasProblems = counts.failed + skipped.length + (plannedRollout.reappliedChanges?.length ?? 0) > 0;
  const status = getPlanStatus(
    plannedRollout.blockers.length > 0,
    {
      danger: combinedPlan.dangers.length,
      warning: combinedPlan.warnings.length + Number(hasProblems),
      accepted: combinedPlan.accepted.length,
    },
    counts.pending > 0,
  );
  const changedTenants = new Set(combinedPlan.tenantSets.flatMap((tenantSet) => tenantSet.tenants));
  const changingCount = countChangingTenants(report);
  const stackOnlyCount = findStackOnlyTenants(report, plannedRollout.blockers).length;
  const sumPlanned = (symbol: "added" | "changed" | "removed"): number =>
    tenants.reduce(
      (total, { name, planned: { [symbol]: count } }) => total + (changedTenants.has(name) ? count : 0),
      0,
    );
  const planned = { added: sumPlanned("added"), changed: sumPlanned("changed"), removed: sumPlanned("removed") };
  return {
    title:
      rollsBack === undefined
        ? joinTexts([[untrusted(source)], ...describeRolloutMode(mode)], ": it ")
        : safeText`rolling back ${untrusted(rollsBack)} of ${untrusted(source)}`,
    status,
    // The mail covers only a sample of the tenants.
    verdict: getPlanVerdict(status, false),
    headline: buildPlanHeadline(report, plannedRollout, combinedPlan),
    summary: formatPlanSummary(planned),
    tallies: [
      { symbol: "+", word: "to add", count: planned.added },
      { symbol: "~", word: "to change", count: planned.changed },
      { symbol: "-", word: "to remove", count: planned.removed },
      { symbol: "", word: `${pluralizeTenant(changingCount)} to change`, count: changingCount },
      ...(stackOnlyCount > 0
        ? [
            {
              symbol: "",
              word: `${pluralizeTenant(stackOnlyCount)} with changes of the stack only`,
              count: stackOnlyCount,
            },
          ]
        : []),
      { symbol: "", word: `${pluralizeTenant(counts.unchanged)} unchanged`, count: counts.unchanged },
      ...(counts.failed > 0
        ? [{ symbol: "", word: `${pluralizeTenant(counts.failed)} failed to plan`, count: counts.failed }]
        : []),
    ],
    mailCoverage: formatMailCoverage(plannedRollout.mail),
    missingEvidence: listMissingMail(plannedRollout.mail),
    blockers: groupBlockers(plannedRollout.blockers),
    reappliedChanges: (plannedRollout.reappliedChanges ?? []).map(
      ({ rollout, by, tenants: affectedTenants, changes }) =>
        safeText`${formatFirstNames(changes)} in ${formatCount(affectedTenants.length, "tenant")}: the rollout ${untrusted(rollout)} included it, and ${untrusted(by)} rolled that one back.`,
    ),
    failures: groupFailures(tenants),
    skipped: skipped.map(formatSkippedTenant),
    unrevertedTitle:
      rollsBack === undefined ? "Not reverted" : "Not rolled back, because it was changed after the rollout",
    drift: groupByText(tenants, ({ drift }) => drift),
    unrevertedChanges: groupByText(tenants, ({ unreverted }) => unreverted),
    tenantLines: buildTenantLines(report, plannedRollout, combinedPlan),
    waves: waves.map(
      ({ name, tenants: all, counts: { pending }, toleratedFailures, exitCriteria: { hasGate }, closedHours = [] }) =>
        safeText`${untrusted(name)}: ${formatCount(all, "tenant")}, ${pending} to change, ${toleratedFailures} may fail${closedHours.length === 0 ? "" : `, not ${closedHours.join(", ")}`}${hasGate ? "; then manual approval" : ""}`,
    ),
  };
}

function buildPlanHeadline(
  report: RolloutReport,
  { blockers }: PlanSummaryInput["plannedRollout"],
  { dangers, accepted, warnings, others, omittedCount }: CombinedPlan,
): SafeText {
  const { tenants, counts } = report;
  const differentCount = dangers.length + accepted.length + warnings.length + others.length;
  const riskCounts = [
    [dangers.length, "dangerous"],
    [warnings.length, "with a warning"],
    [accepted.length, "with an accepted risk"],
  ] as const;
  const riskTexts = riskCounts
    .filter(([count]) => count > 0)
    .map(([count, label]): SafeText => [`${formatNumber(count)} ${label}`]);
  const [refusedByFailOn, refusedByBlocker] = [true, false].map((isFailOn) => {
    const refusingBlockers = blockers.filter(({ blocker }) => (blocker.code === FAIL_ON_BLOCKER) === isFailOn);
    return new Set(refusingBlockers.map(({ tenant }) => tenant)).size;
  }) as [number, number];
  return [
    ...(refusedByBlocker > 0 ? [`Refused by the blockers of ${formatCount(refusedByBlocker, "tenant")}. `] : []),
    ...(refusedByFailOn > 0
      ? [`\`--fail-on\` refuses the changes of ${formatCount(refusedByFailOn, "tenant")}. `]
      : []),
    ...safeText`${countChangingTenants(report)} of ${formatCount(tenants.length, "tenant")} would change, with ${formatCount(differentCount, "different change")}${omittedCount > 0 ? " and more that are only counted" : ""}${riskTexts.length > 0 ? safeText`: ${joinWithAnd(riskTexts)}` : ""}.`,
    ...(counts.failed > 0 ? [` ${formatCount(counts.failed, "tenant")} failed to plan.`] : []),
    ...formatSkippedSentence(report),
  ];
}

function formatMailCoverage(mail: MailSearchResult | undefined): SafeText {
  if (mail === undefined) return ["The mail of the tenants was not read."];
  const { days, candidateCount, evidenceByTenant } = mail;
  if (candidateCount === 0) return ["The mail of the tenants was not read, because no change needs evidence."];
  const isComplete = evidenceByTenant.size === candidateCount;
  const coverage = isComplete
    ? candidateCount === 1
      ? "the tenant"
      : `all ${formatNumber(candidateCount)} tenants`
    : `${formatNumber(evidenceByTenant.size)} of ${formatNumber(candidateCount)} tenants`;
  const names = evidenceByTenant.size === 0 ? [] : safeText` (${formatFirstNames([...evidenceByTenant.keys()])})`;
  const suffix = isComplete
    ? "."
    : safeText`. This is a sample; ${untrusted("--evidence all")} reads the mail of all tenants.`;
  return safeText`Mail evidence${days > 0 ? ` of the last ${days} days` : ""} from ${coverage} with changes${names}${suffix}`;
}

function listMissingMail(mail: MailSearchResult | undefined): readonly SafeText[] {
  if (mail === undefined) return [];
  return [
    ...mail.unavailable.map(({ tenant, reason }) => safeText`${untrusted(tenant)}: ${untrustedSentence(reason)}`),
    ...[...mail.evidenceByTenant].flatMap(([tenant, { missing }]) =>
      missing.map((reason) => safeText`${untrusted(tenant)}: ${untrustedSentence(reason)}`),
    ),
  ];
}

/** Groups blockers that differ only in the name of the tenant. */
function groupBlockers(blockers: PlanSummaryInput["plannedRollout"]["blockers"]): PlanSummaryView["blockers"] {
  const byMessage = Map.groupBy(blockers, ({ tenant, blocker }) =>
    JSON.stringify([blocker.code, blocker.message.replaceAll(tenant, "…")]),
  );
  return [...byMessage.values()]
    .sort((a, b) => b.length - a.length)
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const names = group.slice(0, MAX_LISTED_NAMES).map(({ tenant }) => tenant);
      const suffix =
        group.length > MAX_LISTED_NAMES ? ` and ${formatNumber(group.length - MAX_LISTED_NAMES)} more` : "";
      return [{ code: first.blocker.code, message: `${names.join(", ")}${suffix}:\n${first.blocker.message}` }];
    });
}

function groupFailures(tenants: readonly TenantReport[]): PlanSummaryView["failures"] {
  const failedTenants = tenants.filter(({ error }) => error !== undefined);
  const byMessage = Map.groupBy(failedTenants, ({ name, error }) => (error?.message ?? "").replaceAll(name, "…"));
  return [...byMessage.values()]
    .sort((a, b) => b.length - a.length)
    .flatMap((group) => {
      const [{ error } = { error: undefined }] = group;
      if (error === undefined) return [];
      return [
        {
          title: formatFirstNames(group.map(({ name }) => name)),
          facts: [
            safeText`Why: ${untrustedSentence(error.message)} (${untrusted(error.code)})`,
            safeText`Fix: ${untrustedSentence(error.advice)}`,
          ],
        },
      ];
    });
}

function buildTenantLines(
  report: RolloutReport,
  { blockers }: PlanSummaryInput["plannedRollout"],
  { tenantSets, groups }: CombinedPlan,
): PlanSummaryView["tenantLines"] {
  const { tenants } = report;
  const byName = new Map(tenants.map((tenant) => [tenant.name, tenant]));
  const listedTenants = new Set(tenantSets.flatMap((tenantSet) => tenantSet.tenants));
  const lines = tenantSets.map(({ tenants: names, distinctChanges }) => {
    const [firstName = ""] = names;
    const { added, changed, removed } = byName.get(firstName)?.planned ?? {
      added: 0,
      changed: 0,
      removed: 0,
    };
    const { visible, hiddenText } = truncateByDanger(distinctChanges, MAX_LISTED_NAMES, ({ change }) =>
      getChangeTransition(change),
    );
    const listedTenants = [
      ...visible.map(formatCardChange),
      ...(hiddenText === undefined ? [] : [[`… and ${hiddenText}`]]),
    ];
    const differences =
      distinctChanges.length === 0 ? "" : safeText`; not in all tenants: ${joinTexts(listedTenants, ", ")}`;
    const counts = `+${formatNumber(added)} ~${formatNumber(changed)} -${formatNumber(removed)}`;
    return {
      text: safeText`${untrusted("~")} ${formatTenantGroupNames(names, groups)}: ${counts}${differences}`,
      count: names.length,
    };
  });
  const refusedTenants = new Set(blockers.map(({ tenant }) => tenant));
  const otherTenants = tenants.filter(({ name }) => !listedTenants.has(name));
  const otherStates = [
    ["✗", "failed to plan", otherTenants.filter(({ error }) => error !== undefined)],
    ["!", "refused", otherTenants.filter((tenant) => tenant.error === undefined && refusedTenants.has(tenant.name))],
    [
      "~",
      "changes of the stack only",
      otherTenants.filter(
        (tenant) => isPlannable(tenant) && tenant.state === "pending" && !refusedTenants.has(tenant.name),
      ),
    ],
    [
      "=",
      "unchanged",
      otherTenants.filter(
        (tenant) => isPlannable(tenant) && tenant.state !== "pending" && !refusedTenants.has(tenant.name),
      ),
    ],
  ] as const;
  const groupedLines = otherStates
    .map(([symbol, label, all]) => ({ symbol, label, names: all.map(({ name }) => name) }))
    .filter(({ names }) => names.length > 0)
    .map(({ symbol, label, names }) => ({
      text: safeText`${untrusted(symbol)} ${formatTenantGroupNames(names, groups)}: ${label}`,
      count: names.length,
    }));
  return [...lines, ...groupedLines];
}

/** For example: `acme and globex`, `40 tenants, group 1`. */
function formatTenantGroupNames(names: readonly string[], groups: TenantGroups): SafeText {
  const tenantsText = groups.describeTenants(names);
  return canListInline(names) ? tenantsText : safeText`${formatCount(names.length, "tenant")}, ${tenantsText}`;
}

function isPlannable({ error }: TenantReport): boolean {
  return error === undefined;
}

/** For example: `+ allow partner.example`. */
function formatCardChange({ symbol, list, change }: ChangeView): SafeText {
  return safeText`${untrusted(symbol)} ${list} ${untrusted(change.value)}`;
}

/** Shows each line once, with all tenants that it applies to: `allow partner.example in acme, globex and 38 more`. */
function groupByText(
  tenants: readonly TenantReport[],
  getLines: (tenant: TenantReport) => readonly string[] | undefined,
): SafeText[] {
  const lines = interleaveLines(
    tenants.map((tenant) => (getLines(tenant) ?? []).map((text) => ({ text, name: tenant.name }))),
  );
  return [...Map.groupBy(lines, ({ text }) => text)].map(
    ([text, members]) => safeText`${untrusted(text)} in ${formatFirstNames(members.map(({ name }) => name))}`,
  );
}

function countChangingTenants({ tenants }: RolloutReport): number {
  return tenants.filter(({ planned: { added, changed, removed } }) => added + changed + removed > 0).length;
}

function pluralizeTenant(count: number): string {
  return count === 1 ? "tenant" : "tenants";
}
