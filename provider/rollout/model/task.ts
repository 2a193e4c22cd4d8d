/**
 * The modes of a rollout that doesn't apply the files. `only-expired` prunes expired entries. `revert-drift` reverts changes made in the
 * console.
 */
export const TASKS = ["only-expired", "revert-drift"] as const;

export type Task = (typeof TASKS)[number];

/** The command-line option of each mode, and its description. */
export const TASK_WORDS: Readonly<Record<Task, { readonly option: string; readonly does: string }>> = {
  "only-expired": { option: "--only-expired", does: "takes away what has ended, and nothing else" },
  "revert-drift": { option: "--revert-drift", does: "reverts what the console changed, and nothing else" },
};
