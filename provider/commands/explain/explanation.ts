/** What is told of an error code, by `email-security explain` and by its page of the documentation. */
export interface Explanation {
  /** What has happened, in a sentence or two. */
  readonly means: string;
  /** A message as it comes, without its code; a test provokes it. */
  readonly example: string;
  /** What it usually comes of, the most frequent first. */
  readonly causes: readonly string[];
  /** What to do, in this order. */
  readonly remedies: readonly string[];
  /** The next command, once that is done. */
  readonly next: string;
}

/** Codes and what is told of each. */
export type Explanations = Readonly<Record<`ERR_${string}`, Explanation>>;
