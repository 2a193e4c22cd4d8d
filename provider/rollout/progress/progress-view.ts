import type { RolloutEvent } from "../model/rollout-event";

/** Shows what happens in a rollout while it happens. */
export interface ProgressView {
  /** In the order of events. */
  happened(event: RolloutEvent): void;
  /** Says something beside what happens, in one line. */
  say(line: string): void;
  /** Nothing more is shown; what was taken of the terminal is given back. Safe to call again. */
  end(): void;
}
