import { styleText } from "node:util";
import { excerpt } from "../../model/text";
import { formatNumber, toSingleLine } from "../../render/safe-text";
import type { Style } from "../../render/text-page";
import { fitToWidth, getTextWidth, truncateToWidth } from "../../render/text-width";
import { formatDuration, formatWholeSeconds } from "../model/duration";
import { type StateLabel, TENANT_STATE_LABELS, WAVE_STATE_LABELS } from "../report/state-labels";
import type { Progress, ProgressCounts, RunningTenant, WaveProgress } from "./progress-model";
import { estimateRemainingTime } from "./remaining-time";

export interface ScreenOptions {
  readonly columns: number;
  readonly rows: number;
  readonly now: number;
  /** Whether to use colours. Colour alone never carries information. */
  readonly color: boolean;
}

/**
 * Renders a rollout on one screen, however many tenants it has: the progress of the rollout and of each wave, the running tenants, and the
 * latest failures. No newline after the last line. Values from outside are sanitized.
 */
export function renderLiveScreen(progress: Progress, { columns, rows, now, color }: ScreenOptions): string {
  const headerLines = [
    renderTitle(progress, columns, now),
    renderProgressTotals(progress, columns, now),
    renderProgressCounts(progress.counts, columns),
  ];
  const stateLine = renderState(progress);
  if (stateLine !== undefined) headerLines.push(stateLine);
  const availableRows = rows - headerLines.length;
  const waves = renderScreenSection(
    undefined,
    renderWaveLines(progress, columns, now, Math.max(3, Math.floor(availableRows * 0.35))),
  );
  const failures = renderFailureLines(progress, Math.max(2, Math.floor(availableRows * 0.25)));
  const hint: ScreenLine[] =
    availableRows >= MIN_ROWS_FOR_HINT && progress.state === "running" ? [[], [[HINT, "dim"]]] : [];
  const remainingRows = availableRows - waves.length - failures.length - hint.length;
  const lines = [...headerLines, ...waves, ...renderRunningLines(progress, now, remainingRows), ...failures, ...hint];
  return lines
    .slice(0, Math.max(0, rows))
    .map((line) => paintLine(line, columns, color))
    .join("\n");
}

type ScreenLine = readonly (readonly [text: string, style?: Style])[];

const MIN_ROWS_FOR_HINT = 14;
const HINT = "Press Ctrl-C once to finish running tenants and stop, twice to stop immediately";
/** Longer names are truncated, to leave room for the other columns. */
const MAX_NAME = 28;

function renderTitle({ id, source, startedAtMs }: Progress, columns: number, now: number): ScreenLine {
  const elapsedText = startedAtMs === undefined ? "" : formatWholeSeconds(now - startedAtMs);
  const availableColumns = columns - getTextWidth(elapsedText) - 2;
  const name = `Rollout of ${sanitizeToWidth(source, 60)}`;
  const idWidth = availableColumns - getTextWidth(name) - 2;
  const idText = idWidth >= 12 ? `  ${sanitizeToWidth(id, idWidth)}` : "";
  return [
    [truncateToWidth(name, Math.max(availableColumns, 10)), "bold"],
    [fitToWidth(idText, Math.max(0, availableColumns - getTextWidth(name))), "dim"],
    [`  ${elapsedText}`],
  ];
}

function renderProgressTotals(progress: Progress, columns: number, now: number): ScreenLine {
  const { counts, total } = progress;
  const finishedCount = countFinishedProgress(counts);
  // Rounds down, so that 100 % means that all tenants are finished.
  const percent = total === 0 ? 100 : Math.floor((finishedCount / total) * 100);
  return [
    ...renderProgressBar(counts, total, Math.min(40, Math.max(10, columns - 60))),
    [`  ${formatNumber(finishedCount)}/${formatNumber(total)}`, "bold"],
    [`  ${percent} %`],
    [`  ${formatRemainingTime(progress, now)}`, "dim"],
  ];
}

function formatRemainingTime(progress: Progress, now: number): string {
  const remainingRows = estimateRemainingTime(progress, now);
  if (remainingRows === undefined) return "";
  const estimate = `about ${formatRoughDuration(remainingRows.ms)}`;
  return remainingRows.gateAfterWave === undefined
    ? `${estimate} left`
    : `${estimate} to the gate after ${sanitizeToWidth(remainingRows.gateAfterWave, MAX_NAME)}`;
}

/** Rounds an estimate to its real precision. */
function formatRoughDuration(ms: number): string {
  const stepMs = ms < 60_000 ? 5_000 : ms < 600_000 ? 30_000 : 60_000;
  return formatDuration(Math.max(stepMs, Math.round(ms / stepMs) * stepMs));
}

