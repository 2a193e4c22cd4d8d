/**
 * Who may make a request of a service now. All tenants of one address share one set of permits, over all processes of a
 * rollout and all its machines.
 */
export interface Permits {
  /**
   * Waits until one request may be made; it must then be made at once, or not at all.
   *
   * @throws {Error} when none may be made any more, as by who has lost the tenant, with a message that says why, as the
   * rest of a sentence. The call then fails with a {@link PermitRefusedError} (`ERR_NO_PERMIT`), and nothing is sent.
   */
  take(): Promise<void>;
  /** Tells that the service refused (429, or Retry-After): nobody gets a permit for so many milliseconds. */
  refused(pauseMs: number): void;
}

/** What {@link Permits.take} fails with from when on a run is cancelled: the call then fails with `ERR_CANCELLED`. */
export class RunCancelled extends Error {}

/** Permits of who has no limit to keep to. */
export const FREE_PERMITS: Permits = { take: () => Promise.resolve(), refused: () => {} };
