import { markdownBlock, markdownCode, markdownRow, markdownWords, wrap } from "../../render/markdown-text";
import { bytesOf, filled } from "../../render/room";
import { day, given, join, number, say, type Words } from "../../render/words";
import { describeHidden } from "../../settings/danger";
import { DETAIL_NAMES } from "../../settings/entry-fields";
import { expiredTransition, type Plan } from "../plan";
import type { Fact } from "./change-facts";
import {
  describeHiddenUnmanaged,
  expiredWords,
  findingWords,
  LOOSENED,
  lineOf,
  loosenedWords,
  unmanagedWords,
  valueWords,
} from "./plan-words";
import { type Card, kindsOf, type Mood, type Report, reportOf, type Tally } from "./report";

/** The first line of a plan in Markdown. A bot uses it to find and update its own comment. */
export const PLAN_MARK = "<!-- email-security-plan -->";

export interface PlanMarkdownOptions {
  /** The maximum length in characters and UTF-8 bytes; at least 32,768. Default: 65,536, the limit of GitHub. */
  readonly limit?: number;
  /** The location of the whole plan: an https URL, or a name. */
  readonly artifact?: string;
}

/**
 * Renders a plan as a pull request comment for GitHub or GitLab. The most important parts come first; the rest is summarized within the
 * limit. Escapes external text, so that it can't contain markup, links or mentions.
 *
 * @throws {RangeError} if the limit is too low.
 */
export function planMarkdown(plan: Plan, { limit = 65_536, artifact }: PlanMarkdownOptions = {}): string {
  if (!(limit >= MIN_LIMIT))
    throw new RangeError(`The limit is ${limit}; it can't be less than ${MIN_LIMIT}`);
  const report = reportOf(plan);
  const where = artifactText(artifact);
  const head = headOf(report);
  const foot = footOf(
    report,
    artifact === undefined ? "" : `The whole plan: ${where.replace(/^in /, "")}\n\n`,
  );
  return withSections(head, sectionsOf(report, where), foot, limit);
}

/** Renders a head, the sections as far as they fit, and a foot within the limit in bytes. */
export function withSections(
  head: string,
  sections: readonly MarkdownSection[],
  foot: string,
  limit: number,
): string {
  let left = limit - bytesOf(head) - bytesOf(foot);
  const shown = sections.map((section, index) => {
    const others = sections.length - index - 1;
    const text = section.render(
      Math.min(left - others * RESERVE, Math.max(RESERVE, Math.floor(limit * section.share))),
    );
    left -= bytesOf(text);
    return text;
  });
  return [head, ...shown, foot].join("");
}

/** Enough for the head, the foot and a summary of every section, regardless of content. */
const MIN_LIMIT = 32_768;
/** The bytes that a section summary needs: a heading, the counts and where to find the rest. */
const RESERVE = 1_500;

/** A part of a Markdown report. */
export interface MarkdownSection {
  /** The maximum share of the limit, which leaves space for the last sections. */
  readonly share: number;
  /** Renders the section within the limit in bytes, which is always enough for a summary. */
  readonly render: (room: number) => string;
}

function sectionsOf(report: Report, where: string): MarkdownSection[] {
  const sections: MarkdownSection[] = [];
  if (report.guards.length > 0)
    sections.push({ share: 0.25, render: (room) => guardsMarkdown(report.guards, room, where) });
  if (report.loosened.length > 0) {
    sections.push({ share: 0.15, render: (room) => loosened(report.loosened, room, where) });
  }
  sections.push(...cardSections(report, where));
  const asides: [title: string, lines: readonly Words[], hidden?: (count: number) => string][] = [
    [
      "Findings in what does not change",
      report.findings.map((finding) => say`${lineOf(finding.place)} ${findingWords(finding)}`),
    ],
    [
      "Expired, so no longer declared",
      report.expired.map(expiredWords),
      (count) => describeHidden(report.expired.slice(-count).map(expiredTransition)),
    ],
    [
      "Left alone: at the tenant, and nobody declares it",
      report.unmanaged.map(unmanagedWords),
      (count) => describeHiddenUnmanaged(report.unmanaged.slice(-count)),
    ],
    ["Denies that no threat came under", report.unmatched?.keys.map(valueWords) ?? []],
  ];
  for (const [title, lines, hidden] of asides) {
    const first = title.startsWith("Denies") ? report.unmatched?.words : undefined;
    if (lines.length > 0)
      sections.push({ share: 0.15, render: (room) => aside(title, first, lines, room, where, hidden) });
  }
  return sections;
}

