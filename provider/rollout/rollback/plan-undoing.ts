import { SettingsFileError } from "../../files/finding";
import { inspectSettings } from "../../files/read-settings";
import type { Settings } from "../../files/settings";
import { desiredOf, type KnownList, type KnownLists } from "../../plan/desired";
import { isTenantOf } from "../../plan/observed";
import type { Change, Plan } from "../../plan/plan";
import { isUnmanaged, type KeyedList } from "../../settings/keyed-list";
import { isNothing, type TenantIdentity } from "../../settings/tenant-identity";
import { acceptsEmptyTenant } from "../../settings/tenant-people";
import { printable, quote } from "../../settings/text";
import { RolloutError } from "../model/errors";
import type { Target } from "../model/target";
import {
  type PlanningContext,
  planOf,
  readTenant,
  seenIn,
  stackOf,
  type TargetPlan,
  targetPlan,
} from "../planning/plan-target";
import type { Asking } from "../probing/address-health";
import type { AtPlace } from "../probing/plan-each";
import { replacedReason } from "../targets/replaced-reason";
import { settingsText } from "./settings-text";
import { type DeclaredLists, whatUndoes } from "./what-undoes";

/** The changes to roll back in one tenant. */
export interface TakenBackPlan {
  /** The id of the rollout. */
  readonly rollout: string;
  /** The changes of the rollout in this tenant. */
  readonly plan: Plan;
  /** The fingerprints of the tenant's people at the time of the plan. Empty if the plan saw no people. */
  readonly fingerprints: readonly string[];
  /** What identified the tenant when the rollout was through with it. Absent: not known. */
  readonly identity?: TenantIdentity;
  /** Whether the stack held the tenant's settings when the rollout ended. */
  readonly hadStack: boolean;
}

/**
 * Plans to undo the changes of a rollout in one tenant. Reads its stack and its lists, and generates the settings file that declares the
 * state before the rollout. Writes nothing.
 *
 * @param target its settings path is the one that the generated file gets.
 * @param runInSlot runs the Pulumi CLI when a place is free.
 * @throws any error that prevents the plan, caused by this tenant or its address.
 */
export async function planUndoing(
  target: Target,
  key: string,
  { rollout, plan: rolledBackPlan, fingerprints, hadStack, identity }: TakenBackPlan,
  context: PlanningContext,
  requestPolicy: Asking,
  runInSlot: AtPlace,
): Promise<TargetPlan> {
  const stack = await runInSlot(async () => await stackOf(target, context));
  const { observed, host } = await readTenant(target, key, context.reach, requestPolicy);
  const riskReason = `It stands there as the rollout ${rollout} is rolled back`;
  const { entries, vips } = stack.known;
  const fullInverse = whatUndoes(rolledBackPlan, stack.known, observed, riskReason);
  const isDestroyed = hadStack && !entries.isThere && !vips.isThere && !fullInverse.isPartlyUnknown;
  // Somebody destroyed the stack on purpose. Restoring a part of the previous state would match neither that state nor their intention.
  const inverse = isDestroyed ? whatUndoes({ changes: [] }, stack.known, observed, riskReason) : fullInverse;
  const { declared, standing, isPartlyUnknown } = inverse;
  const unrevertedChanges = isDestroyed
    ? ["everything (its stack was destroyed)"]
    : inverse.left.map(formatChangeElement);
  const removals = {
    entries: countRemoved(standing.entries, declared.entries),
    vips: countRemoved(standing.vips, declared.vips),
  };
  const text = settingsText(declared, removals);
  const settings = readGeneratedSettings(target, text, declared, context.today);
  const generatedFiles = new Map([[target.settings, text]]);
  const firstFile = target.settings.replace(/\.yaml$/, ".first.yaml");
  if (isPartlyUnknown) generatedFiles.set(firstFile, settingsText(standing, NO_REMOVALS));
  const knownLists = isPartlyUnknown ? withCurrent(stack.known, standing) : stack.known;
  const desired = desiredOf(settings, knownLists, []);
  const plan = planOf(target, settings, desired, observed, host, context, fingerprints);
  const isDone = plan.changes.length === 0 && !stack.isPending;
  const seen = seenIn(target, desired, observed, plan);
  if (identity !== undefined && !acceptsEmptyTenant(context.accepting, target.name)) {
    const isSame = isTenantOf(identity, target.baseUrl, observed);
    // What it held before is not given back to a tenant that holds nothing of what identified it.
    const isEmptied = isSame === undefined && !isNothing(identity) && plan.changes.length > 0;
    if (isSame === false || isEmptied) {
      context.onReplaced?.(target, { reason: replacedReason(rollout), identity: seen.identity });
    }
  }
  const planned = targetPlan(target, plan, stack, isDone, context, {
    ...seen,
    ...(isPartlyUnknown ? { first: firstFile } : {}),
    ...(unrevertedChanges.length === 0 ? {} : { left: unrevertedChanges }),
  });
  return { ...planned, made: generatedFiles };
}

const NO_REMOVALS = { entries: 0, vips: 0 };

function countRemoved(current: KeyedList, declared: KeyedList): number {
  return Object.keys(current).filter((key) => !Object.hasOwn(declared, key)).length;
}

/** The state of the stack once the existing entries are declared. */
function withCurrent({ entries, vips }: KnownLists, current: DeclaredLists): KnownLists {
  const mergeList = (list: KnownList, content: KeyedList): KnownList => ({
    ...list,
    content: {
      ...Object.fromEntries(Object.entries(list.content).filter(([, text]) => isUnmanaged(text))),
      ...content,
    },
    isThere: true,
  });
  return { entries: mergeList(entries, current.entries), vips: mergeList(vips, current.vips) };
}

/**
 * Reads the generated file in the same way as the run.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_NOT_KNOWN`) if the file can't declare the previous state of the tenant.
 */
function readGeneratedSettings(
  { name, settings: file }: Target,
  text: string,
  { entries, vips }: DeclaredLists,
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
    "ERR_ROLLOUT_NOT_KNOWN",
    `What ${quote(name)} held before can't be declared: ${cause?.message ?? quote(mismatch?.join(": "))}. Leave it out (--except), and undo it in the console.`,
    { cause },
  );
}

/** For example: `allow partner.example`, `VIP ceo@acme.example`. */
function formatChangeElement({ kind, value, before, after }: Change): string {
  return printable(`${kind === "vip" ? "VIP" : (after ?? before)?.list} ${value}`);
}
