import { sanitizeLine } from "../../model/text";
import { formatListName, OPERATION_SYMBOLS } from "../../plan/render/plan-descriptions";
import {
  formatCount,
  formatMinute,
  formatNumber,
  joinTexts,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../render/safe-text";
import { TextPage } from "../../render/text-page";
import { formatDuration, getElapsedMs } from "../model/duration";
import type { PastRollout, RolloutHistory } from "../model/history-schema";
import { describeRolloutMode, formatOmittedChanges, formatPlannedCounts } from "../report/rollout-report-view";
import { TENANT_STATE_LABELS } from "../report/state-labels";

export interface HistoryTextOptions {
  readonly color?: boolean;
  readonly width?: number;
  readonly tenant?: string;
}

/** Renders a history for a terminal, newest first, with a trailing newline. Values from outside are sanitized. */
export function renderHistoryText(
  { rollouts, omittedCount }: RolloutHistory,
  { color = false, width = 80, tenant }: HistoryTextOptions = {},
): string {
  if (rollouts.length === 0) {
    return tenant === undefined
      ? "There are no rollouts.\n"
      : `None of the selected rollouts changed ${sanitizeLine(tenant)} or tried to.\n`;
  }
  const page = new TextPage(color, width);
  for (const [index, rollout] of rollouts.entries()) {
    if (index > 0) page.addBlankLine();
    page.addText(
      safeText`${untrusted(rollout.id)}  ${formatPastState(rollout, tenant)}  ${formatMinute(rollout.startedAt)}`,
      {
        style: "bold",
      },
    );
    for (const line of buildRolloutLines(rollout)) page.addText(line, { indent: 4 });
  }
  if (omittedCount > 0) {
    page.addBlankLine();
    page.addText([`… and ${formatCount(omittedCount, "older rollout")}; --limit shows more`], { style: "dim" });
  }
  return page.toString();
}

/**
 * Formats the state of a rollout, such as `done` or `interrupted`. With a tenant, includes the outcome of that tenant.
 */
function formatPastState(rollout: PastRollout, tenant = ""): SafeText {
  const { tenantState } = rollout;
  const label = getStateLabel(rollout);
  return tenantState === undefined
    ? [label]
    : safeText`${label}, ${untrusted(tenant)} ${TENANT_STATE_LABELS[tenantState].word}`;
}

function getStateLabel({ state, isActive, rolledBackBy }: PastRollout): string {
  if (state === "rolled-back") return rolledBackBy === undefined ? "partly rolled back" : "rolled back";
  return state === "running" && !isActive ? "interrupted" : state;
}

const MAX_CHANGES = 3;

function buildRolloutLines(rollout: PastRollout): readonly SafeText[] {
  const {
    plannedBy,
    revision,
    hasUncommittedChanges,
    digest,
    reason,
    rollsBack,
    rollsBackTo,
    prunedAt,
    changes,
    source,
    mode,
  } = rollout;
  const durationMs = getElapsedMs(rollout.startedAt, rollout.finishedAt);
  const details: SafeText[] = [
    [untrusted(source)],
    [formatPastCounts(rollout)],
    ...(durationMs === undefined ? [] : [[`took ${formatDuration(durationMs)}`]]),
    ...(plannedBy === undefined ? [] : [safeText`by ${untrusted(plannedBy)}`]),
    [untrusted(digest)],
    ...(revision === undefined
      ? []
      : [
          safeText`commit ${untrusted(revision.slice(0, 12))}${hasUncommittedChanges === true ? ", with uncommitted changes" : ""}`,
        ]),
  ];
  return [
    joinTexts(details, " · "),
    ...(changes.length === 0 ? [] : [formatChanges(rollout)]),
    ...(rollsBack === undefined
      ? []
      : [safeText`rolls back ${untrusted(rollsBack)} to ${untrusted(rollsBackTo ?? "")}`]),
    ...describeRolloutMode(mode),
    ...(reason === undefined ? [] : [[untrustedSentence(reason)]]),
    ...(prunedAt === undefined
      ? []
      : [safeText`pruned on ${prunedAt.slice(0, 10)}: its files and whole plans were removed`]),
  ];
}

/** For example: `+12 ~1: - deny a.example in 7, + allow evil.example, and 5 more, none more dangerous`. All counts are per tenant. */
function formatChanges({ planned, changes }: PastRollout): SafeText {
  // The most dangerous changes come first.
  const visibleChanges = changes.slice(0, MAX_CHANGES);
  const texts = visibleChanges.map(
    (change): SafeText =>
      safeText`${OPERATION_SYMBOLS[change.operation]} ${untrusted(formatListName(change))} ${untrusted(change.value)}${change.tenants > 1 ? ` in ${formatNumber(change.tenants)}` : ""}`,
  );
  const total = planned.added + planned.changed + planned.removed;
  const hiddenCount = total - visibleChanges.reduce((subtotal, { tenants }) => subtotal + tenants, 0);
  return safeText`${formatPlannedCounts({ planned })}: ${joinTexts(texts, ", ")}${hiddenCount > 0 ? `, ${formatOmittedChanges(hiddenCount)}` : ""}`;
}

/** For example: `7 tenants, 1 failed, 2 left`. */
function formatPastCounts({ counts }: PastRollout): string {
  const { done, unchanged, failed, pending, queued, running } = counts;
  const remaining = pending + queued + running;
  return [
    formatCount(done + unchanged + failed + remaining, "tenant"),
    ...(failed > 0 ? [`${formatNumber(failed)} failed`] : []),
    ...(remaining > 0 ? [`${formatNumber(remaining)} left`] : []),
  ].join(", ");
}
