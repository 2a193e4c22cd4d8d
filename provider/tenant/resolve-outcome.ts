import { ServiceError } from "../client";
import { getCurrentDeadline } from "../client/deadline-context";
import { MAX_VERIFIED_ATTEMPTS } from "../client/retry-policy";

export interface UncertainWrite<Outcome> {
  readonly write: () => Promise<Outcome>;
  /** Reads the current result of the write from the service. Undefined if the write took no effect. */
  readonly readOutcome: () => Promise<Outcome | undefined>;
  /**
   * Reads the result again before a retry, because a stale list would cause a duplicate write. Default: one read is
   * enough, because the write is idempotent.
   */
  readonly rereadOutcome?: () => Promise<Outcome | undefined>;
  /** Whether a retry is allowed. Called only after a read showed that the write took no effect. */
  readonly canRetry: () => boolean;
}

/**
 * Runs a write that isn't safe to retry blindly until its outcome is known. After a timeout, a broken connection or a
 * server error, it reads the actual state from the service. It retries only writes that took no effect.
 *
 * @throws {ServiceError} the last failure, if the service can't be read or no attempt took effect.
 */
export async function resolveOutcome<Outcome>({
  write,
  readOutcome,
  rereadOutcome = async () => undefined,
  canRetry,
}: UncertainWrite<Outcome>): Promise<Outcome> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof ServiceError && error.outcomeUnknown)) throw error;
      // No caller is waiting any more.
      if (getCurrentDeadline()?.isExpired()) throw error;
      // If that read fails, the first failure is the one to report.
      const rethrow = () => {
        throw error;
      };
      const outcome = await readOutcome().catch(rethrow);
      if (outcome !== undefined) return outcome;
      if (attempts >= MAX_VERIFIED_ATTEMPTS || !canRetry()) throw error;
      const laterOutcome = await rereadOutcome().catch(rethrow);
      if (laterOutcome !== undefined) return laterOutcome;
    }
  }
}
