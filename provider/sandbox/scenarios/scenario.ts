import type { SandboxEntryType } from "../contract/canonical";

/** The initial data of a sandbox. Use only domains reserved by RFC 2606 and addresses reserved by RFC 5737 and RFC 3849. */
export interface Scenario {
  name: string;
  tenants: ScenarioTenant[];
}

/** A tenant of a scenario. */
export interface ScenarioTenant {
  /** Part of its keys: `sandbox-<name>-ci` and `sandbox-<name>-console`. */
  name: string;
  /** The label of each key in `created_by`, `added_by` and the audit log. */
  keyLabels: { ci: string; console: string };
  /** When automatic detection first ran, RFC 3339. */
  detectedAt: string;
  employees: ScenarioEmployee[];
  manualVips: { email: string; comment: string; addedBy: string; dateAdded: string }[];
  exclusions: { email: string; excludedBy: string; excludedAt: string }[];
  entries: ScenarioEntry[];
  /** Number of threats in its half year of mail. Default: 40 for each mailbox. */
  threats?: number;
}

/** An employee of a fictional company. */
export interface ScenarioEmployee {
  /** Null if the employee has no mailbox. */
  email: string | null;
  fullName: string;
  jobTitle: string;
  department: string;
}

/** An entry in a tenant's initial list. */
export interface ScenarioEntry {
  list: "allow" | "deny";
  entryType: SandboxEntryType;
  value: string;
  verdictScope?: "global" | "graymail";
  comment: string;
  createdBy: string;
  createdAt: string;
}

/** Returns the fixed and obviously fake API keys of a tenant. */
export function getApiKeys(tenant: string): { ci: string; console: string } {
  return { ci: `sandbox-${tenant}-ci`, console: `sandbox-${tenant}-console` };
}
