import { columnsOf, fitTo } from "../../render/columns";
import { Paper, type Style } from "../../render/paper";
import { given, join, number, say, sentence, type Words } from "../../render/words";
import { printable } from "../../settings/text";
import { duration } from "../model/duration";
import type { RolloutReport, TenantReport } from "../model/rollout-report";
import { throughOf } from "./rollout-headline";
import { skippedHeading, skippedWords } from "./skip-words";
import { rolloutWords, TENANT_STATES, WAVE_STATES } from "./state-words";
import { type RolloutMood, toldRollout, touchedWords } from "./told-rollout";
import { waveTimes } from "./wave-times";
import { waveStateWords, waveWords } from "./wave-words";

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
export function reportText(
  report: RolloutReport,
  { color = false, width = 80, limit = 10 }: ReportTextOptions = {},
): string {
  const view = toldRollout(report);
  const page = new Paper(color, width);
  page.text(say`Rollout of ${given(report.source)}`, { style: "bold" });
  page.text(join(view.facts, " · "), { style: "dim" });
  page.gap();
  page.labelled(view.verdict.toUpperCase(), view.headline, { style: TONE_STYLES[view.mood] });
  page.text([view.tallies.map(({ sign, word, count }) => `${sign} ${number(count)} ${word}`).join("   ")]);
  if (view.standing.length > 0) page.text(view.standing);
  skippedOf(page, report, limit);
  writeReportFailures(page, view.failures, limit);
  writeReportWaves(page, report, limit * 5);
  writeReportAdvice(page, report);
  page.gap();
  page.text(say`Digest ${given(report.digest)}`, { style: "dim" });
  return page.toString();
}

const TONE_STYLES: Readonly<Record<RolloutMood, Style>> = {
  danger: ["bold", "red"],
  warning: ["bold", "yellow"],
  none: ["bold", "green"],
  running: ["bold", "blue"],
};

const INDENT = 2;

/** Shows the tenants that a person chose to skip. */
export function skippedOf(page: Paper, { skipped = [] }: Pick<RolloutReport, "skipped">, limit: number): void {
  if (skipped.length === 0) return;
  page.heading([skippedHeading(skipped)], "yellow");
  for (const skippedTenant of skipped.slice(0, limit)) {
    page.marked(TENANT_STATES.skipped.sign, skippedWords(skippedTenant), { indent: INDENT, style: "yellow" });
  }
  if (skipped.length > limit) page.text([`… and ${number(skipped.length - limit)} more`], { indent: INDENT });
}
const DETAIL_LAYOUT = { indent: 6, labelWidth: 10 };

function writeReportFailures(page: Paper, failedTenants: readonly TenantReport[], limit: number): void {
  if (failedTenants.length === 0) return;
  page.heading([`Failed (${number(failedTenants.length)})`], "red");
  failedTenants.slice(0, limit).forEach((tenant, index) => {
    if (index > 0) page.gap();
    const { name, wave, host, error } = tenant;
    page.marked("✗", say`${given(name)} (wave ${given(wave)}, ${given(host)})`, {
      indent: INDENT,
      style: "red",
    });
    if (error === undefined) return;
    page.labelled("why", say`${sentence(error.message)} [${given(error.code)}]`, {
      ...DETAIL_LAYOUT,
      style: "red",
    });
    const effectText = touchedWords(tenant);
    if (effectText.length > 0) page.labelled("", effectText, DETAIL_LAYOUT);
    page.labelled("what to do", [sentence(error.advice)], { ...DETAIL_LAYOUT, style: "dim" });
  });
  const remaining = failedTenants.slice(limit);
  if (remaining.length === 0) return;
  page.gap();
  page.text([`… and ${number(remaining.length)} more:`], { indent: INDENT });
  for (const [code, tenants] of byCode(remaining)) {
    const names = tenants.slice(0, limit).map(({ name }): Words => [given(name)]);
    const hiddenCount = tenants.length - names.length;
    page.text(
      say`${tenants.length} × ${given(code)}: ${join(hiddenCount > 0 ? [...names, [`and ${number(hiddenCount)} more`]] : names, ", ")}`,
      { indent: DETAIL_LAYOUT.indent },
    );
  }
}

/** Groups failed tenants by error code, the largest group first. */
export function byCode(failedTenants: readonly TenantReport[]): [code: string, tenants: TenantReport[]][] {
  const groups = Map.groupBy(failedTenants, ({ error }) => error?.code ?? "no reason known");
  return [...groups].sort(([, one], [, other]) => other.length - one.length);
}

const WAVE_STYLES: Readonly<Record<string, Style>> = {
  done: "green",
  stopped: "red",
  gated: "yellow",
  pending: "dim",
};

function writeReportWaves(page: Paper, report: RolloutReport, limit: number): void {
  const { waves: waveReports } = report;
  if (waveReports.length === 0) return;
  page.heading([`Waves (${number(waveReports.length)})`]);
  const visibleWaves = waveReports.slice(0, limit);
  const times = waveTimes(report);
  const labels = rolloutWords(report);
  const nameWidth = Math.min(MAX_NAME, Math.max(...visibleWaves.map(({ name }) => columnsOf(printable(name)))));
  const doneWidth = Math.max(...visibleWaves.map((wave) => formatWaveProgress(wave).length));
  for (const wave of visibleWaves) {
    const { sign, word } = labels.waves[wave.state];
    const workMs = times.get(wave.name)?.workMs;
    const showsState = wave.state !== "done" && wave.state !== "pending" && word !== WAVE_STATES.running.word;
    const text = say`${formatWaveProgress(wave).padStart(doneWidth)}  ${showsState ? say`${waveStateWords(wave, labels)}; ` : []}${waveWords(wave, labels)}${workMs === undefined ? "" : `, took ${duration(workMs)}`}`;
    page.marked(`${sign} ${fitTo(printable(wave.name), nameWidth)}`, text, {
      indent: INDENT,
      style: WAVE_STYLES[wave.state] ?? "blue",
    });
  }
  if (waveReports.length > limit) page.text([`… and ${number(waveReports.length - limit)} more`], { indent: INDENT });
}

const MAX_NAME = 24;

function formatWaveProgress({ counts, tenants }: RolloutReport["waves"][number]): string {
  return `${number(throughOf(counts))}/${number(tenants)}`;
}

function writeReportAdvice(page: Paper, { advice: steps }: RolloutReport): void {
  if (steps.length === 0) return;
  page.heading(["What to do next"]);
  for (const { why, command } of steps) {
    page.text([sentence(why)], { indent: INDENT });
    if (command !== undefined) page.verbatim(command, INDENT * 2);
  }
}
