import type { SettingsClient } from "../../client";
import { getHost } from "../../gitops/plan-tenant";
import { buildDesiredState } from "../../plan/desired-state";
import { readMailHistory } from "../../plan/evidence";
import { buildMailEvidence } from "../../plan/mail-evidence";
import { readObservedState } from "../../plan/observed-state";
import type { Plan } from "../../plan/plan";
import { isOtherTenantPlan } from "../../plan/plan-redaction";
import type { Target } from "../model/target";
import type { RequestPolicy } from "../probing/address-health";
import { useTargetClient } from "../probing/target-client";
import { buildTenantPlan, type PlanningContext, readTargetSettings, readTargetStack } from "./plan-target";

/**
 * Plans one tenant by its settings file once more, with evidence from its mail. Reads only. Doesn't search the mail if the key seems to
 * belong to another tenant.
 *
 * @throws any error that prevents the plan. Mail that can't be read is reported in the plan's evidence.
 */
export async function planWithEvidence(
  target: Target,
  key: string,
  context: PlanningContext,
  requestPolicy: RequestPolicy,
): Promise<Plan> {
  const { settings, findings } = readTargetSettings(target, context);
  const stack = await readTargetStack(target, context);
  const desired = buildDesiredState(settings, stack.known, findings);
  const planWithClient = async (client: SettingsClient): Promise<Plan> => {
    const observed = await readObservedState(client, undefined, requestPolicy.onAnswer);
    const host = getHost(client);
    const planWithoutMail = buildTenantPlan(target, settings, desired, observed, host, context);
    if (isOtherTenantPlan(planWithoutMail)) return planWithoutMail;
    const mail = buildMailEvidence(await readMailHistory({ client, vips: observed.vips.keys() }));
    return buildTenantPlan(target, settings, desired, observed, host, context, [], mail);
  };
  return await useTargetClient(target, key, context.requestContext, planWithClient, requestPolicy);
}
