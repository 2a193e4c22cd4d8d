import type { ExpiredRemoval } from "../../gitops/expired-removal";
import { isUnmanaged } from "../../model/encoded-list";
import { type DesiredState, getListKind, type StackLists } from "../../plan/desired-state";
import type { Settings } from "../../settings-files/settings-model";

/** Whether a tenant's settings files let an unattended run revert drift. */
export function canRevertDrift({ onDrift }: Pick<Settings, "onDrift">): boolean {
  return onDrift === "revert";
}

/**
 * Explains why the differences at a tenant are not reverted. Undefined if all of them are drift and the files allow reverting it.
 *
 * @param isApplied whether the files declare exactly the same as the stack's last run.
 * @param keptElements expired entries that `--only-expired` keeps, so that only a full rollout can remove them.
 */
export function getDriftRevertBlocker(
  settings: Pick<Settings, "onDrift">,
  desired: DesiredState,
  known: StackLists,
  isApplied: boolean,
  keptElements: ExpiredRemoval["retained"] = [],
): string | undefined {
  if (!canRevertDrift(settings)) return "its settings don't set `onDrift: revert`";
  if (isApplied) return undefined;
  if (known.entries.exists === false || known.vips.exists === false)
    return "its settings were never applied; run `rollout` first";
  const { ended: expiredKeys, changed } = comparePendingFiles(desired, known);
  const keptKeys = new Set(keptElements.map(formatElementKey));
  const keptCount = expiredKeys.filter((name) => keptKeys.has(name)).length;
  const expiredCount = expiredKeys.length - keptCount;
  const reasons = [
    ...(changed === 0
      ? []
      : [
          `${changed === 1 ? "1 change of the files is" : `${changed} changes of the files are`} not rolled out (or a refresh has read console changes into the state)`,
        ]),
    ...(expiredCount === 0
      ? []
      : [expiredCount === 1 ? "1 expired element is not removed" : `${expiredCount} expired elements are not removed`]),
    ...(keptCount === 0
      ? []
      : [
          `${keptCount === 1 ? "1 expired element is" : `${keptCount} expired elements are`} not removed, and \`rollout --only-expired\` keeps ${keptCount === 1 ? "it" : "them"}`,
        ]),
  ];
  if (reasons.length === 0)
    return "its stack's last run was interrupted, or an option of its lists is not rolled out; run `rollout` first";
  const firstCommand = changed + keptCount > 0 ? "`rollout`" : "`rollout --only-expired`";
  return `${reasons.join(", and ")}; run ${firstCommand} first`;
}

function formatElementKey({ kind, key }: ExpiredRemoval["retained"][number]): string {
  return `${kind} ${key}`;
}

/** Lists the keys that only differ from the stack's state because they have expired, and counts all other differences. */
function comparePendingFiles(
  desired: DesiredState,
  known: StackLists,
): { readonly ended: readonly string[]; readonly changed: number } {
  const expiredDeclarations = new Set(desired.expired.map(({ kind, key }) => `${kind} ${key}`));
  const expiredKeys: string[] = [];
  let changed = 0;
  for (const list of desired.lists) {
    const { content } = getListKind(list).itemKind === "vip" ? known.vips : known.entries;
    const knownContent = new Map(Object.entries(content).filter(([, text]) => !isUnmanaged(text)));
    for (const [key, text] of Object.entries(list.declared)) {
      if (knownContent.get(key) !== text) changed += 1;
      knownContent.delete(key);
    }
    for (const key of knownContent.keys()) {
      if (expiredDeclarations.has(`${list.kind} ${key}`)) expiredKeys.push(`${list.kind} ${key}`);
      else changed += 1;
    }
  }
  return { ended: expiredKeys, changed };
}
