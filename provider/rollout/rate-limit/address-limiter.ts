import { setTimeout as sleep } from "node:timers/promises";
import type { RequestLimiter, Time } from "../../client";
import { normalizeBaseUrl } from "../../client/base-url";
import type { Database, Row } from "../database/database";
import type { ServiceLimit } from "../model/target";

/** How long after its due time a token may still be used, in milliseconds. After that, it is lost. */
export const TOKEN_GRACE_MS = 100;
/** The longest period for which tokens are reserved at once, in milliseconds. */
const BATCH_MS = 100;
/** If a reservation takes longer than this, in milliseconds, all but one of its tokens are lost: later ones may already be in use. */
const SLOW_RESERVATION_MS = 1_000;
/** The longest delay before this process notices a pause that another process reported, in milliseconds. */
const PAUSE_CHECK_INTERVAL_MS = 250;
/** If the service asks for a longer pause than this, in milliseconds, requests are rejected. A tenant's own pause has the same limit. */
const MAX_WAIT_MS = 120_000;
/** The longest pause to store, in milliseconds, whatever the service asks for: it outlives the rollout. */
const MAX_PAUSE_MS = 3_600_000;

export interface AddressLimiterOptions {
  readonly database: Pick<Database, "dialect" | "query">;
  /** Keyed by address. Other addresses have no rate limit, and share only pauses. */
  readonly limits: ReadonlyMap<string, Pick<ServiceLimit, "requestsPerSecond">>;
  /** The timers, and the clock in milliseconds since 1970. Default: the machine's. */
  readonly time?: Pick<Time, "now" | "sleep">;
}

/**
 * Limits the request rate of service addresses, across all processes that share the database.
 *
 * In any time window, all processes together issue at most `requestsPerSecond` × (the window + {@link TOKEN_GRACE_MS})
 * + 1 tokens for an address. Unused tokens don't accumulate: after an idle period, tokens are as evenly spaced as
 * before. With PostgreSQL, the window also includes the duration of a statement, up to one second. If a statement takes
 * longer, each process may issue one more token.
 *
 * A process reserves tokens for up to a tenth of a second at a time. An address therefore costs at most ten writing
 * statements per second, however many processes there are. Each process adds four reads per second, to check for a
 * pause.
 */
export class AddressLimiter {
  readonly #options: Required<AddressLimiterOptions>;
  readonly #rates = new Map<string, number>();
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(options: AddressLimiterOptions) {
    this.#options = { time: { now: Date.now, sleep }, ...options };
    for (const [address, { requestsPerSecond }] of options.limits) {
      if (requestsPerSecond !== undefined) this.#rates.set(canonicalizeAddress(address), requestsPerSecond);
    }
  }

  /**
   * Returns the rate limiter for requests to an address.
   *
   * @param isAllowed called when a token is due. If it returns false, the request is rejected.
   * @throws {ConfigurationError} if the address is invalid.
   */
  getTokens(baseUrl: string, isAllowed: () => boolean = () => true): RequestLimiter {
    const address = canonicalizeAddress(baseUrl);
    const bucket = this.#buckets.get(address) ?? new TokenBucket(address, this.#rates.get(address), this.#options);
    this.#buckets.set(address, bucket);
    return {
      acquire: () => bucket.take(isAllowed),
      reportThrottled: (pauseMs) => bucket.pause(pauseMs),
    };
  }
}

interface TokenWaiter {
  readonly isAllowed: () => boolean;
  readonly grant: () => void;
  readonly reject: (reason: Error) => void;
}

/** The state of one address in this process. All times are by this process's clock. */
class TokenBucket {
  readonly #address: string;
  readonly #tokensPerSecond: number | undefined;
  readonly #options: Required<AddressLimiterOptions>;
  readonly #waiters: TokenWaiter[] = [];
  #reserved: number[] = [];
  #pausedUntil = 0;
  #pauseCheckedAt = Number.NEGATIVE_INFINITY;
  /** The size and first due time of the last reservation, and how many of its tokens were used. */
  #lastReservation = { count: 0, firstAt: 0 };
  #issuedCount = 0;
  #isIssuing = false;
  /** A pause that is not yet in the database. Undefined if there is none. */
  #unsavedPause: number | undefined;
  #isSavingPause = false;

  constructor(address: string, tokensPerSecond: number | undefined, options: Required<AddressLimiterOptions>) {
    this.#address = address;
    this.#tokensPerSecond = tokensPerSecond;
    this.#options = options;
  }

