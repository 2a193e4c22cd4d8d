import { describeHidden } from "../../model/danger";
import { decodePunycode } from "../../model/decode-punycode";
import { DETAIL_NAMES } from "../../model/entry-fields";
import { getKeys } from "../../model/get-keys";
import { capitalize, excerpt } from "../../model/text";
import { renderFilterOptions } from "../../render/html-filters";
import { renderHtmlPage, renderStatusBanner } from "../../render/html-page";
import { PLAN_STYLE } from "../../render/html-style";
import { Html, html, renderHtmlText, renderUntrustedHtml } from "../../render/html-text";
import { renderWithinLimit } from "../../render/render-within-limit";
import {
  formatCount,
  formatDay,
  formatNumber,
  type SafeText,
  safeText,
  toSingleLine,
  untrusted,
} from "../../render/safe-text";
import { type Evidence, getExpiredTransition, type NamedCount, type Plan, type RecipientCount } from "../plan";
import type { ChangeDetail } from "./change-details";
import {
  describeExpired,
  describeFinding,
  describeHiddenUnmanaged,
  describeIdentifier,
  describeLine,
  describeOverride,
  describeUnmanaged,
  describeValue,
  OVERRIDES_HEADING,
} from "./plan-descriptions";
import { buildPlanView, type ChangeCount, type ChangeView, countChangeKinds, type PlanView } from "./plan-view";

/** Renders a plan as a self-contained HTML page without scripts or requests, for any screen width, light and dark mode, and print. */
export function renderPlanHtml(plan: Plan): string {
  const view = buildPlanView(plan);
  return renderHtmlPage({
    title: `Plan for ${plan.tenant.name}: ${view.verdict}`,
    style: PLAN_PAGE_STYLE,
    body: html`<header>
<p class="eyebrow">Email security plan</p>
<h1><bdi>${plan.tenant.name}</bdi> <span class="host">at <bdi>${plan.tenant.host}</bdi></span></h1>
<p class="source">${renderHtmlText(view.source)}</p>
</header>
<main>
${renderStatusBanner(view.status, view.verdict, view.headline)}
${renderTalliesHtml(view.tallies)}
${renderBlockersHtml(view.blockers)}
${renderOverrides(view)}
${renderChangesHtml(view, "`--format json` shows all of them")}
${renderAsides(view)}
</main>
<footer>
${view.unmanagedNote.length === 0 ? "" : html`<p>${renderHtmlText(view.unmanagedNote)}</p>`}
<p>Digest <code>${plan.digest}</code></p>
</footer>`,
  });
}

/**
 * Renders the changes, dangerous ones first, with filters. The page needs {@link PLAN_PAGE_STYLE}.
 *
 * @param fullListHint a clause that says where to find all changes, if there are too many for a page.
 */
export function renderChangesHtml(
  view: Pick<PlanView, "dangers" | "accepted" | "warnings" | "others">,
  fullListHint: string,
): Html {
  const { dangers, accepted, warnings, others } = view;
  const allChanges = [...dangers, ...accepted, ...warnings, ...others];
  return html`${allChanges.length > FILTER_THRESHOLD ? renderFilters(view, allChanges) : ""}
${renderChangeGroup("Danger", "danger", dangers, fullListHint)}
${renderChangeGroup("Risk accepted", "accepted", accepted, fullListHint)}
${renderChangeGroup("Warnings", "warning", warnings, fullListHint)}
${renderChangeGroup("No risks found", "calm", others, fullListHint)}`;
}

const FILTER_THRESHOLD = 6;

export function renderTalliesHtml(totals: readonly ChangeCount[]): Html {
  const classes: Readonly<Record<string, string>> = { "+": "s-add", "~": "s-change", "-": "s-remove" };
  return html`<ul class="tallies">${totals.map(
    ({ symbol, word, count }) =>
      html`<li class="${classes[symbol] ?? ""}${count === 0 ? " zero" : ""}"><b>${symbol}${formatNumber(count)}</b>${word}</li>`,
  )}</ul>`;
}

export function renderBlockersHtml(blockers: Plan["blockers"]): Html | undefined {
  if (blockers.length === 0) return undefined;
  return html`<section><h2>Refused <span class="n">${blockers.length}</span></h2>${blockers.map(
    ({ code, message }) =>
      html`<div class="blocker"><h3>${code}</h3><pre>${message
        .split(/\r\n|[\r\n]/)
        .map((line, index) => [index > 0 ? new Html("\n") : "", line])}</pre></div>`,
  )}</section>`;
}

