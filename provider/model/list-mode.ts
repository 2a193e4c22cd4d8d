import type { List } from "./assumptions";

/**
 * `"additive"`: adds declared entries and leaves all others alone. `"exclusive-allows"`: also removes undeclared allow
 * entries, but no deny entries. `"exclusive"`: removes all undeclared entries.
 */
export const LIST_MODES = ["additive", "exclusive-allows", "exclusive"] as const;

export type ListMode = (typeof LIST_MODES)[number];

/** `"additive"`: adds declared VIPs and leaves all others alone. `"exclusive"`: removes all undeclared VIPs. */
export const VIP_LIST_MODES = ["additive", "exclusive"] as const satisfies readonly ListMode[];

export type VipListMode = (typeof VIP_LIST_MODES)[number];

/** The lists that each mode prunes. Undefined stands for the VIP list. */
const PRUNED_LISTS = {
  additive: [],
  "exclusive-allows": ["allow"],
  exclusive: ["allow", "deny", undefined],
} as const satisfies Readonly<Record<ListMode, readonly (List | undefined)[]>>;

/**
 * Whether a list in this mode removes an undeclared entry or VIP. No other code compares modes.
 *
 * @param mode from a program or a file. A missing or unknown mode prunes nothing.
 * @param list the list that the entry is on; undefined for a VIP.
 */
export function canPrune(mode: unknown, list: string | undefined): boolean {
  return getPrunedLists(mode).includes(list);
}

/** Whether a list in this mode removes anything undeclared. */
export function canPruneAny(mode: unknown): boolean {
  return getPrunedLists(mode).length > 0;
}

export function isLooserMode(mode: unknown, otherMode: unknown): boolean {
  return getPrunedLists(mode).length < getPrunedLists(otherMode).length;
}

/** Explains why a VIP list can't have a mode that an allow/deny list can have. Undefined for any other value. */
export function explainVipMode(mode: unknown): string | undefined {
  const includesMode = (modes: readonly string[]): boolean => modes.some((candidate) => candidate === mode);
  if (!includesMode(LIST_MODES) || includesMode(VIP_LIST_MODES)) return undefined;
  return `can't be "${mode}" on the VIP list, which has no allow entries; write "${VIP_LIST_MODES.join('" or "')}"`;
}

function getPrunedLists(mode: unknown): readonly (string | undefined)[] {
  const known = LIST_MODES.find((candidate) => candidate === mode);
  return known === undefined ? [] : PRUNED_LISTS[known];
}
