/**
 * The modes of a rollout that doesn't apply the files. `only-expired` prunes expired entries. `revert-drift` reverts changes made in the
 * console.
 */
export const ROLLOUT_MODES = ["only-expired", "revert-drift"] as const;

export type RolloutMode = (typeof ROLLOUT_MODES)[number];

export const MODE_TEXTS: Readonly<Record<RolloutMode, { readonly option: string; readonly purpose: string }>> = {
  "only-expired": { option: "--only-expired", purpose: "only removes expired entries" },
  "revert-drift": { option: "--revert-drift", purpose: "only reverts drift" },
};
