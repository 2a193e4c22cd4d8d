import { capitalize, excerpt } from "../../../model/text";
import { type PageStatus, renderStatusBanner } from "../../../render/html-page";
import { Html, html, renderHtmlText } from "../../../render/html-text";
import {
  formatCount,
  formatMinute,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../../render/safe-text";
import type { StackOutcome } from "../../../rollout/history/recent-rollouts";
import { formatPlannedCounts } from "../../../rollout/report/rollout-report-view";
import { TENANT_STATE_LABELS } from "../../../rollout/report/state-labels";
import type { ExpiringEntry, FleetFinding, FleetStatus, SyncStatus, TenantStatus } from "../../status/status-schema";
import { buildStatusView } from "../../status/status-view";
import type { EntryMailEvidence } from "../data/entry-mail";
import { ENTRY_DETAIL_LABELS, ENTRY_ROW_FIELDS, type TenantEntries } from "../data/entry-store";
import { findStatusStart, type SiteRun } from "../data/site-runs";
import {
  NO_SCRIPT,
  type PageLayout,
  renderListFilter,
  renderPage,
  renderTenantSection,
  SYNC_STATUS_LABELS,
} from "./page-layout";
import { getRolloutPagePath, getTenantPagePath } from "./paths";
import { formatScriptJson } from "./script-json";

export interface TenantPageData {
  readonly tenant: TenantStatus;
  readonly entries: TenantEntries;
  /** The facts about its files. */
  readonly expiring: readonly ExpiringEntry[];
  readonly reviews: readonly FleetFinding[];
  readonly findings: readonly FleetFinding[];
  /** The outcomes of its rollouts, newest first. */
  readonly history: readonly StackOutcome[];
  readonly runs: readonly SiteRun[];
  /** The data files with its entries, relative to the site. */
  readonly data: readonly string[];
}

const MAX_ROLLOUTS = 30;

export function renderTenantPage(layout: PageLayout, page: TenantPageData): string {
  const { tenant, entries, expiring, reviews, findings, history, data } = page;
  // The headline already shows the error.
  const { error: _error, ...shown } = tenant;
  const tenantStatus: FleetStatus = { ...layout.status, tenants: [shown], expiring, reviews, findings };
  const isRead = tenant.error === undefined;
  const scriptData = {
    fields: ENTRY_ROW_FIELDS,
    facts: ENTRY_DETAIL_LABELS,
    isRead,
    ranges: entries.ranges,
    deviations: entries.deviations,
    ...(entries.mail && { mail: entries.mail.entries }),
  };
  return renderPage(layout, {
    title: tenant.name,
    path: getTenantPagePath(tenant.name),
    data,
    main: html`<p class="eyebrow">Tenant</p>
<h1><bdi>${excerpt(tenant.name)}</bdi> <span class="host">at <bdi>${excerpt(tenant.host, 200)}</bdi></span></h1>
${renderStatusBanner(SEVERITIES[tenant.syncStatus], capitalize(SYNC_STATUS_LABELS[tenant.syncStatus]), formatTenantHeadline(page))}
<div class="card"><dl>${buildTenantFacts(tenant).map(([label, text]) => html`<dt>${label}</dt><dd>${renderHtmlText(text)}</dd>`)}</dl></div>
${buildStatusView(tenantStatus).sections.map(renderTenantSection)}
<section><h2 id="lists">Lists</h2>
<form role="search"><label class="source" for="entry-filter">Value, comment, ticket, owner or file</label>
<input type="search" id="entry-filter" autocomplete="off" spellcheck="false" autocapitalize="off">
<div class="filters">${renderListFilter({ id: "list-different", value: "different", label: "Different from the files" })}</div>
<p class="status" id="entry-status" role="status"></p></form>${NO_SCRIPT}${renderMailNote(entries.mail)}
<div class="table" tabindex="0" role="region" aria-labelledby="lists"><table class="rows entries"><thead><tr>${[
      "List",
      "Value",
      "At the tenant",
      ...(entries.mail === undefined ? [] : ["Mail"]),
      "Why",
      "Expires",
      "Declared at",
    ].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody id="entries"></tbody></table></div>
<button type="button" id="more" hidden>Show more</button></section>
${renderRolloutHistory(history)}
<script type="application/json" id="own">${new Html(formatScriptJson(scriptData))}</script>`,
  });
}

const SEVERITIES: Readonly<Record<SyncStatus, PageStatus>> = {
  "wrong-key": "danger",
  unreachable: "danger",
  unusable: "danger",
  drifted: "warning",
  unknown: "warning",
  "never-rolled-out": "running",
  behind: "running",
  "in-sync": "none",
};

function formatTenantHeadline({ tenant, runs }: TenantPageData): SafeText {
  const { syncStatus, error, drift, pendingChanges, unclassified = [], unchanged = 0 } = tenant;
  const firstRun = findStatusStart(tenant.stack, runs);
  const sinceText: SafeText =
    firstRun === undefined || firstRun === runs.at(-1)
      ? []
      : safeText` Since ${formatMinute(firstRun.readAt)}, according to the recorded runs.`;
  if (error !== undefined) return [untrustedSentence(error.message), ...sinceText];
  const parts = [
    ...(drift.length > 0 ? [`${formatCount(drift.length, "entry", "entries")} changed outside its files`] : []),
    ...(pendingChanges.length > 0
      ? [`${formatCount(pendingChanges.length, "entry", "entries")} not applied by a rollout yet`]
      : []),
    ...(unclassified.length > 0
      ? [
          `${formatCount(unclassified.length, "entry", "entries")} different from the files, ${syncStatus === "unknown" ? "for an unknown time" : "before any rollout"}`,
        ]
      : []),
    `${formatCount(unchanged, "entry", "entries")} unchanged`,
  ];
  return syncStatus === "in-sync"
    ? safeText`All ${formatCount(unchanged, "entry matches its files", "entries match their files")}.`
    : [`${parts.join(", ")}.`, ...sinceText];
}

function buildTenantFacts({
  settings,
  stack,
  labels,
  elementCounts,
  readAt,
  lastRollout,
  unappliedRollout,
}: TenantStatus): [label: string, words: SafeText][] {
  const formatValue = (text: string): SafeText => [untrusted(excerpt(text, 300))];
  const labelTexts = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return [
    ["Settings", formatValue(settings)],
    ["Stack", formatValue(stack)],
    ...(labelTexts.length === 0 ? [] : [["Labels", formatValue(labelTexts.join(" "))] as [string, SafeText]]),
    ...(elementCounts === undefined
      ? []
      : [
          [
            "Holds",
            safeText`${elementCounts.allow} allowed, ${elementCounts.deny} denied, ${formatCount(elementCounts.vips, "VIP")}`,
          ] as [string, SafeText],
        ]),
    ...(readAt === undefined ? [] : [["Read", formatMinute(readAt)] as [string, SafeText]]),
    [
      "Last rollout",
      lastRollout === undefined
        ? ["none in the journal"]
        : safeText`${untrusted(excerpt(lastRollout.id))}, ${
            lastRollout.wave === undefined
              ? "with another journal"
              : safeText`in the wave ${untrusted(excerpt(lastRollout.wave))}`
          }, ${formatMinute(lastRollout.finishedAt)}`,
    ],
    ...(unappliedRollout === undefined
      ? []
      : [
          [
            "Not reached by",
            safeText`${untrusted(excerpt(unappliedRollout.id))} (${unappliedRollout.rolloutState}), ${unappliedRollout.state} in the wave ${untrusted(excerpt(unappliedRollout.wave))}`,
          ] as [string, SafeText],
        ]),
  ];
}

function renderMailNote(mail: EntryMailEvidence | undefined): Html | undefined {
  if (mail === undefined) return undefined;
  const { days, threats, reports, missing } = mail;
  const summary = `Mail: ${formatCount(threats, "threat")} and ${formatCount(reports, "report")} of users, of the last ${formatCount(days, "day")}. It doesn't cover IP addresses.`;
  return html`<p class="source">${[summary, ...missing].join(" ")}</p>`;
}

function renderRolloutHistory(history: readonly StackOutcome[]): Html | undefined {
  if (history.length === 0) return undefined;
  const olderCount = history.length - MAX_ROLLOUTS;
  const rows = history.slice(0, MAX_ROLLOUTS).map(({ rollout, wave, state, time, planned, code }) => {
    const plannedChanges = formatPlannedCounts({ planned });
    return html`<tr><td data-label="Rollout"><a href="../${getRolloutPagePath(rollout)}"><bdi>${excerpt(rollout)}</bdi></a></td><td data-label="When">${renderHtmlText(formatMinute(time))}</td><td data-label="Wave"><bdi>${excerpt(wave)}</bdi></td><td data-label="Changes">${plannedChanges === "" ? "none" : plannedChanges}</td><td data-label="Outcome"><span><span class="state is-${state}">${TENANT_STATE_LABELS[state].word}</span>${code === undefined ? "" : html` <code>${excerpt(code)}</code>`}</span></td></tr>
`;
  });
  return html`<section><h2 id="history">Rollouts</h2><div class="table" tabindex="0" role="region" aria-labelledby="history"><table><thead><tr>${[
    "Rollout",
    "When",
    "Wave",
    "Changes",
    "Outcome",
  ].map(
    (name) => html`<th scope="col">${name}</th>`,
  )}</tr></thead><tbody>${rows}</tbody></table></div>${olderCount > 0 ? html`<p class="source">and ${olderCount} older</p>` : ""}</section>`;
}
