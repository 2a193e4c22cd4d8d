import type { SettingsClient } from "../../client";
import { hostOf } from "../../gitops/plan-tenant";
import { desiredOf } from "../../plan/desired";
import { gatherEvidence } from "../../plan/evidence";
import { mailEvidence } from "../../plan/mail-evidence";
import { observe } from "../../plan/observed";
import type { Plan } from "../../plan/plan";
import { isOfAnother } from "../../plan/withheld";
import type { Target } from "../model/target";
import type { Asking } from "../probing/address-health";
import { withTargetClient } from "../probing/target-client";
import { type PlanningContext, planOf, settingsOf, stackOf } from "./plan-target";

/**
 * Plans one tenant by its settings file once more, with evidence from its mail. Reads only. Doesn't search the mail if the key seems to
 * open another tenant.
 *
 * @throws any error that prevents the plan. Mail that can't be read is reported in the plan's evidence.
 */
export async function planWithMail(
  target: Target,
  key: string,
  context: PlanningContext,
  requestPolicy: Asking,
): Promise<Plan> {
  const { settings, findings } = settingsOf(target, context);
  const stack = await stackOf(target, context);
  const desired = desiredOf(settings, stack.known, findings);
  const planWithClient = async (client: SettingsClient): Promise<Plan> => {
    const observed = await observe(client, undefined, requestPolicy.answered);
    const host = hostOf(client);
    const planWithoutMail = planOf(target, settings, desired, observed, host, context);
    if (isOfAnother(planWithoutMail)) return planWithoutMail;
    const mail = mailEvidence(await gatherEvidence({ client, vips: observed.vips.keys() }));
    return planOf(target, settings, desired, observed, host, context, [], mail);
  };
  return await withTargetClient(target, key, context.reach, planWithClient, requestPolicy);
}
