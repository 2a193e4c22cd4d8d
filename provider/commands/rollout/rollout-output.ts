import { DelayedProgress } from "../../cli/delayed-progress";
import { getRenderOptions, type Renderers } from "../../cli/output/write-outputs";
import { shouldUseColor } from "../../cli/terminal-color";
import { sanitizeLine, sanitizeMultiline } from "../../model/text";
import type { RolloutRecord } from "../../rollout/journal/rollout-record";
import type { RolloutTally } from "../../rollout/journal/rollout-tally";
import { ZERO_COUNTS } from "../../rollout/journal/run-state";
import type { RolloutCommands } from "../../rollout/model/rollout-commands";
import type { RolloutEvent } from "../../rollout/model/rollout-event";
import { MODE_TEXTS } from "../../rollout/model/rollout-mode";
import type { RolloutReport } from "../../rollout/model/rollout-report";
import { formatReportJson } from "../../rollout/model/rollout-report";
import type { CombinedPlan } from "../../rollout/plan-report/combined-plan";
import { renderPlanOverviewText } from "../../rollout/plan-report/plan-overview-text";
import type { PlannedRollout } from "../../rollout/planning/plan-rollout";
import { formatEventJson } from "../../rollout/progress/event-json";
import { LiveProgress } from "../../rollout/progress/live-progress";
import { PlainProgress } from "../../rollout/progress/plain-progress";
import type { ProgressView } from "../../rollout/progress/progress-view";
import { renderReportHtml } from "../../rollout/report/report-html";
import { renderReportMarkdown } from "../../rollout/report/report-markdown";
import { renderReportText } from "../../rollout/report/report-text";
import type { RolloutFormat } from "./run-with-rollouts";

export class PlanningProgress {
  readonly #progress = new DelayedProgress("Planning");

  reportPlanned(count: number, total: number): void {
    this.#progress.report(`Planning: ${count} of ${total} tenants`);
  }

  reportMailRead(count: number, total: number): void {
    this.#progress.report(`Reading mail: ${count} of ${total} tenants`);
  }

  end(): void {
    this.#progress[Symbol.dispose]();
  }
}

export interface ListedRollout {
  readonly record: RolloutRecord;
  readonly tally: RolloutTally | undefined;
  readonly isLocked: boolean;
}

export function formatRolloutList(rollouts: readonly ListedRollout[]): string {
  if (rollouts.length === 0) return "There are no rollouts.\n";
  const states = rollouts.map(({ record: { state }, isLocked }) =>
    state === "running" && !isLocked ? "interrupted" : state,
  );
  const width = Math.max(...states.map((state) => state.length));
  const lines = rollouts.map(({ record: { id, spec, reason }, tally }, index) => {
    const modeText = spec.mode === undefined ? "" : `, ${MODE_TEXTS[spec.mode].purpose}`;
    const rollbackText = spec.rollsBack === undefined ? "" : `, rolls back ${spec.rollsBack}`;
    const sourceText = `${spec.source}${modeText}${rollbackText}`;
    return `${id}  ${(states[index] ?? "").padEnd(width)}  ${formatAllCounts(tally)} of ${sourceText}${reason === undefined ? "" : `: ${reason}`}`;
  });
  return `${lines.map(sanitizeLine).join("\n")}\n`;
}

/** Formats counts, such as `7 tenants, 1 failed, 1 skipped, 2 left`. */
function formatAllCounts(rolloutCounts: RolloutTally | undefined): string {
  const { done, unchanged, failed, skipped, pending, queued, running } = rolloutCounts?.counts ?? ZERO_COUNTS;
  const remaining = pending + queued + running;
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
export function createReportRenderers(report: RolloutReport, marker?: string): Renderers<RolloutFormat> {
  return {
    text: (target) => renderReportText(report, getRenderOptions(target)),
    markdown: () => renderReportMarkdown(report, marker === undefined ? {} : { marker }),
    html: () => renderReportHtml(report),
    json: () => formatReportJson(report),
  };
}

/**
 * Creates the renderers of a plan that is not started: the overview, a pull request's comment, and a full page.
 *
 * @param loadCombinedPlan loads the combined plan of all tenants; called only for formats that show it.
 */
export function createRolloutPlanRenderers(
  report: RolloutReport,
  plannedRollout: PlannedRollout,
  loadCombinedPlan: () => Promise<CombinedPlan>,
  commands: RolloutCommands,
): Renderers<RolloutFormat> {
  let renderInput:
    | Promise<{ report: RolloutReport; plannedRollout: PlannedRollout; combinedPlan: CombinedPlan }>
    | undefined;
  const loadRenderInput = () => {
    renderInput ??= loadCombinedPlan().then((combinedPlan) => ({ report, plannedRollout, combinedPlan }));
    return renderInput;
  };
  return {
    text: (target) => renderPlanOverviewText(report, plannedRollout, commands, getRenderOptions(target)),
    markdown: async () => {
      const { renderCombinedPlanMarkdown } = await import("../../rollout/plan-report/combined-plan-markdown.js");
      return renderCombinedPlanMarkdown(await loadRenderInput());
    },
    html: async () => {
      const { renderCombinedPlanHtml } = await import("../../rollout/plan-report/combined-plan-html.js");
      return renderCombinedPlanHtml(await loadRenderInput());
    },
    json: () => formatReportJson(report),
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
        ? new LiveProgress(report, process.stderr, { color: shouldUseColor(process.stderr), capacity })
        : new PlainProgress(report, (line) => process.stderr.write(line));
  }

  handleEvent(event: RolloutEvent): void {
    if (this.#view === undefined) process.stdout.write(formatEventJson(event));
    else this.#view.handleEvent(event);
  }

  log(line: string): void {
    if (this.#view === undefined) console.error(sanitizeMultiline(line));
    else this.#view.log(line);
  }

  close(): void {
    this.#view?.end();
  }
}
