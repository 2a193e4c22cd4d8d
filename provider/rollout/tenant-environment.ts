import type { Target } from "./targets/target";

/**
 * An environment without anybody's key: without the variables that any tenant's key comes from, and without those by which
 * this package is configured, which are one tenant's.
 */
export function withoutKeys(
  environment: NodeJS.ProcessEnv,
  targets: Iterable<Pick<Target, "key">>,
): NodeJS.ProcessEnv {
  const keys = new Set<string>();
  for (const { key } of targets) if (key.from === "environment") keys.add(key.variable);
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
