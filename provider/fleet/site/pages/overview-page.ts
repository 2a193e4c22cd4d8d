import { excerpt } from "../../../model/text";
import { type PageStatus, renderStatusBanner } from "../../../render/html-page";
import { type Html, html } from "../../../render/html-text";
import { formatCount, formatMinute, formatNumber, type SafeText, safeText } from "../../../render/safe-text";
import { type FleetStatus, SYNC_STATUSES } from "../../status/status-schema";
import { buildStatusView } from "../../status/status-view";
import { ALLOW_AGE_GROUPS, type SiteData } from "../data/site-data";
import { renderBarTable, renderLineChart } from "./charts";
import {
  NO_SCRIPT,
  type PageLayout,
  renderListFilter,
  renderPage,
  renderSection,
  SYNC_STATUS_LABELS,
} from "./page-layout";

/** The maximum number of points of each section on the first page. */
const MAX_POINTS = 5;

/** Renders the first page: the status, the allows, the points that need attention, and the history. */
export function renderOverviewPage(layout: PageLayout, data: SiteData): string {
  const { status } = data;
  const { sections } = buildStatusView(status);
  return renderPage(layout, {
    title: "Fleet",
    path: "index.html",
    main: html`<p class="eyebrow">Email security fleet</p>
<h1><bdi>${excerpt(status.project)}</bdi></h1>
<p class="source">${formatCount(status.tenants.length, "tenant")} of <bdi>${excerpt(status.file, 300)}</bdi>, read ${formatMinute(status.readAt).join("")}</p>
${renderVerdict(status)}
${renderTotals(status)}
${renderSearch()}
${renderCharts(data)}
${sections.map((section) => renderSection(section, status, MAX_POINTS))}
${sections.length === 0 ? "" : html`<p><a href="attention.html">All items that need attention</a></p>`}`,
  });
}

function renderVerdict({ tenants, isJournalRead }: FleetStatus): Html {
  const countTenants = (...statuses: readonly string[]) =>
    tenants.filter(({ syncStatus }) => statuses.includes(syncStatus)).length;
  const unreadCount = countTenants("wrong-key", "unreachable", "unusable");
  const driftedCount = countTenants("drifted");
  const behindCount = countTenants("behind");
  const unknownCount = countTenants("unknown");
  const neverCount = countTenants("never-rolled-out");
  const riskyCount = tenants.filter(({ drift, unclassified = [] }) =>
    [...drift, ...unclassified].some(({ risks }) => risks !== undefined),
  ).length;
  const [severity, label]: [PageStatus, string] =
    riskyCount > 0
      ? ["danger", driftedCount > 0 ? "Risky drift" : "Risky entries"]
      : unreadCount > 0
        ? ["danger", "Not all tenants could be read"]
        : driftedCount > 0
          ? ["warning", "Drifted"]
          : unknownCount > 0
            ? ["warning", "Unknown"]
            : behindCount + neverCount > 0
              ? ["running", behindCount > 0 ? "Behind their files" : "Never rolled out"]
              : ["none", "In sync"];
  const facts = [
    ...(riskyCount > 0 ? [`${formatCount(riskyCount, "tenant")} with a risky undeclared element`] : []),
    ...(driftedCount > 0 ? [`${formatNumber(driftedCount)} drifted`] : []),
    ...(unknownCount > 0 ? [`${formatNumber(unknownCount)} with unknown drift`] : []),
    ...(behindCount > 0 ? [`${formatNumber(behindCount)} behind`] : []),
    ...(neverCount > 0 ? [`${formatNumber(neverCount)} never rolled out`] : []),
    ...(unreadCount > 0 ? [`${formatNumber(unreadCount)} not read`] : []),
  ];
  const headline: SafeText =
    facts.length === 0
      ? safeText`All ${formatCount(tenants.length, "tenant")} match their files.`
      : [`${facts.join(", ")}, of ${formatCount(tenants.length, "tenant")}.`];
  const caveat = isJournalRead ? [] : [" There was no rollout journal."];
  return renderStatusBanner(severity, label, [...headline, ...caveat]);
}

