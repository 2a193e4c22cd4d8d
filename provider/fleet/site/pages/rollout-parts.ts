import { excerpt } from "../../../model/text";
import { OPERATION_SYMBOLS } from "../../../plan/render/plan-descriptions";
import { type Html, html, renderHtmlText } from "../../../render/html-text";
import { formatMinute, formatNumber, joinWithAnd, type SafeText, safeText, untrusted } from "../../../render/safe-text";
import { buildChangeLine } from "../../../rollout/history/rollout-page";
import { formatDuration } from "../../../rollout/model/duration";
import type { RecordedChange, RolloutDetails } from "../../../rollout/model/history-schema";
import type { RolloutReport, WaveReport } from "../../../rollout/model/rollout-report";
import type { TenantState } from "../../../rollout/model/wave";
import { buildRolloutReportView, type RolloutStatusColor } from "../../../rollout/report/rollout-report-view";
import { getStateLabels, TENANT_STATE_LABELS } from "../../../rollout/report/state-labels";
import { computeWaveTimes } from "../../../rollout/report/wave-times";
import { getRolloutPagePath, getTenantPagePath } from "./paths";

const STATE_CLASSES: Readonly<Record<RolloutStatusColor, string>> = {
  danger: "is-stopped",
  warning: "is-waiting",
  none: "is-done",
  running: "is-running",
};

export function renderRolloutState(report: RolloutReport): Html {
  const { statusColor, verdict } = buildRolloutReportView(report);
  return html`<span class="state ${STATE_CLASSES[statusColor]}">${verdict}</span>`;
}

export class PageLinks {
  readonly #rollouts: ReadonlyMap<string, RolloutReport>;
  readonly #tenants: ReadonlySet<string>;
  readonly #root: string;

  /** @param root the relative path from the present page to the site's directory. */
  constructor(rollouts: readonly RolloutDetails[], tenants: ReadonlySet<string>, root = "") {
    this.#rollouts = new Map(rollouts.map(({ report }) => [report.id, report]));
    this.#tenants = tenants;
    this.#root = root;
  }

  renderRollout(id: string): Html {
    const label = html`<bdi>${excerpt(id)}</bdi>`;
    return this.#rollouts.has(id) ? html`<a href="${this.#root}${getRolloutPagePath(id)}">${label}</a>` : label;
  }

  renderTenants(names: readonly string[]): Html {
    return html`${names.map((name, index) => {
      const label = html`<bdi>${excerpt(name)}</bdi>`;
      const link = this.#tenants.has(name)
        ? html`<a href="${this.#root}${getTenantPagePath(name)}">${label}</a>`
        : label;
      return html`${index === 0 ? "" : ", "}${link}`;
    })}`;
  }

