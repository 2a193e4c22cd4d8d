import type { ReadAllOptions } from "../client";
import { bounded } from "../client/bound";
import { LIST_LAG_MS } from "../settings/assumptions";
import { FIRST_PAUSE_MS } from "./read-until";
import { Rows } from "./rows";
import { realSleep, type Sleep } from "./time";

export interface SnapshotOptions<Row> {
  /** Reads the whole list. */
  readonly read: () => Promise<WholeList<Row>>;
  /** What a row is known by; undefined for a row that can't be told apart and is left out. */
  readonly key: (row: Row) => string | undefined;
  /** What a row is called, beside its key; several rows may share a name. Default: nothing. */
  readonly name?: (row: Row) => string;
  /** Milliseconds; only differences count. */
  readonly now: () => number;
  /** Waits so many milliseconds. Default: the process's own timers. */
  readonly sleep?: Sleep;
  /** Whether a reading shows a row as it was written. Default: it holds a row of that key. */
  readonly isShown?: (row: Row, getRows: Rows<Row>) => boolean;
  /** Lays a written row over a later reading that does not show it yet. Default: sets it by its key. */
  readonly overlay?: (row: Row, getRows: Rows<Row>) => void;
  /** Begins a reading once those who ask at the same time have asked. Default: in the next turn of the event loop. */
  readonly soon?: (start: () => void) => void;
}

/** The rows of a list as one reading brought them. */
export interface WholeList<Row> {
  readonly rows: readonly Row[];
  /** Whether one answer held them all. If not, a row may be missing that another writer's change shifted meanwhile. */
  readonly isOneMoment: boolean;
}

/** A reading is used while calls follow each other closely: after so long without one, it is read anew. */
const MAX_IDLE_MS = 5_000;
/** And never for longer than this after its end, however busy the process is. */
const MAX_AGE_MS = 60_000;

/** An own write that no later reading has shown yet. */
interface PendingWrite<Row> {
  readonly isShown: (getRows: Rows<Row>) => boolean;
  readonly overlay: (getRows: Rows<Row>) => void;
  /** From then on the service's list counts, whatever it shows. */
  readonly untilMs: number;
}

/**
 * One list of the tenant as the provider process sees it: a whole reading, shared by all who ask while it is young,
 * kept true by the process's own writes.
 *
 * Calls that ask at the same time share one reading. A write that happens while a reading is under way is laid over
 * its result, for the reading may or may not have seen it. The service's list may lag behind its own answers, so a write is
 * laid over later readings too, until one shows it, or for {@link LIST_LAG_MS}.
 */
export class Snapshot<Row> {
  readonly #options: SnapshotOptions<Row>;
  #latest: SnapshotRead<Row> | undefined;
  #lastUsedAt = 0;
  #currentRead: OngoingRead<Row> | undefined;
  /** By key, or by name for a removal by name; oldest first. */
  readonly #pendingWrites = new Map<string, PendingWrite<Row>>();
  /** How long the list may still hide a write from before this process. */
  #remainingLagMs = LIST_LAG_MS;
  #nextPauseMs = FIRST_PAUSE_MS;
  #pausedRead: Promise<void> | undefined;

  constructor(options: SnapshotOptions<Row>) {
    this.#options = options;
  }

