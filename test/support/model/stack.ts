import type { HandlerName } from "../../../provider/resources/serialized-provider";
import type { Declaration } from "./program";

/** A resource in the stack's state. */
export interface StackItem {
  readonly kind: HandlerName;
  readonly name: string;
  readonly id: string;
  readonly outputs: Readonly<Record<string, unknown>>;
  /** Whether it has been replaced and is still to be deleted. */
  readonly isReplaced: boolean;
}

/** The options of a run. */
export interface StackRunOptions {
  /** `--refresh`: whether the tenant is read first. */
  readonly refresh: boolean;
  /** Whether a preview must pass before anything is written. */
  readonly preview: boolean;
  /** Whether resources are processed in parallel; otherwise one after another, as with `dependsOn`. */
  readonly parallel: boolean;
}

export interface StackRun {
  /** `refused`: a check or a diff found a mistake. `failed`: a read or a write failed. */
  readonly result: "ok" | "refused" | "failed";
  readonly messages: readonly string[];
  /** The steps that were not "same", as "create AllowDenyEntry s0". */
  readonly steps: readonly string[];
  /** The state after this run's refresh, if it had one. */
  readonly refreshed: readonly StackItem[] | undefined;
}

/** A stack, driven through its user's commands. */
export interface ModelStack extends AsyncDisposable {
  up(program: readonly Declaration[], options: StackRunOptions): Promise<StackRun>;
  listResources(): Promise<readonly StackItem[]>;
}
