import type { List } from "./assumptions";

/** `"additive"`: what is declared is there, the rest is left alone. `"exclusive"`: only what is declared is there. */
export const LIST_MODES = ["additive", "exclusive"] as const;

export type ListMode = (typeof LIST_MODES)[number];

/** The lists that each mode prunes. Undefined stands for the VIP list. */
const PRUNED_LISTS = {
  additive: [],
  exclusive: ["allow", "deny", undefined],
} as const satisfies Readonly<Record<ListMode, readonly (List | undefined)[]>>;

/**
 * Whether a list in this mode removes an entry or a VIP that nobody declares. No other code compares modes.
 *
 * @param mode as a program or a file has it; one that is missing or unknown prunes nothing.
 * @param list the list that the entry is on; undefined for a VIP.
 */
export function prunes(mode: unknown, list: string | undefined): boolean {
  return prunedLists(mode).includes(list);
}

/** Whether a list in this mode removes anything that nobody declares. */
export function prunesAny(mode: unknown): boolean {
  return prunedLists(mode).length > 0;
}

/** Whether one mode removes less of what nobody declares than another. */
export function isLooserMode(mode: unknown, than: unknown): boolean {
  return prunedLists(mode).length < prunedLists(than).length;
}

function prunedLists(mode: unknown): readonly (string | undefined)[] {
  const known = LIST_MODES.find((one) => one === mode);
  return known === undefined ? [] : PRUNED_LISTS[known];
}
