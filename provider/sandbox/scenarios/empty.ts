import { acme } from "./acme";
import type { Scenario } from "./scenario";

/** The companies of {@link acme} on their first day: directories, and so auto-detected VIPs, but nobody's settings or mail. */
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
