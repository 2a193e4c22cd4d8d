import { valueWords } from "../../plan/render/plan-words";
import { choices } from "../../render/html-filters";
import { htmlPage, htmlVerdict, type PageMood } from "../../render/html-page";
import { PLAN_STYLE } from "../../render/html-style";
import { given, Html, html, htmlWords } from "../../render/html-text";
import { filled } from "../../render/room";
import { number, sentence, given as told, type Words } from "../../render/words";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { REVIEW_KINDS, REVIEW_TITLES, type ReviewKind } from "./review-kinds";
import type { ReviewItem, ReviewReport } from "./review-schema";
import { countsOf, DECIDE, UNREAD, whatOf } from "./review-words";

/**
 * A review as a page: one file that needs nothing else, asks nobody for anything and runs no script. It filters by reason and list,
 * and sorts. For screens of any width, light and dark, and for paper.
 */
export function reviewHtml(report: ReviewReport): string {
  const { items, file, host, today, notAsked, unread } = report;
  const mood = moodOf(report);
  return htmlPage({
    title: `Review of ${file}: ${number(items.length)} to look at`,
    style: `${PLAN_STYLE}${REVIEW_STYLE}`,
    body: html`<header>
<p class="eyebrow">Email security review</p>
<h1><bdi>${given(file.slice(0, LONGEST_TITLE))}</bdi>${host === undefined ? "" : html` <span class="host">at <bdi>${host}</bdi></span>`}</h1>
<p class="source">As of ${today}</p>
</header>
<main>
${htmlVerdict(mood, VERDICTS[mood], [items.length === 0 ? "Nothing found to look at." : `To look at: ${countsOf(items)}.`])}
${lines(UNREAD, unread)}
${items.length === 0 ? undefined : html`<p>${htmlWords([sentence(DECIDE)])}</p>`}
${items.length < 2 ? undefined : filters(items)}
${worklist(items)}
${lines("Not known", notAsked)}
</main>`,
  });
}

const LONGEST_TITLE = 200;

type Mood = Extract<PageMood, "danger" | "warning" | "none" | "nothing">;

const VERDICTS: Readonly<Record<Mood, string>> = {
  danger: "Look at this first",
  warning: "To look at",
  none: "To look at",
  nothing: "All is decided",
};

function moodOf({ items: [first], unread }: ReviewReport): Mood {
  if (first !== undefined) return alarmOf(first);
  return unread.length > 0 ? "warning" : "nothing";
}

function alarmOf({ reasons: [first] }: ReviewItem): "danger" | "warning" | "none" {
  return ALARMS[first?.kind ?? "unused"] ?? "none";
}

const ALARMS: Readonly<Partial<Record<ReviewKind, "danger" | "warning">>> = {
  malicious: "danger",
  reported: "danger",
  policy: "warning",
  undeclared: "warning",
  ended: "warning",
  ending: "warning",
  due: "warning",
};

function lines(title: string, all: readonly string[]): Html | undefined {
  if (all.length === 0) return undefined;
  return html`<details class="aside" open><summary><h2>${title}</h2></summary><div class="body"><ul>${all.map(
    (one) => html`<li>${htmlWords([sentence(one)])}</li>`,
  )}</ul></div></details>`;
}

const LISTS = { allow: "Allows", deny: "Denies", vip: "People" } as const;
const SORTS = { worst: "Worst", value: "Value", end: "End", owner: "Owner" } as const;

function filters(items: readonly ReviewItem[]): Html {
  const having = (kind: ReviewKind): number =>
    items.filter(({ reasons }) => reasons.some((one) => one.kind === kind)).length;
  const on = (list: ReviewItem["list"]): number => items.filter((item) => item.list === list).length;
  return html`<div class="filters">${choices("why", "Show", [
    { id: "only-any-why", label: "All", count: items.length },
    ...REVIEW_KINDS.map((kind) => ({ id: `only-${kind}`, label: REVIEW_TITLES[kind], count: having(kind) })),
  ])}${choices("list", "of", [
    { id: "only-any-list", label: "All lists", count: items.length },
    ...keys(LISTS).map((list) => ({ id: `only-${list}`, label: LISTS[list], count: on(list) })),
  ])}${choices(
    "sort",
    "First by",
    keys(SORTS).map((name) => ({ id: `by-${name}`, label: SORTS[name] })),
  )}</div>`;
}

const REVIEW_STYLE = [
  ".s-calm { --sign: var(--blue); --sign-card: var(--blue-card); }",
  // What is focused next is what stands next.
  ".changes { margin-top: 2rem; reading-flow: grid-order; }",
  ".why { margin: .5rem 0; }",
  ".why b { display: block; font-weight: 600; }",
  ...REVIEW_KINDS.map(
    (kind) => `body:has(#only-${kind}:checked) .change:not(.why-${kind}) { display: none; }`,
  ),
  ...keys(LISTS).map((list) => `body:has(#only-${list}:checked) .change:not(.in-${list}) { display: none; }`),
  ...keys(SORTS)
    .slice(1)
    .map((name) => `body:has(#by-${name}:checked) .change { order: var(--by-${name}); }`),
  "",
].join("\n");

