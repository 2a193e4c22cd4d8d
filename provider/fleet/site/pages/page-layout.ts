import { excerpt } from "../../../model/text";
import { type FilterOption, renderFilterOptions } from "../../../render/html-filters";
import { renderSitePage } from "../../../render/html-page";
import { type Html, html } from "../../../render/html-text";
import { formatCount, formatMinute, formatNumber } from "../../../render/safe-text";
import type { FleetStatus, SyncStatus } from "../../status/status-schema";
import { formatHiddenPoints, MAX_NAMES_TO_FIX, type StatusPoint, type StatusSection } from "../../status/status-view";
import { getTenantPagePath } from "./paths";

/** The parts that all pages of a site share. URLs are relative to the site. */
export interface PageLayout {
  readonly status: FleetStatus;
  readonly style: string;
  readonly script: string;
  readonly fleet: string;
}

/** The parts that differ between pages. */
export interface PageContent {
  readonly title: string;
  /** The path of the page: `index.html`, `tenants/acme.html`. */
  readonly path: string;
  /** The data files that it loads at the start, relative to the site. */
  readonly data?: readonly string[];
  readonly main: Html;
}

const NAVIGATION_PAGES = [
  ["index.html", "Overview"],
  ["attention.html", "Attention"],
  ["tenants.html", "Tenants"],
  ["rollouts.html", "Rollouts"],
] as const;

export function renderPage(
  { status, style, script, fleet }: PageLayout,
  { title, path, data = [], main }: PageContent,
): string {
  const root = path.includes("/") ? "../" : "";
  const links = NAVIGATION_PAGES.map(
    ([file, name]) => html`<a href="${root}${file}"${file === path ? html` aria-current="page"` : ""}>${name}</a>`,
  );
  return renderSitePage({
    title: `${title} · ${status.project}`,
    style: root + style,
    scripts: [script, ...data].map((file) => root + file),
    fleet: root + fleet,
    body: html`<header><nav aria-label="Site">${links}</nav></header>
<main>
${main}
</main>
<footer><p>Read ${formatMinute(status.readAt).join("")} by <code>email-security fleet site</code>. The pages show the status of that time.</p></footer>`,
  });
}

export const SYNC_STATUS_LABELS: Readonly<Record<SyncStatus, string>> = {
  "in-sync": "in sync",
  behind: "behind",
  drifted: "drifted",
  unknown: "unknown drift",
  "never-rolled-out": "never rolled out",
  unusable: "can't be checked",
  unreachable: "unreachable",
  "wrong-key": "wrong key",
};

export function renderSyncStatus(syncStatus: SyncStatus): Html {
  return html`<span class="state is-${syncStatus}">${SYNC_STATUS_LABELS[syncStatus]}</span>`;
}

/** Renders a section with the same content as in text and Markdown, and with its tenants. */
export function renderSection(
  { title, points, hidden }: StatusSection,
  { tenants: allTenants }: FleetStatus,
  maxPoints = points.length,
): Html {
  return renderPoints(title, points.slice(0, maxPoints), [...points.slice(maxPoints), ...hidden], ({ tenants }) =>
    tenants.length === allTenants.length && allTenants.length > MIN_ALL_TENANTS
      ? html`<p>in all ${formatNumber(allTenants.length)} tenants</p>`
      : html`<p>in ${formatCount(tenants.length, "tenant")}: ${tenants
          .slice(0, MAX_NAMES_TO_FIX)
          .map(
            (name, index) =>
              html`${index === 0 ? "" : ", "}<a href="${getTenantPagePath(name)}"><bdi>${excerpt(name)}</bdi></a>`,
          )}${tenants.length > MAX_NAMES_TO_FIX ? ` and ${formatNumber(tenants.length - MAX_NAMES_TO_FIX)} more` : ""}</p>`,
  );
}

/** The minimum number of tenants for which a point that applies to all of them doesn't list their names. */
const MIN_ALL_TENANTS = 8;

/** Renders a section on the page of its only tenant. */
export function renderTenantSection({ name, points, hidden }: StatusSection): Html {
  return renderPoints(name, points, hidden, () => undefined);
}

function renderPoints(
  title: string,
  points: readonly StatusPoint[],
  hidden: readonly StatusPoint[],
  renderTenants: (point: StatusPoint) => Html | undefined,
): Html {
  return html`<section><h2>${title}</h2><ul class="points">${points.map(
    (point) =>
      html`<li><b><bdi>${excerpt(point.tenantlessForm.head, MAX_TEXT_LENGTH)}</bdi></b>${point.tenantlessForm.details.map(
        (fact) => html`<p><bdi>${excerpt(fact, MAX_TEXT_LENGTH)}</bdi></p>`,
      )}${renderTenants(point)}</li>`,
  )}${hidden.length > 0 ? html`<li class="rest">and ${formatHiddenPoints(hidden)}</li>` : ""}</ul></section>
`;
}

const MAX_TEXT_LENGTH = 1_000;

/** Renders the choices of lists to show, for the page's script. */
export function renderListFilter(...more: readonly FilterOption[]): Html {
  return renderFilterOptions("list", "List", [
    { id: "list-any", value: "", label: "All" },
    { id: "list-allow", value: "allow", label: "Allow" },
    { id: "list-deny", value: "deny", label: "Deny" },
    { id: "list-vip", value: "vip", label: "VIP" },
    ...more,
  ]);
}

/** The message for browsers without scripts. */
export const NO_SCRIPT = html`<noscript><p>This part needs JavaScript; the rest of the page works without it.</p></noscript>`;
