import type { Database } from "../../../provider/rollout/database/database";
import { JournalError } from "../../../provider/rollout/database/journal-error";
import { InterruptedDatabase } from "../../support/crashing-database";

/** The moment at which a database starts to fail, and the number of moments it fails for. */
export interface FailureWindow {
  readonly from: number;
  readonly count: number;
}

/**
 * A database that is unavailable for a while, from a chosen moment on: before any statement, also within a transaction,
 * or after a write took effect and before it was acknowledged. Afterwards it works as before.
 */
export class FailingDatabase extends InterruptedDatabase {
  /** The number of moments so far. */
  moments = 0;
  /** Called at each moment. */
  onMoment: (moment: number) => void = () => {};
  readonly #failure: FailureWindow;

  constructor(inner: Database, failure: FailureWindow) {
    super(inner);
    this.#failure = failure;
  }

  protected override countMoment(): void {
    this.moments += 1;
    this.onMoment(this.moments);
    const { from, count } = this.#failure;
    if (this.moments >= from && this.moments < from + count) throw new JournalError("The disk is full.");
  }
}
