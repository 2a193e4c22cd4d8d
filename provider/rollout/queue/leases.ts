import { HEARTBEAT_S } from "./pg-boss";

/** How often leases are renewed, in milliseconds. */
const RENEW_MS = 3_000;
/** How long one holds that was not renewed, in milliseconds: less than until another may take the job. */
const LEASE_MS = (HEARTBEAT_S - 1) * 1_000;

/** One attempt at a job, as the queue counts them. */
export interface Attempt {
  readonly id: string;
  readonly retryCount: number;
}

/** That a job is this worker's, until it is let go of. */
export interface Lease extends AsyncDisposable {
  /** Aborts when the lease is lost, and only then. */
  readonly signal: AbortSignal;
}

/** Renews the leases of all jobs of a worker, in one statement. */
export class Leases {
  readonly #renew: (attempts: Attempt[]) => Promise<unknown>;
  readonly #held = new Set<Held>();
  #timer: NodeJS.Timeout | undefined;
  #isRenewing = false;

  /** @param renew tells the queue of life, and answers as pg-boss's `touch` does. */
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
      // What pg-boss answers, and does not declare: the ids that are still this worker's.
      const { settled = [] } = (await this.#renew(held.map(({ attempt }) => attempt))) as {
        settled?: string[];
      };
      const still = new Set(settled);
      for (const one of held) {
        if (still.has(one.attempt.id)) one.renewed(asked);
        else one.lose("another worker has the tenant by now");
      }
    } catch {
      // Not heard of: each has until its time is over.
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
