import { choices } from "../../render/html-filters";
import { htmlPage, htmlVerdict } from "../../render/html-page";
import { PLAN_STYLE } from "../../render/html-style";
import { given, Html, html, htmlWords } from "../../render/html-text";
import { filled } from "../../render/room";
import { counted, day, number, onOneLine, say, given as told, type Words } from "../../render/words";
import { describeHidden } from "../../settings/danger";
import { DETAIL_NAMES } from "../../settings/entry-fields";
import { excerpt } from "../../settings/text";
import { unicodeOf } from "../../settings/unicode-value";
import { type Count, type Evidence, expiredTransition, type Plan, type Recipient } from "../plan";
import type { Fact } from "./change-facts";
import {
  describeHiddenUnmanaged,
  expiredWords,
  findingWords,
  LOOSENED,
  lineOf,
  loosenedWords,
  nameWords,
  unmanagedWords,
  valueWords,
} from "./plan-words";
import { type Card, kindsOf, type Report, reportOf, type Tally } from "./report";

/** Renders a plan as a self-contained HTML page without scripts or requests, for any screen width, light and dark mode, and print. */
export function planHtml(plan: Plan): string {
  const report = reportOf(plan);
  return htmlPage({
    title: `Plan for ${plan.tenant.name}: ${report.verdict}`,
    style: PLAN_PAGE_STYLE,
    body: html`<header>
<p class="eyebrow">Email security plan</p>
<h1><bdi>${plan.tenant.name}</bdi> <span class="host">at <bdi>${plan.tenant.host}</bdi></span></h1>
<p class="source">${htmlWords(report.source)}</p>
</header>
<main>
${htmlVerdict(report.mood, report.verdict, report.headline)}
${talliesHtml(report.tallies)}
${guardsHtml(report.guards)}
${loosened(report)}
${changesHtml(report, "`--format json` shows all of them")}
${asides(report)}
</main>
<footer>
<p>Digest <code>${plan.digest}</code></p>
</footer>`,
  });
}

/**
 * Renders the changes, dangerous ones first, with filters. The page needs {@link PLAN_PAGE_STYLE}.
 *
 * @param where a clause that says where to find all changes, if there are too many for a page.
 */
export function changesHtml(
  report: Pick<Report, "dangers" | "accepted" | "warnings" | "others">,
  where: string,
): Html {
  const { dangers, accepted, warnings, others } = report;
  const all = [...dangers, ...accepted, ...warnings, ...others];
  return html`${all.length > FEW ? filters(report, all) : ""}
${changes("Danger", "danger", dangers, where)}
${changes("Risk accepted", "accepted", accepted, where)}
${changes("Needs a look", "warning", warnings, where)}
${changes("Nothing speaks against", "calm", others, where)}`;
}

/** The maximum number of changes without filters. */
const FEW = 6;

export function talliesHtml(all: readonly Tally[]): Html {
  const classes: Readonly<Record<string, string>> = { "+": "s-add", "~": "s-change", "-": "s-remove" };
  return html`<ul class="tallies">${all.map(
    ({ sign, word, count }) =>
      html`<li class="${classes[sign] ?? ""}${count === 0 ? " zero" : ""}"><b>${sign}${number(count)}</b>${word}</li>`,
  )}</ul>`;
}

export function guardsHtml(all: Plan["guards"]): Html | undefined {
  if (all.length === 0) return undefined;
  return html`<section><h2>Refused <span class="n">${all.length}</span></h2>${all.map(
    ({ code, message }) =>
      html`<div class="guard"><h3>${code}</h3><pre>${message
        .split(/\r\n|[\r\n]/)
        .map((line, index) => [index > 0 ? new Html("\n") : "", line])}</pre></div>`,
  )}</section>`;
}

