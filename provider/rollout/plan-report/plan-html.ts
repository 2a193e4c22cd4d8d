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
export function wholePlanHtml(shown: ShownPlan): string {
  const { report, whole } = shown;
  const told = toldWhole(shown);
  const looser = sharedLoosenings(report.tenants).map(looseningWords);
  const keys = keyRoutes(report.tenants).map((route) => routeWords(route, report.tenants.length));
  return htmlPage({
    title: `Plan of ${report.source}: ${told.verdict}`,
    style: PLAN_PAGE_STYLE,
    body: html`<header>
<p class="eyebrow">Email security plan</p>
<h1>${htmlWords(told.title)}</h1>
<p class="source">${htmlWords(told.mail)}</p>
</header>
<main>
${htmlVerdict(told.mood, told.verdict, told.headline)}
${talliesHtml(told.tallies)}
${guardsHtml(told.guards)}
${aside("Rolled back before, and planned again", told.again, true)}
${aside(
  "Can't be planned",
  told.failures.map(({ title, facts }) => say`${title}. ${join(facts, " ")}`),
  true,
)}
${aside("Skipped", told.skipped, true)}
${aside(LOOSENED, looser, true)}
${aside("What the mail does not tell", told.missing, true)}
${changesHtml(whole, "A plan of one tenant alone (`rollout --only`) has all of its own")}
${aside("Reverted", told.drift, true)}
${aside(told.leftTitle, told.left, true)}
${aside(
  "Each tenant",
  told.tenants.map(({ words }) => words),
  false,
  report.tenants.length,
)}
${whole.groups.all.map(({ name, tenants }) =>
  aside(
    `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    tenants.map((one): Words => [{ given: one }]),
  ),
)}
${aside("Waves", told.waves)}
${aside("Keys", keys)}
</main>
<footer>
<p>Digest <code>${report.digest}</code></p>
</footer>`,
  });
}

function aside(
  title: string,
  lines: readonly Words[],
  isOpen = false,
  count = lines.length,
): Html | undefined {
  if (lines.length === 0) return undefined;
  return html`<details class="aside"${isOpen ? html` open` : ""}><summary><h2>${title}</h2> <span class="n">${number(
    count,
  )}</span></summary><div class="body"><ul>${lines.map((words) => html`<li>${htmlWords(words)}</li>\n`)}</ul></div></details>`;
}