function renderOverrides({ overrides }: PlanView): Html | undefined {
  if (overrides.length === 0) return undefined;
  return html`<section><h2>${OVERRIDES_HEADING} <span class="n">${formatNumber(overrides.length)}</span></h2><ul class="overrides">${new Html(
    renderWithinLimit(
      "",
      [overrides.map((finding) => () => html`<li>${renderHtmlText(describeOverride(finding))}</li>`.toString())],
      MAX_ASIDE_BYTES,
      (rest) => html`<li>… and ${formatNumber(rest)} more; \`lint\` shows all of them</li>`.toString(),
    ),
  )}</ul></section>`;
}

const SEVERITY_LABELS = {
  danger: "Danger",
  accepted: "Risk accepted",
  warning: "Warnings",
  none: "No risks found",
} as const;
const LIST_LABELS = { allow: "Allow", deny: "Deny", vip: "VIP" } as const;

/** Renders radio buttons that drive the filters in the style sheet, because the page has no script. */
function renderFilters(
  view: Pick<PlanView, "dangers" | "accepted" | "warnings" | "others">,
  allChanges: readonly ChangeView[],
): Html {
  const severityCounts = {
    danger: view.dangers.length,
    accepted: view.accepted.length,
    warning: view.warnings.length,
    none: view.others.length,
  };
  const listCounts = { allow: 0, deny: 0, vip: 0 };
  for (const changeView of allChanges) for (const list of getChangeLists(changeView)) listCounts[list] += 1;
  return html`<div class="filters">${renderFilterOptions("severity", "Show", [
    { id: "only-any-severity", label: "All", count: allChanges.length },
    ...getKeys(SEVERITY_LABELS).map((name) => ({
      id: `only-${name}`,
      label: SEVERITY_LABELS[name],
      count: severityCounts[name],
    })),
  ])}${renderFilterOptions("list", "of", [
    { id: "only-any-list", label: "All lists", count: allChanges.length },
    ...getKeys(LIST_LABELS).map((name) => ({
      id: `only-${name}`,
      label: LIST_LABELS[name],
      count: listCounts[name],
    })),
  ])}</div>`;
}

export const PLAN_PAGE_STYLE = [
  PLAN_STYLE,
  ...getKeys(SEVERITY_LABELS).map(
    (name) => `body:has(#only-${name}:checked) .group:not(.of-${name}) { display: none; }`,
  ),
  ...getKeys(LIST_LABELS).map((name) => `body:has(#only-${name}:checked) .change:not(.in-${name}) { display: none; }`),
].join("\n");

/** Returns the lists of a card: both lists if the entry moves. */
function getChangeLists({ change }: ChangeView): (keyof typeof LIST_LABELS)[] {
  if (change.kind === "vip") return ["vip"];
  const lists = [change.before?.list, change.after?.list].filter((list) => list !== undefined);
  return [...new Set(lists)];
}

function renderChangeGroup(
  title: string,
  group: "danger" | "accepted" | "warning" | "calm",
  changeViews: readonly ChangeView[],
  fullListHint: string,
): Html | undefined {
  if (changeViews.length === 0) return undefined;
  const name = group === "calm" ? "none" : group;
  const isOpen = group !== "calm" && changeViews.length <= MAX_OPEN_CHANGES;
  const header = html`<section class="group of-${name}${changeViews.length > MANY_CHANGES ? " many" : ""}"><h2>${title} <span class="n">${formatNumber(changeViews.length)}</span></h2>
<ul class="changes">
`;
  const items = renderWithinLimit(
    header.toString(),
    [
      changeViews.map((changeView) => () => renderChangeItem(changeView, isOpen).toString()),
      changeViews.map((changeView) => () => renderChangeLine(changeView).toString()),
    ],
    MAX_GROUP_BYTES,
    (rest) => html`<li class="rest">${formatHidden(changeViews.slice(-rest), fullListHint)}</li>`.toString(),
  );
  return new Html(`${items}</ul></section>`);
}

/** The byte limit for a group of changes. Changes beyond it become lines, then a summary. */
const MAX_GROUP_BYTES = 2_500_000;
/** From this number on, the browser lays out only the visible changes, which is faster. */
const MANY_CHANGES = 200;
const MAX_OPEN_CHANGES = 50;

function formatHidden(rest: readonly ChangeView[], fullListHint: string): string {
  const kindTexts = countChangeKinds(rest).map(({ name, count }) => `${formatNumber(count)} ${name}`);
  return `… and ${formatNumber(rest.length)} more, which are not on this page: ${kindTexts.join(", ")}. ${fullListHint}.`;
}

