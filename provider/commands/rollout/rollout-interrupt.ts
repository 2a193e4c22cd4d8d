import { EXIT } from "../../cli/exit-codes";
import { writeOutputs } from "../../cli/output/write-outputs";
import { printError } from "../../cli/print-error";
import { EmailSecurityError, formatErrorWithCode } from "../../model/email-security-error";
import { PlanningFailedError } from "../../rollout/model/rollout-error";
import { getUnprintedOutputs, type RolloutRunOptions } from "./rollout-run-options";

/**
 * Runs a planning step that Ctrl-C can stop. The first Ctrl-C stops planning, which has written nothing; the second
 * ends the process. The reports are written even if planning ends before all tenants are planned.
 *
 * @returns undefined if the plan is refused because a key belongs to another tenant. The reason is printed.
 */
export async function runInterruptibly<T>(
  options: RolloutRunOptions,
  callback: (stopping: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const stopping = new AbortController();
  const interrupt = (): void => {
    if (stopping.signal.aborted) process.exit(EXIT.error);
    stopping.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, interrupt);
  try {
    return await callback(stopping.signal);
  } catch (error) {
    if (error instanceof PlanningFailedError) {
      const { createReportRenderers } = await import("./rollout-output.js");
      const { PLAN_COMMENT_MARKER } = await import("../../plan/render/plan-markdown.js");
      await writeOutputs(getUnprintedOutputs(options), createReportRenderers(error.report, PLAN_COMMENT_MARKER));
    }
    if (error instanceof EmailSecurityError && OTHER_TENANT_CODES.has(error.code)) {
      printError(formatErrorWithCode(error));
      return undefined;
    }
    throw error;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupt);
  }
}

/** The error codes of planning if several keys belong to one tenant, or if a key belongs to another tenant than its own. */
const OTHER_TENANT_CODES: ReadonlySet<string> = new Set(["ERR_OTHER_TENANT", "ERR_SAME_TENANT"]);
