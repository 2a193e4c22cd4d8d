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
const POINTS = 5;

/** Renders the first page: the status, the allows, the points that need attention, and the history. */
export function overviewPage(shell: Shell, data: SiteData): string {
  const { status } = data;
  const { sections } = toldStatus(status);
  return shellPage(shell, {
    title: "Fleet",
    path: "index.html",
    main: html`<p class="eyebrow">Email security fleet</p>
<h1><bdi>${excerpt(status.project)}</bdi></h1>
<p class="source">${counted(status.tenants.length, "tenant")} of <bdi>${excerpt(status.file, 300)}</bdi>, read ${minute(status.at).join("")}</p>
${verdict(status)}
${tallies(status)}
${search()}
${charts(data)}
${sections.map((one) => sectionHtml(one, status, POINTS))}
${sections.length === 0 ? "" : html`<p><a href="attention.html">All there is to look at</a></p>`}`,
  });
}

function verdict({ tenants, isJournalRead }: FleetStatus): Html {
  const many = (...standings: readonly string[]) =>
    tenants.filter(({ standing }) => standings.includes(standing)).length;
  const unread = many("key-wrong", "unreachable", "unusable");
  const drifted = many("drifted");
  const behind = many("behind");
  const unknown = many("not-known");
  const never = many("never-rolled-out");
  const risky = tenants.filter(({ drift, unattributed = [] }) =>
    [...drift, ...unattributed].some(({ risks }) => risks !== undefined),
  ).length;
  const [mood, word]: [PageMood, string] =
    risky > 0
      ? ["danger", drifted > 0 ? "Risky drift" : "Risky entries"]
      : unread > 0
        ? ["danger", "Not all could be read"]
        : drifted > 0
          ? ["warning", "Drifted"]
          : unknown > 0
            ? ["warning", "Not known here"]
            : behind + never > 0
              ? ["running", behind > 0 ? "Behind their files" : "Never rolled out"]
              : ["none", "In step"];
  const facts = [
    ...(risky > 0 ? [`${counted(risky, "tenant")} with something risky that no file declares`] : []),
    ...(drifted > 0 ? [`${number(drifted)} drifted`] : []),
    ...(unknown > 0 ? [`${number(unknown)} of which it is not known here whether they drifted`] : []),
    ...(behind > 0 ? [`${number(behind)} behind`] : []),
    ...(never > 0 ? [`${number(never)} never rolled out`] : []),
    ...(unread > 0 ? [`${number(unread)} not read`] : []),
  ];
  const headline: Words =
    facts.length === 0
      ? say`All ${counted(tenants.length, "tenant")} hold what their files declare.`
      : [`${facts.join(", ")}, of ${counted(tenants.length, "tenant")}.`];
  const caveat = isJournalRead ? [] : [" There was no rollouts' journal."];
  return htmlVerdict(mood, word, [...headline, ...caveat]);
}

function tallies({ tenants, ends, reviews }: FleetStatus): Html {
  const over = ends.filter(({ isOver }) => isOver).length;
  const cell = (kind: string, href: string, count: number, word: string) =>
    html`<li class="${count === 0 ? "zero" : kind}"><a href="${href}"><b>${number(count)}</b>${word}</a></li>`;
  return html`<ul class="tallies">${STANDINGS.toReversed().map((standing) => {
    const count = tenants.filter((tenant) => tenant.standing === standing).length;
    return cell(`is-${standing}`, `tenants.html#${standing}`, count, STANDING_NAMES[standing]);
  })}${cell("", "attention.html", ends.length - over, "end soon")}${cell("", "attention.html", over, "ended")}${cell(
    "",
    "attention.html",
    reviews.length,
    "to review",
  )}</ul>`;
}

function search(): Html {
  return html`<form class="find" role="search"><label class="of" for="search">Where is it allowed or denied?</label>
<input type="search" id="search" placeholder="evil.example, ceo@partner.example, INC-1042" autocomplete="off" spellcheck="false" autocapitalize="off">
<div class="filters">${listChoices()}</div>
<p class="status" id="search-status" role="status"></p>${NO_SCRIPT}<div id="results"></div></form>`;
}

function charts({ runs, ages }: SiteData): Html | undefined {
  const times = runs.map(({ at }) => at);
  const over = (value: (run: SiteData["runs"][number]) => number) => runs.map(value);
  const drawn =
    runs.length < 2
      ? undefined
      : html`${lineChart("Tenants that are not in step", times, [
          { name: "drifted", values: over(({ standings }) => standings.drifted ?? 0) },
          {
            name: "behind",
            values: over(
              ({ standings: { behind = 0, "not-known": unknown = 0, "never-rolled-out": never = 0 } }) =>
                behind + unknown + never,
            ),
          },
          {
            name: "not read",
            values: over(
              ({ standings: { "key-wrong": key = 0, unreachable = 0, unusable = 0 } }) =>
                key + unreachable + unusable,
            ),
          },
        ])}${lineChart("What waits for a person", times, [
          { name: "to review", values: over(({ reviews }) => reviews) },
          { name: "ended, and in the files", values: over((run) => run.over) },
          { name: "end soon", values: over(({ ends }) => ends) },
        ])}`;
  const aged =
    ages === undefined
      ? undefined
      : barTable(
          "Age of the allows that tenants hold",
          AGES.map(({ name, days }, index) => ({ name, count: ages[index] ?? 0, isOld: days > 365 })),
        );
  if (drawn === undefined && aged === undefined) return undefined;
  return html`<section><h2>Over time</h2><div class="charts">${drawn ?? html`<p class="source">This is the first run that is kept here. From the next one on, what drifted and what waits is drawn over time.</p>`}${aged}</div></section>`;
}

/** Renders all points that need attention, in the words of `fleet status`. */
export function attentionPage(shell: Shell): string {
  const { sections } = toldStatus(shell.status);
  return shellPage(shell, {
    title: "To look at",
    path: "attention.html",
    main: html`<h1>To look at</h1>
<p class="source">What is the same in several tenants is told once. A tenant's own page has all of it.</p>
${sections.length === 0 ? html`<p>Nothing.</p>` : sections.map((one) => sectionHtml(one, shell.status))}`,
  });
}

/** Renders the page of an entry. The part of its URL after the `#` selects the entry. */
export function entryPage(shell: Shell): string {
  return shellPage(shell, {
    title: "Entry",
    path: "entry.html",
    main: html`<p class="eyebrow">Entry</p>
<h1 id="entry">Entry</h1>
<p class="status" id="entry-status" role="status"></p>${NO_SCRIPT}
<div id="declarations"></div>`,
  });
}
