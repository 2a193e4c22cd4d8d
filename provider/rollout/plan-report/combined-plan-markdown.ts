import { capitalize } from "../../model/text";
import {
  buildChangeSections,
  buildSection,
  type MarkdownSection,
  renderBlockersMarkdown,
  renderPlanHeader,
  renderSections,
} from "../../plan/render/plan-markdown";
import { formatMarkdownCode, renderMarkdownText } from "../../render/markdown-text";
import { renderWithinLimit } from "../../render/render-within-limit";
import { formatCount, formatNumber, joinTexts, type SafeText, untrusted } from "../../render/safe-text";
import { type ReportMarkdownOptions, renderKeysMarkdown, renderOverridesMarkdown } from "../report/report-markdown";
import { groupOverrides } from "../report/shared-overrides";
import { formatSkippedHeading } from "../report/skipped-tenants";
import { buildPlanSummaryView, type PlanSummaryInput, type PlanSummaryView } from "./plan-summary-view";
import type { TenantGroup } from "./tenant-group-labels";

/** Enough room for the head, the foot, and a summary of every section, whatever they contain. */
const MIN_LIMIT = 32_768;

/**
 * Renders the plan of all tenants for a comment on a pull request on GitHub or GitLab. The most important changes come first, and a change
 * that several tenants share appears once. Anything that doesn't fit is summarized. Values from outside can't become markup, links or
 * mentions. The first line is the same as in the plan of a single tenant.
 *
 * @throws RangeError if the limit is too low for a useful comment.
 */
export function renderCombinedPlanMarkdown(
  input: PlanSummaryInput,
  { limit = 65_536 }: Pick<ReportMarkdownOptions, "limit"> = {},
): string {
  if (!(limit >= MIN_LIMIT)) throw new RangeError(`The limit is ${limit}; it can't be less than ${MIN_LIMIT}`);
  const view = buildPlanSummaryView(input);
  const footer = `Digest: ${formatMarkdownCode(input.report.digest, 100)}\n`;
  return renderSections(renderPlanHeadMarkdown(view), buildPlanReportSections(input, view), footer, limit);
}

function renderPlanHeadMarkdown({ title, mailCoverage, ...view }: PlanSummaryView): string {
  return `${renderPlanHeader(`of ${renderMarkdownText(title, { limit: 60 })}`, view)}${renderMarkdownText(mailCoverage, { limit: 100 })}\n\n`;
}

function buildPlanReportSections({ report, combinedPlan }: PlanSummaryInput, view: PlanSummaryView): MarkdownSection[] {
  const { tenants } = report;
  const { blockers, failures, skipped, tenantLines, waves } = view;
  const overrides = groupOverrides(tenants);
  const { groups } = combinedPlan.groups;
  const list = (title: string, items: readonly SafeText[]): MarkdownSection[] =>
    buildSection(items, 0.1, (maxBytes) => renderHeadedList(`### ${title}\n\n`, items, maxBytes));
  return [
    buildSection(blockers, 0.2, (maxBytes) => renderBlockersMarkdown(blockers, maxBytes)),
    list("Rolled back before and planned again", view.reappliedChanges),
    buildSection(failures, 0.2, (maxBytes) => renderPlanFailuresMarkdown(failures, maxBytes)),
    list(formatSkippedHeading(skipped), skipped),
    buildSection(overrides, 0.1, (maxBytes) => renderOverridesMarkdown(overrides, maxBytes)),
    list("Missing mail evidence", view.missingEvidence),
    buildChangeSections(combinedPlan, "in the artifact").map((section) => ({
      ...section,
      maxShare: section.maxShare * 0.75,
    })),
    list("Reverted", view.drift),
    list(view.unrevertedTitle, view.unrevertedChanges),
    buildSection(tenantLines, 0.25, (maxBytes) => renderTenantLines(tenantLines, maxBytes)),
    buildSection(groups, 0.3, (maxBytes) => renderTenantGroups(groups, maxBytes)),
    buildSection(waves, 0.1, (maxBytes) =>
      renderFold("Waves", waves.length, waves, maxBytes, (hiddenCount) => `${formatNumber(hiddenCount)} more`),
    ),
    buildSection(tenants, 0.1, (maxBytes) => renderKeysMarkdown(tenants, maxBytes)),
  ].flat();
}

