import {
  describeValue,
  formatListName,
  OPERATION_SYMBOLS,
  OVERRIDES_HEADING,
} from "../../plan/render/plan-descriptions";
import {
  formatMarkdownBlock,
  formatMarkdownCode,
  renderMarkdownRow,
  renderMarkdownText,
} from "../../render/markdown-text";
import { getByteLength, renderWithinLimit } from "../../render/render-within-limit";
import {
  formatCount,
  formatNumber,
  joinTexts,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../render/safe-text";
import { formatDuration } from "../model/duration";
import type { RolloutReport, TenantReport, WaveReport } from "../model/rollout-report";
import { sortTenantsByDanger } from "./change-danger";
import { formatKeyRoute, groupKeyRoutes } from "./key-routes";
import { countFinishedTenants } from "./rollout-headline";
import {
  buildRolloutReportView,
  countOmittedChanges,
  formatOmittedChanges,
  formatPlannedCounts,
  formatUntouchedNote,
  type RolloutReportView,
  type RolloutStatusColor,
} from "./rollout-report-view";
import { formatOverride, groupOverrides, type OverrideGroup } from "./shared-overrides";
import { formatSkippedHeading, formatSkippedTenant } from "./skipped-tenants";
import { getStateLabels, type RolloutStateLabels } from "./state-labels";
import { formatWaveState, formatWaveSummary } from "./wave-summary";
import { computeWaveTimes } from "./wave-times";

/** The first line of a rollout's report in Markdown. A bot finds its own comment by this line, to update it. */
export const ROLLOUT_COMMENT_MARKER = "<!-- email-security-rollout -->";

export interface ReportMarkdownOptions {
  /** The maximum number of characters, and of bytes in UTF-8. Default: 65,536, the limit of GitHub. Minimum: 32,768. */
  readonly limit?: number;
  /** The first line. Default: {@link ROLLOUT_COMMENT_MARKER}. */
  readonly marker?: string;
}

/**
 * Renders the report of a rollout for a comment or a job summary on GitHub or GitLab, failures first. Anything that doesn't fit is only
 * counted. Values from outside can't become markup, links or mentions.
 *
 * @throws RangeError if the limit is too low for a useful report.
 */
export function renderReportMarkdown(
  report: RolloutReport,
  { limit = 65_536, marker = ROLLOUT_COMMENT_MARKER }: ReportMarkdownOptions = {},
): string {
  if (!(limit >= MIN_LIMIT)) throw new RangeError(`The limit is ${limit}; it can't be less than ${MIN_LIMIT}`);
  const view = buildRolloutReportView(report);
  const head = `${marker}\n${renderReportHeadMarkdown(report, view)}`;
  const footer = `Digest: ${formatMarkdownCode(report.digest, 100)}\n`;
  let remainingBytes = limit - getByteLength(head) - getByteLength(footer);
  const sections = buildReportSections(report, view);
  const renderedSections = sections.map((section, index) => {
    const remainingCount = sections.length - index - 1;
    const text = section(
      Math.min(
        remainingBytes - remainingCount * SECTION_RESERVE,
        Math.max(SECTION_RESERVE, remainingBytes * SECTION_SHARE),
      ),
    );
    remainingBytes -= getByteLength(text);
    return text;
  });
  return [head, ...renderedSections, footer].join("");
}

/** Enough room for the head, the foot, and a summary of every section, whatever they contain. */
const MIN_LIMIT = 32_768;
const SECTION_RESERVE = 1_500;
/** The fraction of the remaining space that a section may take, so that even the last section gets some. */
const SECTION_SHARE = 0.7;

/** Renders Markdown in at most `maxBytes` bytes. {@link SECTION_RESERVE} bytes are enough. */
type SectionRenderer = (maxBytes: number) => string;

function buildReportSections(report: RolloutReport, { failures }: RolloutReportView): SectionRenderer[] {
  const { waves, tenants, skipped = [] } = report;
  const labels = getStateLabels(report);
  const otherTenants = sortTenantsByDanger(tenants.filter(({ state }) => state !== "failed"));
  const overrides = groupOverrides(tenants);
  return [
    ...(failures.length === 0 ? [] : [(maxBytes: number) => renderFailuresMarkdown(failures, maxBytes)]),
    ...(skipped.length === 0
      ? []
      : [
          (maxBytes: number) =>
            renderLimitedList(formatSkippedHeading(skipped), skipped.map(formatSkippedTenant), 500, maxBytes),
        ]),
    ...(overrides.length === 0 ? [] : [(maxBytes: number) => renderOverridesMarkdown(overrides, maxBytes)]),
    ...(waves.length === 0 ? [] : [(maxBytes: number) => renderWaveTable(report, labels, maxBytes)]),
    ...(otherTenants.length === 0 ? [] : [(maxBytes: number) => renderTenantTable(otherTenants, labels, maxBytes)]),
    ...(tenants.length === 0 ? [] : [(maxBytes: number) => renderKeysMarkdown(tenants, maxBytes)]),
  ];
}

const ALERTS: Readonly<Record<RolloutStatusColor, string>> = {
  danger: "CAUTION",
  warning: "WARNING",
  none: "TIP",
  running: "NOTE",
};

function renderReportHeadMarkdown(
  { source, advice }: RolloutReport,
  { statusColor, verdict, headline, statusNotes, tallies, facts }: RolloutReportView,
): string {
  return [
    `## Email security rollout of ${formatMarkdownCode(source, 60)}`,
    "",
    `> [!${ALERTS[statusColor]}]`,
    `> **${verdict}.** ${renderMarkdownText(headline, { limit: 300 })}`,
    "",
    tallies.map(({ symbol, word, count }) => `${symbol} **${formatNumber(count)}** ${word}`).join(" · "),
    "",
    ...(statusNotes.length === 0 ? [] : [renderMarkdownText(statusNotes), ""]),
    renderMarkdownText(joinTexts(facts, " · "), { limit: 60 }),
    "",
    ...advice
      .slice(0, MAX_ADVICE)
      .flatMap(({ reason, command }) => [
        renderMarkdownText([untrustedSentence(reason)], { limit: 200 }),
        "",
        ...(command === undefined ? [] : [formatMarkdownBlock(command, 400)]),
      ]),
    "",
  ].join("\n");
}

const MAX_ADVICE = 3;

function renderFailuresMarkdown(failedTenants: readonly TenantReport[], maxBytes: number): string {
  return renderWithinLimit(
    `### Failed (${formatNumber(failedTenants.length)})\n\n`,
    [
      failedTenants.map((tenant) => () => renderFailure(tenant)),
      failedTenants.map((tenant) => () => renderFailureLine(tenant)),
    ],
    maxBytes,
    (hiddenCount) => `… and ${formatNumber(hiddenCount)} more failed tenants.\n\n`,
  );
}

function renderFailure(tenant: TenantReport): string {
  const { name, wave, host, error } = tenant;
  const details: SafeText[] =
    error === undefined
      ? []
      : [
          safeText`Error: ${untrustedSentence(error.message)} (${untrusted(error.code)}) ${formatUntouchedNote(tenant)}`,
          safeText`Fix: ${untrustedSentence(error.advice)}`,
        ];
  const lines = details.map((detail) => `- ${renderMarkdownText(detail, { limit: 500 }).trimEnd()}`);
  const locationText = renderMarkdownText(safeText`wave ${untrusted(wave)}, ${untrusted(host)}`, {
    limit: 80,
  });
  return [`#### ✗ ${formatMarkdownCode(name, 200)} (${locationText})`, "", ...lines, "", ""].join("\n");
}

function renderLimitedList(heading: string, items: readonly SafeText[], limit: number, maxBytes: number): string {
  const lines = items.map((text) => () => `- ${renderMarkdownText(text, { limit }).trimEnd()}\n`);
  const formatHidden = (hiddenCount: number) => `… and ${formatNumber(hiddenCount)} more.\n`;
  return `${renderWithinLimit(`### ${heading}\n\n`, [lines], maxBytes - 1, formatHidden)}\n`;
}

/** Renders the overrides that tenants share, in at most `maxBytes` bytes. */
export function renderOverridesMarkdown(overrides: readonly OverrideGroup[], maxBytes: number): string {
  return renderLimitedList(
    `${OVERRIDES_HEADING} (${formatNumber(overrides.length)})`,
    overrides.map(formatOverride),
    500,
    maxBytes,
  );
}

function renderFailureLine({ name, error }: TenantReport): string {
  const code = error === undefined ? "" : `: ${formatMarkdownCode(error.code, 60)}`;
  return `- ✗ ${formatMarkdownCode(name, 80)}${code}\n`;
}

function renderWaveTable(report: RolloutReport, labels: RolloutStateLabels, maxBytes: number): string {
  const times = computeWaveTimes(report);
  const head = "### Waves\n\n| Wave | Completed | Tenants | Duration |\n|---|---|---|---|\n";
  const rows = report.waves.map((wave) => () => `${renderWaveRow(wave, labels, times.get(wave.name)?.workMs)}\n`);
  return `${renderWithinLimit(head, [rows], maxBytes, (hiddenCount) => `… and ${formatNumber(hiddenCount)} more waves.\n`)}\n`;
}

function renderWaveRow(wave: WaveReport, labels: RolloutStateLabels, workMs: number | undefined): string {
  const { symbol } = labels.waves[wave.state];
  return renderMarkdownRow([
    safeText`${symbol} ${untrusted(wave.name)} ${formatWaveState(wave, labels)}`,
    safeText`${countFinishedTenants(wave.counts)} of ${wave.tenants}`,
    formatWaveSummary(wave, labels),
    [workMs === undefined ? "" : formatDuration(workMs)],
  ]);
}

function renderTenantTable(tenants: readonly TenantReport[], labels: RolloutStateLabels, maxBytes: number): string {
  const closing = "\n</details>\n\n";
  const head = [
    `<details${tenants.length <= MAX_UNFOLDED ? " open" : ""}><summary>${formatCount(tenants.length, "tenant")} without a failure${tenants.some(({ state }) => state === "skipped") ? ", or skipped" : ""}</summary>`,
    "",
    "| Tenant | Wave | Planned changes | Duration |",
    "|---|---|---|---|",
    "",
  ].join("\n");
  const rows = tenants.map((tenant) => () => `${renderTenantRowMarkdown(tenant, labels, MAX_ROW_CHANGES)}\n`);
  const shortRows = tenants.map((tenant) => () => `${renderTenantRowMarkdown(tenant, labels, 0)}\n`);
  return `${renderWithinLimit(head, [rows, shortRows], maxBytes - closing.length, (hiddenCount) => `… and ${formatNumber(hiddenCount)} more.\n`)}${closing}`;
}

/** Renders which addresses get which keys, in at most `maxBytes` bytes. Tenants with the same route share a line. */
export function renderKeysMarkdown(tenants: readonly TenantReport[], maxBytes: number): string {
  const routes = groupKeyRoutes(tenants).map((route) => formatKeyRoute(route, tenants.length));
  return renderLimitedList("Keys", routes, 200, maxBytes);
}

const MAX_UNFOLDED = 20;
const MAX_ROW_CHANGES = 3;

function renderTenantRowMarkdown(tenant: TenantReport, labels: RolloutStateLabels, limit: number): string {
  const { symbol, word } = labels.tenants[tenant.state];
  const visible = tenant.changes.slice(0, limit);
  const hiddenCount = countOmittedChanges(tenant) + tenant.changes.length - visible.length;
  const changes = visible.map(
    (change): SafeText =>
      safeText`\`${OPERATION_SYMBOLS[change.operation]}\` ${untrusted(formatListName(change))} ${describeValue(change.value)}`,
  );
  const changeTexts: SafeText[] =
    limit === 0 || hiddenCount === 0 ? changes : [...changes, [formatOmittedChanges(hiddenCount)]];
  return renderMarkdownRow([
    safeText`${symbol} ${untrusted(tenant.name)} ${word}`,
    [untrusted(tenant.wave)],
    limit === 0 ? [formatPlannedCounts(tenant)] : joinTexts(changeTexts, "<br>"),
    [tenant.durationMs === undefined ? "" : formatDuration(tenant.durationMs)],
  ]);
}