function renderProgressCounts(
  { done, unchanged, running, failed, skipped, remaining }: ProgressCounts,
  columns: number,
): ScreenLine {
  const renderCount = (count: number, { symbol, word }: StateLabel, style: Style): ScreenLine =>
    count > 0 || columns >= 90
      ? [[`${symbol} ${formatNumber(count)} ${word}`, count > 0 ? style : "dim"], ["   "]]
      : [];
  return [
    ...renderCount(failed, TENANT_STATE_LABELS.failed, ["bold", "red"]),
    ...(skipped > 0 ? renderCount(skipped, TENANT_STATE_LABELS.skipped, "yellow") : []),
    ...renderCount(running, TENANT_STATE_LABELS.running, "blue"),
    ...renderCount(done, TENANT_STATE_LABELS.done, "green"),
    ...renderCount(unchanged, TENANT_STATE_LABELS.unchanged, "cyan"),
    ...renderCount(remaining, TENANT_STATE_LABELS.pending, "dim"),
  ];
}

const STATE_STYLES: Partial<Record<Progress["state"], readonly [word: string, style: Style]>> = {
  stopped: ["STOPPED", ["bold", "red"]],
  waiting: ["WAITING", ["bold", "yellow"]],
  interrupted: ["INTERRUPTED", ["bold", "yellow"]],
};

function renderState({ state, reason = "" }: Progress): ScreenLine | undefined {
  const stateStyle = STATE_STYLES[state];
  return stateStyle === undefined ? undefined : [[stateStyle[0], stateStyle[1]], [`  ${sanitizeToWidth(reason, 500)}`]];
}

/** Lists the waves in at most `maxLines` lines. If they don't fit, lists those around the first unfinished one. */
function renderWaveLines({ waves }: Progress, columns: number, now: number, maxLines: number): ScreenLine[] {
  const open = waves.findIndex(({ state }) => state !== "done");
  const fitsAll = waves.length <= maxLines;
  const count = fitsAll ? waves.length : Math.max(1, maxLines - 2);
  const currentIndex = open < 0 ? waves.length : open;
  const firstIndex = fitsAll ? 0 : Math.max(0, Math.min(currentIndex - 1, waves.length - count));
  const visibleWaves = waves.slice(firstIndex, firstIndex + count);
  const width = Math.min(
    MAX_NAME,
    Math.max(0, ...visibleWaves.map(({ name }) => getTextWidth(sanitizeToWidth(name, MAX_NAME)))),
  );
  const digits = Math.max(0, ...visibleWaves.map((wave) => formatProgressRatio(wave).length));
  const hiddenAfter = waves.length - firstIndex - visibleWaves.length;
  return [
    ...(firstIndex > 0 ? [renderHiddenLine(firstIndex, firstIndex <= currentIndex ? "through" : "more waves")] : []),
    ...visibleWaves.map((wave) => renderWaveLine(wave, columns, width, digits, now)),
    ...(hiddenAfter > 0 ? [renderHiddenLine(hiddenAfter, "more waves")] : []),
  ];
}

function renderHiddenLine(count: number, noun: string): ScreenLine {
  return [[`  … ${formatNumber(count)} ${noun}`, "dim"]];
}

const WAVE_STYLES: Readonly<Record<WaveProgress["state"], Style>> = {
  pending: "dim",
  running: "bold",
  soaking: "blue",
  checking: "blue",
  gated: "yellow",
  done: "green",
  stopped: "red",
};

function renderWaveLine(wave: WaveProgress, columns: number, width: number, digits: number, now: number): ScreenLine {
  const style = WAVE_STYLES[wave.state];
  return [
    [`  ${WAVE_STATE_LABELS[wave.state].symbol} ${fitToWidth(sanitizeToWidth(wave.name, MAX_NAME), width)}  `, style],
    ...renderProgressBar(wave.counts, wave.total, columns >= 100 ? 20 : 10),
    [`  ${formatProgressRatio(wave).padStart(digits)}  `],
    [formatWaveStatus(wave, now), wave.state === "pending" ? "dim" : []],
    [wave.counts.failed > 0 ? formatFailedCount(wave) : "", "red"],
  ];
}

function formatProgressRatio({ counts, total }: WaveProgress): string {
  return `${formatNumber(countFinishedProgress(counts))}/${formatNumber(total)}`;
}

function formatFailedCount({ counts: { failed }, tolerated }: WaveProgress): string {
  return `  ${formatNumber(failed)} failed (${formatNumber(tolerated)} tolerated)`;
}

function formatWaveStatus(wave: WaveProgress, now: number): string {
  const { state, counts, maxConcurrent, workMs, soakUntilMs, health } = wave;
  if (health?.isHealthy === false) return `unhealthy: ${sanitizeToWidth(health.message, 200)}`;
  switch (state) {
    case "pending":
      return `${formatNumber(maxConcurrent)} at once`;
    case "running":
      return `${formatNumber(counts.running)} of ${formatNumber(maxConcurrent)} at once`;
    case "soaking":
      return soakUntilMs === undefined || Number.isNaN(soakUntilMs)
        ? WAVE_STATE_LABELS.soaking.word
        : `soaking, ${formatWholeSeconds(soakUntilMs - now)} to go`;
    case "done":
    case "stopped":
      return workMs === 0
        ? WAVE_STATE_LABELS[state].word
        : `${WAVE_STATE_LABELS[state].word}, took ${formatDuration(workMs)}`;
    default:
      return WAVE_STATE_LABELS[state].word;
  }
}