function loosened({ loosened: all }: Report): Html | undefined {
  if (all.length === 0) return undefined;
  return html`<section><h2>${LOOSENED} <span class="n">${number(all.length)}</span></h2><ul class="loosened">${new Html(
    filled(
      "",
      [all.map((finding) => () => html`<li>${htmlWords(loosenedWords(finding))}</li>`.toString())],
      ASIDE_ROOM,
      (rest) => html`<li>… and ${number(rest)} more; \`lint\` tells all of them</li>`.toString(),
    ),
  )}</ul></section>`;
}

const ALARMS = {
  danger: "Danger",
  accepted: "Risk accepted",
  warning: "Needs a look",
  none: "Nothing against",
} as const;
const LISTS = { allow: "Allow", deny: "Deny", vip: "VIP" } as const;

/** Renders radio buttons that drive the filters in the style sheet, because the page has no script. */
function filters(
  report: Pick<Report, "dangers" | "accepted" | "warnings" | "others">,
  all: readonly Card[],
): Html {
  const byAlarm = {
    danger: report.dangers.length,
    accepted: report.accepted.length,
    warning: report.warnings.length,
    none: report.others.length,
  };
  const byList = { allow: 0, deny: 0, vip: 0 };
  for (const card of all) for (const list of listsOf(card)) byList[list] += 1;
  return html`<div class="filters">${choices("alarm", "Show", [
    { id: "only-any-alarm", label: "All", count: all.length },
    ...keys(ALARMS).map((name) => ({ id: `only-${name}`, label: ALARMS[name], count: byAlarm[name] })),
  ])}${choices("list", "of", [
    { id: "only-any-list", label: "All lists", count: all.length },
    ...keys(LISTS).map((name) => ({ id: `only-${name}`, label: LISTS[name], count: byList[name] })),
  ])}</div>`;
}

export const PLAN_PAGE_STYLE = [
  PLAN_STYLE,
  ...keys(ALARMS).map((name) => `body:has(#only-${name}:checked) .group:not(.of-${name}) { display: none; }`),
  ...keys(LISTS).map((name) => `body:has(#only-${name}:checked) .change:not(.in-${name}) { display: none; }`),
].join("\n");

/** Returns the lists of a card: both lists if the entry moves. */
function listsOf({ change }: Card): (keyof typeof LISTS)[] {
  if (change.kind === "vip") return ["vip"];
  const lists = [change.before?.list, change.after?.list].filter((list) => list !== undefined);
  return [...new Set(lists)];
}

function changes(
  title: string,
  group: "danger" | "accepted" | "warning" | "calm",
  cards: readonly Card[],
  where: string,
): Html | undefined {
  if (cards.length === 0) return undefined;
  const name = group === "calm" ? "none" : group;
  const isOpen = group !== "calm" && cards.length <= MOST_OPEN;
  const head = html`<section class="group of-${name}${cards.length > MANY ? " many" : ""}"><h2>${title} <span class="n">${number(cards.length)}</span></h2>
<ul class="changes">
`;
  const shown = filled(
    head.toString(),
    [
      cards.map((card) => () => changeHtml(card, isOpen).toString()),
      cards.map((card) => () => lineHtml(card).toString()),
    ],
    ROOM,
    (rest) => html`<li class="rest">${restWords(cards.slice(-rest), where)}</li>`.toString(),
  );
  return new Html(`${shown}</ul></section>`);
}

/** The byte limit for a group of changes. Changes beyond it become lines, then a summary. */
const ROOM = 2_500_000;
/** From this number on, the browser lays out only the visible changes, which is faster. */
const MANY = 200;
/** The maximum number of changes that are unfolded initially. */
const MOST_OPEN = 50;

function restWords(rest: readonly Card[], where: string): string {
  const kinds = kindsOf(rest).map(({ name, count }) => `${number(count)} ${name}`);
  return `… and ${number(rest.length)} more, which are not on this page: ${kinds.join(", ")}. ${where}.`;
}

function classesOf(card: Card): string {
  const { change, word } = card;
  return ["change", `is-${change.alarm}`, `s-${word}`, ...listsOf(card).map((one) => `in-${one}`)].join(" ");
}

