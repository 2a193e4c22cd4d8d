import {
  describeValue,
  formatListName,
  OPERATION_SYMBOLS,
  OVERRIDES_HEADING,
} from "../../plan/render/plan-descriptions";
import { renderHtmlPage, renderStatusBanner } from "../../render/html-page";
import { Html, html, renderHtmlText, renderUntrustedHtml } from "../../render/html-text";
import {
  formatNumber,
  formatTimestamp,
  joinTexts,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../render/safe-text";
import { formatDuration } from "../model/duration";
import type { RolloutReport, TenantReport, WaveReport } from "../model/rollout-report";
import { formatKeyRoute, groupKeyRoutes } from "./key-routes";
import { REPORT_STYLE } from "./report-style";
import { countFinishedTenants } from "./rollout-headline";
import {
  buildRolloutReportView,
  countOmittedChanges,
  formatOmittedChanges,
  formatPlannedCounts,
  formatUntouchedNote,
  type RolloutReportView,
} from "./rollout-report-view";
import { formatOverride, groupOverrides } from "./shared-overrides";
import { formatSkippedTenant } from "./skipped-tenants";
import { getStateLabels, type RolloutStateLabels, type StateLabel } from "./state-labels";
import { formatWaveState, formatWaveSummary } from "./wave-summary";
import { computeWaveTimes, type WaveTimes } from "./wave-times";

/**
 * Renders the report of a rollout as an HTML page: a self-contained file without scripts or network requests. It shows
 * the outcome and the next steps, a grid of all tenants by wave, the failed tenants, and then each tenant. It supports
 * screens of any width, light and dark mode, and print.
 */
export function renderReportHtml(report: RolloutReport): string {
  const view = buildRolloutReportView(report);
  const times = computeWaveTimes(report);
  const labels = getStateLabels(report);
  const anchoredTenants = report.tenants.map(
    (tenant, index): AnchoredTenant => ({
      tenant,
      anchor: `t-${index}`,
      label: labels.tenants[tenant.state],
    }),
  );
  const byWave = Map.groupBy(anchoredTenants, ({ tenant }) => tenant.wave);
  return renderHtmlPage({
    title: `Rollout of ${report.source}: ${view.verdict}`,
    style: REPORT_STYLE,
    body: html`<header>
<p class="eyebrow">Email security rollout</p>
<h1><bdi>${renderUntrustedHtml(report.source.slice(0, MAX_TITLE_LENGTH))}</bdi></h1>
<p class="source">${renderHtmlText(joinTexts(view.facts, " · "))}</p>
</header>
<main>
${renderStatusBanner(view.statusColor, view.verdict, view.headline)}
${renderCountsHtml(view)}
${view.statusNotes.length === 0 ? undefined : html`<p>${renderHtmlText(view.statusNotes)}</p>`}
${renderAdviceHtml(report)}
${renderSkippedHtml(report)}
${renderOverridesHtml(report)}
${renderTimelineHtml(report, times)}
${report.waves.map((wave) => renderWaveHtml(wave, labels, byWave.get(wave.name) ?? [], times.get(wave.name)?.workMs))}
${renderFailuresHtml(anchoredTenants.filter(({ tenant }) => tenant.state === "failed"))}
${renderTenantsHtml(report, byWave)}
${renderKeysHtml(report)}
</main>
<footer>
<p>Digest <code>${report.digest}</code></p>
</footer>`,
  });
}

interface AnchoredTenant {
  readonly tenant: TenantReport;
  readonly anchor: string;
  readonly label: StateLabel;
}

const MAX_TITLE_LENGTH = 200;

function renderCountsHtml({ tallies: counts }: RolloutReportView): Html {
  return html`<ul class="tallies">${counts.map(
    ({ state, symbol, word, count }) =>
      html`<li class="is-${state}"><b><i>${symbol}</i> ${formatNumber(count)}</b>${
        state === "failed" ? html`<a href="#failed">${word}: details</a>` : word
      }</li>`,
  )}</ul>`;
}

function renderAdviceHtml({ advice: steps }: RolloutReport): Html | undefined {
  if (steps.length === 0) return undefined;
  return html`<section class="advice"><h2>Next steps</h2>${steps.map(
    ({ reason, command }) =>
      html`<p>${renderHtmlText([untrustedSentence(reason)])}</p>${command === undefined ? "" : html`<pre>${renderUntrustedHtml(command)}</pre>`}`,
  )}</section>`;
}

function renderSkippedHtml({ skipped = [] }: RolloutReport): Html | undefined {
  if (skipped.length === 0) return undefined;
  const hiddenCount = skipped.length - MAX_DETAILED;
  return html`<section><h2>Skipped <span class="n">${formatNumber(skipped.length)}</span></h2><ul class="overrides">${skipped
    .slice(0, MAX_DETAILED)
    .map(
      (skippedTenant) => html`<li>${renderHtmlText(formatSkippedTenant(skippedTenant))}</li>`,
    )}${hiddenCount > 0 ? html`<li>… and ${formatNumber(hiddenCount)} more</li>` : ""}</ul></section>`;
}

function renderOverridesHtml({ tenants }: RolloutReport): Html | undefined {
  const overrides = groupOverrides(tenants);
  if (overrides.length === 0) return undefined;
  const hiddenCount = overrides.length - MAX_DETAILED;
  return html`<section><h2>${OVERRIDES_HEADING} <span class="n">${formatNumber(overrides.length)}</span></h2><ul class="overrides">${overrides
    .slice(0, MAX_DETAILED)
    .map(
      (override) => html`<li>${renderHtmlText(formatOverride(override))}</li>`,
    )}${hiddenCount > 0 ? html`<li>… and ${formatNumber(hiddenCount)} more</li>` : ""}</ul></section>`;
}

/** Renders the time of each wave's work and of the waiting after it, as bars on one time axis. */
function renderTimelineHtml({ waves }: RolloutReport, times: ReadonlyMap<string, WaveTimes>): Html | undefined {
  const startedWaves = waves.flatMap((wave) => {
    const startMs = Date.parse(wave.startedAt ?? "");
    const { workMs = 0, lastFinishedAt = "" } = times.get(wave.name) ?? {};
    const endMs = Math.max(startMs, Date.parse(lastFinishedAt));
    if (Number.isNaN(endMs)) return [];
    const soakEndMs = Date.parse(wave.soakUntil ?? "");
    return [
      {
        wave,
        from: startMs,
        until: endMs,
        workMs,
        soaked: Number.isNaN(soakEndMs) ? endMs : Math.max(soakEndMs, endMs),
      },
    ];
  });
  if (startedWaves.length < 2) return undefined;
  const firstStartMs = Math.min(...startedWaves.map(({ from }) => from));
  const totalMs = Math.max(...startedWaves.map(({ soaked }) => soaked)) - firstStartMs;
  if (totalMs === 0) return undefined;
  const formatPercent = (ms: number) => `${((ms / totalMs) * 100).toFixed(2)}%`;
  return html`<section><h2>Time</h2><ul class="timeline">${startedWaves.map(
    ({ wave, from, until, workMs, soaked }) =>
      html`<li><span class="wave-name">${formatShortName(wave.name)}</span><span class="track" aria-hidden="true"><span class="ran is-${wave.state}" style="left:${formatPercent(
        from - firstStartMs,
      )};width:${formatPercent(until - from)}"></span>${
        soaked > until
          ? html`<span class="soaked" style="left:${formatPercent(until - firstStartMs)};width:${formatPercent(soaked - until)}"></span>`
          : ""
      }</span><span class="duration">${formatDuration(workMs)}${
        soaked > until ? `, soak ${formatDuration(wave.exitCriteria.soakMs)}` : ""
      }</span></li>`,
  )}</ul></section>`;
}