/**
 * Builds the sections of changes, dangerous ones first.
 *
 * @param where the location of the remaining changes, if there are too many.
 */
export function cardSections(
  { dangers, accepted, warnings, others }: Pick<Report, "dangers" | "accepted" | "warnings" | "others">,
  where: string,
): MarkdownSection[] {
  const told = [
    { title: "Danger", all: dangers, share: 0.6, form: cards },
    { title: "Risk accepted", all: accepted, share: 0.5, form: cards },
    { title: "Needs a look", all: warnings, share: 0.4, form: cards },
    { title: "Nothing speaks against", all: others, share: 0.8, form: table },
  ];
  return told
    .filter(({ all }) => all.length > 0)
    .map(({ title, all, share, form }) => ({ share, render: (room) => form(title, all, room, where) }));
}

function headOf({ tenant, ...told }: Report): string {
  return planHead(`for ${markdownWords(tenant, { limit: 60 })}`, told);
}

/**
 * Renders the marker, a heading, the verdict and the counts.
 *
 * @param what the subject of the plan, as Markdown.
 */
export function planHead(
  what: string,
  {
    mood,
    verdict,
    headline,
    tallies,
  }: Pick<Report, "mood" | "verdict" | "headline"> & {
    readonly tallies: readonly Tally[];
  },
): string {
  const counts = tallies.map(({ sign, word, count }) => `**${sign}${number(count)}** ${word}`);
  return [
    PLAN_MARK,
    `## Email security plan ${what}`,
    "",
    `> [!${ALERTS[mood]}]`,
    `> **${verdict}.** ${markdownWords(headline, { limit: 60 })}`,
    "",
    counts.join(" · "),
    "",
    "",
  ].join("\n");
}

const ALERTS: Readonly<Record<Mood, string>> = {
  refused: "CAUTION",
  danger: "CAUTION",
  accepted: "WARNING",
  warning: "WARNING",
  none: "TIP",
  nothing: "NOTE",
};

function footOf({ basis, source, digest }: Report, artifact: string): string {
  const lines = [...basis, say`Source: ${source}.`].map(
    (words) => `- ${markdownWords(words, { limit: 80 })}`,
  );
  const rests = wrap("What this rests on", `${lines.join("\n")}\n`);
  return `${rests}\n${artifact}Digest: ${markdownCode(digest, 100)}\n`;
}

/**
 * Renders the blockers with their full messages.
 *
 * @param where the location of the remaining ones. Default: not mentioned.
 */
export function guardsMarkdown(
  all: readonly { readonly code: string; readonly message: string }[],
  room: number,
  where = "",
): string {
  const blocks = all.map(
    ({ code, message }) =>
      () =>
        `**${markdownCode(code, 60)}**\n\n${markdownBlock(message, 3_000)}\n`,
  );
  return filled(
    `### Refused\n\n`,
    [blocks],
    room,
    (rest) => `… and ${number(rest)} more refusals${where === "" ? "" : `, ${where}`}.\n\n`,
  );
}

function loosened(all: Report["loosened"], room: number, where: string): string {
  return `${filled(
    `### ${LOOSENED} (${number(all.length)})\n\n`,
    [all.map((finding) => () => `- ${markdownWords(loosenedWords(finding), { limit: 500 })}\n`)],
    room,
    (rest) => `… and ${number(rest)} more, ${where}.\n`,
  )}\n`;
}

function cards(title: string, all: readonly Card[], room: number, where: string): string {
  return filled(
    `### ${title} (${number(all.length)})\n\n`,
    [all.map((card) => () => cardText(card)), all.map((card) => () => cardLine(card))],
    room,
    (rest) => `… and ${summary(all.slice(-rest), where)}\n\n`,
  );
}

function cardText(card: Card): string {
  const examples = card.allows?.examples ?? [];
  const facts = card.facts.slice(0, MOST_FACTS).map((fact, index) => `- ${factText(fact, index === 0)}`);
  if (card.facts.length > MOST_FACTS) facts.push(`- … and ${number(card.facts.length - MOST_FACTS)} more`);
  const lines = [`#### ${headWords(card)}`, "", ...facts, "", ""];
  if (examples.length === 0) return lines.join("\n");
  const rows = examples.map(({ time, sender, recipient, subject, verdict }) =>
    markdownRow([
      time === undefined ? [] : day(time),
      ...[sender, recipient, subject, verdict].map(
        (text): Words => (text === undefined ? [] : [given(text)]),
      ),
    ]),
  );
  const content = ["| When | From | To | Subject | Verdict |", "|---|---|---|---|---|", ...rows, ""].join(
    "\n",
  );
  return `${lines.join("\n")}${wrap("Examples of what would have come through", content)}\n`;
}

