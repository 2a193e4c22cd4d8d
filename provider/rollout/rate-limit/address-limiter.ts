import { setTimeout as sleep } from "node:timers/promises";
import type { Permits, Time } from "../../client";
import { checkBaseUrl } from "../../client/address";
import type { Database, Row } from "../database/database";
import type { ServiceLimit } from "../model/target";

/** So long after its time a permit may still be given, in milliseconds. What nobody took by then is lost. */
export const LATE_MS = 100;
/** How much time's worth of permits is reserved at once at most, in milliseconds. */
const BATCH_MS = 100;
/** Permits that took longer than this to be reserved are lost but for one, in milliseconds: others may be after them already. */
const SLOW_MS = 1_000;
/** A pause that another process told of is known here after so many milliseconds at most. */
const LOOK_MS = 250;
/** Who would have to wait for longer because the service asks for it gets no permit, in milliseconds; as in a tenant's own pause. */
const MAX_WAIT_MS = 120_000;
/** No pause is kept for longer than this, in milliseconds, whatever the service says: it outlives the rollout. */
const MAX_PAUSE_MS = 3_600_000;

export interface AddressLimiterOptions {
  /** Shared by all processes; it has the table `rollout_addresses`. */
  readonly database: Pick<Database, "dialect" | "query">;
  /** By address; those not named have no rate, and share pauses only. */
  readonly limits: ReadonlyMap<string, Pick<ServiceLimit, "requestsPerSecond">>;
  /** The clock, in milliseconds since 1970, and the timers. Default: the machine's. */
  readonly time?: Pick<Time, "now" | "sleep">;
}

/**
 * Gives permits for service addresses, each no faster than its rate over all processes that share the database.
 *
 * In any window of time, all of them together give at most `requestsPerSecond` × (the window + {@link LATE_MS}) + 1 permits
 * for an address. There is no saving up: after a rest they come as evenly as ever. With PostgreSQL, the time that a statement
 * takes adds to the window, a second at most; where it takes longer, one more permit a process may be given.
 *
 * A process reserves permits for a tenth of a second at a time, and for fewer when it needs fewer: an address costs at most ten
 * statements a second that write, however many processes there are, and four a second and process that look for a pause.
 */
export class AddressLimiter {
  readonly #options: Required<AddressLimiterOptions>;
  readonly #rates = new Map<string, number>();
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: AddressLimiterOptions) {
    this.#options = { time: { now: Date.now, sleep }, ...options };
    for (const [address, { requestsPerSecond }] of options.limits) {
      if (requestsPerSecond !== undefined) this.#rates.set(canonical(address), requestsPerSecond);
    }
  }

  /**
   * The permits of one who makes requests at an address.
   *
   * @param isAllowed asked in the moment in which a permit is due: false, and there is none, now or later.
   * @throws {ConfigurationError} when that is no address.
   */
  permitsFor(baseUrl: string, isAllowed: () => boolean = () => true): Permits {
    const address = canonical(baseUrl);
    const bucket = this.#buckets.get(address) ?? new Bucket(address, this.#rates.get(address), this.#options);
    this.#buckets.set(address, bucket);
    return {
      take: () => bucket.take(isAllowed),
      refused: (pauseMs) => bucket.refused(pauseMs),
    };
  }
}

interface Taker {
  readonly isAllowed: () => boolean;
  readonly give: () => void;
  readonly refuse: (why: Error) => void;
}

/** One address, as this process knows it. All times are of this process's clock. */
class Bucket {
  readonly #address: string;
  readonly #perSecond: number | undefined;
  readonly #options: Required<AddressLimiterOptions>;
  readonly #takers: Taker[] = [];
  /** When the permits are due that are reserved for this process. */
  #reserved: number[] = [];
  #pausedUntil = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** How many were reserved the last time, when the first was due, and how many were given since. */
  #last = { count: 0, firstAt: 0 };
  #given = 0;
  #isGiving = false;
  /** The pause that others have yet to be told of; undefined when they know. */
  #untold: number | undefined;
  #isTelling = false;

