import { EXIT, type ExitCode } from "../../cli/command-line";
import type { Output } from "../../cli/output/outputs";
import { targetOf, writeOutputs } from "../../cli/output/write-outputs";
import type { FailOn } from "../../cli/plan-options";
import { FAIL_ON_GUARD } from "../../plan/plan";
import { counted } from "../../render/words";
import type { RolloutReport, TenantReport } from "../../rollout/model/rollout-report";
import type { PlannedRollout } from "../../rollout/planning/plan-rollout";
import type { Rollouts } from "../../rollout/rollouts";
import { overTolerance } from "../../rollout/targets/tolerance";
import { harmless } from "../../settings/text";
import type { RolloutFormat } from "./open-rollouts";
import { run } from "./rollout-run";
import { type Consent, isPrintedText, type RunOptions, unprinted } from "./rollout-run-options";

/** Whether this format of the plan includes evidence from mail. */
export function tellsMail({ format }: Output<RolloutFormat>): boolean {
  return format === "markdown" || format === "html";
}

/** Shows a plan, and runs it if nothing blocks it and the user wants to run it. Forgets a rollout that does not start. */
export async function decide(
  rollouts: Rollouts,
  plannedRollout: PlannedRollout,
  options: RunOptions & Consent,
): Promise<ExitCode> {
  const { id, digest } = plannedRollout;
  const { plannedRenderers } = await import("./rollout-output.js");
  const { withMail } = await import("../../rollout/plan-report/told-whole.js");
  const report = withMail(await rollouts.report(id), plannedRollout.mail);
  const createRenderers = (displayedPlan: PlannedRollout) =>
    plannedRenderers(report, displayedPlan, async () => await rollouts.wholePlan(plannedRollout), rollouts.commands);
  // Show the plan that an error refers to, whatever standard output is for.
  const stream = options.outputs.some(isPrintedText) ? "stdout" : "stderr";
  process[stream].write(await createRenderers(plannedRollout).text(targetOf(stream)));
  const code = checkUntilWave(report, options) ?? checkPlanRunnable(report, plannedRollout, options);
  if (code !== undefined) {
    const blockingRollout = code === EXIT.changes ? await rollouts.inTheWay(id) : undefined;
    const blockedPlan = {
      ...plannedRollout,
      guards: [...plannedRollout.guards, ...buildFailOnBlockers(report, options.failOn)],
    };
    await writeOutputs(unprinted(options), createRenderers(blockedPlan), formatMailNote(options, plannedRollout.mail));
    await rollouts.forget(id);
    if (code === EXIT.changes) {
      console.error(`Nothing was changed. To apply just this: add --yes --plan-digest ${digest}`);
      if (blockingRollout !== undefined) console.error(harmless(`But another rollout comes first. ${blockingRollout}`));
    }
    return code;
  }
  try {
    return await run(rollouts, id, false, options);
  } catch (error) {
    // Forget a rollout that could not start. If the journal fails too, report the first failure.
    await rollouts.forgetUnbegun(id).catch(() => {});
    throw error;
  }
}

/** Formats the number of tenants whose mail the output files cover. */
function formatMailNote({ outputs }: RunOptions, mail: PlannedRollout["mail"]): string {
  if (mail === undefined || mail.said.size === 0 || !outputs.some(tellsMail)) return "";
  return `, with what the mail of ${mail.said.size} of ${counted(mail.of, "tenant")} says`;
}

function checkUntilWave({ waves }: RolloutReport, { until }: RunOptions): ExitCode | undefined {
  if (until === undefined || waves.some(({ name }) => name === until)) return undefined;
  const names = waves.map(({ name }) => name).join(", ");
  console.error(harmless(`error: there is no wave "${until}" for --until; there are ${names}. Nothing was changed.`));
  return EXIT.error;
}

