import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { writeOutputs } from "../../cli/output/write-outputs";
import { omitUndefined } from "../../model/omit-undefined";
import { sanitizeMultiline } from "../../model/text";
import type { RolloutReport } from "../../rollout/model/rollout-report";
import type { Rollouts } from "../../rollout/rollouts";
import type { RolloutRunOptions } from "./rollout-run-options";

export async function executeRollout(
  rollouts: Rollouts,
  id: string,
  retry: boolean,
  options: RolloutRunOptions,
): Promise<ExitCode> {
  const { until, anyTime, maxConcurrent, lockWait } = options;
  const lockWaitMs = lockWait === undefined ? undefined : lockWait * 1_000;
  const { RolloutScreen, createReportRenderers } = await import("./rollout-output.js");
  const stopController = new AbortController();
  const abortController = new AbortController();
  let screen: InstanceType<typeof RolloutScreen> | undefined;
  const log = (line: string): void =>
    screen === undefined ? console.error(sanitizeMultiline(line)) : screen.log(line);
  const interrupt = (): void => {
    if (stopController.signal.aborted) {
      log(`Stopping immediately. \`${rollouts.commands.resume(id)}\` repeats the unfinished work.`);
      abortController.abort();
    } else {
      log("Finishing the tenants in progress and starting no more. Interrupt again to stop immediately.");
      stopController.abort();
    }
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, interrupt);
  try {
    const report = await rollouts.run(id, {
      retry,
      log: (line) => {
        if (screen === undefined) console.error(sanitizeMultiline(line));
        else screen.log(line);
      },
      onBegun: async (initialReport) => {
        screen = new RolloutScreen(initialReport, options, rollouts.getCapacity(maxConcurrent));
        if (rollouts.isWorkerMode) {
          screen.log("Workers change the tenants: `email-security worker`, with the same database, on any machine.");
        }
      },
      onEvent: (event) => screen?.handleEvent(event),
      stopping: stopController.signal,
      aborted: abortController.signal,
      ...omitUndefined({ until, anyTime, maxConcurrent, lockWaitMs }),
    });
    screen?.close();
    // The events already contain the report's content.
    const outputs = options.outputs.filter(({ to }) => to !== "stderr");
    await writeOutputs(outputs, createReportRenderers(report));
    return getExitCode(report);
  } finally {
    screen?.close();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupt);
  }
}

export function getExitCode(report: RolloutReport): ExitCode {
  const { state, counts } = report;
  if (state === "waiting" || state === "running") return EXIT.changes;
  if (state !== "done" || counts.failed > 0) return EXIT.error;
  return isPartial(report) ? EXIT.changes : EXIT.clean;
}

/**
 * Returns whether a rollout leaves out tenants that nobody chose to skip: the targets file no longer names them as
 * before, or their keys now open other tenants.
 */
export function isPartial({ skipped = [] }: Pick<RolloutReport, "skipped">): boolean {
  return skipped.some(({ skippedBy }) => skippedBy === undefined);
}
