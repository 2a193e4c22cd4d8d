import type { HandlerName } from "../../../provider/resources/serialized-provider";
import type { Declaration } from "./program";

/** What the stack's state holds of a resource. */
export interface Held {
  readonly kind: HandlerName;
  readonly name: string;
  readonly id: string;
  readonly outputs: Readonly<Record<string, unknown>>;
  /** Replaced by another, and still to be deleted. */
  readonly isReplaced: boolean;
}

/** How a run is made. */
export interface StackRunOptions {
  /** `--refresh`: what the tenant holds is read first. */
  readonly refresh: boolean;
  /** Whether a preview must pass before anything is written. */
  readonly preview: boolean;
  /** Whether resources are worked on side by side; else one after another, as with `dependsOn`. */
  readonly parallel: boolean;
}

export interface StackRun {
  /** `refused`: a check or a diff found a mistake. `failed`: a read or a write did. */
  readonly result: "ok" | "refused" | "failed";
  readonly messages: readonly string[];
  /** The steps that were not "same", as "create AllowDenyEntry s0". */
  readonly steps: readonly string[];
  /** The state after the refresh of this run, where there was one. */
  readonly refreshed: readonly Held[] | undefined;
}

/** A stack, driven as by its user. */
export interface ModelStack extends AsyncDisposable {
  up(program: readonly Declaration[], options: StackRunOptions): Promise<StackRun>;
  held(): Promise<readonly Held[]>;
}
