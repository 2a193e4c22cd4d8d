import type { Target } from "../model/target";

export function getKeyVariables(targets: readonly Pick<Target, "key">[]): readonly string[] {
  return [...new Set(targets.flatMap(({ key }) => (key.from === "environment" ? [key.variable] : [])))];
}

/** Variables that all tenants share, without any keys. */
const SHARED_VARIABLES = ["EMAIL_SECURITY_TIMEOUT_MS", "EMAIL_SECURITY_DEBUG"] as const;

/**
 * Builds the provider's environment for one tenant, including the shared variables. Permission for plain http, and a tenant's own domains,
 * come from the targets and settings files, separately for each tenant.
 */
export function buildTenantEnvironment(
  { baseUrl, allowInsecureHttp }: Target,
  key: string,
  environment: NodeJS.ProcessEnv,
): Record<string, string> {
  const sharedEntries = SHARED_VARIABLES.map((name) => [name, environment[name] ?? ""] as const);
  return {
    ...Object.fromEntries(sharedEntries.filter(([, value]) => value !== "")),
    EMAIL_SECURITY_BASE_URL: baseUrl,
    EMAIL_SECURITY_API_KEY: key,
    ...(allowInsecureHttp ? { EMAIL_SECURITY_ALLOW_INSECURE_HTTP: "true" } : {}),
  };
}
