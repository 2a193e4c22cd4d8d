import { excerpt } from "../../model/text";
import {
  formatCount,
  formatMinute,
  formatNumber,
  joinWithAnd,
  type SafeText,
  safeText,
  untrusted,
} from "../../render/safe-text";
import { formatDuration, getElapsedMs } from "../model/duration";
import { MODE_TEXTS, type RolloutMode } from "../model/rollout-mode";
import type { RolloutReport, TenantReport } from "../model/rollout-report";
import type { TenantState } from "../model/wave";
import { formatFirstNames, MAX_LISTED_NAMES } from "./format-tenant-names";
import { buildRolloutHeadline } from "./rollout-headline";
import { NO_SKIPPED_TENANTS } from "./skipped-tenants";
import { getStateLabels, isInProgress, type StateLabel, TENANT_STATE_ORDER } from "./state-labels";

/**
 * The view of a rollout, in the order of a reader's questions: how did it go, what do I do now, which tenants failed and why, how far did
 * each wave come. Every format shows this content, and only decides on the layout.
 */
export interface RolloutReportView {
  readonly statusColor: RolloutStatusColor;
  /** One or two words that state the outcome: `Stopped`. */
  readonly verdict: string;
  readonly headline: SafeText;
  /** The tenants that are unchanged, may be partly changed, or are in progress. Empty if there are none. */
  readonly statusNotes: SafeText;
  /** The states with at least one tenant, the worst first. */
  readonly tallies: readonly StateTally[];
  readonly failures: readonly TenantReport[];
  /** The time of the beginning, the duration, and the rollout that this one rolls back. */
  readonly facts: readonly SafeText[];
}

export type RolloutStatusColor = "danger" | "warning" | "none" | "running";

export interface StateTally extends StateLabel {
  readonly state: TenantState;
  readonly count: number;
}

export function buildRolloutReportView(report: RolloutReport): RolloutReportView {
  const labels = getStateLabels(report).tenants;
  return {
    ...getRolloutVerdict(report),
    headline: buildRolloutHeadline(report),
    statusNotes: [describeTenantStates(report), describeUnmanagedAllows(report)].flatMap((labels, index) =>
      index > 0 && labels.length > 0 ? [" ", ...labels] : labels,
    ),
    tallies: TENANT_STATE_ORDER.map((state) => ({
      state,
      ...labels[state],
      count: report.counts[state],
    })).filter(({ count }) => count > 0),
    failures: report.tenants.filter(({ state }) => state === "failed"),
    facts: listRolloutDetails(report),
  };
}

/** Formats the number of changes in a tenant's plan: `+3 ~1 -2`. Empty if there are none. */
export function formatPlannedCounts({ planned }: Pick<TenantReport, "planned">): string {
  const { added, changed, removed } = planned;
  return [
    added > 0 && `+${formatNumber(added)}`,
    changed > 0 && `~${formatNumber(changed)}`,
    removed > 0 && `-${formatNumber(removed)}`,
  ]
    .filter((part) => part !== false)
    .join(" ");
}

export function countOmittedChanges({ planned, changes }: TenantReport): number {
  return Math.max(0, planned.added + planned.changed + planned.removed - changes.length);
}

/**
 * Describes omitted changes. None of them is more dangerous than the shown ones, because a report keeps the most
 * dangerous ones.
 */
export function formatOmittedChanges(count: number): string {
  return `and ${formatNumber(count)} more, none more dangerous`;
}

/** Lists the first line of each tenant, then the second of each, and so on. The first line of a tenant is its most dangerous one. */
export function interleaveLines<Line>(tenants: readonly (readonly Line[])[]): Line[] {
  return tenants
    .flatMap((lines) => lines.map((line, position) => ({ line, position })))
    .sort((a, b) => a.position - b.position)
    .map(({ line }) => line);
}

/** Says that a tenant whose planning failed was not changed. Empty for other failures. */
export function formatUntouchedNote({ error }: Pick<TenantReport, "error">): SafeText {
  return error?.phase === "plan" ? ["Failed while planning; the tenant was not changed."] : [];
}

function getRolloutVerdict({
  state,
  isActive,
  counts,
  rolledBackBy,
  skipped: { length: skipped } = NO_SKIPPED_TENANTS,
}: RolloutReport): {
  statusColor: RolloutStatusColor;
  verdict: string;
} {
  switch (state) {
    case "planned":
      return counts.failed > 0
        ? { statusColor: "danger", verdict: "Planned, with errors" }
        : { statusColor: "running", verdict: "Planned" };
    case "running":
      return isActive
        ? { statusColor: "running", verdict: "Running" }
        : { statusColor: "warning", verdict: "Interrupted" };
    case "waiting":
      return { statusColor: "warning", verdict: "Waiting" };
    case "stopped":
      return { statusColor: "danger", verdict: "Stopped" };
    case "abandoned":
      return { statusColor: "warning", verdict: "Abandoned" };
    case "rolled-back":
      return { statusColor: "warning", verdict: rolledBackBy === undefined ? "Partly rolled back" : "Rolled back" };
    case "done":
      return counts.failed > 0
        ? { statusColor: "warning", verdict: "Done, with failures" }
        : skipped > 0
          ? { statusColor: "warning", verdict: `Done, ${formatNumber(skipped)} skipped` }
          : { statusColor: "none", verdict: "Done" };
  }
}

