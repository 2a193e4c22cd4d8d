import { htmlVerdict, type PageMood } from "../../../render/html-page";
import { type Html, html } from "../../../render/html-text";
import { counted, minute, number, say, type Words } from "../../../render/words";
import { excerpt } from "../../../settings/text";
import { type FleetStatus, STANDINGS } from "../../status/status-schema";
import { toldStatus } from "../../status/told-status";
import { AGES, type SiteData } from "../data/site-data";
import { barTable, lineChart } from "./charts";
import { listChoices, NO_SCRIPT, type Shell, STANDING_NAMES, sectionHtml, shellPage } from "./shell";

/** The maximum number of points of each section on the first page. */
const MAX_POINTS = 5;

/** Renders the first page: the status, the allows, the points that need attention, and the history. */
export function overviewPage(layout: Shell, data: SiteData): string {
  const { status } = data;
  const { sections } = toldStatus(status);
  return shellPage(layout, {
    title: "Fleet",
    path: "index.html",
    main: html`<p class="eyebrow">Email security fleet</p>
<h1><bdi>${excerpt(status.project)}</bdi></h1>
<p class="source">${counted(status.tenants.length, "tenant")} of <bdi>${excerpt(status.file, 300)}</bdi>, read ${minute(status.at).join("")}</p>
${renderVerdict(status)}
${renderTotals(status)}
${renderSearch()}
${renderCharts(data)}
${sections.map((one) => sectionHtml(one, status, MAX_POINTS))}
${sections.length === 0 ? "" : html`<p><a href="attention.html">All there is to look at</a></p>`}`,
  });
}

function renderVerdict({ tenants, isJournalRead }: FleetStatus): Html {
  const countTenants = (...statuses: readonly string[]) =>
    tenants.filter(({ standing }) => statuses.includes(standing)).length;
  const unreadCount = countTenants("key-wrong", "unreachable", "unusable");
  const driftedCount = countTenants("drifted");
  const behindCount = countTenants("behind");
  const unknownCount = countTenants("not-known");
  const neverCount = countTenants("never-rolled-out");
  const riskyCount = tenants.filter(({ drift, unattributed = [] }) =>
    [...drift, ...unattributed].some(({ risks }) => risks !== undefined),
  ).length;
  const [severity, label]: [PageMood, string] =
    riskyCount > 0
      ? ["danger", driftedCount > 0 ? "Risky drift" : "Risky entries"]
      : unreadCount > 0
        ? ["danger", "Not all could be read"]
        : driftedCount > 0
          ? ["warning", "Drifted"]
          : unknownCount > 0
            ? ["warning", "Not known here"]
            : behindCount + neverCount > 0
              ? ["running", behindCount > 0 ? "Behind their files" : "Never rolled out"]
              : ["none", "In step"];
  const facts = [
    ...(riskyCount > 0 ? [`${counted(riskyCount, "tenant")} with something risky that no file declares`] : []),
    ...(driftedCount > 0 ? [`${number(driftedCount)} drifted`] : []),
    ...(unknownCount > 0 ? [`${number(unknownCount)} of which it is not known here whether they drifted`] : []),
    ...(behindCount > 0 ? [`${number(behindCount)} behind`] : []),
    ...(neverCount > 0 ? [`${number(neverCount)} never rolled out`] : []),
    ...(unreadCount > 0 ? [`${number(unreadCount)} not read`] : []),
  ];
  const headline: Words =
    facts.length === 0
      ? say`All ${counted(tenants.length, "tenant")} hold what their files declare.`
      : [`${facts.join(", ")}, of ${counted(tenants.length, "tenant")}.`];
  const caveat = isJournalRead ? [] : [" There was no rollouts' journal."];
  return htmlVerdict(severity, label, [...headline, ...caveat]);
}

