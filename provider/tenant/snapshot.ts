import type { ReadAllOptions } from "../client";
import { runInDeadlineContext } from "../client/deadline-context";
import { LIST_LAG_MS } from "../model/assumptions";
import { INITIAL_BACKOFF_MS } from "./read-until";
import { RowIndex } from "./row-index";
import { realSleep, type Sleep } from "./time";

export interface SnapshotOptions<Row> {
  readonly read: () => Promise<ListReadResult<Row>>;
  /** Returns the key of a row. Undefined for a row without one, which is omitted. */
  readonly getKey: (row: Row) => string | undefined;
  /** Returns the secondary name of a row. Several rows may share one. Default: no names. */
  readonly getName?: (row: Row) => string;
  /** The current time in milliseconds. Only differences matter. */
  readonly now: () => number;
  /** Waits for a number of milliseconds. Default: the process's own timers. */
  readonly sleep?: Sleep;
  /** Whether a read shows a row as written. Default: it contains a row with that key. */
  readonly isShown?: (row: Row, rows: RowIndex<Row>) => boolean;
  /** Applies a written row to a later read that doesn't show it yet. Default: sets it by its key. */
  readonly overlay?: (row: Row, rows: RowIndex<Row>) => void;
  /** Schedules a read, so that concurrent callers can join it. Default: in the next turn of the event loop. */
  readonly scheduleRead?: (start: () => void) => void;
}

export interface ListReadResult<Row> {
  readonly rows: readonly Row[];
  /** Whether a single response held all rows. If not, another writer's change may have shifted a row out of the pages. */
  readonly isSinglePage: boolean;
}

/** A snapshot expires after this long without a call. */
const MAX_IDLE_MS = 5_000;
/** A snapshot expires this long after it was read, even if calls continue. */
const MAX_AGE_MS = 60_000;

/** A write by this process that no later read has shown yet. */
interface PendingWrite<Row> {
  readonly isShown: (rows: RowIndex<Row>) => boolean;
  readonly overlay: (rows: RowIndex<Row>) => void;
  /** The time from which the service's list counts, whatever it shows. */
  readonly untilMs: number;
}

/**
 * A cached list of the tenant: one full read, shared by all callers until it expires, and updated with this process's
 * own writes.
 *
 * Concurrent callers share one read. A write during a read is applied to its result, because the read may have missed
 * it. The service's list may lag behind its responses. A write is therefore also applied to later reads, until one
 * shows it or {@link LIST_LAG_MS} has passed.
 */
export class Snapshot<Row> {
  readonly #options: SnapshotOptions<Row>;
  #latest: SnapshotRead<Row> | undefined;
  #lastUsedAt = 0;
  #currentRead: OngoingRead<Row> | undefined;
  /** By key, or by name for a removal by name. Oldest first. */
  readonly #pendingWrites = new Map<string, PendingWrite<Row>>();
  /** How long the list may still lack a write from before this process started, in milliseconds. */
  #remainingLagMs = LIST_LAG_MS;
  #nextPauseMs = INITIAL_BACKOFF_MS;
  #pausedRead: Promise<void> | undefined;

  constructor(options: SnapshotOptions<Row>) {
    this.#options = options;
  }

