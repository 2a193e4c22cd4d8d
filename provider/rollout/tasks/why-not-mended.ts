import type { Settings } from "../../files/settings";
import { type Desired, type KnownLists, kindOf } from "../../plan/desired";
import { isUnmanaged } from "../../settings/keyed-list";

/** Whether a tenant's settings files let an unattended run take back what the console changed. */
export function mendsDrift({ onDrift }: Pick<Settings, "onDrift">): boolean {
  return onDrift === "mend";
}

/**
 * Why what differs at a tenant is left as it is; undefined where all of it is what somebody did there, and the files let it be
 * taken back.
 *
 * @param known what the stack's state holds.
 * @param isApplied whether the files say just what the stack's last run declared.
 */
export function whyNotMended(
  settings: Pick<Settings, "onDrift">,
  desired: Desired,
  known: KnownLists,
  isApplied: boolean,
): string | undefined {
  if (!mendsDrift(settings)) return "its settings do not say `onDrift: mend`";
  if (isApplied) return undefined;
  if (known.entries.isThere === false || known.vips.isThere === false)
    return "no run has brought its settings yet; `rollout` first";
  const { ended, changed } = movedOn(desired, known);
  const parts = [
    ...(changed === 0
      ? []
      : [
          `${changed === 1 ? "1 change of the files is" : `${changed} changes of the files are`} not rolled out (or a refresh has seen what the console changed)`,
        ]),
    ...(ended === 0
      ? []
      : [ended === 1 ? "1 that has ended still stands" : `${ended} that have ended still stand`]),
  ];
  if (parts.length === 0)
    return "its stack's last run was cut short, or an option of its lists is not rolled out; `rollout` first";
  const first = changed > 0 ? "`rollout`" : "`rollout --only-expired`";
  return `${parts.join(", and ")}; ${first} first`;
}

/** How many keys the files say otherwise than the stack's state has them, and how many of these only for their day is past. */
function movedOn(desired: Desired, known: KnownLists): { readonly ended: number; readonly changed: number } {
  const isEnded = new Set(desired.expired.map(({ kind, key }) => `${kind} ${key}`));
  let ended = 0;
  let changed = 0;
  for (const list of desired.lists) {
    const { content } = kindOf(list).subjectKind === "vip" ? known.vips : known.entries;
    const before = new Map(Object.entries(content).filter(([, text]) => !isUnmanaged(text)));
    for (const [key, text] of Object.entries(list.declared)) {
      if (before.get(key) !== text) changed += 1;
      before.delete(key);
    }
    for (const key of before.keys()) {
      if (isEnded.has(`${list.kind} ${key}`)) ended += 1;
      else changed += 1;
    }
  }
  return { ended, changed };
}
