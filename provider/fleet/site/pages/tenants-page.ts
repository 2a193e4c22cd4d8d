import { excerpt } from "../../../model/text";
import { renderFilterOptions } from "../../../render/html-filters";
import { type Html, html, renderHtmlText } from "../../../render/html-text";
import { formatDay, formatNumber } from "../../../render/safe-text";
import { SYNC_STATUSES, type TenantStatus } from "../../status/status-schema";
import { type PageLayout, renderPage, renderSyncStatus, SYNC_STATUS_LABELS } from "./page-layout";
import { getTenantPagePath } from "./paths";

export function renderTenantsPage(layout: PageLayout): string {
  const { tenants } = layout.status;
  const sorted = tenants.toSorted((a, b) => SYNC_STATUSES.indexOf(a.syncStatus) - SYNC_STATUSES.indexOf(b.syncStatus));
  return renderPage(layout, {
    title: "Tenants",
    path: "tenants.html",
    main: html`<h1>Tenants</h1>
<form role="search"><label class="source" for="tenant-filter">Name or label</label>
<input type="search" id="tenant-filter" autocomplete="off" spellcheck="false" autocapitalize="off">
<div class="filters">${renderFilterOptions("syncStatus", "Status", [
      { id: "any-status", value: "", label: "All", count: tenants.length },
      ...SYNC_STATUSES.map((syncStatus) => ({
        id: `only-${syncStatus}`,
        value: syncStatus,
        label: SYNC_STATUS_LABELS[syncStatus],
        count: tenants.filter((tenant) => tenant.syncStatus === syncStatus).length,
      })),
    ])}</div>
<p class="status" id="tenant-status" role="status"></p></form>
<div class="table" tabindex="0" role="region" aria-label="Tenants"><table class="rows wide"><thead><tr>${[
      "Tenant",
      "Status",
      "Differs",
      "Allow",
      "Deny",
      "VIPs",
      "Last rollout",
      "Labels",
    ].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>
${sorted.map(renderTenantOverviewRow)}</tbody></table></div>`,
  });
}

function renderTenantOverviewRow(tenant: TenantStatus): Html {
  const { name, syncStatus, drift, pendingChanges, unclassified = [], elementCounts, lastRollout, labels } = tenant;
  const differenceText = [
    ...(drift.length > 0 ? [`${formatNumber(drift.length)} drifted`] : []),
    ...(pendingChanges.length > 0 ? [`${formatNumber(pendingChanges.length)} behind`] : []),
    ...(unclassified.length > 0 ? [`${formatNumber(unclassified.length)} different from the files`] : []),
  ].join(", ");
  const labelTexts = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const renderCell = (label: string, content: string | Html) =>
    content === "" ? html`<td></td>` : html`<td data-label="${label}">${content}</td>`;
  return html`<tr data-sync-status="${syncStatus}"><td data-label="Tenant"><a href="${getTenantPagePath(name)}"><bdi>${excerpt(name)}</bdi></a></td>${renderCell(
    "Status",
    renderSyncStatus(syncStatus),
  )}${renderCell("Differs", differenceText)}${renderCell("Allow", elementCounts ? formatNumber(elementCounts.allow) : "")}${renderCell("Deny", elementCounts ? formatNumber(elementCounts.deny) : "")}${renderCell(
    "VIPs",
    elementCounts ? formatNumber(elementCounts.vips) : "",
  )}${renderCell("Last rollout", lastRollout === undefined ? "" : renderHtmlText(formatDay(lastRollout.finishedAt)))}${renderCell(
    "Labels",
    excerpt(labelTexts.join(" "), 200),
  )}</tr>
`;
}
