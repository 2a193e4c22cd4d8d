import { type Sandbox, type SandboxOptions, startSandbox } from "../../../provider/sandbox";

export const VIPS = "/api/v1/settings/vip_employees";
export const ENTRIES = "/api/v1/settings/allow_deny_entries";
export const THREATS = "/api/v1/threats";
export const METRICS = "/api/v1/metrics";
export const REPORTS = "/api/v1/sonar/phishing-reports";

/** The fixed time of every sandbox in these tests. */
export const NOW = "2026-01-15T12:00:00.000Z";

/** The tests read deeply nested answers, and their shape is exactly what is under test. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Json = any;

export interface SandboxResponse {
  status: number;
  headers: Headers;
  body: Json;
}

/** Sends requests with one key, or without a key. */
export interface ApiCaller {
  get(path: string): Promise<SandboxResponse>;
  post(path: string, body: unknown): Promise<SandboxResponse>;
  patch(path: string, body: unknown): Promise<SandboxResponse>;
  delete(path: string): Promise<SandboxResponse>;
  /** Sends the request exactly as given. */
  send(method: string, path: string, headers?: Record<string, string>, body?: string): Promise<SandboxResponse>;
}

export interface SandboxService extends AsyncDisposable {
  sandbox: Sandbox;
  /** Uses Pulumi's key of the tenant acme; the other callers are named after how they differ. */
  acme: ApiCaller;
  acmeConsole: ApiCaller;
  globex: ApiCaller;
  stranger: ApiCaller;
}

export async function startService(options: SandboxOptions = {}): Promise<SandboxService> {
  const sandbox = await startSandbox({ clock: () => new Date(NOW), ...options });
  return {
    sandbox,
    acme: createCaller(sandbox.url, "sandbox-acme-ci"),
    acmeConsole: createCaller(sandbox.url, "sandbox-acme-console"),
    globex: createCaller(sandbox.url, "sandbox-globex-ci"),
    stranger: createCaller(sandbox.url),
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}

/** Returns the items of all pages of a list whose envelope has `pagination`. */
export async function collectPages(caller: ApiCaller, path: string, query: string): Promise<Json[]> {
  const items: Json[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await caller.get(`${path}?${query}&page=${page}`);
    if (body.pagination.page_size === 0) return items;
    items.push(...body.results.items);
  }
}

export function createCaller(url: string, key?: string): ApiCaller {
  const auth: Record<string, string> = key === undefined ? {} : { "X-Api-Key": key };
  const sendRequest = async (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string,
  ): Promise<SandboxResponse> => {
    const response = await fetch(url + path, {
      method,
      headers: { ...auth, ...headers },
      ...(body !== undefined && { body }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text && JSON.parse(text) };
  };
  const json = { "Content-Type": "application/json" };
  return {
    send: sendRequest,
    get: (path) => sendRequest("GET", path),
    post: (path, body) => sendRequest("POST", path, json, JSON.stringify(body)),
    patch: (path, body) => sendRequest("PATCH", path, json, JSON.stringify(body)),
    delete: (path) => sendRequest("DELETE", path),
  };
}
