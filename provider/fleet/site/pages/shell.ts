import { type Choice, choices } from "../../../render/html-filters";
import { sitePage } from "../../../render/html-page";
import { type Html, html } from "../../../render/html-text";
import { counted, minute, number } from "../../../render/words";
import { excerpt } from "../../../settings/text";
import type { FleetStanding, FleetStatus } from "../../status/status-schema";
import { hiddenText, NAMED_TO_ACT, type ToldPoint, type ToldSection } from "../../status/told-status";
import { tenantPage } from "./paths";

/** The parts that all pages of a site share. URLs are relative to the site. */
export interface Shell {
  readonly status: FleetStatus;
  readonly style: string;
  readonly script: string;
  readonly fleet: string;
}

/** The parts that differ between pages. */
export interface ShellPage {
  readonly title: string;
  /** The path of the page: `index.html`, `tenants/acme.html`. */
  readonly path: string;
  /** The data files that it loads at the start, relative to the site. */
  readonly data?: readonly string[];
  readonly main: Html;
}

const NAVIGATION_PAGES = [
  ["index.html", "Overview"],
  ["attention.html", "To look at"],
  ["tenants.html", "Tenants"],
  ["rollouts.html", "Rollouts"],
] as const;

/** Renders a page with its header, navigation and footer. */
export function shellPage(
  { status, style, script, fleet }: Shell,
  { title, path, data = [], main }: ShellPage,
): string {
  const root = path.includes("/") ? "../" : "";
  const links = NAVIGATION_PAGES.map(
    ([file, name]) => html`<a href="${root}${file}"${file === path ? html` aria-current="page"` : ""}>${name}</a>`,
  );
  return sitePage({
    title: `${title} · ${status.project}`,
    style: root + style,
    scripts: [script, ...data].map((file) => root + file),
    fleet: root + fleet,
    body: html`<header><nav aria-label="Site">${links}</nav></header>
<main>
${main}
</main>
<footer><p>Read ${minute(status.at).join("")} by <code>email-security fleet site</code>. What stands here is as it was then.</p></footer>`,
  });
}

/** The display names of a tenant's statuses. */
export const STANDING_NAMES: Readonly<Record<FleetStanding, string>> = {
  "in-step": "in step",
  behind: "behind",
  drifted: "drifted",
  "not-known": "not known here",
  "never-rolled-out": "never rolled out",
  unusable: "can't be judged",
  unreachable: "unreachable",
  "key-wrong": "wrong key",
};

/** Renders a status with its colour. */
export function standingHtml(syncStatus: FleetStanding): Html {
  return html`<span class="state is-${syncStatus}">${STANDING_NAMES[syncStatus]}</span>`;
}

/** Renders a section with the same content as in text and Markdown, and with its tenants. */
export function sectionHtml(
  { title, points, hidden }: ToldSection,
  { tenants: allTenants }: FleetStatus,
  maxPoints = points.length,
): Html {
  return renderPoints(title, points.slice(0, maxPoints), [...points.slice(maxPoints), ...hidden], ({ tenants }) =>
    tenants.length === allTenants.length && allTenants.length > MIN_ALL_TENANTS
      ? html`<p>in all ${number(allTenants.length)} tenants</p>`
      : html`<p>in ${counted(tenants.length, "tenant")}: ${tenants
          .slice(0, NAMED_TO_ACT)
          .map(
            (name, index) =>
              html`${index === 0 ? "" : ", "}<a href="${tenantPage(name)}"><bdi>${excerpt(name)}</bdi></a>`,
          )}${tenants.length > NAMED_TO_ACT ? ` and ${number(tenants.length - NAMED_TO_ACT)} more` : ""}</p>`,
  );
}

/** With more tenants than this, a point that applies to all of them doesn't list their names. */
const MIN_ALL_TENANTS = 8;

/** Renders a section on the page of its only tenant. */
export function ownSectionHtml({ name, points, hidden }: ToldSection): Html {
  return renderPoints(name, points, hidden, () => undefined);
}

function renderPoints(
  title: string,
  points: readonly ToldPoint[],
  hidden: readonly ToldPoint[],
  renderTenants: (point: ToldPoint) => Html | undefined,
): Html {
  return html`<section><h2>${title}</h2><ul class="points">${points.map(
    (point) =>
      html`<li><b><bdi>${excerpt(point.own.head, MAX_TEXT_LENGTH)}</bdi></b>${point.own.facts.map(
        (fact) => html`<p><bdi>${excerpt(fact, MAX_TEXT_LENGTH)}</bdi></p>`,
      )}${renderTenants(point)}</li>`,
  )}${hidden.length > 0 ? html`<li class="rest">and ${hiddenText(hidden)}</li>` : ""}</ul></section>
`;
}

const MAX_TEXT_LENGTH = 1_000;

/** Renders the choices of lists to show, for the page's script. */
export function listChoices(...more: readonly Choice[]): Html {
  return choices("list", "Of which list", [
    { id: "list-any", value: "", label: "All" },
    { id: "list-allow", value: "allow", label: "Allow" },
    { id: "list-deny", value: "deny", label: "Deny" },
    { id: "list-vip", value: "vip", label: "VIP" },
    ...more,
  ]);
}

/** The message for browsers without scripts. */
export const NO_SCRIPT = html`<noscript><p>This part needs the page's own script; all else is there without it.</p></noscript>`;