  /** The rows by key: the shared reading if it is young enough, else a new one. */
  async rows(): Promise<Rows<Row>> {
    return (await this.#getShared()).rows;
  }

  /**
   * The rows by a reading that begins after this call, shared with others who ask for one before it begins. However
   * many ask while one goes on, the next one is for all of them.
   */
  async fresh(): Promise<Rows<Row>> {
    // One that has begun before this call may be older than what the caller wants to see.
    if (this.#currentRead?.hasBegun) await this.#currentRead.result.catch(() => undefined);
    return (await this.#startOrJoinRead()).rows;
  }

  /**
   * The shared rows; where something is missing from them that another writer may only have shifted out of sight, the
   * rows of a second reading. What is missing from the answer is gone: two readings miss it, or one of a single page.
   *
   * The reading before the shared one is a second opinion too, as long as it was in use when the shared one was asked for. So
   * it costs at most one more reading for all who miss something while that is in use.
   *
   * @param isMissing Whether rows lack what the caller looks for.
   */
  async secondOpinion(isMissing: (getRows: Rows<Row>) => boolean): Promise<Rows<Row>> {
    const { rows, before, isOneMoment } = await this.#getShared();
    if (isOneMoment || !isMissing(rows)) return rows;
    if (before !== undefined && isMissing(before)) return rows;
    return (await this.#startOrJoinRead()).rows;
  }

  /**
   * Reads the list again while it may still hide a write from before this process, with a growing pause before each reading. All who ask
   * at about the same time share the pause and the reading.
   *
   * @returns whether it was read again. It isn't once a reading began {@link LIST_LAG_MS} after the one before the first pause.
   */
  async readLater(): Promise<boolean> {
    if (this.#remainingLagMs <= 0) return false;
    this.#pausedRead ??= this.#refetchAfterPause().finally(() => {
      this.#pausedRead = undefined;
    });
    await this.#pausedRead;
    return true;
  }

  /** The rows of the last reading, with the own writes since, if there was one. Reads nothing. */
  newest(): Rows<Row> | undefined {
    return this.#latest?.rows;
  }

  /** One row of them. */
  known(getKey: string): Row | undefined {
    return this.#latest?.rows.get(getKey);
  }

  /** The same for all rows of a name. */
  knownAs(getName: string): readonly Row[] {
    return this.#latest?.rows.named(getName) ?? [];
  }

  /** Lays an own write over the readings: the row as the service answered it. */
  put(row: Row): void {
    const getKey = this.#options.key(row);
    if (getKey === undefined) return;
    const { isShown, overlay } = this.#options;
    this.#applyToReads((getRows) => getRows.set(getKey, row));
    this.#addPendingWrite(getKey, {
      isShown: (getRows) =>
        isShown === undefined ? getRows.get(getKey) !== undefined : isShown(row, getRows),
      overlay: (getRows) => (overlay === undefined ? getRows.set(getKey, row) : overlay(row, getRows)),
    });
  }

  /** Lays an own removal over the readings. */
  drop(getKey: string): void {
    this.forget(getKey);
    this.#addPendingWrite(getKey, {
      isShown: (getRows) => getRows.get(getKey) === undefined,
      overlay: (getRows) => getRows.delete(getKey),
    });
  }

  /** The same for a removal of all that has a name. */
  dropNamed(getName: string): void {
    this.#applyToReads((getRows) => getRows.deleteNamed(getName));
    this.#addPendingWrite(getPendingNameKey(getName), {
      isShown: (getRows) => getRows.named(getName).length === 0,
      overlay: (getRows) => getRows.deleteNamed(getName),
    });
  }

  /** Takes a row out that is not known to be there any more. Later readings count as they are. */
  forget(getKey: string): void {
    this.#pendingWrites.delete(getKey);
    this.#applyToReads((getRows) => getRows.delete(getKey));
  }

  /** What has this name may be there again: later readings count as they are. */
  expectNamed(getName: string): void {
    this.#pendingWrites.delete(getPendingNameKey(getName));
  }

  async #refetchAfterPause(): Promise<void> {
    const { now, sleep = realSleep } = this.#options;
    const pauseMs = Math.min(this.#nextPauseMs, this.#remainingLagMs);
    const startedAt = this.#latest?.beganAt ?? now();
    await sleep(pauseMs);
    await this.fresh();
    this.#nextPauseMs *= 2;
    // A long list takes a while to read: then fewer readings are enough. Of a page, a busy machine doesn't change their number.
    const spentMs = this.#latest?.isOneMoment ? 0 : (this.#latest?.beganAt ?? startedAt) - startedAt;
    this.#remainingLagMs -= Math.max(pauseMs, spentMs);
  }

  #addPendingWrite(getKey: string, write: Omit<PendingWrite<Row>, "untilMs">): void {
    const now = this.#options.now();
    for (const [oldestKey, { untilMs }] of this.#pendingWrites) {
      if (untilMs > now) break;
      this.#pendingWrites.delete(oldestKey);
    }
    // The last write of a key counts, and stands where the newest ones do.
    this.#pendingWrites.delete(getKey);
    this.#pendingWrites.set(getKey, { ...write, untilMs: now + LIST_LAG_MS });
  }

  #applyToReads(write: (getRows: Rows<Row>) => void): void {
    if (this.#latest !== undefined) write(this.#latest.rows);
    if (this.#latest?.before !== undefined) write(this.#latest.before);
    this.#currentRead?.writes.push(write);
  }

  async #getShared(): Promise<SnapshotRead<Row>> {
    const readResult = this.#getYoung() ?? this.#startOrJoinRead();
    this.#lastUsedAt = this.#options.now();
    return await readResult;
  }

  #getYoung(): SnapshotRead<Row> | undefined {
    const now = this.#options.now();
    const isYoung =
      this.#latest !== undefined &&
      now - this.#lastUsedAt <= MAX_IDLE_MS &&
      now - this.#latest.readAt <= MAX_AGE_MS;
    return isYoung ? this.#latest : undefined;
  }

  /** The reading under way, or a new one. */
  #startOrJoinRead(): Promise<SnapshotRead<Row>> {
    this.#currentRead ??= this.#startRead();
    return this.#currentRead.result;
  }

  #startRead(): OngoingRead<Row> {
    const { soon = setImmediate } = this.#options;
    const youngResult = this.#getYoung();
    const previousRows = youngResult?.rows;
    const writes: ((getRows: Rows<Row>) => void)[] = [];
    const scheduled = new Promise<void>((start) => soon(start));
    const result = scheduled
      .then(() => {
        currentRead.hasBegun = true;
        const pending = new Map(this.#pendingWrites);
        // It is read for all who share it, however short the time of the first of them is.
        return bounded(undefined, () => this.#read(previousRows, writes, pending));
      })
      .finally(() => {
        this.#currentRead = undefined;
      });
    const currentRead: OngoingRead<Row> = { result, writes, hasBegun: false };
    return currentRead;
  }

  async #read(
    previousRows: Rows<Row> | undefined,
    writes: readonly ((getRows: Rows<Row>) => void)[],
    pending: ReadonlyMap<string, PendingWrite<Row>>,
  ): Promise<SnapshotRead<Row>> {
    const startedAt = this.#options.now();
    const list = await this.#options.read();
    const getRows = new Rows(this.#options.name);
    for (const row of list.rows) {
      const getKey = this.#options.key(row);
      if (getKey !== undefined) getRows.set(getKey, row);
    }
    const readAt = this.#options.now();
    for (const [getKey, write] of pending) {
      const isApplied = write.isShown(getRows);
      if (!isApplied && readAt <= write.untilMs) write.overlay(getRows);
      else if (this.#pendingWrites.get(getKey) === write) this.#pendingWrites.delete(getKey);
    }
    for (const write of writes) write(getRows);
    this.#lastUsedAt = readAt;
    this.#latest = {
      rows: getRows,
      before: previousRows,
      isOneMoment: list.isOneMoment,
      beganAt: startedAt,
      readAt,
    };
    return this.#latest;
  }
}

interface SnapshotRead<Row> {
  readonly rows: Rows<Row>;
  /** The reading before, if that was still in use when this one was asked for. */
  readonly before: Rows<Row> | undefined;
  readonly isOneMoment: boolean;
  readonly beganAt: number;
  /** When it had ended. */
  readonly readAt: number;
}

interface OngoingRead<Row> {
  readonly result: Promise<SnapshotRead<Row>>;
  /** The own writes meanwhile, in their order. */
  readonly writes: ((getRows: Rows<Row>) => void)[];
  hasBegun: boolean;
}

/** Apart from the keys, which may be any text. */
function getPendingNameKey(getName: string): string {
  return `\u0000name ${getName}`;
}

/** Reads a list, and notes whether one answer held it all. */
export async function readWhole<Row>(
  readAll: (options: ReadAllOptions) => Promise<readonly Row[]>,
): Promise<WholeList<Row>> {
  let pages = 0;
  const getRows = await readAll({
    onPage: () => {
      pages += 1;
    },
  });
  return { rows: getRows, isOneMoment: pages === 1 };
}
