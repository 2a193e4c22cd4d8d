import type { Settings } from "../../files/settings";
import type { OnlyExpired } from "../../gitops/only-expired";
import { type Desired, type KnownLists, kindOf } from "../../plan/desired";
import { isUnmanaged } from "../../settings/keyed-list";

/** Whether a tenant's settings files let an unattended run revert drift. */
export function mendsDrift({ onDrift }: Pick<Settings, "onDrift">): boolean {
  return onDrift === "revert";
}

/**
 * Explains why the differences at a tenant are not reverted. Undefined if all of them are drift and the files allow reverting it.
 *
 * @param known the contents of the stack's state.
 * @param isApplied whether the files declare exactly the same as the stack's last run.
 * @param kept expired entries that `--only-expired` keeps, so that only a full rollout can remove them.
 */
export function whyNotMended(
  settings: Pick<Settings, "onDrift">,
  desired: Desired,
  known: KnownLists,
  isApplied: boolean,
  kept: OnlyExpired["kept"] = [],
): string | undefined {
  if (!mendsDrift(settings)) return "its settings do not say `onDrift: revert`";
  if (isApplied) return undefined;
  if (known.entries.isThere === false || known.vips.isThere === false)
    return "no run has brought its settings yet; `rollout` first";
  const { ended: all, changed } = movedOn(desired, known);
  const isKept = new Set(kept.map(nameOf));
  const left = all.filter((name) => isKept.has(name)).length;
  const ended = all.length - left;
  const parts = [
    ...(changed === 0
      ? []
      : [
          `${changed === 1 ? "1 change of the files is" : `${changed} changes of the files are`} not rolled out (or a refresh has seen what the console changed)`,
        ]),
    ...(ended === 0
      ? []
      : [ended === 1 ? "1 that has ended still stands" : `${ended} that have ended still stand`]),
    ...(left === 0
      ? []
      : [
          `${left === 1 ? "1 that has ended still stands and is" : `${left} that have ended still stand and are`} left by \`rollout --only-expired\``,
        ]),
  ];
  if (parts.length === 0)
    return "its stack's last run was cut short, or an option of its lists is not rolled out; `rollout` first";
  const first = changed + left > 0 ? "`rollout`" : "`rollout --only-expired`";
  return `${parts.join(", and ")}; ${first} first`;
}

function nameOf({ kind, key }: OnlyExpired["kept"][number]): string {
  return `${kind} ${key}`;
}

/** Lists the keys that only differ from the stack's state because they have expired, and counts all other differences. */
function movedOn(
  desired: Desired,
  known: KnownLists,
): { readonly ended: readonly string[]; readonly changed: number } {
  const isEnded = new Set(desired.expired.map(({ kind, key }) => `${kind} ${key}`));
  const ended: string[] = [];
  let changed = 0;
  for (const list of desired.lists) {
    const { content } = kindOf(list).subjectKind === "vip" ? known.vips : known.entries;
    const before = new Map(Object.entries(content).filter(([, text]) => !isUnmanaged(text)));
    for (const [key, text] of Object.entries(list.declared)) {
      if (before.get(key) !== text) changed += 1;
      before.delete(key);
    }
    for (const key of before.keys()) {
      if (isEnded.has(`${list.kind} ${key}`)) ended.push(`${list.kind} ${key}`);
      else changed += 1;
    }
  }
  return { ended, changed };
}
