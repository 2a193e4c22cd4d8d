import type { ErrorCode } from "../../model/error-codes";
import type { SandboxErrorCode } from "../../sandbox/contract/errors";

/** The explanation of an error code, for `email-security explain` and the code's documentation page. */
export interface Explanation {
  /** Describes the error in a sentence or two. */
  readonly meaning: string;
  /** A real message without its code; a test provokes it. */
  readonly example: string;
  /** The usual causes, the most frequent first. */
  readonly causes: readonly string[];
  /** The remedies, in the order to try them. */
  readonly remedies: readonly string[];
  /** The command to run after the fix. */
  readonly nextCommand: string;
}

export type ExplainedErrorCode = ErrorCode | SandboxErrorCode;

/** The explanations of some codes. */
export type Explanations = Readonly<Partial<Record<ExplainedErrorCode, Explanation>>>;
