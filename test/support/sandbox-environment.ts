/** Returns the settings of a program that uses the key of the sandbox's tenant "acme". */
export function buildSandboxEnvironment({ url }: { readonly url: string }): Record<string, string> {
  return { EMAIL_SECURITY_BASE_URL: url, ...buildKeyVariables("acme") };
}

/** Returns the setting of a program that uses the key of a tenant of the sandbox. */
export function buildKeyVariables(tenant: string): Record<string, string> {
  return { EMAIL_SECURITY_API_KEY: `sandbox-${tenant}-ci` };
}