function renderTotals({ tenants, ends, reviews }: FleetStatus): Html {
  const expired = ends.filter(({ isOver }) => isOver).length;
  const renderCell = (kind: string, href: string, count: number, label: string) =>
    html`<li class="${count === 0 ? "zero" : kind}"><a href="${href}"><b>${number(count)}</b>${label}</a></li>`;
  return html`<ul class="tallies">${STANDINGS.toReversed().map((standing) => {
    const count = tenants.filter((tenant) => tenant.standing === standing).length;
    return renderCell(`is-${standing}`, `tenants.html#${standing}`, count, STANDING_NAMES[standing]);
  })}${renderCell("", "attention.html", ends.length - expired, "end soon")}${renderCell("", "attention.html", expired, "ended")}${renderCell(
    "",
    "attention.html",
    reviews.length,
    "to review",
  )}</ul>`;
}

function renderSearch(): Html {
  return html`<form class="find" role="search"><label class="of" for="search">Where is it allowed or denied?</label>
<input type="search" id="search" placeholder="evil.example, ceo@partner.example, INC-1042" autocomplete="off" spellcheck="false" autocapitalize="off">
<div class="filters">${listChoices()}</div>
<p class="status" id="search-status" role="status"></p>${NO_SCRIPT}<div id="results"></div></form>`;
}

function renderCharts({ runs, ages }: SiteData): Html | undefined {
  const times = runs.map(({ at }) => at);
  const valuesOverTime = (value: (run: SiteData["runs"][number]) => number) => runs.map(value);
  const lineCharts =
    runs.length < 2
      ? undefined
      : html`${lineChart("Tenants that are not in step", times, [
          { name: "drifted", values: valuesOverTime(({ standings }) => standings.drifted ?? 0) },
          {
            name: "behind",
            values: valuesOverTime(
              ({ standings: { behind = 0, "not-known": unknownCount = 0, "never-rolled-out": never = 0 } }) =>
                behind + unknownCount + never,
            ),
          },
          {
            name: "not read",
            values: valuesOverTime(
              ({ standings: { "key-wrong": key = 0, unreachable = 0, unusable = 0 } }) => key + unreachable + unusable,
            ),
          },
        ])}${lineChart("What waits for a person", times, [
          { name: "to review", values: valuesOverTime(({ reviews }) => reviews) },
          { name: "ended, and in the files", values: valuesOverTime((run) => run.over) },
          { name: "end soon", values: valuesOverTime(({ ends }) => ends) },
        ])}`;
  const ageTable =
    ages === undefined
      ? undefined
      : barTable(
          "Age of the allows that tenants hold",
          AGES.map(({ name, days }, index) => ({ name, count: ages[index] ?? 0, isOld: days > 365 })),
        );
  if (lineCharts === undefined && ageTable === undefined) return undefined;
  return html`<section><h2>Over time</h2><div class="charts">${lineCharts ?? html`<p class="source">This is the first run that is kept here. From the next one on, what drifted and what waits is drawn over time.</p>`}${ageTable}</div></section>`;
}

/** Renders all points that need attention, in the words of `fleet status`. */
export function attentionPage(layout: Shell): string {
  const { sections } = toldStatus(layout.status);
  return shellPage(layout, {
    title: "To look at",
    path: "attention.html",
    main: html`<h1>To look at</h1>
<p class="source">What is the same in several tenants is told once. A tenant's own page has all of it.</p>
${sections.length === 0 ? html`<p>Nothing.</p>` : sections.map((one) => sectionHtml(one, layout.status))}`,
  });
}

/** Renders the page of an entry. The part of its URL after the `#` selects the entry. */
export function entryPage(layout: Shell): string {
  return shellPage(layout, {
    title: "Entry",
    path: "entry.html",
    main: html`<p class="eyebrow">Entry</p>
<h1 id="entry">Entry</h1>
<p class="status" id="entry-status" role="status"></p>${NO_SCRIPT}
<div id="declarations"></div>`,
  });
}
