import { HEARTBEAT_SECONDS } from "./pg-boss";

/** How often to renew leases, in milliseconds. */
const RENEWAL_INTERVAL_MS = 3_000;
/** How long a lease lasts without renewal, in milliseconds. It ends before another worker may take the job. */
const LEASE_DURATION_MS = (HEARTBEAT_SECONDS - 1) * 1_000;

export interface JobAttempt {
  readonly id: string;
  readonly retryCount: number;
}

export interface Lease extends AsyncDisposable {
  /** Aborts only when the lease is lost. */
  readonly signal: AbortSignal;
}

export class Leases {
  readonly #renew: (attempts: JobAttempt[]) => Promise<unknown>;
  readonly #leases = new Set<ActiveLease>();
  #timer: NodeJS.Timeout | undefined;
  #isRenewing = false;

  /** @param renew sends a heartbeat to the queue. Its result is that of pg-boss's `touch`. */
  constructor(renew: (attempts: JobAttempt[]) => Promise<unknown>) {
    this.#renew = renew;
  }

  acquire(attempt: JobAttempt): Lease {
    const lease = new ActiveLease(attempt);
    this.#leases.add(lease);
    this.#timer ??= setInterval(() => void this.#renewAll(), RENEWAL_INTERVAL_MS);
    return {
      signal: lease.signal,
      [Symbol.asyncDispose]: async () => {
        lease.release();
        this.#leases.delete(lease);
      },
    };
  }

  close(): void {
    clearInterval(this.#timer);
    for (const lease of this.#leases) lease.release();
    this.#leases.clear();
  }

  async #renewAll(): Promise<void> {
    if (this.#isRenewing || this.#leases.size === 0) return;
    this.#isRenewing = true;
    const leases = [...this.#leases];
    const requestedAt = performance.now();
    try {
      // An undeclared part of pg-boss's response: the ids that this worker still holds.
      const { settled = [] } = (await this.#renew(leases.map(({ attempt }) => attempt))) as {
        settled?: string[];
      };
      const renewedIds = new Set(settled);
      for (const lease of leases) {
        if (renewedIds.has(lease.attempt.id)) lease.extend(requestedAt);
        else lease.lose("another worker has the tenant now");
      }
    } catch {
      // Without an answer, each lease lasts until it expires.
    } finally {
      this.#isRenewing = false;
    }
  }
}

class ActiveLease {
  readonly attempt: JobAttempt;
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout;

  constructor(attempt: JobAttempt) {
    this.attempt = attempt;
    this.#timer = this.#startExpiryTimer(performance.now());
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  extend(renewedAt: number): void {
    if (this.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = this.#startExpiryTimer(renewedAt);
  }

  lose(reason: string): void {
    this.release();
    this.#controller.abort(new Error(`The lease is lost: ${reason}.`));
  }

  release(): void {
    clearTimeout(this.#timer);
  }

  #startExpiryTimer(renewedAt: number): NodeJS.Timeout {
    const remainingMs = renewedAt + LEASE_DURATION_MS - performance.now();
    return setTimeout(() => this.lose("the database did not respond in time to renew it"), remainingMs);
  }
}
