import type { Finding, Place } from "../../files/finding";
import type { FrontName } from "../../resources/resource-type";
import type { ClosedHours } from "./closed-hours";
import type { Notify } from "./notify";
import type { HealthCheck } from "./wave";

/** A tenant of a rollout: where it is, whose key opens it, what it is to hold, and the stack that remembers it. */
export interface Target {
  /** Unique in the rollout: `acme`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The service's address, without a slash at its end. */
  readonly baseUrl: string;
  /** Where its key comes from; the key itself is read when it is needed, and never written. */
  readonly key: KeySource;
  /** Its settings file, relative to the working folder. */
  readonly settings: string;
  /** The Pulumi stack. Default: the name. */
  readonly stack: string;
  /** The name of the `TenantSettings` in the stack. Default: that of the stack's only one; in a new stack, the name. */
  readonly resource?: string;
  /** What its lists are made over. Default: as the stack has them; in a new stack, dynamic resources. */
  readonly front?: FrontName;
  /** Whether plain http to another machine is meant. Default: false. */
  readonly allowInsecureHttp: boolean;
  /** Where it is declared. */
  readonly place: Place;
}

/** Where a key comes from; never the key. */
export type KeySource =
  | { readonly from: "environment"; readonly variable: string }
  /** Relative to the working folder, or absolute. */
  | { readonly from: "file"; readonly path: string }
  /** A program and its arguments, run without a shell; the key is its output. */
  | { readonly from: "command"; readonly command: readonly string[] };

/** All that `tenants.yaml` says, with what it includes. */
export interface Targets {
  /** As it was asked for, relative to the working folder. */
  readonly file: string;
  /** All files that were read, the one asked for first. */
  readonly files: readonly string[];
  /** The Pulumi project of all stacks. */
  readonly project: string;
  /** In the order of the files. */
  readonly targets: readonly Target[];
  readonly waves: readonly WaveRule[];
  /** How many tenants may fail in the whole rollout. Default: no limit but those of the waves. */
  readonly failureTolerance?: Tolerance;
  /** The limits of service addresses, by address without a slash at its end; those not named have none. */
  readonly services: ReadonlyMap<string, ServiceLimit>;
  /** Who is told of what. Default: whom the environment has an address for, of everything. */
  readonly notify?: Notify;
  readonly findings: readonly Finding[];
}

/** So many tenants, or such a part of them: exactly one is given. */
export type Tolerance = { readonly count: number } | { readonly percent: number };

/** What all tenants of one service address share. */
export interface ServiceLimit {
  /** Requests a second, of all its tenants together. Default: no limit but the service's own answers. */
  readonly requestsPerSecond?: number;
  /** How many of its tenants are changed at once. */
  readonly maxConcurrent?: number;
}

/** A wave as the file describes it, before tenants are put into it. */
export interface WaveRule {
  readonly name: string;
  /** Labels that a tenant must have, each one of the given values. Default: all tenants that are left. */
  readonly match?: Readonly<Record<string, readonly string[]>>;
  /** How many of those that match and are in no earlier wave: a count, or a percentage of all that match. Default: all. */
  readonly take?: Tolerance;
  /** Default: 1. */
  readonly maxConcurrent: number;
  /** Default: none may fail. */
  readonly failureTolerance: Tolerance;
  /** How long to wait once it is through, in milliseconds. Default: 0. */
  readonly soakMs: number;
  /** Whether a person has to resume the rollout before the next wave. Default: false. */
  readonly gate: boolean;
  readonly health?: HealthCheck;
  /** When none of its tenants is begun. Default: any time is well. */
  readonly closed?: readonly ClosedHours[];
  readonly place: Place;
}