  /** Returns the rows by key, from the snapshot if it is fresh, otherwise from a new read. */
  async getRows(): Promise<RowIndex<Row>> {
    return (await this.#getShared()).rows;
  }

  /** Returns the rows of a read that begins after this call. All callers that arrive during one read share the next. */
  async refetch(): Promise<RowIndex<Row>> {
    // A read that began before this call may be too old for the caller.
    if (this.#currentRead?.hasStarted) await this.#currentRead.result.catch(() => undefined);
    return (await this.#startOrJoinRead()).rows;
  }

  /**
   * Returns the shared rows, or those of a second read if a row is missing that another writer may have shifted out of
   * the pages. A row missing from the result is gone: two reads lack it, or one single-page read.
   *
   * The previous read counts as the second if it was in use when the shared one was requested. All callers with missing
   * rows therefore cost at most one more read.
   *
   * @param isMissing whether the rows lack what the caller looks for.
   */
  async confirmMissing(isMissing: (rows: RowIndex<Row>) => boolean): Promise<RowIndex<Row>> {
    const { rows, previousRows, isSinglePage, isUnmodified } = await this.#getShared();
    if (!isMissing(rows)) return rows;
    if (!isUnmodified) return await this.refetch();
    if (isSinglePage) return rows;
    if (previousRows !== undefined && isMissing(previousRows)) return rows;
    return (await this.#startOrJoinRead()).rows;
  }

  /**
   * Refetches the list with backoff while it may still lack a write that was made before this process started.
   * Concurrent callers share the delay and the read.
   *
   * @returns whether it was refetched. False once a read began {@link LIST_LAG_MS} after the one before the first
   * delay.
   */
  async refetchIfLagging(): Promise<boolean> {
    if (this.#remainingLagMs <= 0) return false;
    this.#pausedRead ??= this.#refetchAfterPause().finally(() => {
      this.#pausedRead = undefined;
    });
    await this.#pausedRead;
    return true;
  }

  /** Returns the rows of the latest read, updated with own writes, if there is one. Sends no request. */
  getLatestRows(): RowIndex<Row> | undefined {
    return this.#latest?.rows;
  }

  /** Returns a row of the latest read by key, like {@link getLatestRows}. */
  getCached(key: string): Row | undefined {
    return this.#latest?.rows.get(key);
  }

  /** Returns the rows of the latest read by name, like {@link getLatestRows}. */
  getCachedByName(name: string): readonly Row[] {
    return this.#latest?.rows.getByName(name) ?? [];
  }

  /** Applies an own write to the reads: the row from the service's response. */
  put(row: Row): void {
    const key = this.#options.getKey(row);
    if (key === undefined) return;
    const { isShown, overlay } = this.#options;
    this.#applyToReads((rows) => rows.set(key, row));
    this.#addPendingWrite(key, {
      isShown: (rows) => (isShown === undefined ? rows.get(key) !== undefined : isShown(row, rows)),
      overlay: (rows) => (overlay === undefined ? rows.set(key, row) : overlay(row, rows)),
    });
  }

  /** Applies an own removal to the reads. */
  drop(key: string): void {
    this.remove(key);
    this.#addPendingWrite(key, {
      isShown: (rows) => rows.get(key) === undefined,
      overlay: (rows) => rows.delete(key),
    });
  }

  dropByName(name: string): void {
    this.#applyToReads((rows) => rows.deleteByName(name));
    this.#addPendingWrite(getPendingNameKey(name), {
      isShown: (rows) => rows.getByName(name).length === 0,
      overlay: (rows) => rows.deleteByName(name),
    });
  }

  /**
   * Removes a row that the service doesn't know. Only one response says so. The row therefore counts as gone only once
   * a later read lacks it too.
   */
  forget(key: string): void {
    this.remove(key);
    if (this.#latest !== undefined) this.#latest.isUnmodified = false;
    if (this.#currentRead?.hasStarted) this.#currentRead.isUnmodified = false;
  }

  /** Removes a row from the snapshot. Later reads may show it again. */
  remove(key: string): void {
    this.#pendingWrites.delete(key);
    this.#applyToReads((rows) => rows.delete(key));
  }

  /** Discards a removal by name, because rows with this name may exist again. Later reads count unchanged. */
  clearRemoval(name: string): void {
    this.#pendingWrites.delete(getPendingNameKey(name));
  }

  async #refetchAfterPause(): Promise<void> {
    const { now, sleep = realSleep } = this.#options;
    const pauseMs = Math.min(this.#nextPauseMs, this.#remainingLagMs);
    const startedAt = this.#latest?.startedAt ?? now();
    await sleep(pauseMs);
    await this.refetch();
    this.#nextPauseMs *= 2;
    // A long list takes a while to read, so fewer reads are enough. For a single page, the read time doesn't count: a
    // busy machine must not change the number of reads.
    const elapsedMs = this.#latest?.isSinglePage ? 0 : (this.#latest?.startedAt ?? startedAt) - startedAt;
    this.#remainingLagMs -= Math.max(pauseMs, elapsedMs);
  }

  #addPendingWrite(key: string, write: Omit<PendingWrite<Row>, "untilMs">): void {
    const now = this.#options.now();
    for (const [oldestKey, { untilMs }] of this.#pendingWrites) {
      if (untilMs > now) break;
      this.#pendingWrites.delete(oldestKey);
    }
    // The last write of a key wins, and moves to the end because the map is ordered by age.
    this.#pendingWrites.delete(key);
    this.#pendingWrites.set(key, { ...write, untilMs: now + LIST_LAG_MS });
  }

  #applyToReads(write: (rows: RowIndex<Row>) => void): void {
    if (this.#latest !== undefined) write(this.#latest.rows);
    if (this.#latest?.previousRows !== undefined) write(this.#latest.previousRows);
    // A read that has not begun yet shows the write, or applies it as pending.
    if (this.#currentRead?.hasStarted) this.#currentRead.writes.push(write);
  }

  async #getShared(): Promise<SnapshotRead<Row>> {
    const readResult = this.#getUnexpired() ?? this.#startOrJoinRead();
    this.#lastUsedAt = this.#options.now();
    return await readResult;
  }

  #getUnexpired(): SnapshotRead<Row> | undefined {
    const now = this.#options.now();
    const isRecent =
      this.#latest !== undefined && now - this.#lastUsedAt <= MAX_IDLE_MS && now - this.#latest.readAt <= MAX_AGE_MS;
    return isRecent ? this.#latest : undefined;
  }

  #startOrJoinRead(): Promise<SnapshotRead<Row>> {
    this.#currentRead ??= this.#startRead();
    return this.#currentRead.result;
  }

  #startRead(): OngoingRead<Row> {
    const { scheduleRead = setImmediate } = this.#options;
    const recentResult = this.#getUnexpired();
    const previousRows = recentResult?.rows;
    const writes: ((rows: RowIndex<Row>) => void)[] = [];
    const scheduled = new Promise<void>((start) => scheduleRead(start));
    const result = scheduled
      .then(() => {
        currentRead.hasStarted = true;
        const pending = new Map(this.#pendingWrites);
        // The read serves all its callers, so the first one's deadline doesn't apply.
        return runInDeadlineContext(undefined, () => this.#read(previousRows, currentRead, pending));
      })
      .finally(() => {
        this.#currentRead = undefined;
      });
    const currentRead: OngoingRead<Row> = { result, writes, hasStarted: false, isUnmodified: true };
    return currentRead;
  }

  async #read(
    previousRows: RowIndex<Row> | undefined,
    ongoing: OngoingRead<Row>,
    pending: ReadonlyMap<string, PendingWrite<Row>>,
  ): Promise<SnapshotRead<Row>> {
    const startedAt = this.#options.now();
    const list = await this.#options.read();
    const rows = new RowIndex(this.#options.getName);
    for (const row of list.rows) {
      const key = this.#options.getKey(row);
      if (key !== undefined) rows.set(key, row);
    }
    const readAt = this.#options.now();
    for (const [key, write] of pending) {
      const isApplied = write.isShown(rows);
      if (!isApplied && readAt <= write.untilMs) write.overlay(rows);
      else if (this.#pendingWrites.get(key) === write) this.#pendingWrites.delete(key);
    }
    for (const write of ongoing.writes) write(rows);
    this.#lastUsedAt = readAt;
    this.#latest = {
      rows: rows,
      previousRows,
      isSinglePage: list.isSinglePage,
      isUnmodified: ongoing.isUnmodified,
      startedAt,
      readAt,
    };
    return this.#latest;
  }
}

interface SnapshotRead<Row> {
  readonly rows: RowIndex<Row>;
  /** The previous read, if it was still in use when this one was requested. */
  readonly previousRows: RowIndex<Row> | undefined;
  readonly isSinglePage: boolean;
  /** Whether no row unknown to the service was removed since the read. */
  isUnmodified: boolean;
  readonly startedAt: number;
  /** When the read ended. */
  readonly readAt: number;
}

interface OngoingRead<Row> {
  readonly result: Promise<SnapshotRead<Row>>;
  /** The own writes during the read, in order. */
  readonly writes: ((rows: RowIndex<Row>) => void)[];
  hasStarted: boolean;
  isUnmodified: boolean;
}

/** The prefix keeps names apart from keys, which may be any text. */
function getPendingNameKey(name: string): string {
  return `\u0000name ${name}`;
}

/** Reads a list, and records whether one response contained all of it. */
export async function readListRows<Row>(
  readAll: (options: ReadAllOptions) => Promise<readonly Row[]>,
): Promise<ListReadResult<Row>> {
  let pages = 0;
  const rows = await readAll({
    onPage: () => {
      pages += 1;
    },
  });
  return { rows: rows, isSinglePage: pages === 1 };
}