function renderWaveHtml(
  wave: WaveReport,
  labels: RolloutStateLabels,
  waveTenants: readonly AnchoredTenant[],
  workMs: number | undefined,
): Html {
  const { symbol } = labels.waves[wave.state];
  const details: SafeText[] = [
    safeText`${countFinishedTenants(wave.counts)} of ${wave.tenants} completed`,
    formatWaveSummary(wave, labels),
    safeText`${wave.maxConcurrent} at once`,
    ...(workMs === undefined ? [] : [safeText`took ${formatDuration(workMs)}`]),
    ...(wave.health?.isHealthy === true ? [safeText`health: ${untrustedSentence(wave.health.message)}`] : []),
    ...(wave.exitCriteria.hasGate ? [["manual approval after the wave"]] : []),
  ];
  return html`<section class="wave"><h2><span class="wave-name">${formatShortName(wave.name)}</span> <span class="state is-${wave.state}"><i>${symbol}</i> ${renderHtmlText(formatWaveState(wave, labels))}</span></h2>
${renderBarHtml(wave)}<p class="facts">${renderHtmlText(joinTexts(details, " · "))}</p>
<ul class="grid${waveTenants.length > MAX_DETAILED ? " dense" : ""}">
${waveTenants.map(renderCellHtml)}</ul></section>
`;
}

