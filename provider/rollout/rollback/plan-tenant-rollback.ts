import { type EncodedList, isUnmanaged } from "../../model/encoded-list";
import { isEmptyTenantAccepted } from "../../model/mail-domains";
import { isEmptyIdentity, type TenantIdentity } from "../../model/tenant-identity";
import { quote, sanitizeLine } from "../../model/text";
import { buildDesiredState, type StackList, type StackLists } from "../../plan/desired-state";
import { isObservedTenant } from "../../plan/observed-state";
import type { Plan, PlanChange } from "../../plan/plan";
import { SettingsFileError } from "../../settings-files/finding";
import { inspectSettings } from "../../settings-files/read-settings";
import type { Settings } from "../../settings-files/settings-model";
import { RolloutError } from "../model/rollout-error";
import type { Target } from "../model/target";
import {
  buildTargetPlan,
  buildTenantIdentification,
  buildTenantPlan,
  type PlanningContext,
  readTargetStack,
  readTenantLists,
  type TargetPlan,
} from "../planning/plan-target";
import { hasDeclarations } from "../planning/replaced-tenant";
import type { RequestPolicy } from "../probing/address-health";
import type { RunInSlot } from "../probing/plan-all-targets";
import { selectIdentityRecord } from "../targets/tenant-conflicts";
import {
  createIdentityComparator,
  formatDifferentTenantReason,
  isDifferentTenant,
} from "../targets/tenant-replacement";
import { invertChanges, type RollbackLists } from "./inverse-changes";
import { renderRollbackSettings } from "./rollback-settings";

export interface TenantRollback {
  readonly rollout: string;
  readonly plan: Plan;
  /** The fingerprints of the tenant's users at planning time. Empty if the plan saw none. */
  readonly fingerprints: readonly string[];
  /** The identity of the tenant at the end of the rollout. Absent if unknown. */
  readonly identity?: TenantIdentity;
  /** Whether the tenant had entries or VIPs throughout the rollout, even if its identity is unknown. Default: false. */
  readonly wasNeverEmpty?: boolean;
  /** Whether the stack held the tenant's settings when the rollout ended. */
  readonly hadStack: boolean;
}

/**
 * Plans to undo the changes of a rollout in one tenant. Reads its stack and its lists, and generates the settings file
 * that declares the state before the rollout. Writes nothing.
 *
 * @param target the tenant; its settings path becomes the path of the generated file.
 * @param runInSlot runs the Pulumi CLI when a slot is free.
 * @throws any error that prevents the plan, caused by this tenant or its address.
 */
