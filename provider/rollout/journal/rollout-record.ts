import type { TenantIdentity } from "../../model/tenant-identity";
import type { PlanFile } from "../../resources/lifecycle/reviewed-plan";
import type { ProviderKind } from "../../resources/resource-type";
import type { Origin } from "../model/history-schema";
import type { NotificationSettings } from "../model/notification-settings";
import type { RolloutMode } from "../model/rollout-mode";
import type { TenantChange, TenantError, UnmanagedAllows } from "../model/rollout-report";
import type { StackMarker } from "../model/stack-marker";
import type { ServiceLimit, Target } from "../model/target";
import type { RolloutState, TenantState, Wave, WaveState } from "../model/wave";
import type { Job } from "../queue/job-queue";

/** A tenant that a rollout skips: at a person's request, or because the targets file doesn't declare it as planned. */
export interface SkippedTenant {
  /** Its name when it was skipped. Another tenant may have that name now. */
  readonly name: string;
  /** Its stack, which identifies it. Absent in rollouts that an earlier release planned. */
  readonly stack?: string;
  /** Since when rollouts skip it, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** The person who skipped it: `dana@build-7`. */
  readonly by?: string;
  readonly reason: string;
  /** Whether the targets file doesn't declare it as planned. Default: false. */
  readonly isUndeclared?: boolean;
}

/** The specification of a rollout. After planning, only its key variables, skipped tenants and pruning time change. */
export interface RolloutSpec {
  readonly source: string;
  readonly project: string;
  /** The working directory of {@link PackedFiles}. Known once the planning is complete. */
  readonly directory?: string;
  /** The day (UTC) for deciding what has expired. */
  readonly today: string;
  readonly waves: readonly Wave[];
  /** How many tenants may fail in the whole rollout. */
  readonly tolerated?: number;
  readonly services: readonly (readonly [address: string, limit: ServiceLimit])[];
  /** The notification settings. Absent: every receiver with an address in the environment gets all notices. */
  readonly notify?: NotificationSettings;
  /**
   * The environment variables that hold keys, or held them when the rollout was planned or resumed before, including
   * those of excluded tenants. No child process gets them.
   */
  readonly keyVariables?: readonly string[];
  /** A fingerprint of the state backend, so that no worker applies a tenant to a different one. */
  readonly backend: string;
  readonly rollsBack?: string;
  /** The target of a rollback: each tenant's previous state, or the files of a git revision. */
  readonly rollsBackTo?: string;
  /** The skipped tenants: those excluded from the plan, and those skipped since. Absent: none. */
  readonly skipped?: readonly SkippedTenant[];
  /** The mode. Absent if the rollout applies the files or rolls back another. */
  readonly mode?: RolloutMode;
  /** Absent in rollouts that an earlier release planned. */
  readonly origin?: Origin;
  /** When its files, and everything but the changes of its plans, were removed from the journal. */
  readonly prunedAtMs?: number;
}

/** Selects rollouts. Stacks of the same name in two projects or state backends are different stacks. */
export interface RolloutScope {
  readonly project: string;
  /** The fingerprint by `resolveStateBackend`. Default: any backend. */
  readonly backend?: string;
  /** The requested stacks. The result may omit others. Default: all. */
  readonly stacks?: readonly string[];
}

