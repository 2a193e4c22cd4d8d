import type { TenantError } from "./rollout-report";

/** An event of a rollout. `--events` prints each as a line of JSON, in the order of `seq`. */
export type RolloutEvent = {
  /** Counts from 1, without gaps, across all runs of the rollout. */
  readonly seq: number;
  /** ISO 8601, UTC. */
  readonly occurredAt: string;
  readonly rollout: string;
} & RolloutEventData;

/** The content of an event. */
export type RolloutEventData =
  | { readonly kind: "planned"; readonly tenants: number; readonly changing: number; readonly digest: string }
  /** A run of the coordinator began or resumed. `actor` is the person: `dana@build-7`. */
  | { readonly kind: "started"; readonly resumed: boolean; readonly actor?: string }
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
  /** A note about a tenant, for example that it was reclaimed from a dead worker or waits for a lock. */
  | { readonly kind: "tenant-note"; readonly wave: string; readonly tenant: string; readonly message: string }
  | { readonly kind: "wave-soaking"; readonly wave: string; readonly until: string }
  | {
      readonly kind: "wave-health";
      readonly wave: string;
      readonly isHealthy: boolean;
      readonly message: string;
    }
  | { readonly kind: "wave-finished"; readonly wave: string; readonly done: number; readonly failed: number }
  /** The rollout waits for a person, at a gate or after the wave of `--until`. */
  | { readonly kind: "waiting"; readonly wave: string; readonly reason: string }
  | { readonly kind: "stopped"; readonly reason: string }
  /** With `until`, waves have closed hours and nothing starts before this time (ISO 8601, UTC). */
  | { readonly kind: "interrupted"; readonly reason: string; readonly until?: string }
  | {
      readonly kind: "finished";
      readonly done: number;
      readonly unchanged: number;
      readonly failed: number;
      readonly skipped?: number;
    }
  /** A person skipped the tenant. `actor` is the person. */
  | {
      readonly kind: "tenant-skipped";
      readonly wave: string;
      readonly tenant: string;
      readonly reason: string;
      readonly actor?: string;
    };
