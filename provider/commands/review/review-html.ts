import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { getKeys } from "../../model/get-keys";
import { describeValue } from "../../plan/render/plan-descriptions";
import { renderFilterOptions } from "../../render/html-filters";
import { type PageStatus, renderHtmlPage, renderStatusBanner } from "../../render/html-page";
import { PLAN_STYLE } from "../../render/html-style";
import { Html, html, renderHtmlText, renderUntrustedHtml } from "../../render/html-text";
import { renderWithinLimit } from "../../render/render-within-limit";
import { formatCount, formatNumber, type SafeText, untrusted, untrustedSentence } from "../../render/safe-text";
import { describeElementSource } from "../../settings-files/element-source";
import { REVIEW_KINDS, REVIEW_TITLES, type ReviewKind } from "./review-kinds";
import { DECISION_HELP, formatReviewCounts, getItemNoun, UNREAD_HEADING } from "./review-messages";
import type { ReviewItem, ReviewReport } from "./review-schema";

/**
 * Renders a review as one self-contained HTML page, without scripts or network requests. Readers can filter by reason and list, and sort.
 * It fits screens of any width, light and dark mode, and paper.
 */
export function renderReviewHtml(report: ReviewReport): string {
  const { items, file, host, today, limitations, missingEvidence } = report;
  const status = getReviewStatus(report);
  return renderHtmlPage({
    title: `Review of ${file}: ${formatCount(items.length, "item")}`,
    style: `${PLAN_STYLE}${REVIEW_STYLE}`,
    body: html`<header>
<p class="eyebrow">Email security review</p>
<h1><bdi>${renderUntrustedHtml(file.slice(0, MAX_TITLE_LENGTH))}</bdi>${host === undefined ? "" : html` <span class="host">at <bdi>${host}</bdi></span>`}</h1>
<p class="source">As of ${today}</p>
</header>
<main>
${renderStatusBanner(status, STATUS_TEXT[status], [items.length === 0 ? "No items to review." : `To review: ${formatReviewCounts(items)}.`])}
${renderNoteList(UNREAD_HEADING, missingEvidence)}
${items.length === 0 ? undefined : html`<p>${renderHtmlText([untrustedSentence(DECISION_HELP)])}</p>`}
${items.length < 2 ? undefined : renderReviewFilters(items)}
${renderWorklist(items)}
${renderNoteList("Not known", limitations)}
</main>`,
  });
}

const MAX_TITLE_LENGTH = 200;

type ReviewStatus = Extract<PageStatus, "danger" | "warning" | "none" | "empty">;

const STATUS_TEXT: Readonly<Record<ReviewStatus, string>> = {
  danger: "Urgent",
  warning: "To review",
  none: "To review",
  empty: "Nothing to review",
};

function getReviewStatus({ items: [first], missingEvidence }: ReviewReport): ReviewStatus {
  if (first !== undefined) return getReviewSeverity(first);
  return missingEvidence.length > 0 ? "warning" : "empty";
}

function getReviewSeverity({ reasons: [first] }: ReviewItem): "danger" | "warning" | "none" {
  return SEVERITIES[first?.kind ?? "unused"] ?? "none";
}

const SEVERITIES: Readonly<Partial<Record<ReviewKind, "danger" | "warning">>> = {
  malicious: "danger",
  reported: "danger",
  policy: "warning",
  undeclared: "warning",
  expired: "warning",
  expiring: "warning",
  due: "warning",
};

function renderNoteList(title: string, notes: readonly string[]): Html | undefined {
  if (notes.length === 0) return undefined;
  return html`<details class="aside" open><summary><h2>${title}</h2></summary><div class="body"><ul>${notes.map(
    (note) => html`<li>${renderHtmlText([untrustedSentence(note)])}</li>`,
  )}</ul></div></details>`;
}

const LISTS = { allow: "Allows", deny: "Denies", vip: "People" } as const;
const SORTS = { worst: "Worst", value: "Value", end: "End", owner: "Owner" } as const;

function renderReviewFilters(items: readonly ReviewItem[]): Html {
  const countByReason = (kind: ReviewKind): number =>
    items.filter(({ reasons }) => reasons.some((reason) => reason.kind === kind)).length;
  const countByList = (list: ReviewItem["list"]): number => items.filter((item) => item.list === list).length;
  return html`<div class="filters">${renderFilterOptions("why", "Show", [
    { id: "only-any-why", label: "All", count: items.length },
    ...REVIEW_KINDS.map((kind) => ({
      id: `only-${kind}`,
      label: REVIEW_TITLES[kind],
      count: countByReason(kind),
    })),
  ])}${renderFilterOptions("list", "of", [
    { id: "only-any-list", label: "All lists", count: items.length },
    ...getKeys(LISTS).map((list) => ({ id: `only-${list}`, label: LISTS[list], count: countByList(list) })),
  ])}${renderFilterOptions(
    "sort",
    "First by",
    getKeys(SORTS).map((name) => ({ id: `by-${name}`, label: SORTS[name] })),
  )}</div>`;
}

const REVIEW_STYLE = [
  ".s-calm { --operation: var(--blue); --operation-card: var(--blue-card); }",
  // Makes the focus order match the visual order.
  ".changes { margin-top: 2rem; reading-flow: grid-order; }",
  ".reason { margin: .5rem 0; }",
  ".reason b { display: block; font-weight: 600; }",
  ...REVIEW_KINDS.map((kind) => `body:has(#only-${kind}:checked) .change:not(.reason-${kind}) { display: none; }`),
  ...getKeys(LISTS).map((list) => `body:has(#only-${list}:checked) .change:not(.in-${list}) { display: none; }`),
  ...getKeys(SORTS)
    .slice(1)
    .map((name) => `body:has(#by-${name}:checked) .change { order: var(--by-${name}); }`),
  "",
].join("\n");

