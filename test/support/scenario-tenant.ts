import type { ScenarioTenant } from "../../provider/sandbox";

/**
 * Builds an entry as added in the console of a sandbox tenant: in the global scope, with the type that matches its
 * value.
 */
export function buildConsoleEntry(
  list: "allow" | "deny",
  value: string,
  comment = "",
  createdAt = "2026-11-02T09:00:00Z",
): ScenarioTenant["entries"][number] {
  return {
    list,
    entryType: value.includes("@") ? "email_address" : "domain",
    value,
    verdictScope: "global",
    comment,
    createdBy: "Dana Reyes (console)",
    createdAt,
  };
}

/** Builds a sandbox tenant with these entries and nothing else. */
export function buildTenant(name: string, entries: ScenarioTenant["entries"]): ScenarioTenant {
  return {
    name,
    keyLabels: { ci: "ci", console: "console" },
    detectedAt: "2026-01-01T00:00:00Z",
    employees: [],
    manualVips: [],
    exclusions: [],
    entries,
    threats: 0,
  };
}