  take(isAllowed: () => boolean): Promise<void> {
    return new Promise((grant, reject) => {
      this.#waiters.push({ isAllowed, grant, reject });
      if (!this.#isIssuing) void this.#issueAll();
    });
  }

  pause(pauseMs: number): void {
    const boundedMs = Math.min(MAX_PAUSE_MS, Math.max(0, pauseMs));
    const until = this.#now() + boundedMs;
    if (until <= this.#pausedUntil) return;
    this.#pausedUntil = until;
    this.#unsavedPause = until;
    if (!this.#isSavingPause) void this.#savePauses();
  }

  /** Issues tokens in the order of requests, until none waits. */
  async #issueAll(): Promise<void> {
    this.#isIssuing = true;
    try {
      while (this.#hasAllowedWaiter()) {
        const waitMs = await this.#issueNext();
        // Wakes up regularly, because a pause may begin or a request may lose its permission.
        if (waitMs > 0) await this.#options.time.sleep(Math.min(waitMs, PAUSE_CHECK_INTERVAL_MS));
      }
    } catch (error) {
      this.#rejectAll(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#isIssuing = false;
    }
  }

  /** Issues one token, or all if there is no rate limit. Returns how long to wait before the next one. */
  async #issueNext(): Promise<number> {
    if (this.#now() - this.#pauseCheckedAt >= PAUSE_CHECK_INTERVAL_MS) await this.#readPause();
    const pauseMs = this.#pausedUntil - this.#now();
    if (pauseMs > MAX_WAIT_MS) {
      this.#rejectAll(this.#buildPauseError(pauseMs));
      return 0;
    }
    if (pauseMs > 0) return pauseMs;
    if (this.#tokensPerSecond === undefined) {
      if (this.#hasAllowedWaiter()) for (const { grant } of this.#waiters.splice(0)) grant();
      return 0;
    }
    const now = this.#now();
    this.#reserved = this.#reserved.filter((dueAt) => dueAt + TOKEN_GRACE_MS >= now);
    const [dueAt] = this.#reserved;
    if (dueAt === undefined) await this.#reserve(this.#tokensPerSecond);
    else if (dueAt > now) return dueAt - now;
    else if (this.#hasAllowedWaiter()) {
      this.#reserved.shift();
      this.#issuedCount += 1;
      this.#waiters.shift()?.grant();
    }
    return 0;
  }

  /** Whether an allowed request is waiting. Rejects those that are no longer allowed. */
  #hasAllowedWaiter(): boolean {
    const rejected = this.#waiters.filter(({ isAllowed }) => !isAllowed());
    for (const waiter of rejected) {
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
      waiter.reject(
        new Error(
          "this run isn't allowed to change the tenant any more, because it has ended or another run continues it",
        ),
      );
    }
    return this.#waiters.length > 0;
  }

  #rejectAll(reason: Error): void {
    for (const { reject } of this.#waiters.splice(0)) reject(reason);
  }

  #buildPauseError(pauseMs: number): Error {
    return new Error(
      `the service at ${this.#address} asked its clients to wait for another ${Math.ceil(pauseMs / 1_000)} s, which is longer than a run waits`,
    );
  }

  /** Reserves the tokens that are needed soon: one, or those for up to a tenth of a second. */
  async #reserve(tokensPerSecond: number): Promise<void> {
    const { database } = this.#options;
    const requestedAt = this.#now();
    const count = this.#estimateDemand(tokensPerSecond, requestedAt);
    const intervalMs = 1_000 / tokensPerSecond;
    const [row] = await database.query(RESERVE_SQL[database.dialect], [
      this.#address,
      count * intervalMs,
      ...this.#clockParameters(requestedAt),
    ]);
    const offset = this.#getClockOffset(row, requestedAt);
    this.#updatePause(row, offset);
    const firstAt = Number(row?.["next_at"]) - count * intervalMs + offset;
    const now = this.#now();
    const usable = Array.from(
      { length: now - requestedAt > SLOW_RESERVATION_MS ? 0 : count },
      (_, index) => firstAt + index * intervalMs,
    ).filter((dueAt) => dueAt + TOKEN_GRACE_MS >= now);
    // With a slow database, one token is still issued. Otherwise no request might ever proceed.
    this.#reserved = usable.length > 0 ? usable : [Math.max(now, firstAt)];
    this.#lastReservation = { count, firstAt };
    this.#issuedCount = 0;
  }

