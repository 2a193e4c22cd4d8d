import type { TenantError } from "./rollout-report";

/** One thing that happened in a rollout, as `--events` prints it, a line of JSON each; in the order of `seq`. */
export type RolloutEvent = {
  /** Counts from 1, without gaps, over all runs of the rollout. */
  readonly seq: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** The rollout's id. */
  readonly rollout: string;
} & RolloutHappening;

/** What happened. */
export type RolloutHappening =
  | { readonly kind: "planned"; readonly tenants: number; readonly changing: number; readonly digest: string }
  /** A run of the coordinator began, the first or one that goes on; by whom, `dana@build-7`. */
  | { readonly kind: "started"; readonly resumed: boolean; readonly by?: string }
  | { readonly kind: "wave-started"; readonly wave: string; readonly tenants: number }
  | {
      readonly kind: "tenant-started";
      readonly wave: string;
      readonly tenant: string;
      readonly attempt: number;
      readonly worker: string;
    }
  | {
      readonly kind: "tenant-finished";
      readonly wave: string;
      readonly tenant: string;
      readonly state: "done" | "failed";
      readonly durationMs: number;
      readonly error?: TenantError;
    }
  /** A tenant is taken over from one that died, or waits for a lock. */
  | { readonly kind: "tenant-note"; readonly wave: string; readonly tenant: string; readonly message: string }
  | { readonly kind: "wave-soaking"; readonly wave: string; readonly until: string }
  | {
      readonly kind: "wave-health";
      readonly wave: string;
      readonly isWell: boolean;
      readonly message: string;
    }
  | { readonly kind: "wave-finished"; readonly wave: string; readonly done: number; readonly failed: number }
  /** It waits for a person: at a gate, or after the wave that `--until` names. */
  | { readonly kind: "waiting"; readonly wave: string; readonly reason: string }
  | { readonly kind: "stopped"; readonly reason: string }
  /** `until`: it begins nothing before this time (ISO 8601, UTC), since waves have closed hours. */
  | { readonly kind: "interrupted"; readonly reason: string; readonly until?: string }
  | {
      readonly kind: "finished";
      readonly done: number;
      readonly unchanged: number;
      readonly failed: number;
      readonly skipped?: number;
    }
  /** A person said to go on without it: who, and why. */
  | {
      readonly kind: "tenant-skipped";
      readonly wave: string;
      readonly tenant: string;
      readonly reason: string;
      readonly by?: string;
    };