/** The limit for lists. With more tenants, cards are smaller, and the browser lays them out only when they become visible. */
const MAX_DETAILED = 100;

/** Renders the progress of a wave. The text below it contains the same information. */
function renderBarHtml({ counts }: WaveReport): Html {
  const states = ["done", "unchanged", "failed", "skipped", "running", "queued", "pending"] as const;
  return html`<div class="bar" aria-hidden="true">${states
    .filter((state) => counts[state] > 0)
    .map((state) => html`<span class="is-${state}" style="flex-grow:${counts[state]}"></span>`)}</div>`;
}

function renderCellHtml({ tenant, anchor, label: { symbol, word } }: AnchoredTenant): Html {
  return html`<li><a class="is-${tenant.state}" href="#${anchor}" title="${formatCellTitle(tenant, word)}"><i>${symbol}</i><span class="hidden">${word}</span> <bdi>${renderUntrustedHtml(tenant.name)}</bdi></a></li>
`;
}

/** For example: `failed: ERR_AUTH · mail.example · took 12 s`. The cell itself shows the name. */
function formatCellTitle(tenant: TenantReport, word: string): string {
  const { host, durationMs, error } = tenant;
  const parts = [
    error === undefined ? word : `${word}: ${error.code}`,
    formatPlannedCounts(tenant),
    host,
    durationMs === undefined ? "" : `took ${formatDuration(durationMs)}`,
  ];
  return parts
    .filter((part) => part !== "")
    .map((part) => part.slice(0, MAX_TITLE_LENGTH))
    .join(" · ");
}

function renderFailuresHtml(failedTenants: readonly AnchoredTenant[]): Html | undefined {
  if (failedTenants.length === 0) return undefined;
  return html`<section><h2 class="red" id="failed">Failed <span class="n">${formatNumber(failedTenants.length)}</span></h2>
<ul class="tenants${failedTenants.length > MAX_DETAILED ? " many" : ""}">
${failedTenants.map((tenant) => renderTenantHtml(tenant, failedTenants.length <= MAX_DETAILED))}</ul></section>`;
}

function renderTenantsHtml({ waves }: RolloutReport, byWave: ReadonlyMap<string, readonly AnchoredTenant[]>): Html {
  return html`<section><h2>Tenants</h2>${waves.map((wave) => {
    const waveTenants = (byWave.get(wave.name) ?? []).filter(({ tenant }) => tenant.state !== "failed");
    if (waveTenants.length === 0) return undefined;
    return html`<details class="aside"${waveTenants.length <= MAX_UNFOLDED ? new Html(" open") : ""}><summary><h3>${formatShortName(
      wave.name,
    )}</h3> <span class="n">${formatNumber(waveTenants.length)}</span></summary><ul class="tenants${waveTenants.length > MAX_DETAILED ? " many" : ""}">
${waveTenants.map((tenant) => renderTenantHtml(tenant, false))}</ul></details>`;
  })}</section>`;
}

/** Renders which addresses get which keys. Tenants with the same route share a line. */
function renderKeysHtml({ tenants }: RolloutReport): Html | undefined {
  if (tenants.length === 0) return undefined;
  const routes = groupKeyRoutes(tenants);
  return html`<section><h2>Keys</h2><ul class="keys">${routes.map(
    (route) => html`<li>${renderHtmlText(formatKeyRoute(route, tenants.length))}</li>
`,
  )}</ul></section>`;
}

