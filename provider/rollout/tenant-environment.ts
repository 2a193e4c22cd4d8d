import type { Target } from "./targets/target";

/** The variables that the tenants' keys come from. */
export function keyVariablesOf(targets: readonly Pick<Target, "key">[]): readonly string[] {
  return [...new Set(targets.flatMap(({ key }) => (key.from === "environment" ? [key.variable] : [])))];
}

/**
 * An environment without anybody's key: without the variables that any tenant's key comes from, and without those by which
 * this package is configured, which are one tenant's.
 *
 * @param variables those of all tenants, of the ones that a rollout leaves out too.
 */
export function withoutKeys(
  environment: NodeJS.ProcessEnv,
  variables: readonly string[] = [],
): NodeJS.ProcessEnv {
  const keys = new Set(variables);
  return Object.fromEntries(
    Object.entries(environment).filter(
      ([name, value]) => value !== undefined && !keys.has(name) && !name.startsWith("EMAIL_SECURITY_"),
    ),
  );
}

/** What opens one tenant, as the provider reads it from its environment. */
export function ofTenant({ baseUrl, allowInsecureHttp }: Target, key: string): Record<string, string> {
  return {
    EMAIL_SECURITY_BASE_URL: baseUrl,
    EMAIL_SECURITY_API_KEY: key,
    ...(allowInsecureHttp ? { EMAIL_SECURITY_ALLOW_INSECURE_HTTP: "true" } : {}),
  };
}
