import type { Sandbox } from "../../provider/sandbox";

/** Returns the requests that change something, at any tenant, as "POST /allow_deny_entries". */
export function listWrites({ requests }: Sandbox): string[] {
  return requests
    .filter(({ method }) => method !== "GET")
    .map(({ method, path }) => `${method} ${path.replace("/api/v1/settings", "")}`);
}
