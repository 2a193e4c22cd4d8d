import type { Transition } from "../model/danger";
import type { ExpiredItem, UnmanagedItem } from "./plan-schema";

export type * from "./plan-schema";

export interface ChangedLists {
  readonly kind: "entry" | "vip";
  readonly before?: { readonly list?: string };
  readonly after?: { readonly list?: string };
}

export function getChangeTransition({ kind, before, after }: ChangedLists): Transition {
  const getItemList = (item: ChangedLists["before"]): string | undefined =>
    item && (kind === "vip" ? "vip" : item.list);
  return { from: getItemList(before), to: getItemList(after) };
}

export function getUnmanagedTransition({ kind, before }: UnmanagedItem): Transition {
  return { to: kind === "vip" ? "vip" : before.list };
}

export function getExpiredTransition({ kind, list, isPresent }: ExpiredItem): Transition {
  return isPresent ? { to: kind === "vip" ? "vip" : list, isLingering: true } : {};
}

/** The code of a `--fail-on` blocker. It appears in plans shown to a person, never in the plan's JSON. */
export const FAIL_ON_BLOCKER = "fail-on";