function getChangeClasses(changeView: ChangeView): string {
  const { change, word } = changeView;
  return [
    "change",
    `is-${change.severity}`,
    `s-${word}`,
    ...getChangeLists(changeView).map((list) => `in-${list}`),
  ].join(" ");
}

/** Renders `+ add deny evil.example domain`. */
function renderChangeHeader({ change, symbol, word, list, kind }: ChangeView): Html {
  const unicode = decodePunycode(change.value);
  return html`<span class="operation"><i>${symbol}</i>${word}</span><span class="list">${list}</span><span class="subject"><code><bdi>${change.value}</bdi></code>${
    unicode === undefined ? "" : html` <span class="script">(<bdi>${unicode}</bdi>)</span>`
  }${kind.length > 0 ? html` <span class="kind">${renderHtmlText(kind)}</span>` : ""}</span>`;
}

function renderChangeItem(changeView: ChangeView, isOpen: boolean): Html {
  const { change, details } = changeView;
  const leadDetail = details.find(({ label, isRisk }) => label === "mail" && isRisk === true);
  return html`<li class="${getChangeClasses(changeView)}"><details${isOpen ? new Html(" open") : ""}><summary>${renderChangeHeader(changeView)}${
    isOpen ? "" : renderBrief(changeView)
  }</summary><div class="body">${leadDetail === undefined ? "" : html`<p class="lead">${renderHtmlText(leadDetail.text)}</p>`}${
    change.evidence === undefined ? "" : renderEvidence(change.evidence)
  }<dl>${details.filter((fact) => fact !== leadDetail && !CHART_LABELS.has(fact.label)).map(renderDetail)}</dl>${renderExamples(
    changeView,
  )}</div></details></li>
`;
}

/** Renders a change as a line, if there is no space for its details. */
function renderChangeLine(changeView: ChangeView): Html {
  return html`<li class="${getChangeClasses(changeView)}"><p class="line">${renderChangeHeader(changeView)}${renderBrief(changeView)}</p></li>
`;
}

/** Renders the summary of a folded change: risks in a few words, who requested it, and its expiry. */
function renderBrief({ details }: ChangeView): Html {
  const briefDetails = details.filter(({ label }) => BRIEF_LABELS.has(label));
  return html`<span class="note">${briefDetails.map(
    ({ label, text }) => html`<span class="of-${label}">${renderHtmlText(shortenText(text))}</span>`,
  )}</span>`;
}

const BRIEF_LABELS: ReadonlySet<string> = new Set(["risk", ...DETAIL_NAMES, "mail", "approval"]);

/** Labels that the charts replace. */
const CHART_LABELS: ReadonlySet<string> = new Set(["actions"]);

function shortenText(text: SafeText): SafeText {
  return text.map((label) =>
    typeof label === "string" ? label : { ...label, untrusted: excerpt(toSingleLine(label.untrusted), 160) },
  );
}

function renderDetail({ label, text }: ChangeDetail): Html {
  const name = capitalize(label);
  return html`<dt>${name}</dt><dd${label === "comment" ? new Html(' class="comment"') : ""}>${renderHtmlText(text)}</dd>`;
}

function renderEvidence({
  threats,
  verdicts,
  actions,
  recipients,
  recipientCount,
  senders,
  senderCount,
}: Evidence): Html | undefined {
  if (threats === 0) return undefined;
  return html`<div class="charts">${renderChart("Verdicts", verdicts)}${renderChart("Actions", actions)}${renderPeople(
    "To",
    recipients,
    recipientCount,
  )}${
    senderCount > 0
      ? renderPeople(
          "From",
          senders.map(({ name, count }): RecipientCount => ({ email: name, isVip: false, count })),
          senderCount,
        )
      : ""
  }</div>`;
}

function renderChart(title: string, counts: readonly NamedCount[]): Html | undefined {
  if (counts.length === 0) return undefined;
  const renderBarPart = ({ name, count }: NamedCount) =>
    html`<span class="${getColorClass(name)}" style="flex-grow:${count}"></span>`;
  const renderLegendItem = ({ name, count }: NamedCount) =>
    html`<li class="${getColorClass(name)}">${formatNumber(count)} ${renderHtmlText(describeIdentifier(name))}</li>`;
  return html`<div class="chart"><h3>${title}</h3><div class="bar" aria-hidden="true">${counts.map(renderBarPart)}</div><ul class="legend">${counts.map(renderLegendItem)}</ul></div>`;
}

function getColorClass(name: string): string {
  return Object.hasOwn(COLORS, name) ? `c-${COLORS[name]}` : "c-other";
}

