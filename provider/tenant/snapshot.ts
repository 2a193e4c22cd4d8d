import type { ReadAllOptions } from "../client";
import { bounded } from "../client/bound";
import { LIST_LAG_MS } from "../settings/assumptions";
import { FIRST_PAUSE_MS } from "./read-until";
import { Rows } from "./rows";
import { realSleep, type Sleep } from "./time";

export interface SnapshotOptions<Row> {
  readonly read: () => Promise<WholeList<Row>>;
  /** Returns the key of a row; undefined for a row that has none and is left out. */
  readonly key: (row: Row) => string | undefined;
  /** Returns the secondary name of a row; several rows may share one. Default: no names. */
  readonly name?: (row: Row) => string;
  /** The current time in milliseconds; only differences matter. */
  readonly now: () => number;
  /** Waits for a number of milliseconds. Default: the process's own timers. */
  readonly sleep?: Sleep;
  /** Whether a reading shows a row as it was written. Default: it contains the row's key. */
  readonly isShown?: (row: Row, rows: Rows<Row>) => boolean;
  /** Applies a written row to a later reading that doesn't show it yet. Default: sets it by its key. */
  readonly overlay?: (row: Row, rows: Rows<Row>) => void;
  /** Starts a reading after concurrent callers have joined. Default: in the next turn of the event loop. */
  readonly soon?: (begin: () => void) => void;
}

/** The rows of a list from one reading. */
export interface WholeList<Row> {
  readonly rows: readonly Row[];
  /** Whether a single response held all rows. If not, another writer's change may have shifted a row out of the pages. */
  readonly isOneMoment: boolean;
}

/** A snapshot expires after this long without a call. */
const MAX_IDLE_MS = 5_000;
/** A snapshot expires this long after it was read, even if calls continue. */
const MAX_AGE_MS = 60_000;

/** A write by this process that no later reading has shown yet. */
interface PendingWrite<Row> {
  readonly isShown: (rows: Rows<Row>) => boolean;
  readonly overlay: (rows: Rows<Row>) => void;
  /** After this time, the service's list wins, whatever it shows. */
  readonly untilMs: number;
}

/**
 * A cached list of the tenant: one full reading, shared by all callers until it expires, and updated with this process's own
 * writes.
 *
 * Concurrent callers share one reading. A write during a reading is applied to its result, because the reading may have missed
 * it. The service's list may lag behind its own answers. A write is therefore also applied to later readings, until one shows
 * it or {@link LIST_LAG_MS} has passed.
 */
export class Snapshot<Row> {
  readonly #options: SnapshotOptions<Row>;
  #newest: Reading<Row> | undefined;
  #usedAt = 0;
  #underWay: UnderWay<Row> | undefined;
  /** By key, or by name for a removal by name; oldest first. */
  readonly #pending = new Map<string, PendingWrite<Row>>();
  /** How long the list may still hide a write that was made before this process started. */
  #lagLeftMs = LIST_LAG_MS;
  #pauseMs = FIRST_PAUSE_MS;
  #later: Promise<void> | undefined;

  constructor(options: SnapshotOptions<Row>) {
    this.#options = options;
  }