/** The maximum number of a wave's tenants to show without expanding the list. */
const MAX_UNFOLDED = 30;

function renderTenantHtml({ tenant, anchor, label: { symbol, word } }: AnchoredTenant, isOpen: boolean): Html {
  const { error, durationMs } = tenant;
  return html`<li class="tenant is-${tenant.state}"><details${isOpen ? new Html(" open") : ""}><summary><span class="state is-${tenant.state}"><i>${symbol}</i> ${word}</span><span class="name"><bdi>${renderUntrustedHtml(tenant.name)}</bdi></span><span class="counts">${formatPlannedCounts(tenant)}</span><span class="duration">${durationMs === undefined ? "" : formatDuration(durationMs)}</span></summary><div class="body" id="${anchor}">${
    error === undefined ? "" : renderErrorHtml(tenant, error)
  }${renderTenantChangesHtml(tenant)}<dl>${buildTenantDetails(tenant).map(
    ([label, value]) => html`<dt>${label}</dt><dd>${renderHtmlText(value)}</dd>`,
  )}</dl></div></details></li>
`;
}

function renderErrorHtml(tenant: TenantReport, error: NonNullable<TenantReport["error"]>): Html {
  return html`<p class="reason">${renderHtmlText([untrustedSentence(error.message)])} <code>${renderUntrustedHtml(error.code)}</code></p><p class="touched">${renderHtmlText(
    formatUntouchedNote(tenant),
  )}</p><p><b>Fix:</b> ${renderHtmlText([untrustedSentence(error.advice)])}</p>`;
}

function renderTenantChangesHtml(tenant: TenantReport): Html | undefined {
  if (tenant.changes.length === 0) return undefined;
  const hiddenCount = countOmittedChanges(tenant);
  return html`<ul class="edits">${tenant.changes.map(
    (change) =>
      html`<li><span class="operation s-${change.operation}"><i>${OPERATION_SYMBOLS[change.operation]}</i>${change.operation}</span> <span class="list">${renderUntrustedHtml(formatListName(change))}</span> ${renderHtmlText(describeValue(change.value))}</li>`,
  )}${hiddenCount > 0 ? html`<li>${formatOmittedChanges(hiddenCount)}</li>` : ""}</ul>`;
}

function buildTenantDetails(tenant: TenantReport): [label: string, words: SafeText][] {
  const { address, keySource, stack, labels, attempts, worker, startedAt, durationMs, severities } = tenant;
  const labelTexts = Object.entries(labels).map(
    ([key, value]): SafeText => safeText`${untrusted(key)} = ${untrusted(value)}`,
  );
  const riskText = [
    ...(severities.danger > 0 ? [`${formatNumber(severities.danger)} risky`] : []),
    ...((severities.accepted ?? 0) > 0 ? [`${formatNumber(severities.accepted ?? 0)} with an accepted risk`] : []),
    ...(severities.warning > 0 ? [`${formatNumber(severities.warning)} with a warning`] : []),
  ].join(", ");
  return [
    ["Service", [untrusted(address)]],
    ["Key from", [untrusted(keySource)]],
    ["Stack", [untrusted(stack)]],
    ...(labelTexts.length > 0 ? [["Labels", joinTexts(labelTexts, ", ")] as [string, SafeText]] : []),
    ...(riskText === "" ? [] : [["Risks", [riskText]] as [string, SafeText]]),
    ...(startedAt === undefined ? [] : [["Started", formatTimestamp(startedAt)] as [string, SafeText]]),
    ...(durationMs === undefined ? [] : [["Duration", [formatDuration(durationMs)]] as [string, SafeText]]),
    ...(attempts > 0 ? [["Attempts", [formatNumber(attempts)]] as [string, SafeText]] : []),
    ...(worker === undefined ? [] : [["Worker", [untrusted(worker)]] as [string, SafeText]]),
  ];
}

function formatShortName(name: string): Html {
  return html`<bdi>${renderUntrustedHtml(name.length > MAX_TITLE_LENGTH ? `${name.slice(0, MAX_TITLE_LENGTH)}…` : name)}</bdi>`;
}