/** Renders `+ add deny evil.example domain`. */
function headHtml({ change, sign, word, list, kind }: Card): Html {
  const unicode = unicodeOf(change.value);
  return html`<span class="sign"><i>${sign}</i>${word}</span><span class="list">${list}</span><span class="what"><code><bdi>${change.value}</bdi></code>${
    unicode === undefined ? "" : html` <span class="script">(<bdi>${unicode}</bdi>)</span>`
  }${kind.length > 0 ? html` <span class="kind">${htmlWords(kind)}</span>` : ""}</span>`;
}

function changeHtml(card: Card, isOpen: boolean): Html {
  const { change, facts } = card;
  const lead = facts.find(({ label, isAlarming }) => label === "mail" && isAlarming === true);
  return html`<li class="${classesOf(card)}"><details${isOpen ? new Html(" open") : ""}><summary>${headHtml(card)}${
    isOpen ? "" : briefHtml(card)
  }</summary><div class="body">${lead === undefined ? "" : html`<p class="lead">${htmlWords(lead.words)}</p>`}${
    change.evidence === undefined ? "" : evidenceHtml(change.evidence)
  }<dl>${facts.filter((fact) => fact !== lead && !CHARTED.has(fact.label)).map(factHtml)}</dl>${examplesHtml(
    card,
  )}</div></details></li>
`;
}

/** Renders a change as a line, if there is no space for its details. */
function lineHtml(card: Card): Html {
  return html`<li class="${classesOf(card)}"><p class="line">${headHtml(card)}${briefHtml(card)}</p></li>
`;
}

/** Renders the summary of a folded change: risks in a few words, who requested it, and its expiry. */
function briefHtml({ facts }: Card): Html {
  const told = facts.filter(({ label }) => BRIEF.has(label));
  return html`<span class="note">${told.map(
    ({ label, words }) =>
      html`<span class="of-${label.replace(" ", "-")}">${htmlWords(briefly(words))}</span>`,
  )}</span>`;
}

const BRIEF: ReadonlySet<string> = new Set(["accepted", ...DETAIL_NAMES, "mail", "asked for"]);

/** Labels that the charts replace. */
const CHARTED: ReadonlySet<string> = new Set(["details"]);

function briefly(words: Words): Words {
  return words.map((word) =>
    typeof word === "string" ? word : { ...word, given: excerpt(onOneLine(word.given), 160) },
  );
}

