import { describeHidden } from "../../model/danger";
import { formatNumber, joinTexts, type SafeText, safeText, untrusted } from "../../render/safe-text";
import { type Style, TextPage } from "../../render/text-page";
import { getExpiredTransition, type Plan } from "../plan";
import {
  describeExample,
  describeExpired,
  describeFinding,
  describeHiddenUnmanaged,
  describeLine,
  describeOverride,
  describeUnmanaged,
  describeValue,
  OVERRIDES_HEADING,
} from "./plan-descriptions";
import { buildPlanView, type ChangeView, countChangeKinds, formatOtherCounts, type PlanStatus } from "./plan-view";

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
  readonly fullPlanCommand?: string;
}

const FULL_PLAN_COMMAND = "email-security plan --all";

/** Renders a plan for a terminal, with a final newline. Escapes control characters in external text. */
export function renderPlanText(
  plan: Plan,
  { color = false, width = 80, limit = 100, fullPlanCommand = FULL_PLAN_COMMAND }: PlanTextOptions = {},
): string {
  const view = buildPlanView(plan);
  const asideLimit = Math.floor(limit / 5);
  const page = new TextPage(color, width);
  page.addText(safeText`Plan for ${view.tenant}`, { style: "bold" });
  page.addText(view.source, { style: "dim" });
  page.addBlankLine();
  page.addLabeledText(view.verdict.toUpperCase(), view.headline, { style: STATUS_STYLES[view.status] });
  page.addText([[view.summary, formatOtherCounts(view)].join(" ")], { style: "bold" });
  for (const { code, message } of view.blockers) {
    page.addHeading(safeText`Refused by ${untrusted(code)}`, "red");
    page.addVerbatim(message, INDENT);
  }
  const fullListHint = `\`${fullPlanCommand}\` shows all of them`;
  writeLimitedList(
    page,
    OVERRIDES_HEADING,
    view.overrides,
    limit,
    describeOverride,
    createHiddenCountFormatter(fullListHint),
  );
  renderConcerning(page, "Danger", view.dangers, "red");
  renderConcerning(page, "Risk accepted", view.accepted, "yellow");
  renderConcerning(page, "Warnings", view.warnings, "yellow");
  renderUnremarkable(page, view.others, limit, fullListHint);
  writeLimitedList(
    page,
    "Findings on unchanged entries",
    view.findings,
    limit,
    (finding) =>
      safeText`${describeLine(finding.place)}${finding.place === undefined ? "" : " "}${describeFinding(finding)}`,
    createHiddenCountFormatter(fullListHint),
  );
  writeLimitedList(
    page,
    "Expired",
    view.expired,
    limit,
    describeExpired,
    (hidden) => `${describeHidden(hidden.map(getExpiredTransition))}; ${fullListHint}`,
  );
  writeLimitedList(
    page,
    "Unmanaged",
    view.unmanaged,
    asideLimit,
    describeUnmanaged,
    (hidden) => `${describeHiddenUnmanaged(hidden)}; ${fullListHint}`,
  );
  if (view.unmatchedDenies !== undefined) {
    page.addHeading(["Denies without a matching threat"]);
    page.addText(view.unmatchedDenies.text, { indent: INDENT });
    const keys = view.unmatchedDenies.keys.slice(0, asideLimit).map(describeValue);
    const hiddenCount = view.unmatchedDenies.keys.length - keys.length;
    page.addText(joinTexts(hiddenCount > 0 ? [...keys, [`and ${formatNumber(hiddenCount)} more`]] : keys, ", "), {
      indent: INDENT,
    });
  }
  page.addHeading(["Data used"]);
  for (const text of view.basis) page.addText(text, { indent: INDENT });
  page.addBlankLine();
  if (view.unmanagedNote.length > 0) page.addText(view.unmanagedNote);
  page.addText(safeText`Digest ${untrusted(plan.digest)}`, { style: "dim" });
  return page.toString();
}

const STATUS_STYLES: Readonly<Record<PlanStatus, Style>> = {
  refused: ["bold", "red"],
  danger: ["bold", "red"],
  accepted: ["bold", "yellow"],
  warning: ["bold", "yellow"],
  none: ["bold", "green"],
  empty: ["bold", "green"],
};

const SYMBOL_STYLES = { "+": "green", "~": "yellow", "-": "red" } as const;

const INDENT = 2;
const DETAIL_LAYOUT = { indent: 6, labelWidth: 9 };

function renderConcerning(page: TextPage, title: string, changeViews: readonly ChangeView[], style: Style): void {
  if (changeViews.length === 0) return;
  page.addHeading([`${title} (${formatNumber(changeViews.length)})`], style);
  renderChanges(page, changeViews, style);
}

function renderUnremarkable(
  page: TextPage,
  changeViews: readonly ChangeView[],
  limit: number,
  fullListHint: string,
): void {
  if (changeViews.length === 0) return;
  page.addHeading([`No risks found (${formatNumber(changeViews.length)})`], "green");
  renderChanges(page, changeViews.slice(0, limit), "dim");
  if (changeViews.length <= limit) return;
  const hiddenChanges = changeViews.slice(limit);
  page.addText([`… and ${formatNumber(hiddenChanges.length)} more:`], { indent: INDENT });
  for (const { name, count } of countChangeKinds(hiddenChanges))
    page.addText([`${formatNumber(count)} × ${name}`], { indent: DETAIL_LAYOUT.indent });
  page.addText([fullListHint], { indent: INDENT });
}

function renderChanges(page: TextPage, changeViews: readonly ChangeView[], riskStyle: Style): void {
  changeViews.forEach((changeView, index) => {
    if (index > 0 && (changeViews[index - 1]?.details.length ?? 0) > 0) page.addBlankLine();
    renderChangeTitle(page, changeView);
    for (const { label, text, isRisk } of changeView.details) {
      page.addLabeledText(label, text, { ...DETAIL_LAYOUT, style: isRisk === true ? riskStyle : "dim" });
    }
    for (const example of changeView.allows?.examples ?? []) {
      page.addLabeledText("example", describeExample(example), { ...DETAIL_LAYOUT, style: "dim" });
    }
  });
}

function renderChangeTitle(page: TextPage, { change, symbol, word, list, kind }: ChangeView): void {
  const kindText = kind.length > 0 ? safeText` (${kind})` : [];
  const text = safeText`${describeValue(change.value)}${kindText}`;
  page.addMarkedText(`${symbol} ${word} ${list}`, text, { indent: INDENT, style: SYMBOL_STYLES[symbol] });
}

function writeLimitedList<T>(
  page: TextPage,
  title: string,
  items: readonly T[],
  limit: number,
  formatItem: (item: T) => SafeText,
  describeHidden: (hidden: readonly T[]) => string,
): void {
  if (items.length === 0) return;
  page.addHeading([`${title} (${formatNumber(items.length)})`]);
  for (const item of items.slice(0, limit)) page.addText(formatItem(item), { indent: INDENT });
  if (items.length > limit) page.addText([`… and ${describeHidden(items.slice(limit))}`], { indent: INDENT });
}

function createHiddenCountFormatter(fullListHint: string): (hidden: readonly unknown[]) => string {
  return (hidden) => `${formatNumber(hidden.length)} more; ${fullListHint}`;
}
