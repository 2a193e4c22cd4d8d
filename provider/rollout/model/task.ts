/**
 * What a rollout is for where it does not bring what the files say: `only-expired` takes away what has ended, `revert-drift` takes
 * back what the console changed.
 */
export const TASKS = ["only-expired", "revert-drift"] as const;

export type Task = (typeof TASKS)[number];

/** How each is asked for, and what is told of it. */
export const TASK_WORDS: Readonly<Record<Task, { readonly option: string; readonly does: string }>> = {
  "only-expired": { option: "--only-expired", does: "takes away what has ended, and nothing else" },
  "revert-drift": { option: "--revert-drift", does: "reverts what the console changed, and nothing else" },
};
