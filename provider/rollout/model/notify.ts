/**
 * What somebody is told of.
 *
 * - `waiting`: a rollout waits for a person, at a gate or after the wave that `--until` names. `unhealthy`: a wave's health check
 *   stopped it. `stopped`: it was stopped otherwise, or interrupted. `done`: it is through, and changed something or failed somewhere.
 * - `drift`: tenants hold what no file declares. `expiring`: entries end within the days that were asked for. Both are
 *   told where somebody asks how the fleet stands, and for that.
 */
export const NOTICE_KINDS = ["waiting", "stopped", "unhealthy", "done", "drift", "expiring"] as const;

export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** Who can be told, each in a body that it reads. */
export const RECEIVERS = ["webhook", "slack", "teams", "mail"] as const;

export type ReceiverName = (typeof RECEIVERS)[number];

/** What a targets file says of who is told; where to send is never in it. */
export type Notify = Readonly<Partial<Record<ReceiverName, Hearing>>>;

/** What one receiver hears. */
export interface Hearing {
  /** Default: all kinds. */
  readonly events?: readonly NoticeKind[] | undefined;
  /** Whether it is told what changes, and not just how much. Default: false. */
  readonly changes?: boolean | undefined;
}
