import { type Sandbox, type ScenarioEmployee, type ScenarioTenant, startSandbox } from "../../provider/sandbox";

/**
 * The differences between the tenants of {@link startTwoTenants}: `acme` has people at acme.example, `globex` at
 * globex.example.
 */
export interface TwoTenantsOptions {
  /** Whether they have people, who identify a tenant. Default: true. */
  readonly people?: boolean;
  /** Additional mail domains of a tenant's people, by tenant name. */
  readonly domains?: Readonly<Record<string, readonly string[]>>;
}

/** Starts a sandbox with two tenants without entries at one host. Each tenant has the key `sandbox-<name>-ci`. */
export async function startTwoTenants(options: TwoTenantsOptions = {}): Promise<Sandbox> {
  return await startSandbox({
    scenario: { name: "two", tenants: [buildEmptyTenant("acme", options), buildEmptyTenant("globex", options)] },
  });
}

function buildEmptyTenant(name: string, { people = true, domains = {} }: TwoTenantsOptions): ScenarioTenant {
  return {
    name,
    keyLabels: { ci: "ci", console: "console" },
    detectedAt: "2026-01-01T00:00:00Z",
    employees: people
      ? [`${name}.example`, ...(domains[name] ?? [])].map((domain, index) =>
          buildExecutive(domain, index < 2 ? "ceo" : `ceo${index}`),
        )
      : [],
    manualVips: [],
    exclusions: [],
    entries: [],
    threats: 0,
  };
}

/** Builds an employee whom automatic detection treats as a VIP. */
export function buildExecutive(domain: string, name = "ceo"): ScenarioEmployee {
  return {
    email: `${name}@${domain}`,
    fullName: "Dana Reyes",
    jobTitle: "Chief Executive Officer",
    department: "Executive",
  };
}