  /** Renders the rollout that this one rolls back, and the rollouts that roll this one back. */
  renderRollbacks({ id, rollsBack, rolledBackBy }: RolloutReport): Html {
    const otherRollouts = [...this.#rollouts.values()].filter((other) => other.rollsBack === id);
    const rollbackIds = new Set([
      ...(rolledBackBy === undefined ? [] : [rolledBackBy]),
      ...otherRollouts.map((other) => other.id),
    ]);
    return html`${rollsBack === undefined ? "" : html`<p>Rolls back ${this.renderRollout(rollsBack)}.</p>`}${
      rollbackIds.size === 0
        ? ""
        : html`<p>${rolledBackBy === undefined ? "Partly rolled back" : "Rolled back"} by ${[...rollbackIds].map((item, index) => html`${index === 0 ? "" : ", "}${this.renderRollout(item)}`)}.</p>`
    }`;
  }
}

export function renderChange(change: RecordedChange, tenantsHtml: Html): Html {
  const { text, details = [] } = buildChangeLine(change);
  return html`<li><span class="operation s-${change.operation}"><i>${OPERATION_SYMBOLS[change.operation]}</i>${change.operation}</span><div>${renderHtmlText(text)} ${tenantsHtml}${details.map(
    (detail) => html`<p class="facts">${renderHtmlText(detail)}</p>`,
  )}</div></li>
`;
}

/** Formats the start time of a rollout, and the person who started it. */
export function describeStart({ report, milestones }: RolloutDetails): SafeText {
  const by = milestones.find(({ kind }) => kind === "started")?.actor;
  const at = formatMinute(report.startedAt ?? report.createdAt);
  return by === undefined ? at : safeText`${at} by ${untrusted(excerpt(by))}`;
}

/** Returns the person who planned the rollout; undefined if the journal doesn't know. */
export function getPlanAuthor({ origin }: RolloutDetails): string | undefined {
  if (origin === undefined) return undefined;
  return excerpt(origin.user === undefined ? origin.host : `${origin.user}@${origin.host}`);
}

/** Returns the commit of the plan; undefined if the journal doesn't know. */
export function describeCommit({ origin }: RolloutDetails, length = 40): SafeText | undefined {
  if (origin?.revision === undefined) return undefined;
  const commit = untrusted(excerpt(origin.revision.slice(0, length)));
  return origin.hasUncommittedChanges === true ? safeText`${commit} and uncommitted changes` : [commit];
}

/** States the day on which the rollout's files and whole plans were deleted from the journal. */
export function describePruning({ prunedAt }: RolloutDetails): SafeText | undefined {
  if (prunedAt === undefined) return undefined;
  return [
    `Pruned on ${prunedAt.slice(0, 10)}: the journal no longer has its settings files, whole plans and tenants' steps.`,
  ];
}

/** Renders the time of each wave's work and of its soak, as bars on one time axis. */
export function renderTimeline(report: RolloutReport): Html {
  const times = computeWaveTimes(report);
  const { waves: states } = getStateLabels(report);
  const waveSpans = report.waves.map((wave) => ({
    wave,
    ...getWaveSpan(wave, times.get(wave.name)?.lastFinishedAt),
  }));
  const started = waveSpans.flatMap(({ start, soakEnd }) => (start === undefined ? [] : [[start, soakEnd] as const]));
  const first = Math.min(...started.map(([from]) => from));
  const totalMs = Math.max(1, Math.max(...started.map(([, until]) => until)) - first);
  const formatPercent = (ms: number): string => `${((ms / totalMs) * 100).toFixed(2)}%`;
  return html`<ul class="timeline">${waveSpans.map(({ wave, start, end, soakEnd }) => {
    const bars =
      start === undefined
        ? ""
        : html`<rect class="ran" x="${formatPercent(start - first)}" width="${formatPercent(Math.max(end - start, totalMs / 200))}" height="100%"/>${
            soakEnd > end
              ? html`<rect class="soaked" x="${formatPercent(end - first)}" width="${formatPercent(soakEnd - end)}" height="100%"/>`
              : ""
          }`;
    const durationText =
      start === undefined
        ? ""
        : html`, took ${formatDuration(end - start)}${soakEnd > end ? html`, waited ${formatDuration(soakEnd - end)}` : ""}`;
    return html`<li class="is-${wave.state}"><span class="wave-name"><bdi>${excerpt(wave.name)}</bdi></span><svg class="track" aria-hidden="true">${bars}</svg><span class="duration">${states[wave.state].word}: ${renderHtmlText(describeTenantCounts(wave.counts, "no tenants"))}${durationText}</span></li>`;
  })}</ul>`;
}

interface WaveSpan {
  readonly start: number | undefined;
  readonly end: number;
  readonly soakEnd: number;
}

function getWaveSpan({ startedAt, finishedAt, soakUntil }: WaveReport, lastAt = ""): WaveSpan {
  const [start, lastMs, finishedMs, soakMs] = [startedAt, lastAt, finishedAt, soakUntil].map((time) => {
    const ms = Date.parse(time ?? "");
    return Number.isNaN(ms) ? undefined : ms;
  });
  if (start === undefined) return { start, end: 0, soakEnd: 0 };
  const end = Math.max(start, lastMs ?? start);
  return { start, end, soakEnd: Math.max(end, Math.min(soakMs ?? end, finishedMs ?? soakMs ?? end)) };
}

/** For example: `10 changed, 2 failed and 1 unchanged`. */
export function describeTenantCounts(counts: Readonly<Record<TenantState, number>>, emptyText: string): SafeText {
  const states = Object.keys(TENANT_STATE_LABELS) as TenantState[];
  const parts = states
    .filter((state) => counts[state] > 0)
    .map((state): SafeText => [`${formatNumber(counts[state])} ${TENANT_STATE_LABELS[state].word}`]);
  return parts.length === 0 ? [emptyText] : joinWithAnd(parts);
}
