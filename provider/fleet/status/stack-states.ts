import type { KnownLists } from "../../plan/desired";
import type { StackMarker } from "../../rollout/model/stack-marker";
import type { Target } from "../../rollout/model/target";

/** What the state of a stack tells of its last run. */
export interface StackState {
  readonly isThere: boolean;
  /** What that declared; absent where there is no stack. */
  readonly known?: KnownLists;
  /** What the last rollout that changed it left there. */
  readonly marker?: StackMarker;
}

/** What the state backend tells of the project's stacks, without asking anybody. */
export interface StackStates {
  /** What the state of a stack tells; undefined where it can't be read. */
  readonly of: (stack: Pick<Target, "name" | "stack" | "resource">) => StackState | undefined;
  /** The stacks of the project, as far as they can be listed. */
  readonly names: () => readonly string[];
}
