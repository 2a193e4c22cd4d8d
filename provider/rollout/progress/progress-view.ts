import type { RolloutEvent } from "../model/rollout-event";

/** Shows the events of a rollout while it runs. */
export interface ProgressView {
  /** Receives each event, in order. */
  handleEvent(event: RolloutEvent): void;
  log(line: string): void;
  /** Stops showing anything, and restores the terminal. Safe to call more than once. */
  end(): void;
}
