import { excerpt } from "../../../model/text";
import { renderStatusBanner } from "../../../render/html-page";
import { type Html, html, renderHtmlText } from "../../../render/html-text";
import {
  formatCount,
  formatMinute,
  formatNumber,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../../render/safe-text";
import { type GroupedChange, groupChanges } from "../../../rollout/history/grouped-changes";
import { buildEventLine } from "../../../rollout/history/rollout-page";
import { formatDuration, getElapsedMs } from "../../../rollout/model/duration";
import type { RecordedChange, RolloutDetails } from "../../../rollout/model/history-schema";
import type { RolloutReport, TenantReport } from "../../../rollout/model/rollout-report";
import {
  buildRolloutReportView,
  describeRolloutMode,
  formatOmittedChanges,
  formatPlannedCounts,
  formatUntouchedNote,
} from "../../../rollout/report/rollout-report-view";
import { formatSkippedTenant } from "../../../rollout/report/skipped-tenants";
import { getStateLabels, type RolloutStateLabels } from "../../../rollout/report/state-labels";
import { type PageLayout, renderPage } from "./page-layout";
import { getRolloutPagePath } from "./paths";
import {
  describeCommit,
  describePruning,
  describeStart,
  getPlanAuthor,
  PageLinks,
  renderChange,
  renderTimeline,
} from "./rollout-parts";

export interface RolloutPageData {
  readonly details: RolloutDetails;
  /** All rollouts that have a page. */
  readonly rollouts: readonly RolloutDetails[];
  readonly tenants: ReadonlySet<string>;
}

export function renderRolloutPage(layout: PageLayout, { details, rollouts, tenants }: RolloutPageData): string {
  const { report } = details;
  const links = new PageLinks(rollouts, tenants, "../");
  const { statusColor, verdict, headline, statusNotes, tallies } = buildRolloutReportView(report);
  const prunedText = describePruning(details);
  return renderPage(layout, {
    title: `Rollout ${report.id}`,
    path: getRolloutPagePath(report.id),
    main: html`<p class="eyebrow">Rollout</p>
<h1><bdi>${excerpt(report.id)}</bdi></h1>
${renderStatusBanner(statusColor, verdict, headline)}
${statusNotes.length === 0 ? "" : html`<p>${renderHtmlText(statusNotes)}</p>`}${links.renderRollbacks(report)}${prunedText === undefined ? "" : html`<p>${renderHtmlText(prunedText)}</p>`}
<ul class="tallies">${tallies.map(
      ({ state, symbol, word, count }) =>
        html`<li class="is-${state}"><b><i>${symbol}</i> ${formatNumber(count)}</b>${word}</li>`,
    )}</ul>
<div class="card"><dl>${buildRolloutFacts(details).map(([label, text]) => html`<dt>${label}</dt><dd>${renderHtmlText(text)}</dd>`)}</dl></div>
<section><h2>Waves</h2>${renderTimeline(report)}</section>
${renderFailures(report, links)}${renderSkipped(report)}
${renderRolloutChanges(details, links)}
${renderUnreverted(report, links)}
${renderTenants(report, links)}
<section><h2>Timeline</h2><ul class="log">${details.milestones.map((milestone) => {
      const { label, text } = buildEventLine(milestone);
      return html`<li><time>${label}</time> <span>${renderHtmlText(text)}</span></li>`;
    })}</ul></section>`,
  });
}

function buildRolloutFacts(details: RolloutDetails): readonly (readonly [label: string, words: SafeText])[] {
  const { report, today } = details;
  const durationMs = getElapsedMs(report.startedAt, report.finishedAt);
  const [commit, by, [mode]] = [describeCommit(details), getPlanAuthor(details), describeRolloutMode(report.mode)];
  const facts: readonly (readonly [label: string, words: SafeText | undefined])[] = [
    ["Started", describeStart(details)],
    ["Finished", report.finishedAt === undefined ? undefined : formatMinute(report.finishedAt)],
    ["Duration", durationMs === undefined ? undefined : [formatDuration(durationMs)]],
    ["Planned by", by === undefined ? undefined : [untrusted(by)]],
    ["Commit", commit],
    ["Mode", mode],
    ["Targets file", [untrusted(excerpt(report.source, 300))]],
    ["Expiry as of", [untrusted(excerpt(today))]],
    ["Digest", report.digest === "" ? undefined : [untrusted(excerpt(report.digest))]],
  ];
  return facts.flatMap(([label, text]) => (text === undefined ? [] : [[label, text] as const]));
}

function renderFailures({ tenants }: RolloutReport, links: PageLinks): Html | undefined {
  const failed = tenants.filter(({ state }) => state === "failed");
  if (failed.length === 0) return undefined;
  return html`<section><h2>Failures <span class="n">${formatNumber(failed.length)}</span></h2><ul class="points">${failed.map(
    (tenant) => {
      const { name, wave, error } = tenant;
      const touchedText = formatUntouchedNote(tenant);
      return html`<li><b>${links.renderTenants([name])}</b><p>Wave <bdi>${excerpt(wave)}</bdi></p>${
        error === undefined
          ? ""
          : html`<p class="reason">${renderHtmlText([untrustedSentence(error.message)])} <code>${excerpt(error.code)}</code></p>${
              touchedText.length === 0 ? "" : html`<p>${renderHtmlText(touchedText)}</p>`
            }<p>${renderHtmlText(safeText`Fix: ${untrustedSentence(error.advice)}`)}</p>`
      }</li>
`;
    },
  )}</ul></section>
`;
}

function renderSkipped({ skipped = [] }: RolloutReport): Html | undefined {
  if (skipped.length === 0) return undefined;
  return html`<section><h2>Skipped <span class="n">${formatNumber(skipped.length)}</span></h2><ul class="points">${skipped.map(
    (item) => html`<li>${renderHtmlText(formatSkippedTenant(item))}</li>`,
  )}</ul></section>`;
}

const MAX_CHANGES = 500;

function renderRolloutChanges({ report, tenants }: RolloutDetails, links: PageLinks): Html {
  const changedTenants = new Set(report.tenants.filter(({ state }) => state === "done").map(({ name }) => name));
  const [appliedChanges, otherChanges] = [true, false].map((isChanged) =>
    groupChanges(tenants.filter(({ name }) => changedTenants.has(name) === isChanged)),
  );
  return html`<section id="changes"><h2>Changes</h2>${
    changedTenants.size === 0 ? html`<p>No tenant was changed.</p>` : renderChangeList(appliedChanges ?? [], links)
  }</section>${
    (otherChanges ?? []).length === 0
      ? ""
      : html`<section><h2>Changes not made, or only in part</h2>${renderChangeList(otherChanges ?? [], links)}</section>`
  }`;
}

function renderChangeList(shared: readonly GroupedChange<RecordedChange>[], links: PageLinks): Html {
  if (shared.length === 0) return html`<p>The journal has no change of these tenants.</p>`;
  const hiddenCount = shared.length - MAX_CHANGES;
  return html`<ul class="edits">${shared.slice(0, MAX_CHANGES).map(({ change, names }) => renderChange(change, renderTenantNames(names, links)))}</ul>${
    hiddenCount > 0
      ? html`<p class="source">and ${formatNumber(hiddenCount)} more, none more dangerous; <code>rollout show</code> lists them</p>`
      : ""
  }`;
}

/** The maximum number of a change's tenants to show without expanding the list. */
const MAX_INLINE_NAMES = 8;

function renderTenantNames(names: readonly string[], links: PageLinks): Html {
  if (names.length <= MAX_INLINE_NAMES) return html`in ${links.renderTenants(names)}`;
  return html`<details class="names"><summary>in ${formatCount(names.length, "tenant")}</summary>${links.renderTenants(names)}</details>`;
}

/** The maximum number of lines for each tenant. Only a rollback has more; other plans have at most 20 lines and summarize the rest. */
const MAX_UNREVERTED = 30;

function renderUnreverted({ tenants }: RolloutReport, links: PageLinks): Html | undefined {
  const tenantsWithUnreverted = tenants.filter(({ unreverted = [] }) => unreverted.length > 0);
  if (tenantsWithUnreverted.length === 0) return undefined;
  return html`<section><h2>Not reverted <span class="n">${formatNumber(tenantsWithUnreverted.length)}</span></h2><ul class="points">${tenantsWithUnreverted.map(
    ({ name, unreverted = [] }) => {
      const hiddenCount = unreverted.length - MAX_UNREVERTED;
      return html`<li><b>${links.renderTenants([name])}</b>${unreverted.slice(0, MAX_UNREVERTED).map((item) => html`<p>${renderHtmlText([untrustedSentence(excerpt(item, 500))])}</p>`)}${
        hiddenCount > 0 ? html`<p class="source">${formatOmittedChanges(hiddenCount)}</p>` : ""
      }</li>
`;
    },
  )}</ul></section>`;
}

function renderTenants(report: RolloutReport, links: PageLinks): Html {
  const { tenants } = report;
  const stateLabels = getStateLabels(report);
  const unchanged = tenants.filter(({ state }) => state === "unchanged").map(({ name }) => name);
  const changedTenants = tenants.filter(({ state }) => state !== "unchanged");
  return html`<section id="tenants"><h2 id="outcomes">Tenants <span class="n">${formatNumber(tenants.length)}</span></h2>${
    changedTenants.length === 0
      ? ""
      : html`<div class="table outcomes" tabindex="0" role="region" aria-labelledby="outcomes"><table class="rows"><thead><tr>${[
          "Tenant",
          "Wave",
          "Outcome",
          "Changes",
          "Duration",
        ].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>
${changedTenants.map((tenant) => renderTenantRow(tenant, stateLabels, links))}</tbody></table></div>`
  }${
    unchanged.length === 0
      ? ""
      : html`<p>Unchanged, because they already matched: ${formatNumber(unchanged.length)}</p><p class="names">${links.renderTenants(unchanged)}</p>`
  }</section>`;
}

function renderTenantRow(tenant: TenantReport, { tenants: stateLabels }: RolloutStateLabels, links: PageLinks): Html {
  const { name, wave, state, error, durationMs } = tenant;
  const changes = formatPlannedCounts(tenant);
  return html`<tr><td data-label="Tenant">${links.renderTenants([name])}</td><td data-label="Wave"><bdi>${excerpt(wave)}</bdi></td><td data-label="Outcome"><span><span class="state is-${state}">${stateLabels[state].word}</span>${
    error === undefined ? "" : html` <code>${excerpt(error.code)}</code>`
  }</span></td><td data-label="Changes">${changes === "" ? "none" : changes}</td><td data-label="Duration">${durationMs === undefined ? "–" : formatDuration(durationMs)}</td></tr>
`;
}