const MOST_FACTS = 20;

function factText({ label, words, isAlarming }: Fact, isFirst: boolean): string {
  const name = `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
  const text = markdownWords(words, { limit: 500 });
  // Markdown needs a letter or digit after the asterisks; before a code span they would stay literal.
  const isBold = isFirst && isAlarming === true && /^[\p{L}\d]/u.test(text) && text.endsWith(".");
  return isBold ? `**${name}:** **${text}**` : `**${name}:** ${text}`;
}

function cardLine(card: Card): string {
  const [first] = card.facts;
  const said = first === undefined ? "" : `: ${markdownWords(first.words, { limit: 80 })}`;
  const at =
    card.change.place === undefined ? "" : ` (${markdownWords(lineOf(card.change.place), { limit: 80 })})`;
  return `- ${headWords(card)}${at}${said}\n`;
}

function headWords({ change, sign, word, list, kind }: Card): string {
  const about = kind.length > 0 ? ` (${markdownWords(kind, { limit: 60 })})` : "";
  return `\`${sign}\` ${word} ${list} ${markdownWords(valueWords(change.value), { limit: 320 })}${about}`;
}

function table(title: string, all: readonly Card[], room: number, where: string): string {
  const close = "\n</details>\n\n";
  const head = [
    `### ${title} (${number(all.length)})`,
    "",
    `<details${all.length <= MOST_OPEN ? " open" : ""}><summary>${kindsText(all)}</summary>`,
    "",
    "| Change | Comment | Asked for, where | What our mail says |",
    "|---|---|---|---|",
    "",
  ].join("\n");
  const rest = (count: number) => `… and ${summary(all.slice(-count), where)}\n`;
  return `${filled(head, [all.map((card) => () => `${tableRow(card)}\n`)], room - close.length, rest)}${close}`;
}

/** The maximum number of rows that are unfolded initially. */
const MOST_OPEN = 20;

function tableRow({ change, sign, word, list, kind, facts }: Card): string {
  const of = (...labels: readonly Fact["label"][]): Words =>
    join(
      facts.filter(({ label }) => labels.includes(label)).map(({ words }) => words),
      "<br>",
    );
  return markdownRow([
    say`\`${sign}\` ${word} ${list}<br>${valueWords(change.value)}${kind.length > 0 ? say`<br>${kind}` : []}`,
    of(...DETAIL_NAMES, "why", "replaces", "accepted", "finding"),
    of("asked for", "declared", "held"),
    of("mail", "reports", "backtest"),
  ]);
}

function aside(
  title: string,
  first: Words | undefined,
  lines: readonly Words[],
  room: number,
  where: string,
  hidden = (count: number) => `${number(count)} more`,
): string {
  const close = "\n</details>\n\n";
  const said = first === undefined ? "" : `${markdownWords(first)}\n\n`;
  const head = `<details><summary>${title} (${number(lines.length)})</summary>\n\n${said}`;
  const items = lines.map((words) => () => `- ${markdownWords(words)}\n`);
  return `${filled(head, [items], room - close.length, (rest) => `… and ${hidden(rest)}, ${where}.\n`)}${close}`;
}

/** Formats `9,000 more in the artifact: 8,000 add deny, 1,000 add VIP.` */
function summary(rest: readonly Card[], where: string): string {
  return `${number(rest.length)} more ${where}: ${kindsText(rest)}.`;
}

function kindsText(all: readonly Card[]): string {
  return kindsOf(all)
    .map(({ name, count }) => `${number(count)} ${name}`)
    .join(", ");
}

/** Formats `in the artifact`, with its name or a link to it. */
function artifactText(artifact: string | undefined): string {
  if (artifact === undefined) return "in the artifact";
  const address = addressOf(artifact);
  return address === undefined
    ? `in the artifact ${markdownCode(artifact, 60)}`
    : `in [the artifact](<${address.replace(/[<>\\`]/g, encodeURIComponent).replaceAll("&", "&amp;")}>)`;
}

function addressOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === "https:" && url.href.length <= MAX_ADDRESS ? url.href : undefined;
}

const MAX_ADDRESS = 300;
