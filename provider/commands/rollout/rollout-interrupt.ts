import { EXIT } from "../../cli/command-line";
import { writeOutputs } from "../../cli/output/write-outputs";
import { PlanningEndedError } from "../../rollout/model/errors";
import { type RunOptions, unprinted } from "./rollout-run-options";

/**
 * The first Ctrl-C stops planning, which has written nothing; the second ends the process. The reports are written even if planning ends
 * before all tenants are planned.
 */
export async function untilInterrupted<T>(
  options: RunOptions,
  callback: (stopping: AbortSignal) => Promise<T>,
): Promise<T> {
  const stopping = new AbortController();
  const interrupt = (): void => {
    if (stopping.signal.aborted) process.exit(EXIT.error);
    stopping.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, interrupt);
  try {
    return await callback(stopping.signal);
  } catch (error) {
    if (error instanceof PlanningEndedError) {
      const { reportRenderers } = await import("./rollout-output.js");
      const { PLAN_MARK } = await import("../../plan/render/markdown.js");
      await writeOutputs(unprinted(options), reportRenderers(error.report, PLAN_MARK));
    }
    throw error;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupt);
  }
}
