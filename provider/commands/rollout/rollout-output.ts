import { isColoured } from "../../cli/command-line";
import { lookOf, type Renderers } from "../../cli/output/write-outputs";
import type { RolloutTally } from "../../rollout/journal/across-rollouts";
import type { RolloutRecord } from "../../rollout/journal/rollout-record";
import { NO_COUNTS } from "../../rollout/journal/rollout-view";
import type { RolloutCommands } from "../../rollout/model/commands";
import type { RolloutEvent } from "../../rollout/model/rollout-event";
import type { RolloutReport } from "../../rollout/model/rollout-report";
import { reportJson } from "../../rollout/model/rollout-report";
import { TASK_WORDS } from "../../rollout/model/task";
import { overviewText } from "../../rollout/plan-report/overview-text";
import type { WholePlan } from "../../rollout/plan-report/whole-plan";
import type { PlannedRollout } from "../../rollout/planning/plan-rollout";
import { eventJson } from "../../rollout/progress/event-json";
import { LiveProgress } from "../../rollout/progress/live-progress";
import { PlainProgress } from "../../rollout/progress/plain-progress";
import type { ProgressView } from "../../rollout/progress/progress-view";
import { reportHtml } from "../../rollout/report/report-html";
import { reportMarkdown } from "../../rollout/report/report-markdown";
import { reportText } from "../../rollout/report/report-text";
import { harmless, printable } from "../../settings/text";
import type { RolloutFormat } from "./open-rollouts";

/** Shows planning progress: an updated line on a terminal, otherwise occasional lines. */
export class PlanningProgress {
  readonly #isTerminal = process.stderr.isTTY === true;
  #lastPrinted = 0;

  planned(count: number, total: number): void {
    if (this.#isTerminal) process.stderr.write(`\rPlanning: ${count} of ${total} tenants …`);
    else if (count - this.#lastPrinted >= PROGRESS_INTERVAL) {
      this.#lastPrinted = count;
      console.error(`Planned ${count} of ${total} tenants.`);
    }
  }

  /** Shows how many tenants' mail was queried; prints as rarely as the planning progress outside a terminal. */
  asked(count: number, total: number): void {
    if (this.#isTerminal) process.stderr.write(`\rAsking the mail: ${count} of ${total} tenants …`);
    else if (count % PROGRESS_INTERVAL === 0) console.error(`Asked the mail of ${count} of ${total} tenants.`);
  }

  end(): void {
    if (this.#isTerminal) process.stderr.write("\r\u001b[K");
  }
}

const PROGRESS_INTERVAL = 50;

/** A rollout in a list of rollouts. */
export interface ListedRollout {
  readonly record: RolloutRecord;
  readonly tally: RolloutTally | undefined;
  readonly isHeld: boolean;
}

/** Formats rollouts, one per line. */
export function printedList(rollouts: readonly ListedRollout[]): string {
  if (rollouts.length === 0) return "There are no rollouts.\n";
  const states = rollouts.map(({ record: { state }, isHeld }) =>
    state === "running" && !isHeld ? "interrupted" : state,
  );
  const width = Math.max(...states.map((state) => state.length));
  const lines = rollouts.map(({ record: { id, spec, reason }, tally }, index) => {
    const modeText = spec.task === undefined ? "" : `, ${TASK_WORDS[spec.task].does}`;
    const rollbackText = spec.rollsBack === undefined ? "" : `, rolls back ${spec.rollsBack}`;
    const sourceText = `${spec.source}${modeText}${rollbackText}`;
    return `${id}  ${(states[index] ?? "").padEnd(width)}  ${formatTenantCounts(tally)} of ${sourceText}${reason === undefined ? "" : `: ${reason}`}`;
  });
  return `${lines.map(printable).join("\n")}\n`;
}

/** Formats counts, such as `7 tenants, 1 failed, 1 skipped, 2 left`. */
function formatTenantCounts(rolloutCounts: RolloutTally | undefined): string {
  const { done, unchanged, failed, skipped, pending, released, running } = rolloutCounts?.counts ?? NO_COUNTS;
  const remaining = pending + released + running;
  const total = done + unchanged + failed + skipped + remaining;
  return [
    `${total} ${total === 1 ? "tenant" : "tenants"}`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(remaining > 0 ? [`${remaining} left`] : []),
  ].join(", ");
}

/**
 * Creates the renderers of a rollout's report.
 *
 * @param marker the first line of the Markdown, instead of the default marker.
 */
export function reportRenderers(report: RolloutReport, marker?: string): Renderers<RolloutFormat> {
  return {
    text: (target) => reportText(report, lookOf(target)),
    markdown: () => reportMarkdown(report, marker === undefined ? {} : { mark: marker }),
    html: () => reportHtml(report),
    json: () => reportJson(report),
  };
}

/**
 * Creates the renderers of a plan that is not started: the overview, a pull request's comment, and a full page.
 *
 * @param loadCombinedPlan loads the combined plan of all tenants; called only for formats that show it.
 */
export function plannedRenderers(
  report: RolloutReport,
  planned: PlannedRollout,
  loadCombinedPlan: () => Promise<WholePlan>,
  commands: RolloutCommands,
): Renderers<RolloutFormat> {
  let renderInput: Promise<{ report: RolloutReport; planned: PlannedRollout; whole: WholePlan }> | undefined;
  const loadRenderInput = () => {
    renderInput ??= loadCombinedPlan().then((combinedPlan) => ({ report, planned, whole: combinedPlan }));
    return renderInput;
  };
  return {
    text: (target) => overviewText(report, planned, commands, lookOf(target)),
    markdown: async () => {
      const { wholePlanMarkdown } = await import("../../rollout/plan-report/plan-markdown.js");
      return wholePlanMarkdown(await loadRenderInput());
    },
    html: async () => {
      const { wholePlanHtml } = await import("../../rollout/plan-report/plan-html.js");
      return wholePlanHtml(await loadRenderInput());
    },
    json: () => reportJson(report),
  };
}

/** Shows the progress of a running rollout: a screen on a terminal, otherwise lines, or one line of JSON per event. */
export class RolloutScreen {
  readonly #view: ProgressView | undefined;
  /** @param capacity how many tenants the workers can change at once, as far as known. */
  constructor(report: RolloutReport, { events = false }: { readonly events?: boolean }, capacity: number) {
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

  /** Prints a message beside the progress. */
  say(line: string): void {
    if (this.#view === undefined) console.error(harmless(line));
    else this.#view.say(line);
  }

  /** Removes the screen. */
  close(): void {
    this.#view?.end();
  }
}