/** What the list may take, in bytes: what has no room unfolded is a line, and the rest is summed up. */
const ROOM = 2_500_000;
/** So many take a browser long to lay out, unless it does only what is seen. */
const MANY = 200;
/** So many are unfolded from the start. */
const MOST_OPEN = 50;

function worklist(items: readonly ReviewItem[]): Html | undefined {
  if (items.length === 0) return undefined;
  const orders = ordersOf(items);
  const isOpen = items.length <= MOST_OPEN;
  const shown = filled(
    html`<ul class="changes${items.length > MANY ? " many" : ""}">
`.toString(),
    [
      items.map((item) => () => itemHtml(item, orders.get(item) ?? "", isOpen).toString()),
      items.map((item) => () => lineHtml(item, orders.get(item) ?? "").toString()),
    ],
    ROOM,
    (rest) =>
      html`<li class="rest" style="order:${items.length}">… and ${number(rest)} more, which are not on this page: ${countsOf(items.slice(-rest))}. <code>--format json</code> and <code>--format csv</code> show all of them.</li>`.toString(),
  );
  return new Html(`${shown}</ul>`);
}

/** Where each comes when the page is sorted otherwise, as custom properties of its style. */
function ordersOf(items: readonly ReviewItem[]): ReadonlyMap<ReviewItem, string> {
  const by: Readonly<Record<string, (item: ReviewItem) => string>> = {
    value: ({ value }) => value,
    end: ({ expires }) => (expires === undefined || expires === "never" ? "9999-99" : expires),
    // Those without one come last.
    owner: ({ owner }) => owner?.toLowerCase() ?? "\u{10ffff}",
  };
  const orders = new Map<ReviewItem, string>(items.map((item) => [item, ""]));
  for (const [name, key] of Object.entries(by)) {
    const sorted = items.toSorted((one, other) => {
      const [a, b] = [key(one), key(other)];
      return a < b ? -1 : Number(a > b);
    });
    for (const [at, item] of sorted.entries()) orders.set(item, `${orders.get(item)}--by-${name}:${at};`);
  }
  return orders;
}

function itemHtml(item: ReviewItem, order: string, isOpen: boolean): Html {
  return html`<li class="${classesOf(item)}" style="${order}"><details${isOpen ? new Html(" open") : ""}><summary>${headHtml(item)}</summary><div class="body">${item.reasons.map(
    ({ kind, evidence }) =>
      html`<p class="why"><b>${REVIEW_TITLES[kind]}</b>${htmlWords([sentence(evidence)])}</p>`,
  )}<dl>${factsOf(item).map(([label, words]) => html`<dt>${label}</dt><dd>${htmlWords(words)}</dd>`)}</dl></div></details></li>
`;
}

/** An item where there is no room for what unfolds. */
function lineHtml(item: ReviewItem, order: string): Html {
  return html`<li class="${classesOf(item)}" style="${order}"><p class="line">${headHtml(item)}</p></li>
`;
}

function headHtml(item: ReviewItem): Html {
  const { value, scope, reasons } = item;
  const [first, ...others] = reasons.map(({ kind }) => REVIEW_TITLES[kind]);
  return html`<span class="sign">${first}</span><span class="list">${whatOf(item)}</span><span class="what"><code>${htmlWords(
    valueWords(value),
  )}</code>${
    scope === undefined || scope === DEFAULT_VERDICT_SCOPE
      ? ""
      : html` <span class="kind">${htmlWords([told(scope)])}</span>`
  }</span>${others.length === 0 ? "" : html`<span class="note">${others.join(", ")}</span>`}`;
}

function classesOf(item: ReviewItem): string {
  const alarm = alarmOf(item);
  const sign = { danger: "s-remove", warning: "s-change", none: "s-calm" } as const;
  const reasons = item.reasons.map(({ kind }) => `why-${kind}`);
  return ["change", `is-${alarm}`, sign[alarm], `in-${item.list}`, ...reasons].join(" ");
}

function factsOf({
  place,
  isShared,
  comment,
  ticket,
  owner,
  expires,
}: ReviewItem): [label: string, words: Words][] {
  const facts: [string, Words | undefined][] = [
    [
      "Declared",
      place && [
        told(`${place.file}:${place.line}`),
        isShared === true ? ", included; others may include it too" : "",
      ],
    ],
    ["Comment", comment ? [told(comment)] : undefined],
    ["Ticket", ticket === undefined ? undefined : [told(ticket)]],
    ["Owner", owner === undefined ? undefined : [told(owner)]],
    ["Ends", expires === undefined ? undefined : [expires === "never" ? "never" : expires]],
  ];
  return facts.filter((fact): fact is [string, Words] => fact[1] !== undefined);
}

function keys<K extends string>(of: Readonly<Record<K, unknown>>): K[] {
  return Object.keys(of) as K[];
}
