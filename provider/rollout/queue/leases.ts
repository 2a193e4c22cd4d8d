import { HEARTBEAT_S } from "./pg-boss";

/** How often to renew leases, in milliseconds. */
const RENEW_MS = 3_000;
/** How long a lease lasts without renewal, in milliseconds. It ends before another worker may take the job. */
const LEASE_MS = (HEARTBEAT_S - 1) * 1_000;

/** One attempt of a job, as the queue counts them. */
export interface Attempt {
  readonly id: string;
  readonly retryCount: number;
}

/** A worker's claim on a job, until it is released. */
export interface Lease extends AsyncDisposable {
  /** Aborts only when the lease is lost. */
  readonly signal: AbortSignal;
}

/** Renews the leases of all jobs of a worker, in one statement. */
export class Leases {
  readonly #renew: (attempts: Attempt[]) => Promise<unknown>;
  readonly #held = new Set<Held>();
  #timer: NodeJS.Timeout | undefined;
  #isRenewing = false;

  /** @param renew sends a heartbeat to the queue. Its result is that of pg-boss's `touch`. */
  constructor(renew: (attempts: Attempt[]) => Promise<unknown>) {
    this.#renew = renew;
  }

  take(attempt: Attempt): Lease {
    const held = new Held(attempt);
    this.#held.add(held);
    this.#timer ??= setInterval(() => void this.#renewAll(), RENEW_MS);
    return {
      signal: held.signal,
      [Symbol.asyncDispose]: async () => {
        held.letGo();
        this.#held.delete(held);
      },
    };
  }

  close(): void {
    clearInterval(this.#timer);
    for (const held of this.#held) held.letGo();
    this.#held.clear();
  }

  async #renewAll(): Promise<void> {
    if (this.#isRenewing || this.#held.size === 0) return;
    this.#isRenewing = true;
    const held = [...this.#held];
    const asked = performance.now();
    try {
      // An undeclared part of pg-boss's answer: the ids that this worker still holds.
      const { settled = [] } = (await this.#renew(held.map(({ attempt }) => attempt))) as {
        settled?: string[];
      };
      const still = new Set(settled);
      for (const one of held) {
        if (still.has(one.attempt.id)) one.renewed(asked);
        else one.lose("another worker has the tenant by now");
      }
    } catch {
      // Without an answer, each lease lasts until its time is over.
    } finally {
      this.#isRenewing = false;
    }
  }
}

class Held {
  readonly attempt: Attempt;
  readonly #controller = new AbortController();
  #end: NodeJS.Timeout;

  constructor(attempt: Attempt) {
    this.attempt = attempt;
    this.#end = this.#endAfter(performance.now());
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  renewed(at: number): void {
    if (this.signal.aborted) return;
    clearTimeout(this.#end);
    this.#end = this.#endAfter(at);
  }

  lose(why: string): void {
    this.letGo();
    this.#controller.abort(new Error(`The lease is lost: ${why}.`));
  }

  letGo(): void {
    clearTimeout(this.#end);
  }

  #endAfter(renewedAt: number): NodeJS.Timeout {
    const leftMs = renewedAt + LEASE_MS - performance.now();
    return setTimeout(() => this.lose("the database was not heard of in time to renew it"), leftMs);
  }
}
