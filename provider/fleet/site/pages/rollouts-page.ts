import { excerpt } from "../../../model/text";
import { type Html, html, renderHtmlText } from "../../../render/html-text";
import {
  formatCount,
  formatNumber,
  joinTexts,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../../render/safe-text";
import { groupChanges } from "../../../rollout/history/grouped-changes";
import type { RecentRollouts } from "../../../rollout/history/recent-rollouts";
import { formatDuration, getElapsedMs } from "../../../rollout/model/duration";
import type { RolloutDetails } from "../../../rollout/model/history-schema";
import type { TenantReport } from "../../../rollout/model/rollout-report";
import { describeRolloutMode } from "../../../rollout/report/rollout-report-view";
import { type PageLayout, renderPage } from "./page-layout";
import { getRolloutPagePath } from "./paths";
import {
  describeCommit,
  describePruning,
  describeStart,
  describeTenantCounts,
  getPlanAuthor,
  PageLinks,
  renderChange,
  renderRolloutState,
  renderTimeline,
} from "./rollout-parts";

/** Renders the newest rollouts, each with its first tenants and changes, and its waves. */
export function renderRolloutsPage(
  layout: PageLayout,
  recent: RecentRollouts | undefined,
  tenants: ReadonlySet<string>,
): string {
  const { rollouts = [], older = 0 } = recent ?? {};
  const links = new PageLinks(rollouts, tenants);
  return renderPage(layout, {
    title: "Rollouts",
    path: "rollouts.html",
    main: html`<h1>Rollouts</h1>
<p class="source">${
      recent === undefined
        ? "There was no rollout journal when the site was created."
        : rollouts.length === 0
          ? "The journal has no rollout of this project."
          : "The newest come first. Each has a page with all its tenants and changes."
    }</p>
${rollouts.map((details) => renderRolloutSummary(details, links))}
${older > 0 ? html`<p class="source">and ${formatCount(older, "older rollout")}; <code>rollout history</code> lists them</p>` : ""}`,
  });
}

/** The maximum number of tenants and changes of a rollout in the list. Its page has all of them. */
const MAX_TENANTS = 8;
const MAX_CHANGES = 3;

function renderRolloutSummary(details: RolloutDetails, links: PageLinks): Html {
  const { report } = details;
  const { id, reason, counts, tenants } = report;
  const names = tenants.toSorted((a, b) => rankTenant(a) - rankTenant(b)).map(({ name }) => name);
  const hiddenCount = names.length - MAX_TENANTS;
  const prunedText = describePruning(details);
  return html`<article class="rollout"><h2>${links.renderRollout(id)} ${renderRolloutState(report)}</h2>
<p class="facts">${renderHtmlText(joinTexts(formatRolloutFacts(details), " · "))}</p>${
    reason === undefined ? "" : html`<p>${renderHtmlText([untrustedSentence(excerpt(reason, 500))])}</p>`
  }${links.renderRollbacks(report)}
<p>${renderHtmlText(describeTenantCounts(counts, "No tenants"))}${names.length === 0 ? "" : ": "}${links.renderTenants(names.slice(0, MAX_TENANTS))}${
    hiddenCount > 0 ? html` <a href="${getRolloutPagePath(id)}#tenants">and ${formatNumber(hiddenCount)} more</a>` : ""
  }</p>
${renderFirstChanges(details)}${prunedText === undefined ? "" : html`<p class="facts">${renderHtmlText(prunedText)}</p>`}
${renderTimeline(report)}</article>
`;
}

/** Ranks the failed tenants first, and the unchanged ones last. */
function rankTenant({ state }: TenantReport): number {
  return state === "failed" ? 0 : state === "unchanged" ? 2 : 1;
}

function formatRolloutFacts(details: RolloutDetails): readonly SafeText[] {
  const { startedAt, finishedAt, source, mode } = details.report;
  const durationMs = getElapsedMs(startedAt, finishedAt);
  const [commit, author] = [describeCommit(details, 12), getPlanAuthor(details)];
  return [
    safeText`started ${describeStart(details)}`,
    ...(durationMs === undefined ? [] : [safeText`took ${formatDuration(durationMs)}`]),
    ...(author === undefined ? [] : [safeText`planned by ${untrusted(author)}`]),
    ...(commit === undefined ? [] : [safeText`commit ${commit}`]),
    [untrusted(excerpt(source, 200))],
    ...describeRolloutMode(mode),
  ];
}

function renderFirstChanges({ report: { id }, tenants }: RolloutDetails): Html | undefined {
  const sharedList = groupChanges(tenants);
  if (sharedList.length === 0) return undefined;
  const hiddenCount = sharedList.length - MAX_CHANGES;
  return html`<ul class="edits">${sharedList
    .slice(0, MAX_CHANGES)
    .map(({ change, names }) => renderChange(change, html`in ${formatCount(names.length, "tenant")}`))}${
    hiddenCount > 0
      ? html`<li><a href="${getRolloutPagePath(id)}#changes">and ${formatCount(hiddenCount, "more change")}</a></li>`
      : ""
  }</ul>`;
}
