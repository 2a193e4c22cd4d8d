import { closeSync, openSync } from "node:fs";
import { ConfigurationError } from "../client";
import type { RolloutCommands } from "../rollout/commands";
import type { RolloutTally } from "../rollout/journal/across-rollouts";
import type { RolloutRecord } from "../rollout/journal/rollout-record";
import { NO_COUNTS } from "../rollout/journal/rollout-view";
import type { PlannedRollout } from "../rollout/plan-rollout";
import type { WholePlan } from "../rollout/planned/whole-plan";
import { eventJson } from "../rollout/progress/event-json";
import { LiveProgress } from "../rollout/progress/live-progress";
import { PlainProgress } from "../rollout/progress/plain-progress";
import type { ProgressView } from "../rollout/progress/progress-view";
import { overviewText } from "../rollout/report/overview-text";
import { reportHtml } from "../rollout/report/report-html";
import { reportMarkdown } from "../rollout/report/report-markdown";
import { reportText } from "../rollout/report/report-text";
import type { RolloutEvent } from "../rollout/report/rollout-event";
import type { RolloutReport } from "../rollout/report/rollout-report";
import { reportJson } from "../rollout/report/rollout-report";
import { TASK_WORDS } from "../rollout/tasks/task";
import { harmless, printable } from "../settings/text";
import { isColoured, writeOutput } from "./command-line";
import { lookOfTerminal } from "./open-rollouts";

/** What is written and printed of a rollout. */
export interface RolloutOutput {
  readonly events?: boolean;
  readonly markdown?: string;
  readonly html?: string;
  readonly json?: string;
}

/** Tells how far the planning is: on a terminal in a line that is written over, else now and then. */
export class PlanningProgress {
  readonly #isTerminal = process.stderr.isTTY === true;
  #told = 0;