export interface TenantSummary {
  readonly planned: { readonly added: number; readonly changed: number; readonly removed: number };
  readonly changes: readonly TenantChange[];
  /** `accepted` is absent in rollouts that an earlier release planned. */
  readonly severities: { readonly danger: number; readonly accepted?: number; readonly warning: number };
  readonly resource: string;
  readonly isStackThere: boolean;
  /** The provider of its lists. Default: dynamic resources. */
  readonly provider?: ProviderKind;
  /** Whether an engine was killed during an update of the stack. Default: false. */
  readonly isStackPending?: boolean;
  /** The last rollout according to the stack's state. Absent if the state names none. */
  readonly marker?: StackMarker;
  /** A salted fingerprint of the domains of the tenant's users at planning time. */
  readonly fingerprint?: string;
  /** The identity of the tenant at planning time. Absent in rollouts that an earlier release planned. */
  readonly identity?: TenantIdentity;
  /**
   * The part of the identity that remains even if the plan is applied in part. Absent if the plan only adds, or if
   * nothing else identifies the tenant.
   */
  readonly stableIdentity?: TenantIdentity;
  /** Whether a person accepted that the tenant is empty, or that its users have other domains. Default: false. */
  readonly acceptsEmptyTenant?: boolean;
  /** A settings file to apply first, which writes nothing. It makes the stack manage entries before it can remove them. */
  readonly importSettings?: string;
  /**
   * The changes or entries that it leaves unchanged. In a rollback: later changes, such as `allow partner.example`. In
   * a mode: entries, with the reason.
   */
  readonly unreverted?: readonly string[];
  /** The first drift to revert: changes made in the console, with the person if the service reports it. */
  readonly drift?: readonly string[];
  /** The tenant's undeclared allow entries, which a rollout leaves unchanged. Absent: none. */
  readonly unmanagedAllows?: UnmanagedAllows;
  /** The complete scope of a rollout that only prunes expired entries: the keys, and the URNs of their resources. */
  readonly only?: NonNullable<PlanFile["only"]> & { readonly targets: readonly string[] };
  /** Where its settings files override the baseline that they include, with file and line. Only the first ones. Absent: nowhere. */
  readonly overrides?: readonly string[];
}

export interface PlannedTenant {
  readonly name: string;
  readonly state: "pending" | "unchanged" | "failed";
  /** The digest of its plan. Empty if it has none. */
  readonly digest: string;
  readonly summary?: TenantSummary;
  /** The plan as JSON. Only present for tenants with changes. */
  readonly plan?: string;
  readonly error?: TenantError;
}

export interface ClaimedJob {
  readonly job: Job;
  readonly spec: RolloutSpec;
  readonly target: Target;
  readonly seq: number;
  /** The attempt, counted from 1. Only the current attempt can record a result. */
  readonly attempt: number;
  /** The previous worker, if the tenant was reclaimed after that worker died. */
  readonly previousWorker: string | undefined;
  readonly plan: string;
  readonly digest: string;
  readonly summary: TenantSummary;
}

export interface RolloutRecord {
  readonly id: string;
  readonly state: RolloutState;
  readonly spec: RolloutSpec;
  /** Empty if the planning is incomplete. */
  readonly digest: string;
  readonly reason: string | undefined;
  readonly until: string | undefined;
  /** Whether a person requested a stop. */
  readonly isStopping: boolean;
  /** Its position in the order in which rollouts started. Undefined before the start, and in a journal of an earlier release. */
  readonly seq: number | undefined;
  readonly createdAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
}

export interface ConflictingRollout extends Pick<RolloutRecord, "id" | "state" | "reason"> {
  readonly stacks: readonly string[];
}

export interface LaterChange {
  readonly rollout: string;
  readonly stack: string;
  readonly state: TenantState;
  readonly rollsBack?: string;
}

export interface WaveRecord {
  readonly state: WaveState;
  readonly startedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  readonly soakUntilMs: number | undefined;
  readonly approvedAtMs: number | undefined;
  readonly health: { readonly isHealthy: boolean; readonly message: string } | undefined;
}

export interface TenantRecord {
  readonly name: string;
  readonly wave: number;
  readonly state: TenantState;
  readonly target: Target;
  readonly digest: string;
  readonly summary: TenantSummary | undefined;
  readonly attempt: number;
  readonly worker: string | undefined;
  readonly error: TenantError | undefined;
  readonly startedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
}

/** Files by path, with slashes, relative to the bundle's root. */
export type FileBundle = ReadonlyMap<string, Uint8Array>;

/** The files of a rollout as they were at planning time, and its working directory among them. */
export interface PackedFiles {
  readonly bundle: FileBundle;
  /** The working directory, relative to the bundle's root: `.`, or `customers`. */
  readonly directory: string;
}
