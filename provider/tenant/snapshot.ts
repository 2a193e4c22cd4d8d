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
  readonly isShown?: (row: Row, rows: Rows<Row>) => boolean;
  /** Lays a written row over a later reading that does not show it yet. Default: sets it by its key. */
  readonly overlay?: (row: Row, rows: Rows<Row>) => void;
  /** Begins a reading once those who ask at the same time have asked. Default: in the next turn of the event loop. */
  readonly soon?: (begin: () => void) => void;
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
  readonly isShown: (rows: Rows<Row>) => boolean;
  readonly overlay: (rows: Rows<Row>) => void;
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
  #newest: Reading<Row> | undefined;
  #usedAt = 0;
  #underWay: UnderWay<Row> | undefined;
  /** By key, or by name for a removal by name; oldest first. */
  readonly #pending = new Map<string, PendingWrite<Row>>();
  /** How long the list may still hide a write from before this process. */
  #lagLeftMs = LIST_LAG_MS;
  #pauseMs = FIRST_PAUSE_MS;
  #later: Promise<void> | undefined;

  constructor(options: SnapshotOptions<Row>) {
    this.#options = options;
  }

  /** The rows by key: the shared reading if it is young enough, else a new one. */
  async rows(): Promise<Rows<Row>> {
    return (await this.#shared()).rows;
  }

  /**
   * The rows by a reading that begins after this call, shared with others who ask for one before it begins. However
   * many ask while one goes on, the next one is for all of them.
   */
  async fresh(): Promise<Rows<Row>> {
    // One that has begun before this call may be older than what the caller wants to see.
    if (this.#underWay?.hasBegun) await this.#underWay.result.catch(() => undefined);
    return (await this.#next()).rows;
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
  async secondOpinion(isMissing: (rows: Rows<Row>) => boolean): Promise<Rows<Row>> {
    const { rows, before, isOneMoment } = await this.#shared();
    if (isOneMoment || !isMissing(rows)) return rows;
    if (before !== undefined && isMissing(before)) return rows;
    return (await this.#next()).rows;
  }

  /**
   * Reads the list again while it may still hide a write from before this process, with a growing pause before each reading. All who ask
   * at about the same time share the pause and the reading.
   *
   * @returns whether it was read again. It isn't once a reading began {@link LIST_LAG_MS} after the one before the first pause.
   */
  async readLater(): Promise<boolean> {
    if (this.#lagLeftMs <= 0) return false;
    this.#later ??= this.#readAfterPause().finally(() => {
      this.#later = undefined;
    });
    await this.#later;
    return true;
  }

  /** The rows of the last reading, with the own writes since, if there was one. Reads nothing. */
  newest(): Rows<Row> | undefined {
    return this.#newest?.rows;
  }

  /** One row of them. */
  known(key: string): Row | undefined {
    return this.#newest?.rows.get(key);
  }

  /** The same for all rows of a name. */
  knownAs(name: string): readonly Row[] {
    return this.#newest?.rows.named(name) ?? [];
  }

  /** Lays an own write over the readings: the row as the service answered it. */
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

  /** Lays an own removal over the readings. */
  drop(key: string): void {
    this.forget(key);
    this.#expect(key, {
      isShown: (rows) => rows.get(key) === undefined,
      overlay: (rows) => rows.delete(key),
    });
  }

  /** The same for a removal of all that has a name. */
  dropNamed(name: string): void {
    this.#lay((rows) => rows.deleteNamed(name));
    this.#expect(pendingName(name), {
      isShown: (rows) => rows.named(name).length === 0,
      overlay: (rows) => rows.deleteNamed(name),
    });
  }

  /** Takes a row out that is not known to be there any more. Later readings count as they are. */
  forget(key: string): void {
    this.#pending.delete(key);
    this.#lay((rows) => rows.delete(key));
  }

  /** What has this name may be there again: later readings count as they are. */
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
    // A long list takes a while to read: then fewer readings are enough. Of a page, a busy machine doesn't change their number.
    const spentMs = this.#newest?.isOneMoment ? 0 : (this.#newest?.beganAt ?? beganAt) - beganAt;
    this.#lagLeftMs -= Math.max(pauseMs, spentMs);
  }

  #expect(key: string, write: Omit<PendingWrite<Row>, "untilMs">): void {
    const now = this.#options.now();
    for (const [oldest, { untilMs }] of this.#pending) {
      if (untilMs > now) break;
      this.#pending.delete(oldest);
    }
    // The last write of a key counts, and stands where the newest ones do.
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

  /** The reading under way, or a new one. */
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
        // It is read for all who share it, however short the time of the first of them is.
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
  /** The reading before, if that was still in use when this one was asked for. */
  readonly before: Rows<Row> | undefined;
  readonly isOneMoment: boolean;
  readonly beganAt: number;
  /** When it had ended. */
  readonly readAt: number;
}

interface UnderWay<Row> {
  readonly result: Promise<Reading<Row>>;
  /** The own writes meanwhile, in their order. */
  readonly writes: ((rows: Rows<Row>) => void)[];
  hasBegun: boolean;
}

/** Apart from the keys, which may be any text. */
function pendingName(name: string): string {
  return `\u0000name ${name}`;
}

/** Reads a list, and notes whether one answer held it all. */
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
