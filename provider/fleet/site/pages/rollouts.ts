import { type Html, html, htmlWords } from "../../../render/html-text";
import { counted, given, join, number, say, sentence, type Words } from "../../../render/words";
import { sharedChanges } from "../../../rollout/history/change-words";
import type { RecentRollouts } from "../../../rollout/history/recent-rollouts";
import { between, duration } from "../../../rollout/model/duration";
import type { ShownRollout } from "../../../rollout/model/history-schema";
import type { TenantReport } from "../../../rollout/model/rollout-report";
import { taskWords } from "../../../rollout/report/told-rollout";
import { excerpt } from "../../../settings/text";
import { rolloutPage } from "./paths";
import {
  changeHtml,
  commitWords,
  countWords,
  PageLinks,
  plannedBy,
  prunedWords,
  rolloutState,
  startWords,
  timeline,
} from "./rollout-parts";
import { type Shell, shellPage } from "./shell";

/**
 * Renders the newest rollouts, each with its first tenants and changes, and its waves.
 *
 * @param tenants the names of the tenants that have a page.
 */
export function rolloutsPage(layout: Shell, recent: RecentRollouts | undefined, tenants: ReadonlySet<string>): string {
  const { rollouts = [], older = 0 } = recent ?? {};
  const links = new PageLinks(rollouts, tenants);
  return shellPage(layout, {
    title: "Rollouts",
    path: "rollouts.html",
    main: html`<h1>Rollouts</h1>
<p class="source">${
      recent === undefined
        ? "There was no rollout journal where the site was made."
        : rollouts.length === 0
          ? "The journal has no rollout of this project."
          : "The newest come first. Each has a page with all its tenants and changes."
    }</p>
${rollouts.map((details) => renderRolloutSummary(details, links))}
${older > 0 ? html`<p class="source">and ${counted(older, "older rollout")}; <code>rollout history</code> lists them</p>` : ""}`,
  });
}

/** The maximum number of tenants and changes of a rollout in the list. Its page has all of them. */
const MAX_TENANTS = 8;
const MAX_CHANGES = 3;

function renderRolloutSummary(details: ShownRollout, links: PageLinks): Html {
  const { report } = details;
  const { id, reason, counts, tenants } = report;
  const names = tenants.toSorted((one, other) => rankTenant(one) - rankTenant(other)).map(({ name }) => name);
  const hiddenCount = names.length - MAX_TENANTS;
  const prunedText = prunedWords(details);
  return html`<article class="rollout"><h2>${links.rollout(id)} ${rolloutState(report)}</h2>
<p class="facts">${htmlWords(join(formatRolloutFacts(details), " · "))}</p>${
    reason === undefined ? "" : html`<p>${htmlWords([sentence(excerpt(reason, 500))])}</p>`
  }${links.rollbacks(report)}
<p>${htmlWords(countWords(counts, "No tenants"))}${names.length === 0 ? "" : ": "}${links.tenants(names.slice(0, MAX_TENANTS))}${
    hiddenCount > 0 ? html` <a href="${rolloutPage(id)}#tenants">and ${number(hiddenCount)} more</a>` : ""
  }</p>
${renderFirstChanges(details)}${prunedText === undefined ? "" : html`<p class="facts">${htmlWords(prunedText)}</p>`}
${timeline(report)}</article>
`;
}

/** The failed tenants come first, and the unchanged ones last. */
function rankTenant({ state }: TenantReport): number {
  return state === "failed" ? 0 : state === "unchanged" ? 2 : 1;
}

function formatRolloutFacts(details: ShownRollout): readonly Words[] {
  const { startedAt, finishedAt, source, task } = details.report;
  const durationMs = between(startedAt, finishedAt);
  const [commit, author] = [commitWords(details, 12), plannedBy(details)];
  return [
    say`begun ${startWords(details)}`,
    ...(durationMs === undefined ? [] : [say`took ${duration(durationMs)}`]),
    ...(author === undefined ? [] : [say`planned by ${given(author)}`]),
    ...(commit === undefined ? [] : [say`commit ${commit}`]),
    [given(excerpt(source, 200))],
    ...taskWords(task),
  ];
}

function renderFirstChanges({ report: { id }, tenants }: ShownRollout): Html | undefined {
  const sharedList = sharedChanges(tenants);
  if (sharedList.length === 0) return undefined;
  const hiddenCount = sharedList.length - MAX_CHANGES;
  return html`<ul class="edits">${sharedList
    .slice(0, MAX_CHANGES)
    .map(({ change, names }) => changeHtml(change, html`in ${counted(names.length, "tenant")}`))}${
    hiddenCount > 0
      ? html`<li><a href="${rolloutPage(id)}#changes">and ${counted(hiddenCount, "more change")}</a></li>`
      : ""
  }</ul>`;
}
