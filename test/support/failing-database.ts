import type { Database } from "../../provider/rollout/database/database";
import { JournalError } from "../../provider/rollout/database/journal-error";
import { InterruptedDatabase } from "./crashing-database";

/** When a database fails: at which moment, and for how many of them. */
export interface FailureWindow {
  readonly from: number;
  readonly count: number;
}

/**
 * A database that can't be used for a while, from a chosen moment on: before any statement, within a transaction too, or after what
 * was written is there and before anybody was told. Then it is as it was.
 */
export class FailingDatabase extends InterruptedDatabase {
  /** Moments so far. */
  moments = 0;
  /** Told of each moment. */
  onMoment: (moment: number) => void = () => {};
  readonly #failure: FailureWindow;

  constructor(inner: Database, failure: FailureWindow) {
    super(inner);
    this.#failure = failure;
  }

  protected override moment(): void {
    this.moments += 1;
    this.onMoment(this.moments);
    const { from, count } = this.#failure;
    if (this.moments >= from && this.moments < from + count) throw new JournalError("The disk is full.");
  }
}