/** The tenants that have been running longest come first, because they may need attention. */
function renderRunningLines({ running }: Progress, now: number, rows: number): ScreenLine[] {
  const availableRows = rows - HEADING_ROWS;
  if (running.size === 0 || availableRows < 1) return [];
  const tenants = [...running].sort(([, a], [, b]) => a.sinceMs - b.sinceMs);
  const count = tenants.length <= availableRows ? tenants.length : availableRows - 1;
  const visibleTenants = tenants.slice(0, count);
  const width = Math.min(
    MAX_NAME,
    Math.max(0, ...visibleTenants.map(([name]) => getTextWidth(sanitizeToWidth(name, MAX_NAME)))),
  );
  const lines = visibleTenants.map(([name, tenant]) => renderRunningLine(name, tenant, width, now));
  return renderScreenSection(
    "Running",
    count < tenants.length ? [...lines, renderHiddenLine(tenants.length - count, "more")] : lines,
  );
}

function renderRunningLine(
  name: string,
  { sinceMs, worker, attempt, note }: RunningTenant,
  width: number,
  now: number,
): ScreenLine {
  const elapsedText = Number.isNaN(sinceMs) ? "" : formatWholeSeconds(now - sinceMs);
  return [
    [`  ${fitToWidth(sanitizeToWidth(name, MAX_NAME), width)}  `],
    [elapsedText.padStart(9), now - sinceMs > SLOW_TENANT_MS ? "yellow" : []],
    [`  ${sanitizeToWidth(worker, 40)}`, "dim"],
    [attempt > 1 ? `  attempt ${formatNumber(attempt)}` : "", "yellow"],
    [note === undefined ? "" : `  ${sanitizeToWidth(note, 200)}`, "yellow"],
  ];
}

const SLOW_TENANT_MS = 120_000;

function renderFailureLines({ failures, counts }: Progress, maxLines: number): ScreenLine[] {
  if (failures.length === 0) return [];
  const visibleFailures = failures.slice(-maxLines).reverse();
  const width = Math.min(
    MAX_NAME,
    Math.max(...visibleFailures.map(({ name }) => getTextWidth(sanitizeToWidth(name, MAX_NAME)))),
  );
  const heading =
    visibleFailures.length < counts.failed ? `Last failures, of ${formatNumber(counts.failed)}` : "Failed";
  return renderScreenSection(
    heading,
    visibleFailures.map(({ name, error }) => [
      [`  ✗ ${fitToWidth(sanitizeToWidth(name, MAX_NAME), width)}  `, "red"],
      [error === undefined ? "" : sanitizeToWidth(error.code, 40), "bold"],
      [error === undefined ? "" : `  ${sanitizeToWidth(error.message, 300)}`],
    ]),
  );
}

/** Formats a blank line, a title, and the lines. Returns nothing if there are no lines. */
function renderScreenSection(heading: string | undefined, lines: readonly ScreenLine[]): ScreenLine[] {
  if (lines.length === 0) return [];
  return heading === undefined ? [[], ...lines] : [[], [[heading, "bold"]], ...lines];
}

/** The number of lines that a blank line and a title take. */
const HEADING_ROWS = 2;

/** Renders a bar such as `██████✗⊘▒▒░░░`: done, failed, skipped, running, left. Every count above zero is visible. */
function renderProgressBar(counts: ProgressCounts, total: number, width: number): ScreenLine {
  const getWidth = (count: number) => (count === 0 ? 0 : Math.max(1, Math.round((count / Math.max(1, total)) * width)));
  const failed = getWidth(counts.failed);
  const skipped = Math.min(getWidth(counts.skipped), width - failed);
  const running = Math.min(getWidth(counts.running), width - failed - skipped);
  const remainingRows = Math.min(getWidth(counts.remaining), width - failed - skipped - running);
  return [
    ["█".repeat(width - failed - skipped - running - remainingRows), "green"],
    ["✗".repeat(failed), "red"],
    ["⊘".repeat(skipped), "yellow"],
    ["▒".repeat(running), "blue"],
    ["░".repeat(remainingRows), "dim"],
  ];
}

function countFinishedProgress({ done, unchanged, failed, skipped }: ProgressCounts): number {
  return done + unchanged + failed + skipped;
}

function sanitizeToWidth(text: string, columns: number): string {
  return truncateToWidth(excerpt(toSingleLine(text), columns), Math.max(0, columns));
}

function paintLine(line: ScreenLine, columns: number, color: boolean): string {
  let remainingColumns = columns;
  let output = "";
  for (const [text, style] of line) {
    const cut = truncateToWidth(text, remainingColumns);
    remainingColumns -= getTextWidth(cut);
    const isStyled = color && style !== undefined && style.length > 0 && cut !== "";
    output += isStyled ? styleText(style, cut, { validateStream: false }) : cut;
    if (cut !== text) break;
  }
  return color ? output : output.trimEnd();
}
