import { acme } from "./acme";
import type { Scenario } from "./scenario";

/** The companies of {@link acme} on their first day: directories and auto-detected VIPs, but no settings and no mail. */
export const empty: Scenario = {
  name: "empty",
  tenants: acme.tenants.map((tenant) => ({
    ...tenant,
    manualVips: [],
    exclusions: [],
    entries: [],
    threats: 0,
  })),
};
