import { describeHidden } from "../../model/danger";
import { DETAIL_NAMES } from "../../model/entry-fields";
import { capitalize } from "../../model/text";
import {
  formatMarkdownBlock,
  formatMarkdownCode,
  renderMarkdownDetails,
  renderMarkdownRow,
  renderMarkdownText,
} from "../../render/markdown-text";
import { getByteLength, renderWithinLimit } from "../../render/render-within-limit";
import { formatDay, formatNumber, joinTexts, type SafeText, safeText, untrusted } from "../../render/safe-text";
import { getExpiredTransition, type Plan } from "../plan";
import type { ChangeDetail } from "./change-details";
import {
  describeExpired,
  describeFinding,
  describeHiddenUnmanaged,
  describeLine,
  describeOverride,
  describeUnmanaged,
  describeValue,
  OVERRIDES_HEADING,
} from "./plan-descriptions";
import {
  buildPlanView,
  type ChangeView,
  countChangeKinds,
  formatOtherCounts,
  type PlanStatus,
  type PlanView,
} from "./plan-view";

/** The first line of a plan in Markdown. A bot uses it to find and update its own comment. */
export const PLAN_COMMENT_MARKER = "<!-- email-security-plan -->";

export interface PlanMarkdownOptions {
  /** The maximum length in characters and UTF-8 bytes; at least 32,768. Default: 65,536, the limit of GitHub. */
  readonly limit?: number;
  readonly artifact?: string;
}

/**
 * Renders a plan as a pull request comment for GitHub or GitLab. The most important parts come first; the rest is summarized within the
 * limit. Escapes external text, so that it can't contain markup, links or mentions.
 *
 * @throws {RangeError} if the limit is too low.
 */
export function renderPlanMarkdown(plan: Plan, { limit = 65_536, artifact }: PlanMarkdownOptions = {}): string {
  if (!(limit >= MIN_LIMIT)) throw new RangeError(`The limit is ${limit}; it can't be less than ${MIN_LIMIT}`);
  const view = buildPlanView(plan);
  const fullListHint = formatArtifact(artifact);
  const header = formatPlanHeader(view);
  const footer = formatPlanFooter(
    view,
    artifact === undefined ? "" : `The whole plan: ${fullListHint.replace(/^in /, "")}\n\n`,
  );
  return renderSections(header, buildPlanSections(view, fullListHint), footer, limit);
}

/** Renders a head, the sections as far as they fit, and a foot within the limit in bytes. */
export function renderSections(
  header: string,
  sections: readonly MarkdownSection[],
  footer: string,
  limit: number,
): string {
  let remainingBytes = limit - getByteLength(header) - getByteLength(footer);
  const texts = sections.map((section, index) => {
    const laterSections = sections.length - index - 1;
    const text = section.render(
      Math.min(
        remainingBytes - laterSections * MIN_SECTION_BYTES,
        Math.max(MIN_SECTION_BYTES, Math.floor(limit * section.maxShare)),
      ),
    );
    remainingBytes -= getByteLength(text);
    return text;
  });
  return [header, ...texts, footer].join("");
}

/** Enough for the head, the foot and a summary of every section, regardless of content. */
const MIN_LIMIT = 32_768;
/** The bytes that a section summary needs: a heading, the counts and where to find the rest. */
const MIN_SECTION_BYTES = 1_500;

export interface MarkdownSection {
  /** The maximum share of the limit, which leaves space for the last sections. */
  readonly maxShare: number;
  /** Renders the section within the limit in bytes, which is always enough for a summary. */
  readonly render: (maxBytes: number) => string;
}

/** Returns the section of some items; none without items. */
export function buildSection(
  items: readonly unknown[],
  maxShare: number,
  render: MarkdownSection["render"],
): MarkdownSection[] {
  return items.length === 0 ? [] : [{ maxShare, render }];
}

