import { afterAll, beforeAll, expect } from "vitest";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../provider/sandbox";
import { ProviderProcess } from "./provider-process";
import { click } from "./tenant-console";

/** The trace line prefix of the request with which a run identifies its tenant. */
export const SEES_PEOPLE = "GET /vip_employees?page=1&page_size=100 ";

/** Sorts concurrent requests: both lists are read at once, and either may come first. */
function sortConcurrent(lines: readonly string[]): string[] {
  const result = [...lines];
  for (const [index, line] of result.entries()) {
    const next = result[index + 1];
    if (next === undefined || line.replace("list=deny", "list=allow") !== next) continue;
    if (line !== next) result.splice(index, 2, next, line);
  }
  return result;
}

/** A sandbox, and a provider process that manages its tenant "acme" with the CI key. */
export interface ManagedSandboxTenant extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly provider: ProviderProcess;
  /**
   * The requests since the last call, as "GET /api/v1/… ?query {body} 200", oldest first. The one by which a run sees whose
   * tenant it is, is left out: duplicate-tenants.test.ts counts it.
   */
  trace(): string[];
  /** Returns the same without reads. */
  writes(): string[];
  /** Sends a colleague's request in the console. */
  console(method: string, path: string, body?: unknown): Promise<{ results: Record<string, unknown> }>;
}

/** @param environment additional environment variables of the provider process, such as settings. */
export async function startSandboxTenant(
  options: SandboxOptions = {},
  environment: Record<string, string> = {},
): Promise<ManagedSandboxTenant> {
  const sandbox = await startSandbox({ scenario: "empty", ...options });
  const provider = await ProviderProcess.start({
    environment: {
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
      ...environment,
    },
  });
  const take = (): string[] => {
    const lines = sandbox.requests.map((request) => {
      const query = new URLSearchParams(request.query).toString();
      const body = request.body === undefined ? "" : ` ${JSON.stringify(request.body)}`;
      const path = request.path.replace("/api/v1/settings", "");
      return `${request.method} ${path}${query === "" ? "" : `?${query}`}${body} ${request.status}`;
    });
    sandbox.clearRequests();
    return sortConcurrent(lines.filter((line) => !line.startsWith(SEES_PEOPLE)));
  };
  return {
    sandbox,
    provider,
    trace: take,
    writes: () => take().filter((line) => !line.startsWith("GET ")),
    async console(method, path, body) {
      const answer = await click(sandbox, method, path, body);
      sandbox.requests.pop();
      return answer;
    },
    async [Symbol.asyncDispose]() {
      await provider[Symbol.asyncDispose]();
      await sandbox.close();
    },
  };
}

/** The trace of a shared read of both lists. */
export const READ_BOTH_LISTS = [
  "GET /allow_deny_entries?list=allow&page=1&page_size=200 200",
  "GET /allow_deny_entries?list=deny&page=1&page_size=200 200",
];

/** Asserts that a trace consists of reads of both lists only, as many as it takes to confirm that something is gone. */
export function expectReadings(trace: readonly string[]): void {
  expect([...new Set(trace)].sort()).toEqual(READ_BOTH_LISTS);
  expect(trace.length).toBeGreaterThan(READ_BOTH_LISTS.length);
  expect(trace.length).toBeLessThanOrEqual(6 * READ_BOTH_LISTS.length);
}

export const READ_VIPS = ["GET /vip_employees?page=1&page_size=200 200"];

/** Returns one tenant for tests that don't interfere with each other. */
export function shareSandboxTenant(options: SandboxOptions = {}): () => ManagedSandboxTenant {
  let tenant: ManagedSandboxTenant;
  beforeAll(async () => {
    tenant = await startSandboxTenant(options);
  });
  afterAll(async () => {
    await tenant[Symbol.asyncDispose]();
  });
  return () => tenant;
}

/** Starts a later run of the engine: another provider process on the same tenant, which has read nothing yet. */
export async function startLaterRun(tenant: ManagedSandboxTenant): Promise<ProviderProcess> {
  return await ProviderProcess.start({
    environment: { EMAIL_SECURITY_BASE_URL: tenant.sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
}
