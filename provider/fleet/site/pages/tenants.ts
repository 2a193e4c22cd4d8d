import { choices } from "../../../render/html-filters";
import { type Html, html, htmlWords } from "../../../render/html-text";
import { day, number } from "../../../render/words";
import { excerpt } from "../../../settings/text";
import { STANDINGS, type TenantStatus } from "../../status/status-schema";
import { tenantPage } from "./paths";
import { type Shell, STANDING_NAMES, shellPage, standingHtml } from "./shell";

/** Renders all tenants, the worst first. */
export function tenantsPage(layout: Shell): string {
  const { tenants } = layout.status;
  const sorted = tenants.toSorted((one, other) => STANDINGS.indexOf(one.standing) - STANDINGS.indexOf(other.standing));
  return shellPage(layout, {
    title: "Tenants",
    path: "tenants.html",
    main: html`<h1>Tenants</h1>
<form role="search"><label class="source" for="tenant-filter">Name or label</label>
<input type="search" id="tenant-filter" autocomplete="off" spellcheck="false" autocapitalize="off">
<div class="filters">${choices("standing", "Which stand so", [
      { id: "any-standing", value: "", label: "All", count: tenants.length },
      ...STANDINGS.map((syncStatus) => ({
        id: `only-${syncStatus}`,
        value: syncStatus,
        label: STANDING_NAMES[syncStatus],
        count: tenants.filter((tenant) => tenant.standing === syncStatus).length,
      })),
    ])}</div>
<p class="status" id="tenant-status" role="status"></p></form>
<div class="table" tabindex="0" role="region" aria-label="Tenants"><table class="rows wide"><thead><tr>${[
      "Tenant",
      "Stands",
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
  const { name, standing, drift, behind, unattributed = [], holds, lastRollout, labels } = tenant;
  const differenceText = [
    ...(drift.length > 0 ? [`${number(drift.length)} drifted`] : []),
    ...(behind.length > 0 ? [`${number(behind.length)} behind`] : []),
    ...(unattributed.length > 0 ? [`${number(unattributed.length)} not as declared`] : []),
  ].join(", ");
  const labelTexts = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const renderCell = (label: string, content: string | Html) =>
    content === "" ? html`<td></td>` : html`<td data-label="${label}">${content}</td>`;
  return html`<tr data-standing="${standing}"><td data-label="Tenant"><a href="${tenantPage(name)}"><bdi>${excerpt(name)}</bdi></a></td>${renderCell(
    "Stands",
    standingHtml(standing),
  )}${renderCell("Differs", differenceText)}${renderCell("Allow", holds ? number(holds.allow) : "")}${renderCell("Deny", holds ? number(holds.deny) : "")}${renderCell(
    "VIPs",
    holds ? number(holds.vips) : "",
  )}${renderCell("Last rollout", lastRollout === undefined ? "" : htmlWords(day(lastRollout.at)))}${renderCell(
    "Labels",
    excerpt(labelTexts.join(" "), 200),
  )}</tr>
`;
}
