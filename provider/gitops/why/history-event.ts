import type { Committed, Trailers } from "./commits";
import type { Element } from "./elements";
import type { ChangeRequest } from "./request";

/** An element in a file, at some time. */
export interface PlacedElement extends Element {
  /** Relative to the repository's top folder. */
  readonly path: string;
}

/** What one commit did to what files say of a value. */
export interface HistoryEvent {
  /** Absent of what is not committed yet. */
  readonly commit?: Committed &
    Trailers & {
      readonly id: string;
      readonly author: string;
      /** The author's date. */
      readonly at: string;
      readonly subject: string;
    };
  /** What brought the commit, the nearest first, where its message or a merge's tells; last, what only a message claims. */
  readonly requests: readonly ChangeRequest[];
  /** The merges that brought it, the nearest first. */
  readonly merges: readonly (Committed & { readonly id: string; readonly at: string })[];
  readonly before?: PlacedElement;
  readonly after?: PlacedElement;
  /** By which line of `include` it came or went, where the element itself stayed as it was. */
  readonly include?: { readonly by: string; readonly file: string };
  /** Whether a merge took what a branch had brought for nothing, as `-s ours` does. */
  readonly isUndoneByMerge?: true;
  /** Whether history ends here, in a shallow clone: who brought it is not known. */
  readonly isCutHere?: true;
}