  constructor(address: string, perSecond: number | undefined, options: Required<AddressLimiterOptions>) {
    this.#address = address;
    this.#perSecond = perSecond;
    this.#options = options;
  }

  take(isAllowed: () => boolean): Promise<void> {
    return new Promise((give, refuse) => {
      this.#takers.push({ isAllowed, give, refuse });
      if (!this.#isGiving) void this.#giveAll();
    });
  }

  refused(pauseMs: number): void {
    const boundedMs = Math.min(MAX_PAUSE_MS, Math.max(0, pauseMs));
    const until = this.#now() + boundedMs;
    if (until <= this.#pausedUntil) return;
    this.#pausedUntil = until;
    this.#untold = until;
    if (!this.#isTelling) void this.#tellAll();
  }

  /** Gives permits, first come, first served, until nobody waits for one. */
  async #giveAll(): Promise<void> {
    this.#isGiving = true;
    try {
      while (this.#someoneWaits()) {
        const waitMs = await this.#giveNext();
        // Not longer, since a pause may begin, or who waits may lose the right to.
        if (waitMs > 0) await this.#options.time.sleep(Math.min(waitMs, LOOK_MS));
      }
    } catch (error) {
      this.#refuseAll(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#isGiving = false;
    }
  }

  /** Gives one permit, or those of all where there is no rate; answers how long it is until that can be done. */
  async #giveNext(): Promise<number> {
    if (this.#now() - this.#lookedAt >= LOOK_MS) await this.#look();
    const pauseMs = this.#pausedUntil - this.#now();
    if (pauseMs > MAX_WAIT_MS) {
      this.#refuseAll(this.#pausedFor(pauseMs));
      return 0;
    }
    if (pauseMs > 0) return pauseMs;
    if (this.#perSecond === undefined) {
      if (this.#someoneWaits()) for (const { give } of this.#takers.splice(0)) give();
      return 0;
    }
    const now = this.#now();
    this.#reserved = this.#reserved.filter((dueAt) => dueAt + LATE_MS >= now);
    const [dueAt] = this.#reserved;
    if (dueAt === undefined) await this.#reserve(this.#perSecond);
    else if (dueAt > now) return dueAt - now;
    else if (this.#someoneWaits()) {
      this.#reserved.shift();
      this.#given += 1;
      this.#takers.shift()?.give();
    }
    return 0;
  }

  /** Whether somebody waits who still may; those who may not are told. */
  #someoneWaits(): boolean {
    const lost = this.#takers.filter(({ isAllowed }) => !isAllowed());
    for (const taker of lost) {
      this.#takers.splice(this.#takers.indexOf(taker), 1);
      taker.refuse(
        new Error("this run may not change the tenant any more, since it is over or another has taken over"),
      );
    }
    return this.#takers.length > 0;
  }

  #refuseAll(why: Error): void {
    for (const { refuse } of this.#takers.splice(0)) refuse(why);
  }

  #pausedFor(pauseMs: number): Error {
    return new Error(
      `the service at ${this.#address} asked its clients to wait for another ${Math.ceil(pauseMs / 1_000)} s, longer than a run does`,
    );
  }

  /** Reserves as many permits as are needed soon: the next, or those for a tenth of a second. */
  async #reserve(perSecond: number): Promise<void> {
    const { database } = this.#options;
    const askedAt = this.#now();
    const count = this.#neededSoon(perSecond, askedAt);
    const everyMs = 1_000 / perSecond;
    const [row] = await database.query(RESERVE[database.dialect], [
      this.#address,
      count * everyMs,
      ...this.#clock(askedAt),
    ]);
    const offset = this.#offset(row, askedAt);
    this.#learn(row, offset);
    const firstAt = Number(row?.["next_at"]) - count * everyMs + offset;
    const now = this.#now();
    const inTime = Array.from(
      { length: now - askedAt > SLOW_MS ? 0 : count },
      (_, at) => firstAt + at * everyMs,
    ).filter((dueAt) => dueAt + LATE_MS >= now);
    // Where the database is slow, one is given all the same: else none ever might.
    this.#reserved = inTime.length > 0 ? inTime : [Math.max(now, firstAt)];
    this.#last = { count, firstAt };
    this.#given = 0;
  }

