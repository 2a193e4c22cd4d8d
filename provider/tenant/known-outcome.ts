import { ServiceError } from "../client";
import { currentBound } from "../client/bound";
import { MAX_CHECKED_TRIES } from "../client/retry-policy";

export interface UncertainWrite<Outcome> {
  readonly write: () => Promise<Outcome>;
  /** Reads what the service holds now: what the write would have come to, or undefined when it was not done. */
  readonly look: () => Promise<Outcome | undefined>;
  /**
   * Reads it once more, before the write is made again: a list that lags would have it made twice. Default: one reading is enough,
   * since the write may be repeated.
   */
  readonly lookAgain?: () => Promise<Outcome | undefined>;
  /** Whether it may be made again. Asked only when it was seen not to be done. */
  readonly mayRepeat: () => boolean;
}

/**
 * Makes a write that must not be repeated blindly, until it is known what came of it. After a time-out, a broken
 * connection or a failure of the service, what it holds decides: what is there is done, and only what is not there is
 * asked for again.
 *
 * @throws {ServiceError} the last failure, when the service can't be read, or the write was not done in any of its tries.
 */
export async function withKnownOutcome<Outcome>({
  write,
  look,
  lookAgain = async () => undefined,
  mayRepeat,
}: UncertainWrite<Outcome>): Promise<Outcome> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof ServiceError && error.outcomeUnknown)) throw error;
      // Nobody wants to know any more.
      if (currentBound()?.isOver()) throw error;
      // Where that can't be read, the first failure is the one to tell.
      const rethrow = () => {
        throw error;
      };
      const outcome = await look().catch(rethrow);
      if (outcome !== undefined) return outcome;
      if (attempts >= MAX_CHECKED_TRIES || !mayRepeat()) throw error;
      const laterOutcome = await lookAgain().catch(rethrow);
      if (laterOutcome !== undefined) return laterOutcome;
    }
  }
}