  /** Returns the rows by key, from the snapshot if it is fresh, otherwise from a new reading. */
  async rows(): Promise<Rows<Row>> {
    return (await this.#shared()).rows;
  }

  /** Returns the rows of a reading that begins after this call. All callers that arrive during one reading share the next. */
  async fresh(): Promise<Rows<Row>> {
    // A reading that began before this call may be too old for the caller.
    if (this.#underWay?.hasBegun) await this.#underWay.result.catch(() => undefined);
    return (await this.#next()).rows;
  }

  /**
   * Returns the shared rows, or those of a second reading if a row is missing that another writer may have shifted out of the
   * pages. A row missing from the result is gone: two readings lack it, or one single-page reading.
   *
   * The previous reading counts as the second if it was in use when the shared one was requested. All callers with missing rows
   * therefore cost at most one more reading.
   *
   * @param isMissing whether the rows lack what the caller looks for.
   */
  async secondOpinion(isMissing: (rows: Rows<Row>) => boolean): Promise<Rows<Row>> {
    const { rows, before, isOneMoment } = await this.#shared();
    if (isOneMoment || !isMissing(rows)) return rows;
    if (before !== undefined && isMissing(before)) return rows;
    return (await this.#next()).rows;
  }

  /**
   * Refetches the list with backoff while it may still hide a write that was made before this process started. Concurrent
   * callers share the delay and the reading.
   *
   * @returns whether it was read again. False once a reading began {@link LIST_LAG_MS} after the one before the first delay.
   */
  async readLater(): Promise<boolean> {
    if (this.#lagLeftMs <= 0) return false;
    this.#later ??= this.#readAfterPause().finally(() => {
      this.#later = undefined;
    });
    await this.#later;
    return true;
  }

  /** Returns the rows of the latest reading with own writes since, if there is one. Sends no request. */
  newest(): Rows<Row> | undefined {
    return this.#newest?.rows;
  }

  /** Returns one row of the latest reading. Sends no request. */
  known(key: string): Row | undefined {
    return this.#newest?.rows.get(key);
  }

  /** Returns the rows of a name in the latest reading. Sends no request. */
  knownAs(name: string): readonly Row[] {
    return this.#newest?.rows.named(name) ?? [];
  }

  /** Applies an own write to the readings: the row as the service answered. */
  put(row: Row): void {
    const key = this.#options.key(row);
    if (key === undefined) return;
    const { isShown, overlay } = this.#options;
    this.#lay((rows) => rows.set(key, row));
    this.#expect(key, {
      isShown: (rows) => (isShown === undefined ? rows.get(key) !== undefined : isShown(row, rows)),
      overlay: (rows) => (overlay === undefined ? rows.set(key, row) : overlay(row, rows)),
    });
  }

  /** Applies an own removal to the readings. */
  drop(key: string): void {
    this.forget(key);
    this.#expect(key, {
      isShown: (rows) => rows.get(key) === undefined,
      overlay: (rows) => rows.delete(key),
    });
  }

  /** Applies an own removal of all rows of a name. */
  dropNamed(name: string): void {
    this.#lay((rows) => rows.deleteNamed(name));
    this.#expect(pendingName(name), {
      isShown: (rows) => rows.named(name).length === 0,
      overlay: (rows) => rows.deleteNamed(name),
    });
  }

  /** Removes a row that may no longer exist. Later readings are used unchanged. */
  forget(key: string): void {
    this.#pending.delete(key);
    this.#lay((rows) => rows.delete(key));
  }

  /** Records that rows of this name may exist again. Later readings are used unchanged. */
  expectNamed(name: string): void {
    this.#pending.delete(pendingName(name));
  }

  async #readAfterPause(): Promise<void> {
    const { now, sleep = realSleep } = this.#options;
    const pauseMs = Math.min(this.#pauseMs, this.#lagLeftMs);
    const beganAt = this.#newest?.beganAt ?? now();
    await sleep(pauseMs);
    await this.fresh();
    this.#pauseMs *= 2;
    // A long list takes a while to read, so fewer readings suffice. The duration of a single page only measures how busy the
    // machine is.
    const spentMs = this.#newest?.isOneMoment ? 0 : (this.#newest?.beganAt ?? beganAt) - beganAt;
    this.#lagLeftMs -= Math.max(pauseMs, spentMs);
  }

  #expect(key: string, write: Omit<PendingWrite<Row>, "untilMs">): void {
    const now = this.#options.now();
    for (const [oldest, { untilMs }] of this.#pending) {
      if (untilMs > now) break;
      this.#pending.delete(oldest);
    }
    // The last write of a key wins and moves to the end, with the newest.
    this.#pending.delete(key);
    this.#pending.set(key, { ...write, untilMs: now + LIST_LAG_MS });
  }

  #lay(write: (rows: Rows<Row>) => void): void {
    if (this.#newest !== undefined) write(this.#newest.rows);
    if (this.#newest?.before !== undefined) write(this.#newest.before);
    this.#underWay?.writes.push(write);
  }

  async #shared(): Promise<Reading<Row>> {
    const reading = this.#young() ?? this.#next();
    this.#usedAt = this.#options.now();
    return await reading;
  }

  #young(): Reading<Row> | undefined {
    const now = this.#options.now();
    const isYoung =
      this.#newest !== undefined &&
      now - this.#usedAt <= MAX_IDLE_MS &&
      now - this.#newest.readAt <= MAX_AGE_MS;
    return isYoung ? this.#newest : undefined;
  }

  /** Returns the reading in progress, or starts one. */
  #next(): Promise<Reading<Row>> {
    this.#underWay ??= this.#begin();
    return this.#underWay.result;
  }

  #begin(): UnderWay<Row> {
    const { soon = setImmediate } = this.#options;
    const young = this.#young();
    const before = young?.rows;
    const writes: ((rows: Rows<Row>) => void)[] = [];
    const turn = new Promise<void>((begin) => soon(begin));
    const result = turn
      .then(() => {
        underWay.hasBegun = true;
        const pending = new Map(this.#pending);
        // Callers share the reading, so the deadline of the first must not limit it.
        return bounded(undefined, () => this.#load(before, writes, pending));
      })
      .finally(() => {
        this.#underWay = undefined;
      });
    const underWay: UnderWay<Row> = { result, writes, hasBegun: false };
    return underWay;
  }

  async #load(
    before: Rows<Row> | undefined,
    writes: readonly ((rows: Rows<Row>) => void)[],
    pending: ReadonlyMap<string, PendingWrite<Row>>,
  ): Promise<Reading<Row>> {
    const beganAt = this.#options.now();
    const list = await this.#options.read();
    const rows = new Rows(this.#options.name);
    for (const row of list.rows) {
      const key = this.#options.key(row);
      if (key !== undefined) rows.set(key, row);
    }
    const readAt = this.#options.now();
    for (const [key, write] of pending) {
      const isDone = write.isShown(rows);
      if (!isDone && readAt <= write.untilMs) write.overlay(rows);
      else if (this.#pending.get(key) === write) this.#pending.delete(key);
    }
    for (const write of writes) write(rows);
    this.#usedAt = readAt;
    this.#newest = { rows, before, isOneMoment: list.isOneMoment, beganAt, readAt };
    return this.#newest;
  }
}

interface Reading<Row> {
  readonly rows: Rows<Row>;
  /** The previous reading, if it was still in use when this one was requested. */
  readonly before: Rows<Row> | undefined;
  readonly isOneMoment: boolean;
  readonly beganAt: number;
  /** When the previous reading ended. */
  readonly readAt: number;
}

interface UnderWay<Row> {
  readonly result: Promise<Reading<Row>>;
  /** Own writes during the reading, in order. */
  readonly writes: ((rows: Rows<Row>) => void)[];
  hasBegun: boolean;
}

/** Returns the pending-write key of a name, distinct from row keys, which may be any text. */
function pendingName(name: string): string {
  return `\u0000name ${name}`;
}

/** Reads a list, and notes whether one response held all of it. */
export async function readWhole<Row>(
  readAll: (options: ReadAllOptions) => Promise<readonly Row[]>,
): Promise<WholeList<Row>> {
  let pages = 0;
  const rows = await readAll({
    onPage: () => {
      pages += 1;
    },
  });
  return { rows, isOneMoment: pages === 1 };
}
