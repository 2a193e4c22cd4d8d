import type { EntryType } from "../contract/canonical";

/** A believable little world that a sandbox starts with. Domains are RFC 2606's, addresses RFC 5737's and 3849's. */
export interface Scenario {
  name: string;
  tenants: ScenarioTenant[];
}

/** A tenant of a made-up world. */
export interface ScenarioTenant {
  /** Part of its keys: `sandbox-<name>-ci` and `sandbox-<name>-console`. */
  name: string;
  /** The labels under which each key appears as `created_by`, `added_by` and in the audit log. */
  keyLabels: { ci: string; console: string };
  /** When automatic detection first ran, RFC 3339. */
  detectedAt: string;
  employees: ScenarioEmployee[];
  manualVips: { email: string; comment: string; addedBy: string; dateAdded: string }[];
  exclusions: { email: string; excludedBy: string; excludedAt: string }[];
  entries: ScenarioEntry[];
  /** How many threats its half year of mail holds. Default: 40 a mailbox. */
  threats?: number;
}

/** A person of a made-up company. */
export interface ScenarioEmployee {
  /** Null for somebody without a mailbox. */
  email: string | null;
  fullName: string;
  jobTitle: string;
  department: string;
}

/** An entry that a tenant starts with. */
export interface ScenarioEntry {
  list: "allow" | "deny";
  entryType: EntryType;
  value: string;
  verdictScope?: "global" | "graymail";
  comment: string;
  createdBy: string;
  createdAt: string;
}

/** The fixed, obviously fake keys of a tenant. */
export function apiKeysOf(tenant: string): { ci: string; console: string } {
  return { ci: `sandbox-${tenant}-ci`, console: `sandbox-${tenant}-console` };
}
