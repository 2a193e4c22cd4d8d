import type { Database } from "./database";

/** The minimum wait in milliseconds. Two concurrent writers are not a failure. */
const MIN_WAIT_MS = 1_000;

/** Limits how long a failing database operation is retried: until its own timeout, or until a caller shortens it. */
export class BusyTimeout {
  #deadline = Number.POSITIVE_INFINITY;

  /** Stops waiting after `delayMs` milliseconds. */
  shorten(delayMs: number): void {
    this.#deadline = Math.min(this.#deadline, performance.now() + delayMs);
  }

  /**
   * Whether to stop retrying.
   *
   * @param failingSince when the operation began to fail, by `performance.now()`.
   * @param timeoutMs the operation's own timeout in milliseconds.
   */
  isExceeded(failingSince: number, timeoutMs: number): boolean {
    const now = performance.now();
    return now - failingSince >= timeoutMs || now >= Math.max(this.#deadline, failingSince + MIN_WAIT_MS);
  }
}

/** How long to wait for an unusable database after Ctrl-C, in milliseconds. Work in progress may still be written. */
const STOP_GRACE_MS = 5_000;

/** Shortens the waits for an unusable database when the user asks to stop. */
export function shortenBusyTimeoutOnStop(
  database: Pick<Database, "shortenBusyTimeout">,
  { stopping, aborted }: { readonly stopping?: AbortSignal; readonly aborted?: AbortSignal },
): void {
  stopping?.addEventListener("abort", () => database.shortenBusyTimeout(STOP_GRACE_MS), { once: true });
  aborted?.addEventListener("abort", () => database.shortenBusyTimeout(0), { once: true });
}
