import { cardSections, guardsMarkdown, type MarkdownSection, planHead, withSections } from "../../plan/render/markdown";
import { markdownCode, markdownWords } from "../../render/markdown-text";
import { filled } from "../../render/room";
import { counted, given, join, number, type Words } from "../../render/words";
import { sharedLoosenings } from "../report/loosened";
import { keysMarkdown, loosenedMarkdown, type ReportMarkdownOptions } from "../report/report-markdown";
import { skippedHeading } from "../report/skip-words";
import type { TenantGroup } from "./tenant-groups";
import { type ShownPlan, type ToldWhole, toldWhole } from "./told-whole";

/** Enough room for the head, the foot, and a summary of every section, whatever they contain. */
const MIN_LIMIT = 32_768;

/**
 * Renders the plan of all tenants for a comment on a pull request on GitHub or GitLab. The most important changes come first, and a change
 * that several tenants share appears once. Anything that doesn't fit is summarized. Values from outside can't become markup, links or
 * mentions. The first line is the same as in the plan of a single tenant.
 *
 * @throws RangeError if the limit is too low for a useful comment.
 */
export function wholePlanMarkdown(
  input: ShownPlan,
  { limit = 65_536 }: Pick<ReportMarkdownOptions, "limit"> = {},
): string {
  if (!(limit >= MIN_LIMIT)) throw new RangeError(`The limit is ${limit}; it can't be less than ${MIN_LIMIT}`);
  const view = toldWhole(input);
  const footer = `Digest: ${markdownCode(input.report.digest, 100)}\n`;
  return withSections(renderPlanHeadMarkdown(view), buildPlanReportSections(input, view), footer, limit);
}

function renderPlanHeadMarkdown({ title, mail, ...told }: ToldWhole): string {
  return `${planHead(`of ${markdownWords(title, { limit: 60 })}`, told)}${markdownWords(mail, { limit: 100 })}\n\n`;
}

function buildPlanReportSections({ report, whole }: ShownPlan, view: ToldWhole): MarkdownSection[] {
  const { tenants } = report;
  const { guards, again, failures, skipped, missing, drift, left, leftTitle, tenants: tenantLines, waves } = view;
  const overrides = sharedLoosenings(tenants);
  const sections: (MarkdownSection & { readonly isThere: boolean })[] = [
    { isThere: guards.length > 0, share: 0.2, render: (maxBytes) => guardsMarkdown(guards, maxBytes) },
    {
      isThere: again.length > 0,
      share: 0.1,
      render: (maxBytes) => renderList("### Rolled back before, and planned again\n\n", again, maxBytes),
    },
    {
      isThere: failures.length > 0,
      share: 0.2,
      render: (maxBytes) => renderPlanFailuresMarkdown(failures, maxBytes),
    },
    {
      isThere: skipped.length > 0,
      share: 0.1,
      render: (maxBytes) => renderList(`### ${skippedHeading(skipped)}\n\n`, skipped, maxBytes),
    },
    {
      isThere: overrides.length > 0,
      share: 0.1,
      render: (maxBytes) => loosenedMarkdown(overrides, maxBytes),
    },
    {
      isThere: missing.length > 0,
      share: 0.1,
      render: (maxBytes) => renderList("### What the mail does not tell\n\n", missing, maxBytes),
    },
    ...cardSections(whole, "in the artifact").map((section) => ({
      ...section,
      isThere: true,
      share: section.share * 0.75,
    })),
    {
      isThere: drift.length > 0,
      share: 0.1,
      render: (maxBytes) => renderList("### Reverted\n\n", drift, maxBytes),
    },
    {
      isThere: left.length > 0,
      share: 0.1,
      render: (maxBytes) => renderList(`### ${leftTitle}\n\n`, left, maxBytes),
    },
    {
      isThere: tenantLines.length > 0,
      share: 0.25,
      render: (maxBytes) => renderTenantLines(tenantLines, maxBytes),
    },
    {
      isThere: whole.groups.all.length > 0,
      share: 0.3,
      render: (maxBytes) => renderGroups(whole.groups.all, maxBytes),
    },
    {
      isThere: waves.length > 0,
      share: 0.1,
      render: (maxBytes) =>
        renderFold("Waves", waves.length, waves, maxBytes, (hiddenCount) => `${number(hiddenCount)} more`),
    },
    { isThere: tenants.length > 0, share: 0.1, render: (maxBytes) => keysMarkdown(tenants, maxBytes) },
  ];
  return sections.filter(({ isThere }) => isThere);
}

