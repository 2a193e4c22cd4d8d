import type { Task } from "../tasks/task";
import type { RolloutState, TenantState, WaveState } from "../wave";

/** The version of the format of a report. */
export const REPORT_FORMAT = 1;

/**
 * What a rollout did, tenant by tenant. Plain data: it is the JSON that `rollout status --format json` writes. Times are ISO 8601 in
 * UTC, durations in milliseconds. All texts from outside are as they came: who shows them makes them harmless.
 */
export interface RolloutReport {
  readonly format: typeof REPORT_FORMAT;
  readonly id: string;
  /** The targets file, as it was named. */
  readonly source: string;
  readonly state: RolloutState;
  /** Whether somebody is at it now; a rollout that is `running` and held by nobody was interrupted. */
  readonly isHeld: boolean;
  /** Why it stopped or waits, a sentence; absent otherwise. */
  readonly reason?: string;
  /** Since when it waits for a person; absent where it does not. */
  readonly waitingSince?: string;
  /** What to do next: a command with a sentence about it, or several. Empty when all is done. */
  readonly advice: readonly Advice[];
  /** What was reviewed: over the plans of all tenants. */
  readonly digest: string;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  /** The rollout that this one rolls back. */
  readonly rollsBack?: string;
  /** What it goes back to: what each tenant held, or the files of a revision of git. */
  readonly rollsBackTo?: string;
  /** The newest rollback of it, where all that it changed was rolled back. */
  readonly rolledBackBy?: string;
  /** What it is for; absent where it brings what the files say, or rolls another back. */
  readonly task?: Task;
  readonly counts: Readonly<Record<TenantState, number>>;
  /**
   * Whom it leaves out, since a person said to go on without them: those that were left out of the plan are none of `tenants`, the
   * others are `skipped`, or were through before. Absent: nobody.
   */
  readonly skipped?: readonly SkippedReport[];
  readonly waves: readonly WaveReport[];
  /** In the order of waves, and in each, of its tenants. */
  readonly tenants: readonly TenantReport[];
}

export interface SkippedReport {
  readonly name: string;
  readonly since: string;
  /** Who said so: `dana@build-7`. */
  readonly by?: string;
  readonly reason: string;
}

export interface Advice {
  /** What it is for, a sentence. */
  readonly why: string;
  /** A command for the shell. */
  readonly command?: string;
}

export interface WaveReport {
  readonly name: string;
  readonly state: WaveState;
  readonly tenants: number;
  readonly counts: Readonly<Record<TenantState, number>>;
  readonly maxConcurrent: number;
  readonly tolerated: number;
  /** What comes once it is through: how long it soaks, whether it is checked, whether it waits for a person. */
  readonly after: { readonly soakMs: number; readonly isChecked: boolean; readonly isGated: boolean };
  /** The hours in which none of its tenants is begun, as they were written; absent: none. */
  readonly closed?: readonly string[];
  /** The tenants in it whose last change, of an earlier rollout, was never let through; absent: none. */
  readonly unseen?: readonly string[];
  readonly startedAt?: string;
  readonly finishedAt?: string;
  /** Until when it soaks or soaked. */
  readonly soakUntil?: string;
  /** What the health check said; absent where there was none yet. */
  readonly health?: { readonly isWell: boolean; readonly message: string };
}

/** The unmanaged allows of a tenant. */
export interface UnmanagedAllows {
  readonly count: number;
  /** How many of them lint would call risky. */
  readonly risky: number;
  /** The first of them, the risky ones first; at most 10. */
  readonly values: readonly string[];
}

export interface TenantReport {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The name of its wave. */
  readonly wave: string;
  readonly state: TenantState;
  /** The service's host. */
  readonly host: string;
  /** The address that its key is sent to. */
  readonly address: string;
  /** Where its key comes from, in words and without the key: `the environment variable ACME_KEY`. */
  readonly keyFrom: string;
  readonly stack: string;
  /** What the plan changes; all 0 where there is no plan. */
  readonly planned: { readonly added: number; readonly changed: number; readonly removed: number };
  /** The first changes of the plan, the most important first; at most 20. */
  readonly changes: readonly TenantChange[];
  /** How many risky changes (`danger`), accepted risks and changes with a warning its plan has. */
  readonly alarms: { readonly danger: number; readonly accepted?: number; readonly warning: number };
  /** What it leaves as it is: of a rollback, what somebody changed after the rollout; of a task, with why. Absent: nothing. */
  readonly left?: readonly string[];
  /** What was done in the console and is reverted, with who did it as far as the service tells. Absent: nothing. */
  readonly drift?: readonly string[];
  /** What the tenant allows and nobody declares, as the plan saw it; the rollout leaves it. Absent: nothing. */
  readonly unmanagedAllows?: UnmanagedAllows;
  /** What its settings files loosen of what those that they include ask for, with file and line; the first few. Absent: nothing. */
  readonly loosened?: readonly string[];
  readonly error?: TenantError;
  /** How often it was begun: more than once after a crash, or when it was tried again. */
  readonly attempts: number;
  /** Who was at it last: `host:pid`. */
  readonly worker?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly durationMs?: number;
}

export interface TenantChange {
  readonly sign: "add" | "change" | "remove";
  readonly kind: "entry" | "vip";
  /** `deny`, or `allow → deny` where it moves; absent for VIPs. */
  readonly list?: string;
  readonly value: string;
  /** How bad it looks: a risk, one that was accepted, or a warning; absent where nothing speaks against it. */
  readonly alarm?: "danger" | "accepted" | "warning";
}

export interface TenantError {
  /** `ERR_AUTH`; `ERR_ROLLOUT_…` for what the rollout itself found. */
  readonly code: string;
  /** What happened, without any key. */
  readonly message: string;
  /** What to do, a sentence. */
  readonly advice: string;
  /** When it was found: while planning, so that nothing of this tenant was touched; or while changing it. */
  readonly phase: "plan" | "apply";
}
