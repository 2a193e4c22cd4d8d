import type { StackLists } from "../../plan/desired-state";
import type { StackMarker } from "../../rollout/model/stack-marker";
import type { Target } from "../../rollout/model/target";

/** The facts that a stack's state contains about its last run. */
export interface StackState {
  readonly exists: boolean;
  /** The declarations of that run. Absent if there is no stack. */
  readonly lists?: StackLists;
  /** The marker of the last rollout that changed the stack. */
  readonly marker?: StackMarker;
}

/** The states of the project's stacks, read from the state backend without any request to a tenant. */
export interface StackStates {
  /** Reads the state of a stack. Undefined if that isn't possible. */
  readonly read: (stack: Pick<Target, "name" | "stack" | "resource">) => StackState | undefined;
  /** Lists the stacks of the project, as far as possible. */
  readonly listStacks: () => readonly string[];
}