function buildPlanSections(view: PlanView, fullListHint: string): MarkdownSection[] {
  const { blockers, overrides, findings, expired, unmanaged, unmatchedDenies } = view;
  const buildAside = (
    title: string,
    lines: readonly SafeText[],
    describeHiddenCount?: (count: number) => string,
    intro?: SafeText,
  ): MarkdownSection[] =>
    buildSection(lines, 0.15, (maxBytes) =>
      renderAsideMarkdown(title, intro, lines, maxBytes, fullListHint, describeHiddenCount),
    );
  return [
    buildSection(blockers, 0.25, (maxBytes) => renderBlockersMarkdown(blockers, maxBytes, fullListHint)),
    buildSection(overrides, 0.15, (maxBytes) => renderPlanOverrides(overrides, maxBytes, fullListHint)),
    buildChangeSections(view, fullListHint),
    buildAside(
      "Findings on unchanged entries",
      findings.map((finding) => safeText`${describeLine(finding.place)} ${describeFinding(finding)}`),
    ),
    buildAside("Expired", expired.map(describeExpired), (count) =>
      describeHidden(expired.slice(-count).map(getExpiredTransition)),
    ),
    buildAside("Unmanaged", unmanaged.map(describeUnmanaged), (count) =>
      describeHiddenUnmanaged(unmanaged.slice(-count)),
    ),
    buildAside(
      "Denies without a matching threat",
      unmatchedDenies?.keys.map(describeValue) ?? [],
      undefined,
      unmatchedDenies?.text,
    ),
  ].flat();
}

/**
 * Builds the sections of changes, dangerous ones first.
 *
 * @param fullListHint the location of the remaining changes, if there are too many.
 */
export function buildChangeSections(
  { dangers, accepted, warnings, others }: Pick<PlanView, "dangers" | "accepted" | "warnings" | "others">,
  fullListHint: string,
): MarkdownSection[] {
  const buildChangeSection = (
    title: string,
    changes: readonly ChangeView[],
    maxShare: number,
    render = renderChangeViews,
  ) => buildSection(changes, maxShare, (maxBytes) => render(title, changes, maxBytes, fullListHint));
  return [
    buildChangeSection("Danger", dangers, 0.6),
    buildChangeSection("Risk accepted", accepted, 0.5),
    buildChangeSection("Warnings", warnings, 0.4),
    buildChangeSection("No risks found", others, 0.8, renderChangeTable),
  ].flat();
}

function formatPlanHeader({ tenant, ...view }: PlanView): string {
  return renderPlanHeader(`for ${renderMarkdownText(tenant, { limit: 60 })}`, view);
}

/**
 * Renders the marker, a heading, the verdict and the counts.
 *
 * @param subjectText the subject of the plan, as Markdown.
 */
export function renderPlanHeader(
  subjectText: string,
  {
    status,
    verdict,
    headline,
    summary,
    tallies,
  }: Pick<PlanView, "status" | "verdict" | "headline" | "summary" | "tallies">,
): string {
  return [
    PLAN_COMMENT_MARKER,
    `## Email security plan ${subjectText}`,
    "",
    `> [!${ALERT_TYPES[status]}]`,
    `> **${verdict}.** ${renderMarkdownText(headline, { limit: 60 })}`,
    "",
    `**${summary}** ${formatOtherCounts({ tallies })}`,
    "",
    "",
  ].join("\n");
}

const ALERT_TYPES: Readonly<Record<PlanStatus, string>> = {
  refused: "CAUTION",
  danger: "CAUTION",
  accepted: "WARNING",
  warning: "WARNING",
  none: "TIP",
  empty: "NOTE",
};

function formatPlanFooter({ basis, source, unmanagedNote, digest }: PlanView, artifact: string): string {
  const lines = [...basis, safeText`Source: ${source}.`].map((text) => `- ${renderMarkdownText(text, { limit: 80 })}`);
  const basisText = renderMarkdownDetails("Data used", `${lines.join("\n")}\n`);
  const noteText = unmanagedNote.length === 0 ? "" : `${renderMarkdownText(unmanagedNote, { limit: 400 })}\n\n`;
  return `${basisText}\n${noteText}${artifact}Digest: ${formatMarkdownCode(digest, 100)}\n`;
}