function factHtml({ label, words }: Fact): Html {
  const name = `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
  return html`<dt>${name}</dt><dd${label === "comment" ? new Html(' class="comment"') : ""}>${htmlWords(words)}</dd>`;
}

function evidenceHtml({
  threats,
  verdicts,
  actions,
  recipients,
  recipientCount,
  senders,
  senderCount,
}: Evidence): Html | undefined {
  if (threats === 0) return undefined;
  return html`<div class="charts">${chart("What the threats were", verdicts)}${chart("What was done with them", actions)}${who(
    "To",
    recipients,
    recipientCount,
  )}${
    senderCount > 0
      ? who(
          "From",
          senders.map(({ name, count }): Recipient => ({ email: name, isVip: false, count })),
          senderCount,
        )
      : ""
  }</div>`;
}

function chart(title: string, counts: readonly Count[]): Html | undefined {
  if (counts.length === 0) return undefined;
  const part = ({ name, count }: Count) =>
    html`<span class="${colourOf(name)}" style="flex-grow:${count}"></span>`;
  const line = ({ name, count }: Count) =>
    html`<li class="${colourOf(name)}">${number(count)} ${htmlWords(nameWords(name))}</li>`;
  return html`<div class="chart"><h3>${title}</h3><div class="bar" aria-hidden="true">${counts.map(part)}</div><ul class="legend">${counts.map(line)}</ul></div>`;
}

function colourOf(name: string): string {
  return Object.hasOwn(COLOURS, name) ? `c-${COLOURS[name]}` : "c-other";
}

/** Colours of verdicts and actions: red marks mail that reached a mailbox or would do harm there. */
const COLOURS: Readonly<Record<string, string>> = {
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

function who(title: string, people: readonly Recipient[], total: number): Html | undefined {
  if (people.length === 0) return undefined;
  const more = total - people.length;
  return html`<div class="who"><h3>${title}</h3><ul>${people.map(
    ({ email, isVip, count }) =>
      html`<li${isVip ? new Html(' class="is-vip"') : ""}>${isVip ? "VIP " : ""}<bdi>${given(email)}</bdi>${unicodeOf(email) === undefined ? "" : html` (<bdi>${unicodeOf(email)}</bdi>)`} ${number(count)}</li>`,
  )}${more > 0 ? html`<li>and ${number(more)} more</li>` : ""}</ul></div>`;
}

function examplesHtml({ allows }: Card): Html | undefined {
  if (allows === undefined || allows.examples.length === 0) return undefined;
  const cell = (name: string, words: Words | undefined) =>
    words === undefined ? html`<td></td>` : html`<td data-label="${name}">${htmlWords(words)}</td>`;
  const text = (name: string, value: string | undefined) =>
    cell(name, value === undefined ? undefined : [told(value)]);
  const rows = allows.examples.map(
    ({ time, sender, recipient, subject, verdict: name }) =>
      html`<tr>${cell("When", time === undefined ? undefined : day(time))}${text("From", sender)}${text("To", recipient)}${text(
        "Subject",
        subject,
      )}${cell("Verdict", name === undefined ? undefined : nameWords(name))}</tr>`,
  );
  return html`<div class="table" tabindex="0"><table><caption>${counted(allows.examples.length, "example")} of the ${number(
    allows.letThrough,
  )} that would have come through</caption><thead><tr><th scope="col">When</th><th scope="col">From</th><th scope="col">To</th><th scope="col">Subject</th><th scope="col">Verdict</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function asides(report: Report): Html {
  const { findings, expired, unmanaged, unmatched, basis } = report;
  return html`${aside(
    "Findings in what does not change",
    findings.map((finding) => say`${lineOf(finding.place)} ${findingWords(finding)}`),
  )}${aside("Expired, so no longer declared", expired.map(expiredWords), {
    hidden: (count) => describeHidden(expired.slice(-count).map(expiredTransition)),
  })}${aside("Left alone: at the tenant, and nobody declares it", unmanaged.map(unmanagedWords), {
    hidden: (count) => describeHiddenUnmanaged(unmanaged.slice(-count)),
  })}${aside("Denies that no threat came under", unmatched?.keys.map(valueWords) ?? [], {
    first: unmatched?.words,
  })}${aside("What this rests on", basis, { isOpen: true })}`;
}

function aside(
  title: string,
  lines: readonly Words[],
  {
    first,
    isOpen = false,
    hidden = (count) => `${number(count)} more`,
  }: {
    readonly first?: Words | undefined;
    readonly isOpen?: boolean;
    readonly hidden?: (count: number) => string;
  } = {},
): Html | undefined {
  if (lines.length === 0) return undefined;
  const items = filled(
    "",
    [lines.map((words) => () => html`<li>${htmlWords(words)}</li>\n`.toString())],
    ASIDE_ROOM,
    (rest) =>
      html`<li>… and ${hidden(rest)}, which are not on this page; \`--format json\` shows all of them</li>`.toString(),
  );
  return html`<details class="aside"${isOpen ? new Html(" open") : ""}><summary><h2>${title}</h2>${
    isOpen ? "" : html` <span class="n">${number(lines.length)}</span>`
  }</summary><div class="body">${first === undefined ? "" : html`<p>${htmlWords(first)}</p>`}<ul${
    first === undefined ? "" : new Html(' class="keys"')
  }>${new Html(items)}</ul></div></details>`;
}

/** The byte limit for each list below the changes. */
const ASIDE_ROOM = 500_000;

function keys<K extends string>(of: Readonly<Record<K, unknown>>): K[] {
  return Object.keys(of) as K[];
}
