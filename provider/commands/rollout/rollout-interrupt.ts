import { EXIT } from "../../cli/command-line";
import { writeOutputs } from "../../cli/output/write-outputs";
import { PlanningEndedError } from "../../rollout/model/errors";
import { EmailSecurityError, withCode } from "../../settings/email-security-error";
import { harmless } from "../../settings/text";
import { type RunOptions, unprinted } from "./rollout-run-options";

/**
 * The first Ctrl-C stops planning, which has written nothing; the second ends the process. The reports are written even if planning ends
 * before all tenants are planned.
 *
 * @returns undefined if the plan is refused because a key opens another tenant. The reason is printed.
 */
export async function untilInterrupted<T>(
  options: RunOptions,
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
    if (error instanceof PlanningEndedError) {
      const { reportRenderers } = await import("./rollout-output.js");
      const { PLAN_MARK } = await import("../../plan/render/markdown.js");
      await writeOutputs(unprinted(options), reportRenderers(error.report, PLAN_MARK));
    }
    if (error instanceof EmailSecurityError && OTHER_TENANT_CODES.has(error.code)) {
      console.error(harmless(`error: ${withCode(error)}`));
      return undefined;
    }
    throw error;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupt);
  }
}

/** Planning ends with these codes where several keys open one tenant, or a key opens another tenant than its own. */
const OTHER_TENANT_CODES: ReadonlySet<string> = new Set(["ERR_OTHER_TENANT", "ERR_SAME_TENANT"]);