/**
 * Renders the blockers with their full messages.
 *
 * @param fullListHint the location of the remaining ones. Default: not mentioned.
 */
export function renderBlockersMarkdown(
  blockers: readonly { readonly code: string; readonly message: string }[],
  maxBytes: number,
  fullListHint = "",
): string {
  const blocks = blockers.map(
    ({ code, message }) =>
      () =>
        `**${formatMarkdownCode(code, 60)}**\n\n${formatMarkdownBlock(message, 3_000)}\n`,
  );
  return renderWithinLimit(
    `### Refused\n\n`,
    [blocks],
    maxBytes,
    (rest) => `… and ${formatNumber(rest)} more refusals${fullListHint === "" ? "" : `, ${fullListHint}`}.\n\n`,
  );
}

function renderPlanOverrides(overrides: PlanView["overrides"], maxBytes: number, fullListHint: string): string {
  return `${renderWithinLimit(
    `### ${OVERRIDES_HEADING} (${formatNumber(overrides.length)})\n\n`,
    [overrides.map((finding) => () => `- ${renderMarkdownText(describeOverride(finding), { limit: 500 })}\n`)],
    maxBytes,
    (rest) => `… and ${formatNumber(rest)} more, ${fullListHint}.\n`,
  )}\n`;
}

function renderChangeViews(
  title: string,
  changeViews: readonly ChangeView[],
  maxBytes: number,
  fullListHint: string,
): string {
  return renderWithinLimit(
    `### ${title} (${formatNumber(changeViews.length)})\n\n`,
    [
      changeViews.map((changeView) => () => formatChange(changeView)),
      changeViews.map((changeView) => () => formatChangeSummaryLine(changeView)),
    ],
    maxBytes,
    (rest) => `… and ${formatHiddenSummary(changeViews.slice(-rest), fullListHint)}\n\n`,
  );
}

function formatChange(changeView: ChangeView): string {
  const examples = changeView.allows?.examples ?? [];
  const details = changeView.details
    .slice(0, MAX_DETAILS)
    .map((detail, index) => `- ${formatDetail(detail, index === 0)}`);
  if (changeView.details.length > MAX_DETAILS)
    details.push(`- … and ${formatNumber(changeView.details.length - MAX_DETAILS)} more`);
  const lines = [`#### ${formatChangeTitle(changeView)}`, "", ...details, "", ""];
  if (examples.length === 0) return lines.join("\n");
  const rows = examples.map(({ time, sender, recipient, subject, verdict }) =>
    renderMarkdownRow([
      time === undefined ? [] : formatDay(time),
      ...[sender, recipient, subject, verdict].map((text): SafeText => (text === undefined ? [] : [untrusted(text)])),
    ]),
  );
  const content = ["| When | From | To | Subject | Verdict |", "|---|---|---|---|---|", ...rows, ""].join("\n");
  return `${lines.join("\n")}${renderMarkdownDetails("Examples of threats that would have been delivered", content)}\n`;
}

const MAX_DETAILS = 20;

function formatDetail({ label, text: words, isRisk }: ChangeDetail, isFirst: boolean): string {
  const name = capitalize(label);
  const text = renderMarkdownText(words, { limit: 500 });
  // Markdown needs a letter or digit after the asterisks; before a code span they would stay literal.
  const isBold = isFirst && isRisk === true && /^[\p{L}\d]/u.test(text) && text.endsWith(".");
  return isBold ? `**${name}:** **${text}**` : `**${name}:** ${text}`;
}

function formatChangeSummaryLine(changeView: ChangeView): string {
  const [firstDetail] = changeView.details;
  const detailText = firstDetail === undefined ? "" : `: ${renderMarkdownText(firstDetail.text, { limit: 80 })}`;
  const locationText =
    changeView.change.place === undefined
      ? ""
      : ` (${renderMarkdownText(describeLine(changeView.change.place), { limit: 80 })})`;
  return `- ${formatChangeTitle(changeView)}${locationText}${detailText}\n`;
}

