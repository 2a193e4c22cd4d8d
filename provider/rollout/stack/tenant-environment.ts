import type { Target } from "../model/target";

/** The variables that the tenants' keys come from. */
export function keyVariablesOf(targets: readonly Pick<Target, "key">[]): readonly string[] {
  return [...new Set(targets.flatMap(({ key }) => (key.from === "environment" ? [key.variable] : [])))];
}

/** What holds for all tenants alike, and is no key. */
const OF_ALL_TENANTS = ["EMAIL_SECURITY_TIMEOUT_MS", "EMAIL_SECURITY_DEBUG"] as const;

/**
 * What opens one tenant, as the provider reads it from its environment, with what holds for all tenants. That plain http is
 * meant, and which domains are a tenant's own, say the targets and settings files, for each tenant by itself.
 *
 * @param environment that of the process that runs the rollout.
 */
export function ofTenant(
  { baseUrl, allowInsecureHttp }: Target,
  key: string,
  environment: NodeJS.ProcessEnv,
): Record<string, string> {
  const forAll = OF_ALL_TENANTS.map((name) => [name, environment[name] ?? ""] as const);
  return {
    ...Object.fromEntries(forAll.filter(([, value]) => value !== "")),
    EMAIL_SECURITY_BASE_URL: baseUrl,
    EMAIL_SECURITY_API_KEY: key,
    ...(allowInsecureHttp ? { EMAIL_SECURITY_ALLOW_INSECURE_HTTP: "true" } : {}),
  };
}
