/**
 * Who may make a request of a service now. All tenants of one address share one set of permits, over all processes of a
 * rollout and all its machines.
 */
export interface Permits {
  /**
   * Waits until one request may be made.
   *
   * @throws {PermitRefusedError} (`ERR_NO_PERMIT`) when none may be made any more, as by who has lost the tenant; then
   * nothing may be sent.
   */
  take(): Promise<void>;
  /** Tells that the service refused (429, or Retry-After): nobody gets a permit for so many milliseconds. */
  refused(pauseMs: number): void;
}