  /** Those that are waited for, or, by what went on since the last ones were due, those that will be; at least one. */
  #neededSoon(perSecond: number, now: number): number {
    const most = Math.max(1, Math.floor((perSecond * BATCH_MS) / 1_000));
    const { count, firstAt } = this.#last;
    const expected = Math.floor((this.#given * BATCH_MS) / Math.max(1, now - firstAt));
    return Math.min(most, Math.max(1, this.#takers.length, Math.min(2 * count, expected)));
  }

  /** Reads whether the service has refused another process. */
  async #look(): Promise<void> {
    const { database } = this.#options;
    const askedAt = this.#now();
    const [row] = await database.query(LOOK[database.dialect], [this.#address, ...this.#clock(askedAt)]);
    if (row === undefined) this.#lookedAt = askedAt;
    else this.#learn(row, this.#offset(row, askedAt));
  }

  /** Tells the other processes of a pause: once for all refusals that came meanwhile. */
  async #tellAll(): Promise<void> {
    const { database } = this.#options;
    this.#isTelling = true;
    try {
      while (this.#untold !== undefined) {
        const now = this.#now();
        const pauseMs = this.#untold - now;
        this.#untold = undefined;
        if (pauseMs > 0) {
          await database.query(PAUSE[database.dialect], [this.#address, pauseMs, ...this.#clock(now)]);
        }
      }
    } catch {
      // This process pauses all the same, and where the database stays away, its next look says so.
    } finally {
      this.#isTelling = false;
    }
  }

  #learn(row: Row | undefined, offset: number): void {
    this.#lookedAt = this.#now();
    this.#pausedUntil = Math.max(this.#pausedUntil, Number(row?.["paused_until"]) + offset);
  }

  /**
   * From the clock of the database to this process's. One that is elsewhere told its time before now, so what it says is due
   * is due a little later here, and never earlier.
   */
  #offset(row: Row | undefined, askedAt: number): number {
    const here = this.#options.database.dialect === "postgres" ? this.#now() : askedAt;
    return here - Number(row?.["now"]);
  }

  #clock(now: number): readonly number[] {
    return this.#options.database.dialect === "postgres" ? [] : [now];
  }

  #now(): number {
    return this.#options.time.now();
  }
}

/** The clocks of machines differ, so the database's counts where there are many. */
const NOW = {
  postgres: "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS DOUBLE PRECISION)",
  sqlite: "$3",
} as const;

const LOOK = {
  postgres: `SELECT paused_until, ${NOW.postgres} AS now FROM rollout_addresses WHERE address = $1`,
  sqlite: "SELECT paused_until, $2 AS now FROM rollout_addresses WHERE address = $1",
} as const;

/** The next permits are due after those reserved before, and not in the past. Those within a pause are lost. */
const RESERVE = forBoth(
  (now) => `INSERT INTO rollout_addresses AS known (address, next_at, paused_until)
    VALUES ($1, ${now} + $2, 0)
    ON CONFLICT (address) DO UPDATE SET next_at = $2 + CASE
      WHEN known.next_at >= ${now} THEN known.next_at ELSE ${now} END
    RETURNING next_at, paused_until, ${now} AS now`,
);

const PAUSE = forBoth(
  (now) => `INSERT INTO rollout_addresses AS known (address, next_at, paused_until)
    VALUES ($1, 0, ${now} + $2)
    ON CONFLICT (address) DO UPDATE SET paused_until = CASE
      WHEN known.paused_until > ${now} + $2 THEN known.paused_until ELSE ${now} + $2 END`,
);

function forBoth(statement: (now: string) => string): Record<Database["dialect"], string> {
  return { postgres: statement(NOW.postgres), sqlite: statement(NOW.sqlite) };
}

/** One text for an address, however it is written. */
function canonical(baseUrl: string): string {
  return checkBaseUrl(baseUrl, true);
}
