import { EXIT, type ExitCode } from "../../cli/exit-codes";
import type { FailOnLevel } from "../../cli/fail-on-option";
import type { Output } from "../../cli/output/output-options";
import { getTextTarget, writeOutputs } from "../../cli/output/write-outputs";
import { printError } from "../../cli/print-error";
import { sanitizeMultiline } from "../../model/text";
import { FAIL_ON_BLOCKER } from "../../plan/plan";
import { formatCount } from "../../render/safe-text";
import type { RolloutReport, TenantReport } from "../../rollout/model/rollout-report";
import type { PlannedRollout } from "../../rollout/planning/plan-rollout";
import type { Rollouts } from "../../rollout/rollouts";
import { findExceededTolerances } from "../../rollout/targets/tolerance";
import { executeRollout, isPartial } from "./execute-rollout";
import { type Consent, getUnprintedOutputs, isTerminalText, type RolloutRunOptions } from "./rollout-run-options";
import type { RolloutFormat } from "./run-with-rollouts";

export function showsMailEvidence({ format }: Output<RolloutFormat>): boolean {
  return format === "markdown" || format === "html";
}

/** Shows a plan, and runs it if nothing blocks it and the user wants to run it. Forgets a rollout that does not start. */
export async function showAndRunPlan(
  rollouts: Rollouts,
  plannedRollout: PlannedRollout,
  options: RolloutRunOptions & Consent,
): Promise<ExitCode> {
  const { id, digest } = plannedRollout;
  const { createRolloutPlanRenderers } = await import("./rollout-output.js");
  const { addMailSeverities } = await import("../../rollout/plan-report/plan-summary-view.js");
  const report = addMailSeverities(await rollouts.report(id), plannedRollout.mail);
  const createRenderers = (displayedPlan: PlannedRollout) =>
    createRolloutPlanRenderers(
      report,
      displayedPlan,
      async () => await rollouts.buildCombinedPlan(plannedRollout),
      rollouts.commands,
    );
  // Show the plan that an error refers to, whatever standard output is for.
  const stream = options.outputs.some(isTerminalText) ? "stdout" : "stderr";
  process[stream].write(await createRenderers(plannedRollout).text(getTextTarget(stream)));
  const code = checkUntilWave(report, options) ?? checkPlanRunnable(report, plannedRollout, options);
  if (code !== undefined) {
    const blockingRollout = code === EXIT.changes ? await rollouts.describeBlockingRollout(id) : undefined;
    const blockedPlan = {
      ...plannedRollout,
      blockers: [...plannedRollout.blockers, ...buildFailOnBlockers(report, options.failOn)],
    };
    await writeOutputs(
      getUnprintedOutputs(options),
      createRenderers(blockedPlan),
      formatMailNote(options, plannedRollout.mail),
    );
    await rollouts.deletePlanned(id);
    if (code === EXIT.changes) {
      console.error(
        report.counts.pending > 0
          ? `Nothing was changed. To apply exactly this plan, add --yes --plan-digest ${digest}`
          : "Nothing was changed. Some tenants are left out, see above; the others need no change.",
      );
      if (blockingRollout !== undefined)
        console.error(sanitizeMultiline(`Another rollout has to finish first. ${blockingRollout}`));
    }
    return code;
  }
  try {
    return await executeRollout(rollouts, id, false, options);
  } catch (error) {
    // Forget a rollout that could not start. If the journal fails too, report the first failure.
    await rollouts.deleteUnstarted(id).catch(() => {});
    throw error;
  }
}

/** Formats the number of tenants whose mail the output files cover. */
function formatMailNote({ outputs }: RolloutRunOptions, mail: PlannedRollout["mail"]): string {
  if (mail === undefined || mail.evidenceByTenant.size === 0 || !outputs.some(showsMailEvidence)) return "";
  return `, with mail evidence of ${mail.evidenceByTenant.size} of ${formatCount(mail.candidateCount, "tenant")}`;
}

function checkUntilWave({ waves }: RolloutReport, { until }: RolloutRunOptions): ExitCode | undefined {
  if (until === undefined || waves.some(({ name }) => name === until)) return undefined;
  const names = waves.map(({ name }) => name).join(", ");
  printError(`--until specifies an unknown wave, "${until}"; the waves are ${names}. Nothing was changed.`);
  return EXIT.error;
}

