import { htmlVerdict } from "../../../render/html-page";
import { type Html, html, htmlWords } from "../../../render/html-text";
import { counted, given, minute, number, say, sentence, type Words } from "../../../render/words";
import { type SharedChange, sharedChanges } from "../../../rollout/history/change-words";
import { happenedLine } from "../../../rollout/history/shown-page";
import { between, duration } from "../../../rollout/model/duration";
import type { KeptChange, ShownRollout } from "../../../rollout/model/history-schema";
import type { RolloutReport, TenantReport } from "../../../rollout/model/rollout-report";
import { skippedWords } from "../../../rollout/report/skip-words";
import { type RolloutWords, rolloutWords } from "../../../rollout/report/state-words";
import { plannedText, taskWords, toldRollout, touchedWords } from "../../../rollout/report/told-rollout";
import { excerpt } from "../../../settings/text";
import { rolloutPage } from "./paths";
import { changeHtml, commitWords, PageLinks, plannedBy, prunedWords, startWords, timeline } from "./rollout-parts";
import { type Shell, shellPage } from "./shell";

/** The data of a rollout's page. */
export interface RolloutPage {
  readonly shown: ShownRollout;
  /** All rollouts that have a page. */
  readonly rollouts: readonly ShownRollout[];
  /** The names of the tenants that have a page. */
  readonly tenants: ReadonlySet<string>;
}

/** Renders a rollout: its outcome, its waves, its failures, each change, each tenant, and its events. */
export function rolloutHtml(layout: Shell, { shown, rollouts, tenants }: RolloutPage): string {
  const { report } = shown;
  const links = new PageLinks(rollouts, tenants, "../");
  const { mood, verdict, headline, standing, tallies } = toldRollout(report);
  const prunedText = prunedWords(shown);
  return shellPage(layout, {
    title: `Rollout ${report.id}`,
    path: rolloutPage(report.id),
    main: html`<p class="eyebrow">Rollout</p>
<h1><bdi>${excerpt(report.id)}</bdi></h1>
${htmlVerdict(mood, verdict, headline)}
${standing.length === 0 ? "" : html`<p>${htmlWords(standing)}</p>`}${links.rollbacks(report)}${prunedText === undefined ? "" : html`<p>${htmlWords(prunedText)}</p>`}
<ul class="tallies">${tallies.map(
      ({ state, sign, word, count }) =>
        html`<li class="is-${state}"><b><i>${sign}</i> ${number(count)}</b>${word}</li>`,
    )}</ul>
<div class="card"><dl>${buildRolloutFacts(shown).map(([label, text]) => html`<dt>${label}</dt><dd>${htmlWords(text)}</dd>`)}</dl></div>
<section><h2>Waves</h2>${timeline(report)}</section>
${renderFailures(report, links)}${renderSkipped(report)}
${renderRolloutChanges(shown, links)}
${renderUnreverted(report, links)}
${renderTenants(report, links)}
<section><h2>Timeline</h2><ul class="log">${shown.happened.map((one) => {
      const { mark, words } = happenedLine(one);
      return html`<li><time>${mark}</time> <span>${htmlWords(words)}</span></li>`;
    })}</ul></section>`,
  });
}

function buildRolloutFacts(details: ShownRollout): readonly (readonly [label: string, words: Words])[] {
  const { report, today } = details;
  const durationMs = between(report.startedAt, report.finishedAt);
  const [commit, by, [task]] = [commitWords(details), plannedBy(details), taskWords(report.task)];
  const facts: readonly (readonly [label: string, words: Words | undefined])[] = [
    ["Begun", startWords(details)],
    ["Finished", report.finishedAt === undefined ? undefined : minute(report.finishedAt)],
    ["Took", durationMs === undefined ? undefined : [duration(durationMs)]],
    ["Planned by", by === undefined ? undefined : [given(by)]],
    ["Commit", commit],
    ["Task", task],
    ["Targets file", [given(excerpt(report.source, 300))]],
    ["Expiry as of", [given(excerpt(today))]],
    ["Digest", report.digest === "" ? undefined : [given(excerpt(report.digest))]],
  ];
  return facts.flatMap(([label, text]) => (text === undefined ? [] : [[label, text] as const]));
}

function renderFailures({ tenants }: RolloutReport, links: PageLinks): Html | undefined {
  const failed = tenants.filter(({ state }) => state === "failed");
  if (failed.length === 0) return undefined;
  return html`<section><h2>Failures <span class="n">${number(failed.length)}</span></h2><ul class="points">${failed.map(
    (tenant) => {
      const { name, wave, error } = tenant;
      const touchedText = touchedWords(tenant);
      return html`<li><b>${links.tenants([name])}</b><p>Wave <bdi>${excerpt(wave)}</bdi></p>${
        error === undefined
          ? ""
          : html`<p class="why">${htmlWords([sentence(error.message)])} <code>${excerpt(error.code)}</code></p>${
              touchedText.length === 0 ? "" : html`<p>${htmlWords(touchedText)}</p>`
            }<p>${htmlWords(say`What to do: ${sentence(error.advice)}`)}</p>`
      }</li>
`;
    },
  )}</ul></section>
`;
}

