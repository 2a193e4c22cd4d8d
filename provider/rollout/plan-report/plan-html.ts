import { changesHtml, guardsHtml, PLAN_PAGE_STYLE, talliesHtml } from "../../plan/render/html";
import { LOOSENED } from "../../plan/render/plan-words";
import { htmlPage, htmlVerdict } from "../../render/html-page";
import { type Html, html, htmlWords } from "../../render/html-text";
import { join, number, say, type Words } from "../../render/words";
import { keyRoutes, routeWords } from "../report/key-routes";
import { looseningWords, sharedLoosenings } from "../report/loosened";
import { type ShownPlan, toldWhole } from "./told-whole";

/**
 * Renders the plan of all tenants as an HTML page: a self-contained file without scripts or network requests. Each change lists its
 * tenants, and the page names all tenants.
 */
export function wholePlanHtml(input: ShownPlan): string {
  const { report, whole } = input;
  const view = toldWhole(input);
  const overrides = sharedLoosenings(report.tenants).map(looseningWords);
  const keyLines = keyRoutes(report.tenants).map((route) => routeWords(route, report.tenants.length));
  return htmlPage({
    title: `Plan of ${report.source}: ${view.verdict}`,
    style: PLAN_PAGE_STYLE,
    body: html`<header>
<p class="eyebrow">Email security plan</p>
<h1>${htmlWords(view.title)}</h1>
<p class="source">${htmlWords(view.mail)}</p>
</header>
<main>
${htmlVerdict(view.mood, view.verdict, view.headline)}
${talliesHtml(view.tallies)}
${guardsHtml(view.guards)}
${renderAside("Rolled back before, and planned again", view.again, true)}
${renderAside(
  "Can't be planned",
  view.failures.map(({ title, facts }) => say`${title}. ${join(facts, " ")}`),
  true,
)}
${renderAside("Skipped", view.skipped, true)}
${renderAside(LOOSENED, overrides, true)}
${renderAside("What the mail does not tell", view.missing, true)}
${changesHtml(whole, "A plan of one tenant alone (`rollout --only`) has all of its own")}
${renderAside("Reverted", view.drift, true)}
${renderAside(view.leftTitle, view.left, true)}
${renderAside(
  "Each tenant",
  view.tenants.map(({ words }) => words),
  false,
  report.tenants.length,
)}
${whole.groups.all.map(({ name, tenants }) =>
  renderAside(
    `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    tenants.map((tenantName): Words => [{ given: tenantName }]),
  ),
)}
${renderAside("Waves", view.waves)}
${renderAside("Keys", keyLines)}
</main>
<footer>
<p>Digest <code>${report.digest}</code></p>
</footer>`,
  });
}

function renderAside(title: string, lines: readonly Words[], isOpen = false, count = lines.length): Html | undefined {
  if (lines.length === 0) return undefined;
  return html`<details class="aside"${isOpen ? html` open` : ""}><summary><h2>${title}</h2> <span class="n">${number(
    count,
  )}</span></summary><div class="body"><ul>${lines.map((text) => html`<li>${htmlWords(text)}</li>\n`)}</ul></div></details>`;
}
