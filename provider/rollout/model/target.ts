import type { ProviderKind } from "../../resources/resource-type";
import type { FileLocation, Finding } from "../../settings-files/finding";
import type { NotificationSettings } from "./notification-settings";
import type { Wave } from "./wave";

/** A tenant of a rollout: its address, key source, settings file and stack. */
export interface Target {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The service's address, without a trailing slash. */
  readonly baseUrl: string;
  /** The source of its key. The key is read when needed, and never stored. */
  readonly key: KeySource;
  /** Its settings file, relative to the working directory. */
  readonly settings: string;
  /** The Pulumi stack. Default: the tenant's name. */
  readonly stack: string;
  /** The name of the `TenantSettings` in the stack. Default: that of the only one in the stack. For a new stack: the tenant's name. */
  readonly resource?: string;
  /** The provider of its lists. Default: that of the stack. For a new stack: dynamic resources. */
  readonly provider?: ProviderKind;
  /** Whether to allow plain http to another machine. Default: false. */
  readonly allowInsecureHttp: boolean;
  readonly place: FileLocation;
}

/** The source of a key, never the key itself. */
export type KeySource =
  | { readonly from: "environment"; readonly variable: string }
  /** Relative to the working directory, or absolute. */
  | { readonly from: "file"; readonly path: string }
  /** A program and its arguments, run without a shell. Its output is the key. */
  | { readonly from: "command"; readonly command: readonly string[] };

export interface Targets {
  /** The requested file, relative to the working directory. */
  readonly file: string;
  readonly files: readonly string[];
  readonly project: string;
  readonly targets: readonly Target[];
  readonly waves: readonly WaveRule[];
  /** How many tenants may fail in the whole rollout. Default: only the waves have limits. */
  readonly failureTolerance?: CountOrPercent;
  /** The limits of service addresses, keyed by address without a trailing slash. Other addresses have none. */
  readonly services: ReadonlyMap<string, ServiceLimit>;
  /** The notification settings. Default: every receiver with an address in the environment gets all notices. */
  readonly notify?: NotificationSettings;
  readonly findings: readonly Finding[];
}

export type CountOrPercent = { readonly count: number } | { readonly percent: number };

export interface ServiceLimit {
  /** Requests per second by all its tenants together. Default: only the service's own limits. */
  readonly requestsPerSecond?: number;
  /** How many of its tenants may be changed at once. */
  readonly maxConcurrent?: number;
}

export interface WaveRule extends Pick<Wave, "name" | "maxConcurrent" | "soakMs" | "gate" | "health" | "closed"> {
  /** Labels that a tenant must have, each with one of the given values. Default: all remaining tenants. */
  readonly match?: Readonly<Record<string, readonly string[]>>;
  /** How many matching tenants to take that are in no earlier wave: a count, or a percentage of all matching tenants. Default: all. */
  readonly limit?: CountOrPercent;
  /** Default: none. */
  readonly failureTolerance: CountOrPercent;
  readonly place: FileLocation;
}