  planned(planned: number, of: number): void {
    if (this.#isTerminal) process.stderr.write(`\rPlanning: ${planned} of ${of} tenants …`);
    else if (planned - this.#told >= EVERY) {
      this.#told = planned;
      console.error(`Planned ${planned} of ${of} tenants.`);
    }
  }

  /** Of how many the mail was asked; elsewhere than on a terminal as seldom. */
  asked(asked: number, of: number): void {
    if (this.#isTerminal) process.stderr.write(`\rAsking the mail: ${asked} of ${of} tenants …`);
    else if (asked % EVERY === 0) console.error(`Asked the mail of ${asked} of ${of} tenants.`);
  }

  end(): void {
    if (this.#isTerminal) process.stderr.write("\r\u001b[K");
  }
}

const EVERY = 50;

/** What a rollout would do, as it is printed. */
export function printedOverview(
  report: RolloutReport,
  planned: PlannedRollout,
  commands: RolloutCommands,
): string {
  return overviewText(report, planned, commands, lookOfTerminal());
}

/** What a rollout did, as it is printed. */
export function printedReport(report: RolloutReport): string {
  return reportText(report, lookOfTerminal());
}

/** A rollout in the list of all. */
export interface ListedRollout {
  readonly record: RolloutRecord;
  readonly tally: RolloutTally | undefined;
  readonly isHeld: boolean;
}

/** All rollouts, a line each. */
export function printedList(all: readonly ListedRollout[]): string {
  if (all.length === 0) return "There are no rollouts.\n";
  const states = all.map(({ record: { state }, isHeld }) =>
    state === "running" && !isHeld ? "interrupted" : state,
  );
  const width = Math.max(...states.map((state) => state.length));
  const lines = all.map(({ record: { id, spec, reason }, tally }, index) => {
    const task = spec.task === undefined ? "" : `, ${TASK_WORDS[spec.task].does}`;
    const back = spec.rollsBack === undefined ? "" : `, takes back ${spec.rollsBack}`;
    const what = `${spec.source}${task}${back}`;
    return `${id}  ${(states[index] ?? "").padEnd(width)}  ${talliedText(tally)} of ${what}${reason === undefined ? "" : `: ${reason}`}`;
  });
  return `${lines.map(printable).join("\n")}\n`;
}

/** `7 tenants, 1 failed, 1 skipped, 2 left`. */
function talliedText(tally: RolloutTally | undefined): string {
  const { done, unchanged, failed, skipped, pending, released, running } = tally?.counts ?? NO_COUNTS;
  const left = pending + released + running;
  const all = done + unchanged + failed + skipped + left;
  return [
    `${all} ${all === 1 ? "tenant" : "tenants"}`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(left > 0 ? [`${left} left`] : []),
  ].join(", ");
}

/**
 * Told before a rollout begins: at its end it would be too late.
 *
 * @throws {ConfigurationError} when a report's file can't be written.
 */
export function checkReportFiles({ markdown, html, json }: RolloutOutput): void {
  for (const file of [markdown, html, json]) {
    if (file === undefined) continue;
    try {
      closeSync(openSync(file, "a", 0o600));
    } catch (cause) {
      throw new ConfigurationError(`The report can't be written: ${(cause as Error).message}`, { cause });
    }
  }
}

/**
 * Writes a report into the files that were asked for.
 *
 * @param mark the first line of the Markdown, in the place of its own.
 * @throws {ConfigurationError} when one can't be written.
 */
export function writeReportFiles(
  report: RolloutReport,
  { markdown, html, json }: RolloutOutput,
  mark?: string,
): void {
  const options = mark === undefined ? {} : { mark };
  if (markdown !== undefined) writeOutput(markdown, reportMarkdown(report, options), "report");
  if (html !== undefined) writeOutput(html, reportHtml(report), "report");
  if (json !== undefined) writeOutput(json, reportJson(report), "report");
}

/**
 * Writes a plan that is not begun into the files that were asked for: what a pull request's comment needs, and a page with all of it.
 *
 * @param whole the plans of all tenants as one; asked for only where one of the files tells them.
 * @throws {ConfigurationError} when one can't be written.
 */
export async function writePlanFiles(
  report: RolloutReport,
  planned: PlannedRollout,
  whole: () => Promise<WholePlan>,
  { markdown, html, json }: RolloutOutput,
): Promise<void> {
  if (json !== undefined) writeOutput(json, reportJson(report), "report");
  if (markdown === undefined && html === undefined) return;
  const { wholePlanMarkdown } = await import("../rollout/planned/plan-markdown.js");
  const { wholePlanHtml } = await import("../rollout/planned/plan-html.js");
  const shown = { report, planned, whole: await whole() };
  if (markdown !== undefined) writeOutput(markdown, wholePlanMarkdown(shown), "plan");
  if (html !== undefined) writeOutput(html, wholePlanHtml(shown), "plan");
}

/** Progress of a running rollout: a screen on a terminal, otherwise lines, or a line of JSON per event. */
export class RolloutScreen {
  readonly #view: ProgressView | undefined;
  /** @param capacity how many tenants whoever does the work has hands for, as far as that is known. */
  constructor(report: RolloutReport, { events = false }: RolloutOutput, capacity: number) {
    if (events) return;
    this.#view =
      process.stderr.isTTY === true && process.env["TERM"] !== "dumb" && !process.env["CI"]
        ? new LiveProgress(report, process.stderr, { color: isColoured(process.stderr), capacity })
        : new PlainProgress(report, (line) => process.stderr.write(line));
  }

  happened(event: RolloutEvent): void {
    if (this.#view === undefined) process.stdout.write(eventJson(event));
    else this.#view.happened(event);
  }

  /** Says something beside what happens. */
  say(line: string): void {
    if (this.#view === undefined) console.error(harmless(line));
    else this.#view.say(line);
  }

  /** Takes the screen away. */
  close(): void {
    this.#view?.end();
  }
}