/** Returns the exit code if a planned rollout can't start; undefined if it can. */
function checkPlanRunnable(
  report: RolloutReport,
  { blockers, digest, tolerated, reappliedChanges = [] }: PlannedRollout,
  { yes, planDigest, failOn }: Consent,
): ExitCode | undefined {
  const { waves, tenants, counts } = report;
  if (blockers.length > 0) {
    printError("a blocker rejects the plan, see above. Nothing was changed.");
    return EXIT.refused;
  }
  const failures = waves.map(({ name, toleratedFailures, counts: { failed } }) => ({
    name,
    tolerated: toleratedFailures,
    failed,
  }));
  const exceeded = findExceededTolerances(failures, tolerated).map((name) => {
    const wave = waves.find((candidate) => candidate.name === name);
    const [failed, total] = wave === undefined ? [counts.failed, tenants.length] : [wave.counts.failed, wave.tenants];
    return `${failed} of ${total} in ${wave === undefined ? name : `the wave ${name}`}, which tolerates ${wave?.toleratedFailures ?? tolerated}`;
  });
  const fixAdvice = "Fix them, or leave them out with --except.";
  if (exceeded.length > 0) {
    printError(
      `too many tenants can't be planned: ${exceeded.join("; ")}. Nothing was changed. ${fixAdvice} [ERR_ROLLOUT_PLAN]`,
    );
    return EXIT.error;
  }
  const flaggedCount = findFlaggedTenants(tenants, failOn).length;
  if (flaggedCount > 0) {
    printError(
      `the changes of ${formatCount(flaggedCount, "tenant")} are blocked by --fail-on ${failOn}. Nothing was changed. ${FIX_RISKS}`,
    );
    return EXIT.refused;
  }
  if (planDigest !== undefined && planDigest.trim() !== digest) {
    const isOldDigest = /^r1-/.test(planDigest.trim());
    const oldDigestNote = isOldDigest
      ? "The given digest is from an earlier release and covers less than a plan shows. "
      : "";
    printError(
      `${oldDigestNote}the plan differs from the reviewed one: its digest is now ${digest}. The targets, the settings files or a tenant changed since the review. Nothing was changed. [ERR_ROLLOUT_DIGEST]`,
    );
    return EXIT.refused;
  }
  const [rolledBackChange] = reappliedChanges;
  if (rolledBackChange !== undefined && yes === true && planDigest === undefined) {
    printError(
      `${reappliedChanges.map(({ by }) => by).join(" and ")} rolled back changes that this plan would repeat (${rolledBackChange.changes.slice(0, 3).join(", ")}${rolledBackChange.changes.length > 3 ? ", …" : ""}; see above). Nothing was changed. Remove them from the settings files. If they are intended after all, confirm them: --yes --plan-digest ${digest} [ERR_ROLLED_BACK]`,
    );
    return EXIT.refused;
  }
  if (yes === true) return undefined;
  if (counts.pending > 0) return EXIT.changes;
  if (counts.failed === 0) return isPartial(report) ? EXIT.changes : EXIT.clean;
  printError(
    `${counts.failed} of ${tenants.length} tenants can't be planned, see above. Nothing was changed. ${fixAdvice} [ERR_ROLLOUT_PLAN]`,
  );
  return EXIT.error;
}

const FIX_RISKS = "Fix what is reported. If a risk is intended, give the reason in the entry's `acceptRisk`.";

function findFlaggedTenants(
  tenants: readonly TenantReport[],
  failOn: FailOnLevel | undefined,
): readonly TenantReport[] {
  if (failOn === undefined) return [];
  return tenants.filter(({ severities: { danger, warning } }) => danger > 0 || (failOn === "warning" && warning > 0));
}

/** Lists what `--fail-on` refuses, for the output files that people read. */
function buildFailOnBlockers({ tenants }: RolloutReport, failOn: FailOnLevel | undefined): PlannedRollout["blockers"] {
  const message = `Changes of this tenant are blocked by --fail-on ${failOn}. ${FIX_RISKS}`;
  return findFlaggedTenants(tenants, failOn).map(({ name }) => ({
    tenant: name,
    blocker: { code: FAIL_ON_BLOCKER, message },
  }));
}
