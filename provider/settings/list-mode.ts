import type { List } from "./assumptions";

/**
 * `"additive"`: what is declared is there, the rest is left alone. `"exclusive-allows"`: allow entries that nobody declares
 * are removed, deny entries are left alone. `"exclusive"`: only what is declared is there.
 */
export const LIST_MODES = ["additive", "exclusive-allows", "exclusive"] as const;

export type ListMode = (typeof LIST_MODES)[number];

/** `"additive"`: what is declared is there, the rest is left alone. `"exclusive"`: only what is declared is there. */
export const VIP_LIST_MODES = ["additive", "exclusive"] as const satisfies readonly ListMode[];

export type VipListMode = (typeof VIP_LIST_MODES)[number];

/** The lists that each mode prunes. Undefined stands for the VIP list. */
const PRUNED_LISTS = {
  additive: [],
  "exclusive-allows": ["allow"],
  exclusive: ["allow", "deny", undefined],
} as const satisfies Readonly<Record<ListMode, readonly (List | undefined)[]>>;

/**
 * Whether a list in this mode removes an entry or a VIP that nobody declares. No other code compares modes.
 *
 * @param mode as a program or a file has it; one that is missing or unknown prunes nothing.
 * @param list the list that the entry is on; undefined for a VIP.
 */
export function canPrune(mode: unknown, list: string | undefined): boolean {
  return getPrunedLists(mode).includes(list);
}

/** Whether a list in this mode removes anything that nobody declares. */
export function canPruneAny(mode: unknown): boolean {
  return getPrunedLists(mode).length > 0;
}

/** Whether one mode removes less of what nobody declares than another. */
export function isLooserMode(mode: unknown, otherMode: unknown): boolean {
  return getPrunedLists(mode).length < getPrunedLists(otherMode).length;
}

/** Why a VIP list can't have a mode that an allow/deny list has; undefined for any other value. */
export function explainVipMode(mode: unknown): string | undefined {
  const isIn = (modes: readonly string[]): boolean => modes.some((candidate) => candidate === mode);
  if (!isIn(LIST_MODES) || isIn(VIP_LIST_MODES)) return undefined;
  return `can't be "${mode}" on the VIP list, which holds no allow entries; write "${VIP_LIST_MODES.join('" or "')}"`;
}

function getPrunedLists(mode: unknown): readonly (string | undefined)[] {
  const known = LIST_MODES.find((candidate) => candidate === mode);
  return known === undefined ? [] : PRUNED_LISTS[known];
}
