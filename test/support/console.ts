/** What the service answers to a request that it has done. */
interface Answer {
  readonly results: Record<string, unknown>;
}

/** A colleague's request in the console of a tenant, by its path below `/api/v1/settings`; fails where it is not done. */
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
  if (!response.ok) throw new Error(`${method} ${path} in the console was answered ${response.status}: ${text}`);
  return JSON.parse(text) as Answer;
}
