import type { PlanFile } from "../../resources/lifecycle/reviewed-plan";
import type { FrontName } from "../../resources/resource-type";
import type { TenantIdentity } from "../../settings/tenant-identity";
import type { Origin } from "../model/history-schema";
import type { Notify } from "../model/notify";
import type { TenantChange, TenantError, UnmanagedAllows } from "../model/rollout-report";
import type { StackMarker } from "../model/stack-marker";
import type { ServiceLimit, Target } from "../model/target";
import type { Task } from "../model/task";
import type { RolloutState, TenantState, Wave, WaveState } from "../model/wave";
import type { Job } from "../queue/lane";

/** A tenant that a rollout goes on without, since a person said so. */
export interface SkippedTenant {
  readonly name: string;
  /** Since when rollouts leave it out, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** Who said so: `dana@build-7`. */
  readonly by?: string;
  readonly reason: string;
}

/** What a rollout is to do; it does not change once it is written, but that it says when it was pruned, and who is skipped. */
export interface RolloutSpec {
  /** The targets file, as it was named. */
  readonly source: string;
  /** The Pulumi project of all stacks. */
  readonly project: string;
  /** As of {@link PackedFiles}; known once the planning is through. */
  readonly folder?: string;
  /** The day (UTC) by which `expires` is judged. */
  readonly today: string;
  readonly waves: readonly Wave[];
  /** How many tenants may fail in the whole rollout. */
  readonly tolerated?: number;
  /** The limits of service addresses. */
  readonly services: readonly (readonly [address: string, limit: ServiceLimit])[];
  /** Who is told of what. Absent: whom the environment has an address for, of everything. */
  readonly notify?: Notify;
  /** The environment's variables that hold keys, of tenants too that the rollout leaves out: no child process gets them. */
  readonly keyVariables?: readonly string[];
  /** Tells one state backend from another, so that no worker takes a tenant to another one. */
  readonly backend: string;
  /** The rollout that this one rolls back. */
  readonly rollsBack?: string;
  /** What it goes back to: what each tenant held, or the files of a revision of git. */
  readonly rollsBackTo?: string;
  /** Whom it leaves out: those that were left out of the plan, and those of its tenants that were skipped since. Absent: nobody. */
  readonly skipped?: readonly SkippedTenant[];
  /** What it is for; absent where it brings what the files say, or rolls another back. */
  readonly task?: Task;
  /** Absent in what an earlier release planned. */
  readonly origin?: Origin;
  /** When its files and all of its plans but what changed were taken out of the journal. */
  readonly prunedAtMs?: number;
}

/** Whose rollouts are meant: stacks of one name in two projects, or in two state backends, are two stacks. */
export interface WhoseRollouts {
  readonly project: string;
  /** As `stateBackend` fingerprints it. Default: of any. */
  readonly backend?: string;
  /** The stacks that are asked about, where it is not all: then those of others may be left out of the answer. */
  readonly stacks?: readonly string[];
}

/** What a plan said of a tenant, as far as reports need it. */
export interface TenantSummary {
  readonly planned: { readonly added: number; readonly changed: number; readonly removed: number };
  readonly changes: readonly TenantChange[];
  /** `accepted` is absent in what an earlier release planned. */
  readonly alarms: { readonly danger: number; readonly accepted?: number; readonly warning: number };
  /** The name of the `TenantSettings` in the stack, and whether the stack was there when this was planned. */
  readonly resource: string;
  readonly isStackThere: boolean;
  /** What its lists are to be made over. Default: dynamic resources. */
  readonly front?: FrontName;
  /** Whether an engine was killed in the middle of it. Default: false. */
  readonly isStackPending?: boolean;
  /** The last rollout that the stack's state names. Absent: it names none. */
  readonly marker?: StackMarker;
  /** A salted fingerprint of the domains of the tenant's people, as the planning saw them. */
  readonly fingerprint?: string;
  /** What identifies the tenant of the service that the planning read. Absent in what an earlier release planned. */
  readonly identity?: TenantIdentity;
  /** Whether the person said that the tenant may be empty, or its people have other domains. Default: false. */
  readonly acceptsEmptyTenant?: boolean;
  /** A settings file that is declared first, which writes nothing: what the stack is to know before it can remove it. */
  readonly first?: string;
  /** What it leaves as it is: of a rollback, what somebody changed after the rollout, `allow partner.example`; of a task, with why. */
  readonly left?: readonly string[];
  /** What was done in the console and is reverted, with who did it as far as the service tells; the first of it. */
  readonly drift?: readonly string[];
  /** What the tenant allows and nobody declares, which a rollout leaves. Absent: nothing. */
  readonly unmanagedAllows?: UnmanagedAllows;
  /** All that is done where only what has ended goes: which keys, and the resources of the stack that have them, by their URNs. */
  readonly only?: NonNullable<PlanFile["only"]> & { readonly targets: readonly string[] };
  /** What its settings files loosen of what those that they include ask for, with file and line; the first few. Absent: nothing. */
  readonly loosened?: readonly string[];
}

/** How planning went for one tenant. */
export interface PlannedTenant {
  readonly name: string;
  readonly state: "pending" | "unchanged" | "failed";
  /** The digest of its plan; empty where there is none. */
  readonly digest: string;
  readonly summary?: TenantSummary;
  /** The plan as JSON; only of tenants that are to be changed. */
  readonly plan?: string;
  readonly error?: TenantError;
}

/** A tenant that somebody has begun. */
export interface ClaimedTenant {
  readonly job: Job;
  readonly spec: RolloutSpec;
  readonly target: Target;
  /** The rollout's sequence number. */
  readonly seq: number;
  /** Counts how often it was begun, from 1; who finishes it must name it. */
  readonly attempt: number;
  /** Who was at it before, when it was taken over from one that died. */
  readonly takenOverFrom: string | undefined;
  /** The plan as JSON. */
  readonly plan: string;
  readonly digest: string;
  readonly summary: TenantSummary;
}

/** A rollout as the journal holds it. */
export interface RolloutRecord {
  readonly id: string;
  readonly state: RolloutState;
  readonly spec: RolloutSpec;
  /** Empty while the planning is under way, or was interrupted. */
  readonly digest: string;
  readonly reason: string | undefined;
  readonly until: string | undefined;
  /** Whether a person asked to begin nothing more. */
  readonly isStopping: boolean;
  /** Its place in the order in which rollouts started; undefined before it starts, and in a journal of an earlier release. */
  readonly seq: number | undefined;
  readonly createdAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
}

/** A rollout that is not through, and has the same stacks as another. */
export interface Rival extends Pick<RolloutRecord, "id" | "state" | "reason"> {
  readonly stacks: readonly string[];
}

/** What a later rollout did to a stack. */
export interface LaterChange {
  readonly rollout: string;
  readonly stack: string;
  readonly state: TenantState;
  /** The rollout that it rolled back. */
  readonly rollsBack?: string;
}

/** A wave as the journal holds it. */
export interface WaveRecord {
  readonly state: WaveState;
  readonly startedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  readonly soakUntilMs: number | undefined;
  readonly approvedAtMs: number | undefined;
  readonly health: { readonly isWell: boolean; readonly message: string } | undefined;
}

/** A tenant as the journal holds it. */
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

/** Files by their path, with slashes, relative to the bundle's root. */
export type FileBundle = ReadonlyMap<string, Uint8Array>;

/** The files of a rollout as they were when it was planned, and where among them it works. */
export interface PackedFiles {
  readonly bundle: FileBundle;
  /** The working folder, relative to the bundle's root: `.`, or `customers`. */
  readonly folder: string;
}