export async function planTenantRollback(
  target: Target,
  key: string,
  { rollout, plan: rolledBackPlan, fingerprints, hadStack, identity, wasNeverEmpty = false }: TenantRollback,
  context: PlanningContext,
  requestPolicy: RequestPolicy,
  runInSlot: RunInSlot,
): Promise<TargetPlan> {
  const stack = await runInSlot(async () => await readTargetStack(target, context));
  const { observed, host } = await readTenantLists(target, key, context.requestContext, requestPolicy);
  const riskReason = `Accepted for the rollback of the rollout ${rollout}`;
  const { entries, vips } = stack.known;
  const fullInverse = invertChanges(rolledBackPlan, stack.known, observed, riskReason);
  const isDestroyed = hadStack && !entries.exists && !vips.exists && !fullInverse.isPartlyUnknown;
  // Somebody destroyed the stack on purpose. Restoring a part of the previous state would match neither that state nor their intention.
  const inverse = isDestroyed ? invertChanges({ changes: [] }, stack.known, observed, riskReason) : fullInverse;
  const { declared, current, isPartlyUnknown } = inverse;
  const unrevertedChanges = isDestroyed
    ? ["everything (its stack was destroyed)"]
    : inverse.unreverted.map(formatChangeElement);
  const removals = {
    entries: countRemoved(current.entries, declared.entries),
    vips: countRemoved(current.vips, declared.vips),
  };
  const text = renderRollbackSettings(declared, removals);
  const settings = readGeneratedSettings(target, text, declared, context.today);
  const generatedFiles = new Map([[target.settings, text]]);
  const importFile = target.settings.replace(/\.yaml$/, ".import.yaml");
  if (isPartlyUnknown) generatedFiles.set(importFile, renderRollbackSettings(current, NO_REMOVALS));
  const knownLists = isPartlyUnknown ? mergeCurrentContent(stack.known, current) : stack.known;
  const desired = buildDesiredState(settings, knownLists, []);
  const plan = buildTenantPlan(target, settings, desired, observed, host, context, fingerprints);
  const isDone = plan.changes.length === 0 && !stack.isPending;
  const identification = buildTenantIdentification(target, desired, observed, plan);
  if (!isEmptyTenantAccepted(context.acceptanceEnvironment, target.name)) {
    const isSame = identity && isObservedTenant(identity, target.baseUrl, observed);
    // The previous state isn't restored in a tenant that has nothing of what identified it. An empty tenant also
    // doesn't count as rolled back while its stack still declares something.
    const isEmpty = isEmptyIdentity(identification.identity);
    const hadContent = identity === undefined ? wasNeverEmpty && isEmpty : !isEmptyIdentity(identity);
    const hasLostContent =
      isSame === undefined && hadContent && (plan.changes.length > 0 || (isEmpty && hasDeclarations(stack.known)));
    const recorded = (await context.readIdentityRecords?.())?.get(target.stack);
    // A person may have accepted another tenant since.
    const lastRecord = selectIdentityRecord(target, recorded, stack.marker);
    const isReplaced =
      lastRecord && (await isDifferentTenant(lastRecord, createIdentityComparator(target.baseUrl, observed)));
    const mismatch = isSame === false || hasLostContent ? rollout : isReplaced ? lastRecord.rollout : undefined;
    if (mismatch !== undefined) {
      context.onReplacedTenant?.(target, {
        reason: formatDifferentTenantReason(mismatch),
        identity: identification.identity,
      });
    }
  }
  const targetPlan = buildTargetPlan(target, plan, stack, isDone, context, {
    ...identification,
    ...(isPartlyUnknown ? { importSettings: importFile } : {}),
    ...(unrevertedChanges.length === 0 ? {} : { unreverted: unrevertedChanges }),
  });
  return { ...targetPlan, generatedFiles };
}

const NO_REMOVALS = { entries: 0, vips: 0 };

function countRemoved(current: EncodedList, declared: EncodedList): number {
  return Object.keys(current).filter((key) => !Object.hasOwn(declared, key)).length;
}

/** Returns the state of the stack after the existing entries are declared. */
function mergeCurrentContent({ entries, vips }: StackLists, current: RollbackLists): StackLists {
  const mergeList = (list: StackList, content: EncodedList): StackList => ({
    ...list,
    content: {
      ...Object.fromEntries(Object.entries(list.content).filter(([, text]) => isUnmanaged(text))),
      ...content,
    },
    exists: true,
  });
  return { entries: mergeList(entries, current.entries), vips: mergeList(vips, current.vips) };
}

/**
 * Reads the generated file in the same way as the run.
 *
 * @throws {RolloutError} (`ERR_ROLLBACK_UNAVAILABLE`) if the file can't declare the previous state of the tenant.
 */
function readGeneratedSettings(
  { name, settings: file }: Target,
  text: string,
  { entries, vips }: RollbackLists,
  today: string,
): Settings {
  const { settings, findings } = inspectSettings(file, { today, readFile: () => text });
  const cause = settings === undefined ? new SettingsFileError(file, findings) : undefined;
  const declaredTexts = new Map(
    [...(settings?.entries ?? []), ...(settings?.vips ?? [])].map((element) => [element.key, element.text]),
  );
  const mismatch = Object.entries({ ...entries, ...vips }).find(
    ([key, expectedText]) => declaredTexts.get(key) !== expectedText,
  );
  if (settings !== undefined && mismatch === undefined) return settings;
  throw new RolloutError(
    "ERR_ROLLBACK_UNAVAILABLE",
    `The earlier settings of ${quote(name)} can't be declared: ${cause?.message ?? quote(mismatch?.join(": "))}. Leave the tenant out (--except), and undo the changes in the console.`,
    { cause },
  );
}

/** For example: `allow partner.example`, `VIP ceo@acme.example`. */
function formatChangeElement({ kind, value, before, after }: PlanChange): string {
  return sanitizeLine(`${kind === "vip" ? "VIP" : (after ?? before)?.list} ${value}`);
}
