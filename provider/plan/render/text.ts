import { Paper, type Style } from "../../render/paper";
import { given, join, number, say, type Words } from "../../render/words";
import { describeHidden } from "../../settings/danger";
import { expiredTransition, type Plan } from "../plan";
import {
  describeHiddenUnmanaged,
  exampleWords,
  expiredWords,
  findingWords,
  LOOSENED,
  lineOf,
  loosenedWords,
  unmanagedWords,
  valueWords,
} from "./plan-words";
import { type Card, kindsOf, type Mood, reportOf } from "./report";

export interface PlanTextOptions {
  /** Whether to use colours. Default: false. No information is conveyed by colour alone. */
  readonly color?: boolean;
  /** The terminal width in columns. Default: 80. Unbreakable text, such as a long value, exceeds it. */
  readonly width?: number;
  /**
   * The maximum number of harmless changes to list, and a fifth of it for unmanaged entries; the rest is counted. Default: 100; Infinity
   * for all. Dangers and warnings are always listed in full.
   */
  readonly limit?: number;
  /** The command that shows everything. Default: {@link WHOLE_PLAN}. */
  readonly whole?: string;
}

const WHOLE_PLAN = "email-security plan --all";

/** Renders a plan for a terminal, with a final newline. Escapes control characters in external text. */
export function planText(
  plan: Plan,
  { color = false, width = 80, limit = 100, whole = WHOLE_PLAN }: PlanTextOptions = {},
): string {
  const report = reportOf(plan);
  const aside = Math.floor(limit / 5);
  const paper = new Paper(color, width);
  paper.text(say`Plan for ${report.tenant}`, { style: "bold" });
  paper.text(report.source, { style: "dim" });
  paper.gap();
  paper.labelled(report.verdict.toUpperCase(), report.headline, { style: MOOD_STYLES[report.mood] });
  paper.text([report.tallies.map(({ sign, word, count }) => `${sign}${number(count)} ${word}`).join("  ")]);
  for (const { code, message } of report.guards) {
    paper.heading(say`Refused by ${given(code)}`, "red");
    paper.verbatim(message, INDENT);
  }
  const allShown = `\`${whole}\` shows all of them`;
  some(paper, LOOSENED, report.loosened, limit, loosenedWords, counting(allShown));
  alarming(paper, "Danger", report.dangers, "red");
  alarming(paper, "Risk accepted", report.accepted, "yellow");
  alarming(paper, "Needs a look", report.warnings, "yellow");
  calm(paper, report.others, limit, allShown);
  some(
    paper,
    "Findings in what does not change",
    report.findings,
    limit,
    (finding) =>
      say`${lineOf(finding.place)}${finding.place === undefined ? "" : " "}${findingWords(finding)}`,
    counting(allShown),
  );
  some(
    paper,
    "Expired, so no longer declared",
    report.expired,
    limit,
    expiredWords,
    (hidden) => `${describeHidden(hidden.map(expiredTransition))}; ${allShown}`,
  );
  some(
    paper,
    "Left alone: at the tenant, and nobody declares it",
    report.unmanaged,
    aside,
    unmanagedWords,
    (hidden) => `${describeHiddenUnmanaged(hidden)}; ${allShown}`,
  );
  if (report.unmatched !== undefined) {
    paper.heading(["Denies that no threat came under"]);
    paper.text(report.unmatched.words, { indent: INDENT });
    const keys = report.unmatched.keys.slice(0, aside).map(valueWords);
    const more = report.unmatched.keys.length - keys.length;
    paper.text(join(more > 0 ? [...keys, [`and ${number(more)} more`]] : keys, ", "), { indent: INDENT });
  }
  paper.heading(["What this rests on"]);
  for (const words of report.basis) paper.text(words, { indent: INDENT });
  paper.gap();
  paper.text(say`Digest ${given(plan.digest)}`, { style: "dim" });
  return paper.toString();
}

const MOOD_STYLES: Readonly<Record<Mood, Style>> = {
  refused: ["bold", "red"],
  danger: ["bold", "red"],
  accepted: ["bold", "yellow"],
  warning: ["bold", "yellow"],
  none: ["bold", "green"],
  nothing: ["bold", "green"],
};

const SIGN_STYLES = { "+": "green", "~": "yellow", "-": "red" } as const;

const INDENT = 2;
const FACTS = { indent: 6, labelWidth: 9 };

function alarming(paper: Paper, title: string, cards: readonly Card[], style: Style): void {
  if (cards.length === 0) return;
  paper.heading([`${title} (${number(cards.length)})`], style);
  cards.forEach((card, index) => {
    if (index > 0) paper.gap();
    head(paper, card);
    for (const { label, words, isAlarming } of card.facts) {
      paper.labelled(label, words, { ...FACTS, style: isAlarming === true ? style : "dim" });
    }
    for (const example of card.allows?.examples ?? []) {
      paper.labelled("example", exampleWords(example), { ...FACTS, style: "dim" });
    }
  });
}

function calm(paper: Paper, cards: readonly Card[], limit: number, allShown: string): void {
  if (cards.length === 0) return;
  paper.heading([`Nothing speaks against (${number(cards.length)})`], "green");
  for (const card of cards.slice(0, limit)) {
    head(paper, card);
    const facts = card.facts.map(({ label, words }) =>
      SPEAKING.has(label) ? words : say`${label}: ${words}`,
    );
    if (facts.length > 0) paper.text(join(facts, " · "), { indent: FACTS.indent, style: "dim" });
  }
  if (cards.length <= limit) return;
  const rest = cards.slice(limit);
  paper.text([`… and ${number(rest.length)} more:`], { indent: INDENT });
  for (const { name, count } of kindsOf(rest))
    paper.text([`${number(count)} × ${name}`], { indent: FACTS.indent });
  paper.text([allShown], { indent: INDENT });
}

/** Labels whose text is clear without them. */
const SPEAKING: ReadonlySet<string> = new Set([
  "replaces",
  "mail",
  "details",
  "reports",
  "backtest",
  "asked for",
  "declared",
  "held",
]);

function head(paper: Paper, { change, sign, word, list, kind }: Card): void {
  const about = kind.length > 0 ? say` (${kind})` : [];
  const words = say`${valueWords(change.value)}${about}`;
  paper.marked(`${sign} ${word} ${list}`, words, { indent: INDENT, style: SIGN_STYLES[sign] });
}

function some<T>(
  paper: Paper,
  title: string,
  all: readonly T[],
  limit: number,
  words: (one: T) => Words,
  more: (hidden: readonly T[]) => string,
): void {
  if (all.length === 0) return;
  paper.heading([`${title} (${number(all.length)})`]);
  for (const one of all.slice(0, limit)) paper.text(words(one), { indent: INDENT });
  if (all.length > limit) paper.text([`… and ${more(all.slice(limit))}`], { indent: INDENT });
}

function counting(allShown: string): (hidden: readonly unknown[]) => string {
  return (hidden) => `${number(hidden.length)} more; ${allShown}`;
}