/** The size limit of the list in bytes. Items over the limit become single lines, and the rest is summarized. */
const MAX_PAGE_BYTES = 2_500_000;
/** The number of items from which a browser must skip the layout of off-screen ones to stay fast. */
const COMPACT_THRESHOLD = 200;
/** The number of items that are open at first. */
const MAX_OPEN_ITEMS = 50;

function renderWorklist(items: readonly ReviewItem[]): Html | undefined {
  if (items.length === 0) return undefined;
  const sortStyles = buildSortStyles(items);
  const isOpen = items.length <= MAX_OPEN_ITEMS;
  const content = renderWithinLimit(
    html`<ul class="changes${items.length > COMPACT_THRESHOLD ? " many" : ""}">
`.toString(),
    [
      items.map((item) => () => renderReviewItem(item, sortStyles.get(item) ?? "", isOpen).toString()),
      items.map((item) => () => renderReviewLine(item, sortStyles.get(item) ?? "").toString()),
    ],
    MAX_PAGE_BYTES,
    (hiddenCount) =>
      html`<li class="rest" style="order:${items.length}">… and ${formatNumber(hiddenCount)} more, which are not on this page: ${formatReviewCounts(items.slice(-hiddenCount))}. <code>--format json</code> and <code>--format csv</code> show all of them.</li>`.toString(),
  );
  return new Html(`${content}</ul>`);
}

/** Builds the custom properties that hold each item's position in the other sort orders. */
function buildSortStyles(items: readonly ReviewItem[]): ReadonlyMap<ReviewItem, string> {
  const keyGetters: Readonly<Record<string, (item: ReviewItem) => string>> = {
    value: ({ value }) => value,
    end: ({ expires }) => (expires === undefined || expires === "never" ? "9999-99" : expires),
    // Items without an owner come last.
    owner: ({ owner }) => owner?.toLowerCase() ?? "\u{10ffff}",
  };
  const sortStyles = new Map<ReviewItem, string>(items.map((item) => [item, ""]));
  for (const [name, getKey] of Object.entries(keyGetters)) {
    const sortedItems = items.toSorted((left, right) => {
      const [a, b] = [getKey(left), getKey(right)];
      return a < b ? -1 : Number(a > b);
    });
    for (const [index, item] of sortedItems.entries())
      sortStyles.set(item, `${sortStyles.get(item)}--by-${name}:${index};`);
  }
  return sortStyles;
}

function renderReviewItem(item: ReviewItem, sortStyle: string, isOpen: boolean): Html {
  return html`<li class="${getReviewClasses(item)}" style="${sortStyle}"><details${isOpen ? new Html(" open") : ""}><summary>${renderReviewHead(item)}</summary><div class="body">${item.reasons.map(
    ({ kind, evidence }) =>
      html`<p class="reason"><b>${REVIEW_TITLES[kind]}</b>${renderHtmlText([untrustedSentence(evidence)])}</p>`,
  )}<dl>${buildReviewDetails(item).map(([label, text]) => html`<dt>${label}</dt><dd>${renderHtmlText(text)}</dd>`)}</dl></div></details></li>
`;
}

/** Renders an item as a single line when there is no room for its details. */
function renderReviewLine(item: ReviewItem, sortStyle: string): Html {
  return html`<li class="${getReviewClasses(item)}" style="${sortStyle}"><p class="line">${renderReviewHead(item)}</p></li>
`;
}

function renderReviewHead(item: ReviewItem): Html {
  const { value, scope, reasons } = item;
  const [first, ...others] = reasons.map(({ kind }) => REVIEW_TITLES[kind]);
  return html`<span class="operation">${first}</span><span class="list">${getItemNoun(item)}</span><span class="subject"><code>${renderHtmlText(
    describeValue(value),
  )}</code>${
    scope === undefined || scope === DEFAULT_VERDICT_SCOPE
      ? ""
      : html` <span class="kind">${renderHtmlText([untrusted(scope)])}</span>`
  }</span>${others.length === 0 ? "" : html`<span class="note">${others.join(", ")}</span>`}`;
}

function getReviewClasses(item: ReviewItem): string {
  const severity = getReviewSeverity(item);
  const symbolClass = { danger: "s-remove", warning: "s-change", none: "s-calm" } as const;
  const reasons = item.reasons.map(({ kind }) => `reason-${kind}`);
  return ["change", `is-${severity}`, symbolClass[severity], `in-${item.list}`, ...reasons].join(" ");
}

function buildReviewDetails({
  place,
  isShared,
  comment,
  ticket,
  owner,
  expires,
  source,
}: ReviewItem): [label: string, words: SafeText][] {
  const details: [string, SafeText | undefined][] = [
    [
      "Declared",
      place && [
        untrusted(`${place.file}:${place.line}`),
        isShared === true ? ", included; others may include it too" : "",
      ],
    ],
    ["Comment", comment ? [untrusted(comment)] : undefined],
    ["Ticket", ticket === undefined ? undefined : [untrusted(ticket)]],
    ["Owner", owner === undefined ? undefined : [untrusted(owner)]],
    ["Source", source && [untrustedSentence(describeElementSource(source).replace(/^source /, ""))]],
    ["Ends", expires === undefined ? undefined : [expires === "never" ? "never" : expires]],
  ];
  return details.filter((detail): detail is [string, SafeText] => detail[1] !== undefined);
}
