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
 * @param atPlace runs the Pulumi CLI when a place is free.
 * @throws any error that prevents the plan, caused by this tenant or its address.
 */
export async function planUndoing(
  target: Target,
  key: string,
  { rollout, plan: done, fingerprints, hadStack, identity }: TakenBackPlan,
  context: PlanningContext,
  asking: Asking,
  atPlace: AtPlace,
): Promise<TargetPlan> {
  const stack = await atPlace(async () => await stackOf(target, context));
  const { observed, host } = await readTenant(target, key, context.reach, asking);
  const why = `It stands there as the rollout ${rollout} is rolled back`;
  const { entries, vips } = stack.known;
  const whole = whatUndoes(done, stack.known, observed, why);
  const isDestroyed = hadStack && !entries.isThere && !vips.isThere && !whole.isPartlyUnknown;
  // Somebody destroyed the stack on purpose. Restoring a part of the previous state would match neither that state nor their intention.
  const undoing = isDestroyed ? whatUndoes({ changes: [] }, stack.known, observed, why) : whole;
  const { declared, standing, isPartlyUnknown } = undoing;
  const left = isDestroyed ? ["everything (its stack was destroyed)"] : undoing.left.map(told);
  const removals = {
    entries: goneFrom(standing.entries, declared.entries),
    vips: goneFrom(standing.vips, declared.vips),
  };
  const text = settingsText(declared, removals);
  const settings = readBack(target, text, declared, context.today);
  const made = new Map([[target.settings, text]]);
  const first = target.settings.replace(/\.yaml$/, ".first.yaml");
  if (isPartlyUnknown) made.set(first, settingsText(standing, NOTHING));
  const known = isPartlyUnknown ? withStanding(stack.known, standing) : stack.known;
  const desired = desiredOf(settings, known, []);
  const plan = planOf(target, settings, desired, observed, host, context, fingerprints);
  const isDone = plan.changes.length === 0 && !stack.isPending;
  const seen = seenIn(target, desired, observed);
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
    ...(isPartlyUnknown ? { first } : {}),
    ...(left.length === 0 ? {} : { left }),
  });
  return { ...planned, made };
}

const NOTHING = { entries: 0, vips: 0 };

function goneFrom(standing: KeyedList, declared: KeyedList): number {
  return Object.keys(standing).filter((key) => !Object.hasOwn(declared, key)).length;
}

/** The state of the stack once the existing entries are declared. */
function withStanding({ entries, vips }: KnownLists, standing: DeclaredLists): KnownLists {
  const merged = (list: KnownList, more: KeyedList): KnownList => ({
    ...list,
    content: {
      ...Object.fromEntries(Object.entries(list.content).filter(([, text]) => isUnmanaged(text))),
      ...more,
    },
    isThere: true,
  });
  return { entries: merged(entries, standing.entries), vips: merged(vips, standing.vips) };
}

/**
 * Reads the generated file in the same way as the run.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_NOT_KNOWN`) if the file can't declare the previous state of the tenant.
 */
function readBack(
  { name, settings: file }: Target,
  text: string,
  { entries, vips }: DeclaredLists,
  today: string,
): Settings {
  const { settings, findings } = inspectSettings(file, { today, readFile: () => text });
  const cause = settings === undefined ? new SettingsFileError(file, findings) : undefined;
  const said = new Map(
    [...(settings?.entries ?? []), ...(settings?.vips ?? [])].map((one) => [one.key, one.text]),
  );
  const lost = Object.entries({ ...entries, ...vips }).find(([key, wanted]) => said.get(key) !== wanted);
  if (settings !== undefined && lost === undefined) return settings;
  throw new RolloutError(
    "ERR_ROLLOUT_NOT_KNOWN",
    `What ${quote(name)} held before can't be declared: ${cause?.message ?? quote(lost?.join(": "))}. Leave it out (--except), and undo it in the console.`,
    { cause },
  );
}

/** For example: `allow partner.example`, `VIP ceo@acme.example`. */
function told({ kind, value, before, after }: Change): string {
  return printable(`${kind === "vip" ? "VIP" : (after ?? before)?.list} ${value}`);
}