function formatChangeTitle({ change, symbol, word, list, kind }: ChangeView): string {
  const kindText = kind.length > 0 ? ` (${renderMarkdownText(kind, { limit: 60 })})` : "";
  return `\`${symbol}\` ${word} ${list} ${renderMarkdownText(describeValue(change.value), { limit: 320 })}${kindText}`;
}

function renderChangeTable(
  title: string,
  changeViews: readonly ChangeView[],
  maxBytes: number,
  fullListHint: string,
): string {
  const closing = "\n</details>\n\n";
  const header = [
    `### ${title} (${formatNumber(changeViews.length)})`,
    "",
    `<details${changeViews.length <= MAX_OPEN_ROWS ? " open" : ""}><summary>${formatKinds(changeViews)}</summary>`,
    "",
    "| Change | Details | Approval, location | Mail |",
    "|---|---|---|---|",
    "",
  ].join("\n");
  const formatRest = (count: number) => `… and ${formatHiddenSummary(changeViews.slice(-count), fullListHint)}\n`;
  return `${renderWithinLimit(header, [changeViews.map((changeView) => () => `${formatChangeRow(changeView)}\n`)], maxBytes - closing.length, formatRest)}${closing}`;
}

const MAX_OPEN_ROWS = 20;

function formatChangeRow({ change, symbol, word, list, kind, details }: ChangeView): string {
  const joinDetails = (...labels: readonly ChangeDetail["label"][]): SafeText =>
    joinTexts(
      details.filter(({ label }) => labels.includes(label)).map(({ text }) => text),
      "<br>",
    );
  return renderMarkdownRow([
    safeText`\`${symbol}\` ${word} ${list}<br>${describeValue(change.value)}${kind.length > 0 ? safeText`<br>${kind}` : []}`,
    joinDetails(...DETAIL_NAMES, "reason", "replaces", "risk", "finding"),
    joinDetails("approval", "declared", "tenant"),
    joinDetails("mail", "reports", "backtest"),
  ]);
}

function renderAsideMarkdown(
  title: string,
  intro: SafeText | undefined,
  lines: readonly SafeText[],
  maxBytes: number,
  fullListHint: string,
  describeHiddenCount = (count: number) => `${formatNumber(count)} more`,
): string {
  const closing = "\n</details>\n\n";
  const introText = intro === undefined ? "" : `${renderMarkdownText(intro)}\n\n`;
  const header = `<details><summary>${title} (${formatNumber(lines.length)})</summary>\n\n${introText}`;
  const items = lines.map((text) => () => `- ${renderMarkdownText(text)}\n`);
  return `${renderWithinLimit(header, [items], maxBytes - closing.length, (rest) => `… and ${describeHiddenCount(rest)}, ${fullListHint}.\n`)}${closing}`;
}

/** Formats `9,000 more in the artifact: 8,000 add deny, 1,000 add VIP.` */
function formatHiddenSummary(hidden: readonly ChangeView[], fullListHint: string): string {
  return `${formatNumber(hidden.length)} more ${fullListHint}: ${formatKinds(hidden)}.`;
}

function formatKinds(changeViews: readonly ChangeView[]): string {
  return countChangeKinds(changeViews)
    .map(({ name, count }) => `${formatNumber(count)} ${name}`)
    .join(", ");
}

function formatArtifact(artifact: string | undefined): string {
  if (artifact === undefined) return "in the artifact";
  const url = getHttpsUrl(artifact);
  return url === undefined
    ? `in the artifact ${formatMarkdownCode(artifact, 60)}`
    : `in [the artifact](<${url.replace(/[<>\\`]/g, encodeURIComponent).replaceAll("&", "&amp;")}>)`;
}

function getHttpsUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === "https:" && url.href.length <= MAX_URL_LENGTH ? url.href : undefined;
}

const MAX_URL_LENGTH = 300;
