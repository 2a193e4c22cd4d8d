import { SettingsClient } from "../../../provider/client";
import {
  type RecordedRequest,
  type Sandbox,
  type SandboxOptions,
  type ScenarioTenant,
  startSandbox,
} from "../../../provider/sandbox";
import { TenantCache } from "../../../provider/tenant";
import { listPeople } from "../../support/people";
import { click } from "../../support/tenant-console";
import { VirtualTime } from "../../support/virtual-time";

/** A sandbox whose company has the given number of people and entries, and a tenant as the provider process sees it. */
export interface TenantService extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly client: SettingsClient;
  readonly tenant: TenantCache;
  readonly time: VirtualTime;
  /** Returns the requests since the last call, oldest first, formatted by {@link describeRequest}. */
  trace(): string[];
  /** Sends a colleague's request in the console, which the trace leaves out. */
  console(method: string, path: string, body?: unknown): Promise<void>;
}

export interface TenantServiceOptions extends SandboxOptions {
  readonly people?: number;
  readonly vips?: number;
  readonly denied?: number;
  readonly allowed?: number;
}

const CONSOLE = "Dana (console)";
const AT = "2025-01-13T06:00:00.000Z";

export const formatDomain = (list: string, index: number) => `${list}-${index}.example`;
export const buildDenyBody = (index: number) =>
  ({ list: "deny", entry_type: "domain", value: formatDomain("deny", index), verdict_scope: "global" }) as const;

export async function startTenantService(options: TenantServiceOptions = {}): Promise<TenantService> {
  const time = new VirtualTime();
  const { people: count = 0, vips = 0, denied = 0, allowed = 0, ...rest } = options;
  const company: ScenarioTenant = {
    name: "acme",
    keyLabels: { ci: "Pulumi (ci)", console: CONSOLE },
    detectedAt: AT,
    employees: listPeople(count).map((email) => ({
      email,
      fullName: email,
      jobTitle: "Engineer",
      department: "R",
    })),
    manualVips: listPeople(vips).map((email) => ({ email, comment: "Board", addedBy: CONSOLE, dateAdded: AT })),
    exclusions: [],
    entries: [...buildEntries("deny", denied), ...buildEntries("allow", allowed)],
    threats: 0,
  };
  const sandbox = await startSandbox({
    scenario: { name: "many", tenants: [company] },
    clock: () => new Date(Date.parse(AT) + time.atMs),
    ...rest,
  });
  const client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci", time });
  return {
    sandbox,
    client,
    tenant: new TenantCache({
      client,
      now: time.now,
      sleep: time.sleep,
      scheduleBatch: (begin) => void setImmediate(begin),
    }),
    time,
    trace() {
      const lines = sandbox.requests.filter(({ keyLabel }) => keyLabel !== CONSOLE).map(describeRequest);
      sandbox.clearRequests();
      return lines;
    },
    async console(method, path, body) {
      await click(sandbox, method, path, body);
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await sandbox.close();
    },
  };
}

function buildEntries(list: "allow" | "deny", count: number): ScenarioTenant["entries"] {
  return Array.from({ length: count }, (_, index) => ({
    list,
    entryType: "domain",
    value: formatDomain(list, index),
    comment: "",
    createdBy: CONSOLE,
    createdAt: AT,
  }));
}

/**
 * Formats a read as "deny 2 200" (list, page, status), a write of VIPs as "add 1000 Board 200", and any other write as
 * its method.
 */
export function describeRequest({ method, path, query, body, status }: RecordedRequest): string {
  const place = path.replace("/api/v1/settings/", "");
  if (method === "GET") return `${query["list"] ?? "vips"} ${query["page"]} ${status}`;
  const { emails, comment } = (body ?? {}) as { emails?: string[]; comment?: string };
  if (place === "vip_employees/remove") return `remove ${emails?.length} ${status}`;
  if (place === "vip_employees" && method === "POST") return `add ${emails?.length} ${comment} ${status}`;
  return `${method} ${place} ${status}`;
}
