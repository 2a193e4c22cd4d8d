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
  /** The command that shows everything. Default: {@link FULL_PLAN_COMMAND}. */
  readonly whole?: string;
}

const FULL_PLAN_COMMAND = "email-security plan --all";

/** Renders a plan for a terminal, with a final newline. Escapes control characters in external text. */
export function planText(
  plan: Plan,
  { color = false, width = 80, limit = 100, whole = FULL_PLAN_COMMAND }: PlanTextOptions = {},
): string {
  const view = reportOf(plan);
  const asideLimit = Math.floor(limit / 5);
  const page = new Paper(color, width);
  page.text(say`Plan for ${view.tenant}`, { style: "bold" });
  page.text(view.source, { style: "dim" });
  page.gap();
  page.labelled(view.verdict.toUpperCase(), view.headline, { style: STATUS_STYLES[view.mood] });
  page.text([view.tallies.map(({ sign, word, count }) => `${sign}${number(count)} ${word}`).join("  ")]);
  for (const { code, message } of view.guards) {
    page.heading(say`Refused by ${given(code)}`, "red");
    page.verbatim(message, INDENT);
  }
  const fullListHint = `\`${whole}\` shows all of them`;
  renderLimitedList(page, LOOSENED, view.loosened, limit, loosenedWords, createHiddenCountFormatter(fullListHint));
  renderConcerning(page, "Danger", view.dangers, "red");
  renderConcerning(page, "Risk accepted", view.accepted, "yellow");
  renderConcerning(page, "Needs a look", view.warnings, "yellow");
  renderUnremarkable(page, view.others, limit, fullListHint);
  renderLimitedList(
    page,
    "Findings in what does not change",
    view.findings,
    limit,
    (finding) => say`${lineOf(finding.place)}${finding.place === undefined ? "" : " "}${findingWords(finding)}`,
    createHiddenCountFormatter(fullListHint),
  );
  renderLimitedList(
    page,
    "Expired, so no longer declared",
    view.expired,
    limit,
    expiredWords,
    (hidden) => `${describeHidden(hidden.map(expiredTransition))}; ${fullListHint}`,
  );
  renderLimitedList(
    page,
    "Left alone: at the tenant, and nobody declares it",
    view.unmanaged,
    asideLimit,
    unmanagedWords,
    (hidden) => `${describeHiddenUnmanaged(hidden)}; ${fullListHint}`,
  );
  if (view.unmatched !== undefined) {
    page.heading(["Denies that no threat came under"]);
    page.text(view.unmatched.words, { indent: INDENT });
    const keys = view.unmatched.keys.slice(0, asideLimit).map(valueWords);
    const hiddenCount = view.unmatched.keys.length - keys.length;
    page.text(join(hiddenCount > 0 ? [...keys, [`and ${number(hiddenCount)} more`]] : keys, ", "), {
      indent: INDENT,
    });
  }
  page.heading(["What this rests on"]);
  for (const text of view.basis) page.text(text, { indent: INDENT });
  page.gap();
  page.text(say`Digest ${given(plan.digest)}`, { style: "dim" });
  return page.toString();
}

const STATUS_STYLES: Readonly<Record<Mood, Style>> = {
  refused: ["bold", "red"],
  danger: ["bold", "red"],
  accepted: ["bold", "yellow"],
  warning: ["bold", "yellow"],
  none: ["bold", "green"],
  nothing: ["bold", "green"],
};

const SYMBOL_STYLES = { "+": "green", "~": "yellow", "-": "red" } as const;

const INDENT = 2;
const DETAIL_LAYOUT = { indent: 6, labelWidth: 9 };

function renderConcerning(page: Paper, title: string, changeViews: readonly Card[], style: Style): void {
  if (changeViews.length === 0) return;
  page.heading([`${title} (${number(changeViews.length)})`], style);
  changeViews.forEach((changeView, index) => {
    if (index > 0) page.gap();
    renderChangeTitle(page, changeView);
    for (const { label, words, isAlarming } of changeView.facts) {
      page.labelled(label, words, { ...DETAIL_LAYOUT, style: isAlarming === true ? style : "dim" });
    }
    for (const example of changeView.allows?.examples ?? []) {
      page.labelled("example", exampleWords(example), { ...DETAIL_LAYOUT, style: "dim" });
    }
  });
}

function renderUnremarkable(page: Paper, changeViews: readonly Card[], limit: number, fullListHint: string): void {
  if (changeViews.length === 0) return;
  page.heading([`Nothing speaks against (${number(changeViews.length)})`], "green");
  for (const changeView of changeViews.slice(0, limit)) {
    renderChangeTitle(page, changeView);
    const details = changeView.facts.map(({ label, words }) =>
      UNLABELED_DETAILS.has(label) ? words : say`${label}: ${words}`,
    );
    if (details.length > 0) page.text(join(details, " · "), { indent: DETAIL_LAYOUT.indent, style: "dim" });
  }
  if (changeViews.length <= limit) return;
  const hiddenChanges = changeViews.slice(limit);
  page.text([`… and ${number(hiddenChanges.length)} more:`], { indent: INDENT });
  for (const { name, count } of kindsOf(hiddenChanges))
    page.text([`${number(count)} × ${name}`], { indent: DETAIL_LAYOUT.indent });
  page.text([fullListHint], { indent: INDENT });
}

/** Labels whose text is clear without them. */
const UNLABELED_DETAILS: ReadonlySet<string> = new Set([
  "replaces",
  "mail",
  "details",
  "reports",
  "backtest",
  "asked for",
  "declared",
  "held",
]);

function renderChangeTitle(page: Paper, { change, sign, word, list, kind }: Card): void {
  const kindText = kind.length > 0 ? say` (${kind})` : [];
  const text = say`${valueWords(change.value)}${kindText}`;
  page.marked(`${sign} ${word} ${list}`, text, { indent: INDENT, style: SYMBOL_STYLES[sign] });
}

function renderLimitedList<T>(
  page: Paper,
  title: string,
  items: readonly T[],
  limit: number,
  formatItem: (item: T) => Words,
  describeHidden: (hidden: readonly T[]) => string,
): void {
  if (items.length === 0) return;
  page.heading([`${title} (${number(items.length)})`]);
  for (const item of items.slice(0, limit)) page.text(formatItem(item), { indent: INDENT });
  if (items.length > limit) page.text([`… and ${describeHidden(items.slice(limit))}`], { indent: INDENT });
}

function createHiddenCountFormatter(fullListHint: string): (hidden: readonly unknown[]) => string {
  return (hidden) => `${number(hidden.length)} more; ${fullListHint}`;
}