  /** Estimates the tokens needed soon: those already requested, or as many as the recent rate suggests. At least one. */
  #estimateDemand(tokensPerSecond: number, now: number): number {
    const maxCount = Math.max(1, Math.floor((tokensPerSecond * BATCH_MS) / 1_000));
    const { count, firstAt } = this.#lastReservation;
    const expected = Math.floor((this.#issuedCount * BATCH_MS) / Math.max(1, now - firstAt));
    return Math.min(maxCount, Math.max(1, this.#waiters.length, Math.min(2 * count, expected)));
  }

  /** Reads whether the service has asked another process to pause. */
  async #readPause(): Promise<void> {
    const { database } = this.#options;
    const requestedAt = this.#now();
    const [row] = await database.query(READ_PAUSE_SQL[database.dialect], [
      this.#address,
      ...this.#clockParameters(requestedAt),
    ]);
    if (row === undefined) this.#pauseCheckedAt = requestedAt;
    else this.#updatePause(row, this.#getClockOffset(row, requestedAt));
  }

  /** Stores a pause for the other processes: once for all requests that were rejected in the meantime. */
  async #savePauses(): Promise<void> {
    const { database } = this.#options;
    this.#isSavingPause = true;
    try {
      while (this.#unsavedPause !== undefined) {
        const now = this.#now();
        const pauseMs = this.#unsavedPause - now;
        this.#unsavedPause = undefined;
        if (pauseMs > 0) {
          await database.query(SET_PAUSE_SQL[database.dialect], [
            this.#address,
            pauseMs,
            ...this.#clockParameters(now),
          ]);
        }
      }
    } catch {
      // This process pauses anyway. If the database stays unavailable, its next read fails.
    } finally {
      this.#isSavingPause = false;
    }
  }

  #updatePause(row: Row | undefined, offset: number): void {
    this.#pauseCheckedAt = this.#now();
    this.#pausedUntil = Math.max(this.#pausedUntil, Number(row?.["paused_until"]) + offset);
  }

  /**
   * Returns the offset from the database's clock to this process's. A remote database read its clock earlier than now,
   * so due times here are slightly late, never early.
   */
  #getClockOffset(row: Row | undefined, requestedAt: number): number {
    const localNow = this.#options.database.dialect === "postgres" ? this.#now() : requestedAt;
    return localNow - Number(row?.["now"]);
  }

  #clockParameters(now: number): readonly number[] {
    return this.#options.database.dialect === "postgres" ? [] : [now];
  }

  #now(): number {
    return this.#options.time.now();
  }
}

/** The clocks of machines differ, so PostgreSQL's own clock counts. */
const NOW_SQL = {
  postgres: "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS DOUBLE PRECISION)",
  sqlite: "$3",
} as const;

const READ_PAUSE_SQL = {
  postgres: `SELECT paused_until, ${NOW_SQL.postgres} AS now FROM rollout_addresses WHERE address = $1`,
  sqlite: "SELECT paused_until, $2 AS now FROM rollout_addresses WHERE address = $1",
} as const;

/** Reserves the next tokens, after those already reserved and not in the past. Tokens that are due during a pause are lost. */
const RESERVE_SQL = buildForBothDialects(
  (now) => `INSERT INTO rollout_addresses AS known (address, next_at, paused_until)
    VALUES ($1, ${now} + $2, 0)
    ON CONFLICT (address) DO UPDATE SET next_at = $2 + CASE
      WHEN known.next_at >= ${now} THEN known.next_at ELSE ${now} END
    RETURNING next_at, paused_until, ${now} AS now`,
);

const SET_PAUSE_SQL = buildForBothDialects(
  (now) => `INSERT INTO rollout_addresses AS known (address, next_at, paused_until)
    VALUES ($1, 0, ${now} + $2)
    ON CONFLICT (address) DO UPDATE SET paused_until = CASE
      WHEN known.paused_until > ${now} + $2 THEN known.paused_until ELSE ${now} + $2 END`,
);

function buildForBothDialects(statement: (now: string) => string): Record<Database["dialect"], string> {
  return { postgres: statement(NOW_SQL.postgres), sqlite: statement(NOW_SQL.sqlite) };
}

function canonicalizeAddress(baseUrl: string): string {
  return normalizeBaseUrl(baseUrl, true);
}
