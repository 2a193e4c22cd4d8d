import { capitalize } from "../../model/text";
import { OVERRIDES_HEADING } from "../../plan/render/plan-descriptions";
import { PLAN_PAGE_STYLE, renderBlockersHtml, renderChangesHtml, renderTalliesHtml } from "../../plan/render/plan-html";
import { renderHtmlPage, renderStatusBanner } from "../../render/html-page";
import { type Html, html, renderHtmlText } from "../../render/html-text";
import { formatNumber, joinTexts, type SafeText, safeText } from "../../render/safe-text";
import { formatKeyRoute, groupKeyRoutes } from "../report/key-routes";
import { formatOverride, groupOverrides } from "../report/shared-overrides";
import { buildPlanSummaryView, type PlanSummaryInput } from "./plan-summary-view";

/**
 * Renders the plan of all tenants as a self-contained HTML page, without scripts or network requests. Each change names its tenants, and a
 * section lists all tenants.
 */
export function renderCombinedPlanHtml(input: PlanSummaryInput): string {
  const { report, combinedPlan } = input;
  const view = buildPlanSummaryView(input);
  const overrides = groupOverrides(report.tenants).map(formatOverride);
  const keyLines = groupKeyRoutes(report.tenants).map((route) => formatKeyRoute(route, report.tenants.length));
  return renderHtmlPage({
    title: `Plan of ${report.source}: ${view.verdict}`,
    style: PLAN_PAGE_STYLE,
    body: html`<header>
<p class="eyebrow">Email security plan</p>
<h1>${renderHtmlText(view.title)}</h1>
<p class="source">${renderHtmlText(view.mailCoverage)}</p>
</header>
<main>
${renderStatusBanner(view.status, view.verdict, view.headline)}
${renderTalliesHtml(view.tallies)}
${renderBlockersHtml(view.blockers)}
${renderDetails("Rolled back before and planned again", view.reappliedChanges, true)}
${renderDetails(
  "Failed to plan",
  view.failures.map(({ title, facts }) => safeText`${title}. ${joinTexts(facts, " ")}`),
  true,
)}
${renderDetails("Skipped", view.skipped, true)}
${renderDetails(OVERRIDES_HEADING, overrides, true)}
${renderDetails("Missing mail evidence", view.missingEvidence, true)}
${renderChangesHtml(combinedPlan, "`rollout --only TENANT` plans one tenant and shows all of its changes")}
${renderDetails("Reverted", view.drift, true)}
${renderDetails(view.unrevertedTitle, view.unrevertedChanges, true)}
${renderDetails(
  "Each tenant",
  view.tenantLines.map(({ text }) => text),
  false,
  report.tenants.length,
)}
${combinedPlan.groups.groups.map(({ name, tenants }) =>
  renderDetails(
    capitalize(name),
    tenants.map((tenantName): SafeText => [{ untrusted: tenantName }]),
  ),
)}
${renderDetails("Waves", view.waves)}
${renderDetails("Keys", keyLines)}
</main>
<footer>
<p>Digest <code>${report.digest}</code></p>
</footer>`,
  });
}

function renderDetails(
  title: string,
  lines: readonly SafeText[],
  isOpen = false,
  count = lines.length,
): Html | undefined {
  if (lines.length === 0) return undefined;
  return html`<details class="aside"${isOpen ? html` open` : ""}><summary><h2>${title}</h2> <span class="n">${formatNumber(
    count,
  )}</span></summary><div class="body"><ul>${lines.map((text) => html`<li>${renderHtmlText(text)}</li>\n`)}</ul></div></details>`;
}