function renderSkipped({ skipped = [] }: RolloutReport): Html | undefined {
  if (skipped.length === 0) return undefined;
  return html`<section><h2>Skipped <span class="n">${number(skipped.length)}</span></h2><ul class="points">${skipped.map(
    (one) => html`<li>${htmlWords(skippedWords(one))}</li>`,
  )}</ul></section>`;
}

/** The maximum number of changes on the page of a rollout. */
const MAX_CHANGES = 500;

function renderRolloutChanges({ report, tenants }: ShownRollout, links: PageLinks): Html {
  const changedTenants = new Set(report.tenants.filter(({ state }) => state === "done").map(({ name }) => name));
  const [appliedChanges, otherChanges] = [true, false].map((isChanged) =>
    sharedChanges(tenants.filter(({ name }) => changedTenants.has(name) === isChanged)),
  );
  return html`<section id="changes"><h2>Changes</h2>${
    changedTenants.size === 0 ? html`<p>No tenant was changed.</p>` : renderChangeList(appliedChanges ?? [], links)
  }</section>${
    (otherChanges ?? []).length === 0
      ? ""
      : html`<section><h2>Changes not made, or only in part</h2>${renderChangeList(otherChanges ?? [], links)}</section>`
  }`;
}

function renderChangeList(shared: readonly SharedChange<KeptChange>[], links: PageLinks): Html {
  if (shared.length === 0) return html`<p>The journal has no change of these tenants.</p>`;
  const hiddenCount = shared.length - MAX_CHANGES;
  return html`<ul class="edits">${shared.slice(0, MAX_CHANGES).map(({ change, names }) => changeHtml(change, renderTenantNames(names, links)))}</ul>${
    hiddenCount > 0
      ? html`<p class="source">and ${number(hiddenCount)} more, none more dangerous; <code>rollout show</code> lists them</p>`
      : ""
  }`;
}

/** The maximum number of a change's tenants to show without expanding the list. */
const MAX_INLINE_NAMES = 8;

function renderTenantNames(names: readonly string[], links: PageLinks): Html {
  if (names.length <= MAX_INLINE_NAMES) return html`in ${links.tenants(names)}`;
  return html`<details class="names"><summary>in ${counted(names.length, "tenant")}</summary>${links.tenants(names)}</details>`;
}

/** The maximum number of lines for each tenant. */
const MAX_UNREVERTED = 10;

/** Renders the differences that the plans leave alone. */
function renderUnreverted({ tenants }: RolloutReport, links: PageLinks): Html | undefined {
  const tenantsWithUnreverted = tenants.filter(({ left = [] }) => left.length > 0);
  if (tenantsWithUnreverted.length === 0) return undefined;
  return html`<section><h2>Left as it was <span class="n">${number(tenantsWithUnreverted.length)}</span></h2><ul class="points">${tenantsWithUnreverted.map(
    ({ name, left = [] }) =>
      html`<li><b>${links.tenants([name])}</b>${left.slice(0, MAX_UNREVERTED).map((one) => html`<p>${htmlWords([sentence(excerpt(one, 500))])}</p>`)}</li>
`,
  )}</ul></section>`;
}

function renderTenants(report: RolloutReport, links: PageLinks): Html {
  const { tenants } = report;
  const stateLabels = rolloutWords(report);
  const unchanged = tenants.filter(({ state }) => state === "unchanged").map(({ name }) => name);
  const changedTenants = tenants.filter(({ state }) => state !== "unchanged");
  return html`<section id="tenants"><h2 id="outcomes">Tenants <span class="n">${number(tenants.length)}</span></h2>${
    changedTenants.length === 0
      ? ""
      : html`<div class="table outcomes" tabindex="0" role="region" aria-labelledby="outcomes"><table class="rows"><thead><tr>${[
          "Tenant",
          "Wave",
          "Outcome",
          "Changes",
          "Took",
        ].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>
${changedTenants.map((tenant) => renderTenantRow(tenant, stateLabels, links))}</tbody></table></div>`
  }${
    unchanged.length === 0
      ? ""
      : html`<p>Unchanged, as the plan found them: ${number(unchanged.length)}</p><p class="names">${links.tenants(unchanged)}</p>`
  }</section>`;
}

function renderTenantRow(tenant: TenantReport, { tenants: stateLabels }: RolloutWords, links: PageLinks): Html {
  const { name, wave, state, error, durationMs } = tenant;
  const changes = plannedText(tenant);
  return html`<tr><td data-label="Tenant">${links.tenants([name])}</td><td data-label="Wave"><bdi>${excerpt(wave)}</bdi></td><td data-label="Outcome"><span><span class="state is-${state}">${stateLabels[state].word}</span>${
    error === undefined ? "" : html` <code>${excerpt(error.code)}</code>`
  }</span></td><td data-label="Changes">${changes === "" ? "none" : changes}</td><td data-label="Took">${durationMs === undefined ? "–" : duration(durationMs)}</td></tr>
`;
}
