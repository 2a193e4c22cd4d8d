import type { Mark, UnreadableMark } from "./mark";

/** A rollout that another journal has, in a line: what it does or waits for, and where its journal is. */
export function markText(mark: Mark | UnreadableMark): string {
  const { rollout } = mark;
  if (mark.state === "unreadable")
    return `The rollout ${rollout} is being begun elsewhere, or was killed as it began.`;
  return `The rollout ${rollout} of another journal (${mark.journal}) ${mark.told.replace(/\.$/, "")}; so it was told on ${mark.at}.`;
}