function describeTenantStates(report: RolloutReport): SafeText {
  const { state, tenants } = report;
  if (state === "planned" || isInProgress(report)) return [];
  const isInState =
    (...states: readonly TenantState[]) =>
    (tenant: TenantReport) =>
      states.includes(tenant.state);
  const startedTenants = tenants.filter(({ attempts }) => attempts > 0);
  const unfinishedTenants = startedTenants.filter(isInState("pending", "queued", "running"));
  // This error comes before the first write. An earlier attempt may have written all the same.
  const isRefused = ({ state, attempts, error }: TenantReport): boolean =>
    state === "failed" && attempts === 1 && error?.code === "ERR_OTHER_TENANT";
  const refused = tenants.filter(isRefused);
  const failed = startedTenants.filter((tenant) => isInState("failed")(tenant) && !isRefused(tenant));
  const skipped = startedTenants.filter(isInState("skipped"));
  const untouched = tenants.filter((tenant) => tenant.attempts === 0 && !isInState("unchanged")(tenant));
  const partialTexts = [
    ...(failed.length > 0 ? [`${formatNumber(failed.length)} failed`] : []),
    ...(skipped.length > 0 ? [`${formatNumber(skipped.length)} skipped`] : []),
    ...(unfinishedTenants.length > 0 ? [`${formatNumber(unfinishedTenants.length)} started but not finished`] : []),
  ];
  const hasRemaining = tenants.some(isInState("pending", "queued", "running"));
  return [
    [
      ...(untouched.length > 0 ? [`Not started, unchanged: ${formatCount(untouched.length, "tenant")}.`] : []),
      ...(refused.length > 0
        ? [`Unchanged, because the key belongs to another tenant: ${formatCount(refused.length, "tenant")}.`]
        : []),
      ...(partialTexts.length > 0
        ? [`Possibly partly changed: ${joinWithAnd(partialTexts.map((part) => [part])).join("")}.`]
        : []),
      ...(hasRemaining && (state === "waiting" || state === "stopped") ? ["Nothing is running."] : []),
      ...(state === "running" ? ["It does not continue by itself."] : []),
    ].join(" "),
  ].filter((text) => text !== "");
}

/**
 * Describes the undeclared allow entries that a rollout of the files has left unchanged. Tenants with risky ones come
 * first.
 */
function describeUnmanagedAllows(report: RolloutReport): SafeText {
  const { state, tenants, mode, rollsBack } = report;
  if (state === "planned" || isInProgress(report) || mode !== undefined || rollsBack !== undefined) return [];
  const tenantsWithAllows = tenants
    .flatMap(({ name, unmanagedAllows: allows }) => (allows === undefined ? [] : [{ name, ...allows }]))
    .sort((a, b) => b.riskyCount - a.riskyCount || b.count - a.count);
  if (tenantsWithAllows.length === 0) return [];
  const count = tenantsWithAllows.reduce((total, tenant) => total + tenant.count, 0);
  const risky = tenantsWithAllows.reduce((total, tenant) => total + tenant.riskyCount, 0);
  const tenantTexts = tenantsWithAllows
    .slice(0, MAX_LISTED_NAMES)
    .map((tenant): SafeText => safeText`${untrusted(tenant.name)} (${formatFirstNames(tenant.values, tenant.count)})`);
  const hiddenCount = tenantsWithAllows.length - tenantTexts.length;
  const texts = hiddenCount > 0 ? [...tenantTexts, safeText`${formatCount(hiddenCount, "more tenant")}`] : tenantTexts;
  return safeText`${formatCount(count, "unmanaged allow")} ${count === 1 ? "remains" : "remain"}${risky > 0 ? `, ${formatNumber(risky)} of them risky` : ""}: ${joinWithAnd(texts)}.`;
}

function listRolloutDetails({ id, startedAt, finishedAt, rollsBack, mode, createdAt }: RolloutReport): SafeText[] {
  const durationMs = getElapsedMs(startedAt, finishedAt);
  const startTime = startedAt ?? createdAt;
  return [
    safeText`Rollout ${untrusted(excerpt(id, MAX_ID_LENGTH))}`,
    ...(rollsBack === undefined ? [] : [safeText`rolls back ${untrusted(excerpt(rollsBack, MAX_ID_LENGTH))}`]),
    ...describeRolloutMode(mode),
    safeText`${startedAt === undefined ? "planned" : "started"} ${formatMinute(startTime)}`,
    ...(durationMs === undefined ? [] : [safeText`took ${formatDuration(durationMs)}`]),
  ];
}

/** Describes the purpose of a rollout that doesn't apply the files. */
export function describeRolloutMode(mode: RolloutMode | undefined): readonly SafeText[] {
  return mode === undefined ? [] : [[MODE_TEXTS[mode].purpose]];
}

const MAX_ID_LENGTH = 100;

/**
 * Finds tenants without changes at the service, where only the state of the stack changes. Excludes tenants with
 * blockers, because their changes are unknown.
 */
export function findStackOnlyTenants(
  { tenants }: Pick<RolloutReport, "tenants">,
  blockers: readonly { readonly tenant: string }[],
): readonly TenantReport[] {
  const refusedTenants = new Set(blockers.map(({ tenant }) => tenant));
  return tenants.filter(
    ({ name, state, planned: { added, changed, removed } }) =>
      state === "pending" && added + changed + removed === 0 && !refusedTenants.has(name),
  );
}
