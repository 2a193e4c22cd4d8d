import { sanitizeLine } from "../../model/text";
import { formatNumber, joinTexts, type SafeText, safeText, untrusted, untrustedSentence } from "../../render/safe-text";
import { type Style, TextPage } from "../../render/text-page";
import { fitToWidth, getTextWidth } from "../../render/text-width";
import { formatDuration } from "../model/duration";
import type { RolloutReport, TenantReport } from "../model/rollout-report";
import { countFinishedTenants } from "./rollout-headline";
import { buildRolloutReportView, formatUntouchedNote, type RolloutStatusColor } from "./rollout-report-view";
import { formatSkippedHeading, formatSkippedTenant } from "./skipped-tenants";
import { getStateLabels, TENANT_STATE_LABELS, WAVE_STATE_LABELS } from "./state-labels";
import { formatWaveState, formatWaveSummary } from "./wave-summary";
import { computeWaveTimes } from "./wave-times";

export interface ReportTextOptions {
  /** Whether to use colours. Default: false. Colour alone never carries information. */
  readonly color?: boolean;
  /** The number of columns of the terminal. Default: 80. Unbreakable parts, such as long values, may exceed it. */
  readonly width?: number;
  /**
   * The maximum number of failures to show in full. The maximum number of waves is five times as high. Any others are only counted.
   * Default: 10.
   */
  readonly limit?: number;
}

/**
 * Renders the report of a rollout for a terminal, with a trailing newline: the outcome, the failed tenants with the advice for each, the
 * waves, and the next steps. Values from outside are sanitized, and control characters are escaped.
 */
export function renderReportText(
  report: RolloutReport,
  { color = false, width = 80, limit = 10 }: ReportTextOptions = {},
): string {
  const view = buildRolloutReportView(report);
  const page = new TextPage(color, width);
  page.addText(safeText`Rollout of ${untrusted(report.source)}`, { style: "bold" });
  page.addText(joinTexts(view.facts, " · "), { style: "dim" });
  page.addBlankLine();
  page.addLabeledText(view.verdict.toUpperCase(), view.headline, { style: TONE_STYLES[view.statusColor] });
  page.addText([view.tallies.map(({ symbol, word, count }) => `${symbol} ${formatNumber(count)} ${word}`).join("   ")]);
  if (view.statusNotes.length > 0) page.addText(view.statusNotes);
  writeSkippedTenants(page, report, limit);
  writeReportFailures(page, view.failures, limit);
  writeReportWaves(page, report, limit * 5);
  writeReportAdvice(page, report);
  page.addBlankLine();
  page.addText(safeText`Digest ${untrusted(report.digest)}`, { style: "dim" });
  return page.toString();
}

const TONE_STYLES: Readonly<Record<RolloutStatusColor, Style>> = {
  danger: ["bold", "red"],
  warning: ["bold", "yellow"],
  none: ["bold", "green"],
  running: ["bold", "blue"],
};

const INDENT = 2;

export function writeSkippedTenants(
  page: TextPage,
  { skipped = [] }: Pick<RolloutReport, "skipped">,
  limit: number,
): void {
  if (skipped.length === 0) return;
  page.addHeading([formatSkippedHeading(skipped)], "yellow");
  for (const skippedTenant of skipped.slice(0, limit)) {
    page.addMarkedText(TENANT_STATE_LABELS.skipped.symbol, formatSkippedTenant(skippedTenant), {
      indent: INDENT,
      style: "yellow",
    });
  }
  if (skipped.length > limit) page.addText([`… and ${formatNumber(skipped.length - limit)} more`], { indent: INDENT });
}
const DETAIL_LAYOUT = { indent: 6, labelWidth: 5 };