/** Colours of verdicts and actions: red marks mail that reached a mailbox or would do harm there. */
const COLORS: Readonly<Record<string, string>> = {
  malicious: "red",
  none: "red",
  restored: "red",
  released_from_quarantine: "red",
  spam: "amber",
  moved_to_spam: "amber",
  graymail: "slate",
  moved_to_graymail: "slate",
  moved_to_promotions: "slate",
  safe: "green",
  quarantined: "green",
  moved_to_trash: "green",
};

function renderPeople(title: string, recipients: readonly RecipientCount[], total: number): Html | undefined {
  if (recipients.length === 0) return undefined;
  const hiddenCount = total - recipients.length;
  return html`<div class="recipients"><h3>${title}</h3><ul>${recipients.map(
    ({ email, isVip, count }) =>
      html`<li${isVip ? new Html(' class="is-vip"') : ""}>${isVip ? "VIP " : ""}<bdi>${renderUntrustedHtml(email)}</bdi>${decodePunycode(email) === undefined ? "" : html` (<bdi>${decodePunycode(email)}</bdi>)`} ${formatNumber(count)}</li>`,
  )}${hiddenCount > 0 ? html`<li>and ${formatNumber(hiddenCount)} more</li>` : ""}</ul></div>`;
}

function renderExamples({ allows }: ChangeView): Html | undefined {
  if (allows === undefined || allows.examples.length === 0) return undefined;
  const renderCell = (name: string, text: SafeText | undefined) =>
    text === undefined ? html`<td></td>` : html`<td data-label="${name}">${renderHtmlText(text)}</td>`;
  const renderTextCell = (name: string, value: string | undefined) =>
    renderCell(name, value === undefined ? undefined : [untrusted(value)]);
  const rows = allows.examples.map(
    ({ time, sender, recipient, subject, verdict: name }) =>
      html`<tr>${renderCell("When", time === undefined ? undefined : formatDay(time))}${renderTextCell("From", sender)}${renderTextCell("To", recipient)}${renderTextCell(
        "Subject",
        subject,
      )}${renderCell("Verdict", name === undefined ? undefined : describeIdentifier(name))}</tr>`,
  );
  return html`<div class="table" tabindex="0"><table><caption>${formatCount(allows.examples.length, "example")} of ${formatNumber(
    allows.deliveredCount,
  )} threats that would have been delivered</caption><thead><tr><th scope="col">When</th><th scope="col">From</th><th scope="col">To</th><th scope="col">Subject</th><th scope="col">Verdict</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function renderAsides(view: PlanView): Html {
  const { findings, expired, unmanaged, unmatchedDenies, basis } = view;
  return html`${renderPlanAside(
    "Findings on unchanged entries",
    findings.map((finding) => safeText`${describeLine(finding.place)} ${describeFinding(finding)}`),
  )}${renderPlanAside("Expired", expired.map(describeExpired), {
    hidden: (count) => describeHidden(expired.slice(-count).map(getExpiredTransition)),
  })}${renderPlanAside("Unmanaged", unmanaged.map(describeUnmanaged), {
    hidden: (count) => describeHiddenUnmanaged(unmanaged.slice(-count)),
  })}${renderPlanAside("Denies without a matching threat", unmatchedDenies?.keys.map(describeValue) ?? [], {
    first: unmatchedDenies?.text,
  })}${renderPlanAside("Data used", basis, { isOpen: true })}`;
}

function renderPlanAside(
  title: string,
  lines: readonly SafeText[],
  {
    first,
    isOpen = false,
    hidden = (count) => `${formatNumber(count)} more`,
  }: {
    readonly first?: SafeText | undefined;
    readonly isOpen?: boolean;
    readonly hidden?: (count: number) => string;
  } = {},
): Html | undefined {
  if (lines.length === 0) return undefined;
  const items = renderWithinLimit(
    "",
    [lines.map((text) => () => html`<li>${renderHtmlText(text)}</li>\n`.toString())],
    MAX_ASIDE_BYTES,
    (rest) =>
      html`<li>… and ${hidden(rest)}, which are not on this page; \`--format json\` shows all of them</li>`.toString(),
  );
  return html`<details class="aside"${isOpen ? new Html(" open") : ""}><summary><h2>${title}</h2>${
    isOpen ? "" : html` <span class="n">${formatNumber(lines.length)}</span>`
  }</summary><div class="body">${first === undefined ? "" : html`<p>${renderHtmlText(first)}</p>`}<ul${
    first === undefined ? "" : new Html(' class="keys"')
  }>${new Html(items)}</ul></div></details>`;
}

const MAX_ASIDE_BYTES = 500_000;