/** Returns the exit code if a planned rollout can't start; undefined if it can. */
function checkPlanRunnable(
  { waves, tenants, counts }: RolloutReport,
  { guards, digest, tolerated, again = [] }: PlannedRollout,
  { yes, planDigest, failOn }: Consent,
): ExitCode | undefined {
  if (guards.length > 0) {
    console.error("error: refused by a guard, see above. Nothing was changed.");
    return EXIT.refused;
  }
  const failures = waves.map((wave) => ({ ...wave, failed: wave.counts.failed }));
  const exceeded = overTolerance(failures, tolerated).map((name) => {
    const wave = waves.find((candidate) => candidate.name === name);
    const [failed, total] = wave === undefined ? [counts.failed, tenants.length] : [wave.counts.failed, wave.tenants];
    return `${failed} of ${total} in ${wave === undefined ? name : `the wave ${name}`}, which tolerates ${wave?.tolerated ?? tolerated}`;
  });
  const fixAdvice = "Mend them, or leave them out with --except.";
  if (exceeded.length > 0) {
    console.error(
      harmless(
        `error: too many tenants can't be planned: ${exceeded.join("; ")}. Nothing was changed. ${fixAdvice} [ERR_ROLLOUT_PLAN]`,
      ),
    );
    return EXIT.error;
  }
  const flaggedCount = findFlaggedTenants(tenants, failOn).length;
  if (flaggedCount > 0) {
    console.error(
      `error: the changes of ${counted(flaggedCount, "tenant")} are refused by --fail-on ${failOn}. Nothing was changed. ${FIX_RISKS}`,
    );
    return EXIT.refused;
  }
  if (planDigest !== undefined && planDigest.trim() !== digest) {
    const isOldDigest = /^r1-/.test(planDigest.trim());
    const oldDigestNote = isOldDigest
      ? "The digest that was given is one of an earlier release, which held for less than a plan shows. "
      : "";
    console.error(
      `error: ${oldDigestNote}this is not what was reviewed: the plan's digest is ${digest} now. The targets, the settings files or a tenant changed since. Nothing was changed. [ERR_ROLLOUT_DIGEST]`,
    );
    return EXIT.refused;
  }
  const [rolledBackChange] = again;
  if (rolledBackChange !== undefined && yes === true && planDigest === undefined) {
    console.error(
      harmless(
        `error: ${again.map(({ by }) => by).join(" and ")} rolled back what this plan would do again (${rolledBackChange.what.slice(0, 3).join(", ")}${rolledBackChange.what.length > 3 ? ", …" : ""}; see above). Nothing was changed. Take it out of the settings files; or, if it is meant after all, ask for it by name: --yes --plan-digest ${digest} [ERR_ROLLED_BACK]`,
      ),
    );
    return EXIT.refused;
  }
  if (yes === true) return undefined;
  if (counts.pending > 0) return EXIT.changes;
  if (counts.failed === 0) return EXIT.clean;
  console.error(
    `error: ${counts.failed} of ${tenants.length} tenants can't be planned, see above. Nothing was changed. ${fixAdvice} [ERR_ROLLOUT_PLAN]`,
  );
  return EXIT.error;
}

const FIX_RISKS = "Fix what is reported; where it is meant, say why in the entry's `acceptRisk`.";

function findFlaggedTenants(tenants: readonly TenantReport[], failOn: FailOn | undefined): readonly TenantReport[] {
  if (failOn === undefined) return [];
  return tenants.filter(({ alarms: { danger, warning } }) => danger > 0 || (failOn === "warning" && warning > 0));
}

/** Lists what `--fail-on` refuses, for the output files that people read. */
function buildFailOnBlockers({ tenants }: RolloutReport, failOn: FailOn | undefined): PlannedRollout["guards"] {
  const message = `Changes of this tenant are refused by --fail-on ${failOn}. ${FIX_RISKS}`;
  return findFlaggedTenants(tenants, failOn).map(({ name }) => ({
    tenant: name,
    guard: { code: FAIL_ON_GUARD, message },
  }));
}
