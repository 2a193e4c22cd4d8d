/** The version of the format of a fleet's status. */
export const FLEET_STATUS_FORMAT = 1;

/**
 * How a tenant stands, the worst first. `key-wrong`: its key can't be had, or the service refuses it, or it is another tenant's too.
 * `unreachable`: its service gives no answer. `unusable`: its settings files can't be used, or it can't be read for another reason.
 * `drifted`: it holds something otherwise than its files and its last rollout have it. `not-known`: it differs from its files, and
 * neither a journal nor its stack's state tells here what its last rollout declared. `never-rolled-out`: it differs from its files, and
 * no rollout has come to it yet. `behind`: its files say what no rollout has brought to it. `in-step`: it is as its files declare.
 */
export const STANDINGS = [
  "key-wrong",
  "unreachable",
  "unusable",
  "drifted",
  "not-known",
  "never-rolled-out",
  "behind",
  "in-step",
] as const;

/** One of {@link STANDINGS}. */
export type FleetStanding = (typeof STANDINGS)[number];

/**
 * How the tenants of a targets file stand. Plain data: it is the JSON that `fleet status` writes. What only the files say stands
 * once, with the tenants that it is of; what a tenant holds stands with the tenant. Times are ISO 8601 in UTC.
 */
export interface FleetStatus {
  readonly format: typeof FLEET_STATUS_FORMAT;
  /** When the reading began. */
  readonly at: string;
  /** The targets file, and the Pulumi project of its stacks. */
  readonly file: string;
  readonly project: string;
  /** The day (UTC) by which ends are judged, and up to which day those ahead are told. */
  readonly today: string;
  readonly until: string;
  /** In the order of the targets file; only those that were asked for. */
  readonly tenants: readonly TenantStatus[];
  /** What ends, the soonest first. */
  readonly ends: readonly FleetEnd[];
  /** What the team's policy wants to be reviewed. */
  readonly reviews: readonly FleetFinding[];
  /** What else is to be said of the files: risks, contradictions, what is loosened. */
  readonly findings: readonly FleetFinding[];
  /** Whether the rollouts' journal was read. Without it, only the state of a stack tells what its last rollout declared. */
  readonly isJournalRead: boolean;
  /** Whether all tenants were read. */
  readonly isComplete: boolean;
}

/** How one tenant stands. */
export interface TenantStatus {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The service's. */
  readonly host: string;
  /** Its settings file. */
  readonly settings: string;
  readonly stack: string;
  readonly standing: FleetStanding;
  /** Why it could not be read or judged. */
  readonly error?: { readonly code: string; readonly message: string };
  /** When it was read; absent where it was not. */
  readonly readAt?: string;
  /** What it holds. */
  readonly holds?: { readonly allow: number; readonly deny: number; readonly vips: number };
  /** How many entries and VIPs are as declared. */
  readonly unchanged?: number;
  /** What it holds otherwise than its files and its last rollout have it. */
  readonly drift: readonly FleetDifference[];
  /** What its files say and no rollout has brought to it. */
  readonly behind: readonly FleetDifference[];
  /** What differs from its files where no rollout that is known here tells who changed it. Absent: nothing. */
  readonly unattributed?: readonly FleetDifference[];
  /** The newest rollout that left it as it declared. */
  readonly lastRollout?: {
    readonly id: string;
    readonly wave: string;
    readonly state: "done" | "unchanged";
    readonly at: string;
  };
  /** Since when rollouts leave it out, who said so (`dana@build-7`) and why; absent where they do not. */
  readonly skipped?: { readonly since: string; readonly by?: string; readonly reason: string };
  /** The newest rollout after that one, which has not brought it to what it declares. */
  readonly notReachedBy?: {
    readonly id: string;
    readonly wave: string;
    readonly state: string;
    readonly rolloutState: string;
  };
}

/** One entry or VIP that is not as the files declare it. */
export interface FleetDifference {
  /** `added`: there, and undeclared. `changed`: there, and otherwise. `missing`: not there. `leaving`: there still, and to go. */
  readonly what: "added" | "changed" | "missing" | "leaving";
  readonly list: "allow" | "deny" | "vip";
  /** In canonical form. */
  readonly value: string;
  /** Only of entries, and where it is not the default. */
  readonly scope?: string;
  /** As the tenant holds it, with who made it and when, as far as the service tells. */
  readonly there?: {
    readonly list?: string;
    readonly comment?: string;
    readonly by?: string;
    readonly at?: string;
  };
  readonly declared?: { readonly list?: string; readonly comment?: string };
  /** Where it is declared, or was. */
  readonly place?: FleetLine;
  /** Why it is leaving; of drift, what was done at the tenant since its last rollout, as far as that is known. */
  readonly why?: string;
  /** What is risky about what was put there, by its code. */
  readonly risks?: readonly string[];
}

/** A line of a settings file. */
export interface FleetLine {
  /** As it was named. */
  readonly file: string;
  readonly line: number;
}

/** What a file declares that ends soon, or has ended. */
export interface FleetEnd {
  readonly list: "allow" | "deny" | "vip";
  readonly value: string;
  readonly scope?: string;
  /** The last day (UTC) on which it is declared. */
  readonly expires: string;
  readonly isOver: boolean;
  readonly owner?: string;
  readonly ticket?: string;
  readonly place: FleetLine;
  /** The names of the tenants whose files have it. */
  readonly tenants: readonly string[];
}

/** What is to be said of files. */
export interface FleetFinding {
  readonly code: string;
  readonly level: "error" | "warning" | "note";
  readonly message: string;
  readonly place?: FleetLine;
  /** The names of the tenants whose files have it. */
  readonly tenants: readonly string[];
}
