import type { Transition } from "../settings/danger";
import type { Expired, Unmanaged } from "./plan-schema";

export type * from "./plan-schema";

/** A change, as far as its danger goes. */
export interface ChangedLists {
  readonly kind: "entry" | "vip";
  readonly before?: { readonly list?: string };
  readonly after?: { readonly list?: string };
}

/** Returns what a run does to an entry or VIP. */
export function changeTransition({ kind, before, after }: ChangedLists): Transition {
  const listOf = (one: ChangedLists["before"]): string | undefined =>
    one && (kind === "vip" ? "vip" : one.list);
  return { from: listOf(before), to: listOf(after) };
}

/** Returns what an entry or VIP is that nobody declares. */
export function unmanagedTransition({ kind, before }: Unmanaged): Transition {
  return { to: kind === "vip" ? "vip" : before.list };
}

/** Returns what became of an entry or VIP whose last day is past. */
export function expiredTransition({ kind, list, isThere }: Expired): Transition {
  return isThere ? { to: kind === "vip" ? "vip" : list, isLingering: true } : {};
}

/** The code of a refusal by `--fail-on`: only a person's copy of a plan has it, never the plan's JSON. */
export const FAIL_ON_GUARD = "fail-on";
