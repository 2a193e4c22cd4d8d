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
  const told = toldRollout(report);
  const paper = new Paper(color, width);
  paper.text(say`Rollout of ${given(report.source)}`, { style: "bold" });
  paper.text(join(told.facts, " · "), { style: "dim" });
  paper.gap();
  paper.labelled(told.verdict.toUpperCase(), told.headline, { style: MOOD_STYLES[told.mood] });
  paper.text([told.tallies.map(({ sign, word, count }) => `${sign} ${number(count)} ${word}`).join("   ")]);
  if (told.standing.length > 0) paper.text(told.standing);
  skippedOf(paper, report, limit);
  failures(paper, told.failures, limit);
  waves(paper, report, limit * 5);
  advice(paper, report);
  paper.gap();
  paper.text(say`Digest ${given(report.digest)}`, { style: "dim" });
  return paper.toString();
}

const MOOD_STYLES: Readonly<Record<RolloutMood, Style>> = {
  danger: ["bold", "red"],
  warning: ["bold", "yellow"],
  none: ["bold", "green"],
  running: ["bold", "blue"],
};

const INDENT = 2;

/** Shows the tenants that a person chose to skip. */
export function skippedOf(
  paper: Paper,
  { skipped = [] }: Pick<RolloutReport, "skipped">,
  limit: number,
): void {
  if (skipped.length === 0) return;
  paper.heading([skippedHeading(skipped)], "yellow");
  for (const one of skipped.slice(0, limit)) {
    paper.marked(TENANT_STATES.skipped.sign, skippedWords(one), { indent: INDENT, style: "yellow" });
  }
  if (skipped.length > limit)
    paper.text([`… and ${number(skipped.length - limit)} more`], { indent: INDENT });
}
const FACTS = { indent: 6, labelWidth: 10 };

function failures(paper: Paper, all: readonly TenantReport[], limit: number): void {
  if (all.length === 0) return;
  paper.heading([`Failed (${number(all.length)})`], "red");
  all.slice(0, limit).forEach((tenant, index) => {
    if (index > 0) paper.gap();
    const { name, wave, host, error } = tenant;
    paper.marked("✗", say`${given(name)} (wave ${given(wave)}, ${given(host)})`, {
      indent: INDENT,
      style: "red",
    });
    if (error === undefined) return;
    paper.labelled("why", say`${sentence(error.message)} [${given(error.code)}]`, { ...FACTS, style: "red" });
    const touched = touchedWords(tenant);
    if (touched.length > 0) paper.labelled("", touched, FACTS);
    paper.labelled("what to do", [sentence(error.advice)], { ...FACTS, style: "dim" });
  });
  const rest = all.slice(limit);
  if (rest.length === 0) return;
  paper.gap();
  paper.text([`… and ${number(rest.length)} more:`], { indent: INDENT });
  for (const [code, tenants] of byCode(rest)) {
    const names = tenants.slice(0, limit).map(({ name }): Words => [given(name)]);
    const more = tenants.length - names.length;
    paper.text(
      say`${tenants.length} × ${given(code)}: ${join(more > 0 ? [...names, [`and ${number(more)} more`]] : names, ", ")}`,
      { indent: FACTS.indent },
    );
  }
}

/** Groups failed tenants by error code, the largest group first. */
export function byCode(failed: readonly TenantReport[]): [code: string, tenants: TenantReport[]][] {
  const groups = Map.groupBy(failed, ({ error }) => error?.code ?? "no reason known");
  return [...groups].sort(([, one], [, other]) => other.length - one.length);
}

const WAVE_STYLES: Readonly<Record<string, Style>> = {
  done: "green",
  stopped: "red",
  gated: "yellow",
  pending: "dim",
};

function waves(paper: Paper, report: RolloutReport, limit: number): void {
  const { waves: all } = report;
  if (all.length === 0) return;
  paper.heading([`Waves (${number(all.length)})`]);
  const shown = all.slice(0, limit);
  const times = waveTimes(report);
  const states = rolloutWords(report);
  const nameWidth = Math.min(MAX_NAME, Math.max(...shown.map(({ name }) => columnsOf(printable(name)))));
  const doneWidth = Math.max(...shown.map((wave) => progressOf(wave).length));
  for (const wave of shown) {
    const { sign, word } = states.waves[wave.state];
    const took = times.get(wave.name)?.workMs;
    const isSaid = wave.state !== "done" && wave.state !== "pending" && word !== WAVE_STATES.running.word;
    const words = say`${progressOf(wave).padStart(doneWidth)}  ${isSaid ? say`${waveStateWords(wave, states)}; ` : []}${waveWords(wave, states)}${took === undefined ? "" : `, took ${duration(took)}`}`;
    paper.marked(`${sign} ${fitTo(printable(wave.name), nameWidth)}`, words, {
      indent: INDENT,
      style: WAVE_STYLES[wave.state] ?? "blue",
    });
  }
  if (all.length > limit) paper.text([`… and ${number(all.length - limit)} more`], { indent: INDENT });
}

const MAX_NAME = 24;

function progressOf({ counts, tenants }: RolloutReport["waves"][number]): string {
  return `${number(throughOf(counts))}/${number(tenants)}`;
}

function advice(paper: Paper, { advice: all }: RolloutReport): void {
  if (all.length === 0) return;
  paper.heading(["What to do next"]);
  for (const { why, command } of all) {
    paper.text([sentence(why)], { indent: INDENT });
    if (command !== undefined) paper.verbatim(command, INDENT * 2);
  }
}