function renderTotals({ tenants, expiring, reviews }: FleetStatus): Html {
  const expired = expiring.filter(({ isExpired }) => isExpired).length;
  const renderCell = (kind: string, href: string, count: number, label: string) =>
    html`<li class="${count === 0 ? "zero" : kind}"><a href="${href}"><b>${formatNumber(count)}</b>${label}</a></li>`;
  return html`<ul class="tallies">${SYNC_STATUSES.toReversed().map((syncStatus) => {
    const count = tenants.filter((tenant) => tenant.syncStatus === syncStatus).length;
    return renderCell(`is-${syncStatus}`, `tenants.html#${syncStatus}`, count, SYNC_STATUS_LABELS[syncStatus]);
  })}${renderCell("", "attention.html", expiring.length - expired, "expire soon")}${renderCell("", "attention.html", expired, "expired")}${renderCell(
    "",
    "attention.html",
    reviews.length,
    "to review",
  )}</ul>`;
}

function renderSearch(): Html {
  return html`<form class="find" role="search"><label class="title" for="search">Find where a value is allowed or denied</label>
<input type="search" id="search" placeholder="evil.example, ceo@partner.example, INC-1042" autocomplete="off" spellcheck="false" autocapitalize="off">
<div class="filters">${renderListFilter()}</div>
<p class="status" id="search-status" role="status"></p>${NO_SCRIPT}<div id="results"></div></form>`;
}

function renderCharts({ runs, ages }: SiteData): Html | undefined {
  const times = runs.map(({ readAt }) => readAt);
  const listValues = (value: (run: SiteData["runs"][number]) => number) => runs.map(value);
  const lineCharts =
    runs.length < 2
      ? undefined
      : html`${renderLineChart("Tenants that are not in sync", times, [
          { name: "drifted", values: listValues(({ syncStatuses }) => syncStatuses.drifted ?? 0) },
          {
            name: "behind",
            values: listValues(
              ({ syncStatuses: { behind = 0, unknown: unknownCount = 0, "never-rolled-out": never = 0 } }) =>
                behind + unknownCount + never,
            ),
          },
          {
            name: "not read",
            values: listValues(
              ({ syncStatuses: { "wrong-key": key = 0, unreachable = 0, unusable = 0 } }) =>
                key + unreachable + unusable,
            ),
          },
        ])}${renderLineChart("Waiting for a person", times, [
          { name: "to review", values: listValues(({ reviews }) => reviews) },
          { name: "expired, still in the files", values: listValues((run) => run.expired) },
          { name: "expire soon", values: listValues(({ expiring }) => expiring) },
        ])}`;
  const ageTable =
    ages === undefined
      ? undefined
      : renderBarTable(
          "Age of the tenants' allows",
          ALLOW_AGE_GROUPS.map(({ name, days }, index) => ({
            name,
            count: ages[index] ?? 0,
            isOld: days > 365,
          })),
        );
  if (lineCharts === undefined && ageTable === undefined) return undefined;
  return html`<section><h2>Over time</h2><div class="charts">${lineCharts ?? html`<p class="source">This is the first recorded run. Charts of drift and open items over time start with the next run.</p>`}${ageTable}</div></section>`;
}

/** Renders all points that need attention, with the texts of `fleet status`. */
export function renderAttentionPage(layout: PageLayout): string {
  const { sections } = buildStatusView(layout.status);
  return renderPage(layout, {
    title: "Attention",
    path: "attention.html",
    main: html`<h1>Attention</h1>
<p class="source">An item that several tenants share appears once. Each tenant's page shows all of its items.</p>
${sections.length === 0 ? html`<p>Nothing.</p>` : sections.map((section) => renderSection(section, layout.status))}`,
  });
}

/** Renders the page of an entry. The part of its URL after the `#` selects the entry. */
export function renderEntryPage(layout: PageLayout): string {
  return renderPage(layout, {
    title: "Entry",
    path: "entry.html",
    main: html`<p class="eyebrow">Entry</p>
<h1 id="entry">Entry</h1>
<p class="status" id="entry-status" role="status"></p>${NO_SCRIPT}
<div id="declarations"></div>`,
  });
}