function renderPlanFailuresMarkdown(failures: ToldWhole["failures"], maxBytes: number): string {
  const formatTitle = ({ title: titleText }: (typeof failures)[number]): string =>
    markdownWords(titleText, { limit: 100 });
  const formatFailure = (one: (typeof failures)[number]): string =>
    [
      `#### ✗ ${formatTitle(one)}`,
      "",
      ...one.facts.map((detail) => `- ${markdownWords(detail, { limit: 500 })}`),
      "",
      "",
    ].join("\n");
  return filled(
    "### Can't be planned\n\n",
    [
      failures.map((failure) => () => formatFailure(failure)),
      failures.map((failure) => () => `- ✗ ${formatTitle(failure)}\n`),
    ],
    maxBytes,
    (hiddenCount) => `… and ${counted(hiddenCount, "more reason")}.\n\n`,
  );
}

function renderTenantLines(tenantLines: ToldWhole["tenants"], maxBytes: number): string {
  const countTenants = (lineGroup: typeof tenantLines): number =>
    lineGroup.reduce((total, { count }) => total + count, 0);
  const texts = tenantLines.map((line) => line.words);
  return renderFold("Each tenant", countTenants(tenantLines), texts, maxBytes, (hiddenCount) =>
    counted(countTenants(tenantLines.slice(-hiddenCount)), "more tenant"),
  );
}

function renderList(heading: string, items: readonly Words[], maxBytes: number): string {
  return `${renderLines(heading, items, maxBytes - 1, (hiddenCount) => `${number(hiddenCount)} more`)}\n`;
}

/** Renders lines inside an expandable section. */
function renderFold(
  title: string,
  count: number,
  items: readonly Words[],
  maxBytes: number,
  formatHidden: (hiddenCount: number) => string,
): string {
  const closing = "\n</details>\n\n";
  const heading = `<details><summary>${title} (${number(count)})</summary>\n\n`;
  return `${renderLines(heading, items, maxBytes - closing.length, formatHidden)}${closing}`;
}

/** Renders as many whole lines as fit, and describes the others. */
function renderLines(
  heading: string,
  texts: readonly Words[],
  maxBytes: number,
  formatHidden: (hiddenCount: number) => string,
): string {
  const items = texts.map((text) => () => `- ${markdownWords(text, { limit: 300 })}\n`);
  return filled(heading, [items], maxBytes, (hiddenCount) => `… and ${formatHidden(hiddenCount)}, in the artifact.\n`);
}

/** Lists the tenants of each group. If not all names fit, lists some of them. */
function renderGroups(tenantGroups: readonly TenantGroup[], maxBytes: number): string {
  const formatGroup = ({ name, tenants }: TenantGroup, maxNames: number): string => {
    const names = tenants.slice(0, maxNames).map((name): Words => [given(name)]);
    const suffix = tenants.length > maxNames ? ` and ${number(tenants.length - maxNames)} more` : "";
    const title = `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${counted(tenants.length, "tenant")}`;
    return `<details><summary>${title}</summary>\n\n${markdownWords(join(names, ", "), { limit: 100 })}${suffix}\n\n</details>\n`;
  };
  const variants = [MANY_NAMES, SOME_NAMES].map((maxNames) =>
    tenantGroups.map((group) => () => formatGroup(group, maxNames)),
  );
  const heading = "### Groups of tenants\n\n";
  return `${filled(heading, variants, maxBytes - 1, (hiddenCount) => `… and ${counted(hiddenCount, "more group")}, in the artifact.\n`)}\n`;
}

const MANY_NAMES = 1_000;
const SOME_NAMES = 10;