function writeReportFailures(page: TextPage, failedTenants: readonly TenantReport[], limit: number): void {
  if (failedTenants.length === 0) return;
  page.addHeading([`Failed (${formatNumber(failedTenants.length)})`], "red");
  failedTenants.slice(0, limit).forEach((tenant, index) => {
    if (index > 0) page.addBlankLine();
    const { name, wave, host, error } = tenant;
    page.addMarkedText("✗", safeText`${untrusted(name)} (wave ${untrusted(wave)}, ${untrusted(host)})`, {
      indent: INDENT,
      style: "red",
    });
    if (error === undefined) return;
    page.addLabeledText("error", safeText`${untrustedSentence(error.message)} [${untrusted(error.code)}]`, {
      ...DETAIL_LAYOUT,
      style: "red",
    });
    const effectText = formatUntouchedNote(tenant);
    if (effectText.length > 0) page.addLabeledText("", effectText, DETAIL_LAYOUT);
    page.addLabeledText("fix", [untrustedSentence(error.advice)], { ...DETAIL_LAYOUT, style: "dim" });
  });
  const remaining = failedTenants.slice(limit);
  if (remaining.length === 0) return;
  page.addBlankLine();
  page.addText([`… and ${formatNumber(remaining.length)} more:`], { indent: INDENT });
  for (const [code, tenants] of groupByErrorCode(remaining)) {
    const names = tenants.slice(0, limit).map(({ name }): SafeText => [untrusted(name)]);
    const hiddenCount = tenants.length - names.length;
    page.addText(
      safeText`${tenants.length} × ${untrusted(code)}: ${joinTexts(hiddenCount > 0 ? [...names, [`and ${formatNumber(hiddenCount)} more`]] : names, ", ")}`,
      { indent: DETAIL_LAYOUT.indent },
    );
  }
}

/** Groups failed tenants by error code, the largest group first. */
export function groupByErrorCode(failedTenants: readonly TenantReport[]): [code: string, tenants: TenantReport[]][] {
  const groups = Map.groupBy(failedTenants, ({ error }) => error?.code ?? "unknown error");
  return [...groups].sort(([, a], [, b]) => b.length - a.length);
}

const WAVE_STYLES: Readonly<Record<string, Style>> = {
  done: "green",
  stopped: "red",
  gated: "yellow",
  pending: "dim",
};

function writeReportWaves(page: TextPage, report: RolloutReport, limit: number): void {
  const { waves: waveReports } = report;
  if (waveReports.length === 0) return;
  page.addHeading([`Waves (${formatNumber(waveReports.length)})`]);
  const visibleWaves = waveReports.slice(0, limit);
  const times = computeWaveTimes(report);
  const labels = getStateLabels(report);
  const nameWidth = Math.min(MAX_NAME, Math.max(...visibleWaves.map(({ name }) => getTextWidth(sanitizeLine(name)))));
  const doneWidth = Math.max(...visibleWaves.map((wave) => formatWaveProgress(wave).length));
  for (const wave of visibleWaves) {
    const { symbol, word } = labels.waves[wave.state];
    const workMs = times.get(wave.name)?.workMs;
    const showsState = wave.state !== "done" && wave.state !== "pending" && word !== WAVE_STATE_LABELS.running.word;
    const text = safeText`${formatWaveProgress(wave).padStart(doneWidth)}  ${showsState ? safeText`${formatWaveState(wave, labels)}; ` : []}${formatWaveSummary(wave, labels)}${workMs === undefined ? "" : `, took ${formatDuration(workMs)}`}`;
    page.addMarkedText(`${symbol} ${fitToWidth(sanitizeLine(wave.name), nameWidth)}`, text, {
      indent: INDENT,
      style: WAVE_STYLES[wave.state] ?? "blue",
    });
  }
  if (waveReports.length > limit)
    page.addText([`… and ${formatNumber(waveReports.length - limit)} more`], { indent: INDENT });
}

const MAX_NAME = 24;

function formatWaveProgress({ counts, tenants }: RolloutReport["waves"][number]): string {
  return `${formatNumber(countFinishedTenants(counts))}/${formatNumber(tenants)}`;
}

function writeReportAdvice(page: TextPage, { advice: steps }: RolloutReport): void {
  if (steps.length === 0) return;
  page.addHeading(["Next steps"]);
  for (const { reason, command } of steps) {
    page.addText([untrustedSentence(reason)], { indent: INDENT });
    if (command !== undefined) page.addVerbatim(command, INDENT * 2);
  }
}
