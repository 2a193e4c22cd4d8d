/**
 * The kinds of notices.
 *
 * - `waiting`: a rollout waits for a person, at a gate or after the wave of `--until`. `unhealthy`: a wave's health check stopped it.
 *   `stopped`: it stopped for another reason, or was interrupted. `done`: it finished with changes or failures.
 * - `drift`: tenants differ from their files. `expiring`: entries expire within the requested number of days. Only fleet status
 *   sends these two, on request.
 */
export const NOTICE_KINDS = ["waiting", "stopped", "unhealthy", "done", "drift", "expiring"] as const;

export type NoticeKind = (typeof NOTICE_KINDS)[number];

export const RECEIVERS = ["webhook", "slack", "teams", "mail"] as const;

export type ReceiverName = (typeof RECEIVERS)[number];

/** The notification settings of a targets file. It never contains addresses. */
export type NotificationSettings = Readonly<Partial<Record<ReceiverName, ReceiverSettings | undefined>>>;

export interface ReceiverSettings {
  /** The kinds to send. Default: all. */
  readonly events?: readonly NoticeKind[] | undefined;
  /** Whether notices include the changes, not only their numbers. Default: false. */
  readonly changes?: boolean | undefined;
}
