/** The service's response to a successful request. */
interface Answer {
  readonly results: Record<string, unknown>;
}

/**
 * Sends a colleague's request in a tenant's console, by its path below `/api/v1/settings`.
 *
 * @throws if the request doesn't succeed.
 */
export async function click(
  { url }: { readonly url: string },
  method: string,
  path: string,
  body?: unknown,
  tenant = "acme",
): Promise<Answer> {
  const response = await fetch(`${url}/api/v1/settings${path}`, {
    method,
    headers: { "x-api-key": `sandbox-${tenant}-console`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} in the console was returned ${response.status}: ${text}`);
  return JSON.parse(text) as Answer;
}
