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
export function rolloutsPage(
  shell: Shell,
  recent: RecentRollouts | undefined,
  tenants: ReadonlySet<string>,
): string {
  const { rollouts = [], older = 0 } = recent ?? {};
  const links = new PageLinks(rollouts, tenants);
  return shellPage(shell, {
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
${rollouts.map((shown) => articleHtml(shown, links))}
${older > 0 ? html`<p class="source">and ${counted(older, "older rollout")}; <code>rollout history</code> lists them</p>` : ""}`,
  });
}

/** The maximum number of tenants and changes of a rollout in the list. Its page has all of them. */
const TENANTS = 8;
const CHANGES = 3;

function articleHtml(shown: ShownRollout, links: PageLinks): Html {
  const { report } = shown;
  const { id, reason, counts, tenants } = report;
  const names = tenants.toSorted((one, other) => rankOf(one) - rankOf(other)).map(({ name }) => name);
  const more = names.length - TENANTS;
  const pruned = prunedWords(shown);
  return html`<article class="rollout"><h2>${links.rollout(id)} ${rolloutState(report)}</h2>
<p class="facts">${htmlWords(join(factsOf(shown), " · "))}</p>${
    reason === undefined ? "" : html`<p>${htmlWords([sentence(excerpt(reason, 500))])}</p>`
  }${links.rollbacks(report)}
<p>${htmlWords(countWords(counts, "No tenants"))}${names.length === 0 ? "" : ": "}${links.tenants(names.slice(0, TENANTS))}${
    more > 0 ? html` <a href="${rolloutPage(id)}#tenants">and ${number(more)} more</a>` : ""
  }</p>
${changesHtml(shown)}${pruned === undefined ? "" : html`<p class="facts">${htmlWords(pruned)}</p>`}
${timeline(report)}</article>
`;
}

/** The failed tenants come first, and the unchanged ones last. */
function rankOf({ state }: TenantReport): number {
  return state === "failed" ? 0 : state === "unchanged" ? 2 : 1;
}

function factsOf(shown: ShownRollout): readonly Words[] {
  const { startedAt, finishedAt, source, task } = shown.report;
  const took = between(startedAt, finishedAt);
  const [commit, by] = [commitWords(shown, 12), plannedBy(shown)];
  return [
    say`begun ${startWords(shown)}`,
    ...(took === undefined ? [] : [say`took ${duration(took)}`]),
    ...(by === undefined ? [] : [say`planned by ${given(by)}`]),
    ...(commit === undefined ? [] : [say`commit ${commit}`]),
    [given(excerpt(source, 200))],
    ...taskWords(task),
  ];
}

function changesHtml({ report: { id }, tenants }: ShownRollout): Html | undefined {
  const shared = sharedChanges(tenants);
  if (shared.length === 0) return undefined;
  const more = shared.length - CHANGES;
  return html`<ul class="edits">${shared
    .slice(0, CHANGES)
    .map(({ change, names }) => changeHtml(change, html`in ${counted(names.length, "tenant")}`))}${
    more > 0
      ? html`<li><a href="${rolloutPage(id)}#changes">and ${counted(more, "more change")}</a></li>`
      : ""
  }</ul>`;
}
