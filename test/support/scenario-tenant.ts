import type { ScenarioTenant } from "../../provider/sandbox";

/** An entry as somebody clicked it into a tenant of the sandbox: of all mail, and of what its value is. */
export function clickedEntry(
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

/** A tenant of the sandbox with these entries, and nothing else. */
export function tenantWith(name: string, entries: ScenarioTenant["entries"]): ScenarioTenant {
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