function renderPlanFailuresMarkdown(failures: PlanSummaryView["failures"], maxBytes: number): string {
  const formatTitle = ({ title: titleText }: (typeof failures)[number]): string =>
    renderMarkdownText(titleText, { limit: 100 });
  const formatFailure = (item: (typeof failures)[number]): string =>
    [
      `#### ✗ ${formatTitle(item)}`,
      "",
      ...item.facts.map((detail) => `- ${renderMarkdownText(detail, { limit: 500 })}`),
      "",
      "",
    ].join("\n");
  return renderWithinLimit(
    "### Failed to plan\n\n",
    [
      failures.map((failure) => () => formatFailure(failure)),
      failures.map((failure) => () => `- ✗ ${formatTitle(failure)}\n`),
    ],
    maxBytes,
    (hiddenCount) => `… and ${formatCount(hiddenCount, "more reason")}.\n\n`,
  );
}

function renderTenantLines(tenantLines: PlanSummaryView["tenantLines"], maxBytes: number): string {
  const countTenants = (lineGroup: typeof tenantLines): number =>
    lineGroup.reduce((total, { count }) => total + count, 0);
  const texts = tenantLines.map((line) => line.text);
  return renderFold("Each tenant", countTenants(tenantLines), texts, maxBytes, (hiddenCount) =>
    formatCount(countTenants(tenantLines.slice(-hiddenCount)), "more tenant"),
  );
}

function renderHeadedList(heading: string, items: readonly SafeText[], maxBytes: number): string {
  return `${renderLines(heading, items, maxBytes - 1, (hiddenCount) => `${formatNumber(hiddenCount)} more`)}\n`;
}

function renderFold(
  title: string,
  count: number,
  items: readonly SafeText[],
  maxBytes: number,
  formatHidden: (hiddenCount: number) => string,
): string {
  const closing = "\n</details>\n\n";
  const heading = `<details><summary>${title} (${formatNumber(count)})</summary>\n\n`;
  return `${renderLines(heading, items, maxBytes - closing.length, formatHidden)}${closing}`;
}

/** Renders as many whole lines as fit, and describes the others. */
function renderLines(
  heading: string,
  texts: readonly SafeText[],
  maxBytes: number,
  formatHidden: (hiddenCount: number) => string,
): string {
  const items = texts.map((text) => () => `- ${renderMarkdownText(text, { limit: 300 })}\n`);
  return renderWithinLimit(
    heading,
    [items],
    maxBytes,
    (hiddenCount) => `… and ${formatHidden(hiddenCount)}, in the artifact.\n`,
  );
}

/** Lists the tenants of each group. If not all names fit, lists some of them. */
function renderTenantGroups(tenantGroups: readonly TenantGroup[], maxBytes: number): string {
  const formatGroup = ({ name, tenants }: TenantGroup, maxNames: number): string => {
    const names = tenants.slice(0, maxNames).map((name): SafeText => [untrusted(name)]);
    const suffix = tenants.length > maxNames ? ` and ${formatNumber(tenants.length - maxNames)} more` : "";
    const title = `${capitalize(name)}: ${formatCount(tenants.length, "tenant")}`;
    return `<details><summary>${title}</summary>\n\n${renderMarkdownText(joinTexts(names, ", "), { limit: 100 })}${suffix}\n\n</details>\n`;
  };
  const variants = [MANY_NAMES, SOME_NAMES].map((maxNames) =>
    tenantGroups.map((group) => () => formatGroup(group, maxNames)),
  );
  const heading = "### Groups of tenants\n\n";
  return `${renderWithinLimit(heading, variants, maxBytes - 1, (hiddenCount) => `… and ${formatCount(hiddenCount, "more group")}, in the artifact.\n`)}\n`;
}

const MANY_NAMES = 1_000;
const SOME_NAMES = 10;
