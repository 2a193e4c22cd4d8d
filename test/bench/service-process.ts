/**
 * The sandbox in its own process, so that it shares no event loop with the measured code. It prints its address and
 * exits when its standard input closes, so it never outlives the bench.
 *
 *   node test/bench/service-process.ts '{ "employees": 2000, "readOne": true }'
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Sandbox,
  type SandboxHooks,
  type Scenario,
  type ServiceRequest,
  type ServiceResponse,
  startSandbox,
} from "pulumi-email-security/sandbox";
import { type BenchServiceOptions, deniedDomain, mailboxOf, TENANT, TRACE_PATH, tenantName } from "#bench/service";

const {
  employees = 0,
  readOne = false,
  tenants,
  entries = 0,
  threats = 0,
  latencyMs = 0,
  requestsPerSecond,
} = JSON.parse(process.argv[2] ?? "{}") as BenchServiceOptions;

const scenario: Scenario = {
  name: "bench",
  tenants: (tenants === undefined ? [TENANT] : Array.from({ length: tenants }, (_, index) => tenantName(index))).map(
    (name) => ({
      name,
      keyLabels: { ci: "bench", console: "nobody" },
      detectedAt: "2026-01-01T06:00:00.000Z",
      // A job title that doesn't make anybody a VIP.
      employees: Array.from({ length: employees }, (_, index) => ({
        email: mailboxOf(index),
        fullName: `Person ${index}`,
        jobTitle: "Engineer",
        department: "Engineering",
      })),
      manualVips: [],
      exclusions: [],
      entries: Array.from({ length: entries }, (_, index) => ({
        list: "deny",
        entryType: "domain",
        value: deniedDomain(index),
        comment: "",
        createdBy: "bench",
        createdAt: "2026-01-01T06:00:00.000Z",
      })),
      threats,
    }),
  ),
};

const special = readOne ? readOneEndpoint() : undefined;
const sandbox: Sandbox = await startSandbox({
  scenario,
  ...(requestsPerSecond !== undefined && { rateLimit: { perSecond: requestsPerSecond } }),
  ...special,
  async intercept(request) {
    if (request.path === TRACE_PATH) return { status: 200, body: sandbox.requests };
    if (latencyMs > 0) await sleep(latencyMs);
    return await special?.intercept?.(request);
  },
});
console.log(sandbox.url);
// Ctrl-C reaches every process of the terminal, but the engine still needs the sandbox to finish its current step.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {});
process.stdin.resume().once("end", () => sandbox.close());

/**
 * Adds `GET /api/v1/settings/allow_deny_entries/{id}`, which the service's reference lacks and Terraform's generic REST
 * provider requires. It answers from the writes it has seen.
 */
function readOneEndpoint(): SandboxHooks {
  const entries = new Map<string, unknown>();
  const idOf = ({ path }: ServiceRequest): string | undefined => /allow_deny_entries\/([^/]+)$/.exec(path)?.[1];
  return {
    intercept(request): ServiceResponse | undefined {
      const id = idOf(request);
      if (request.method !== "GET" || id === undefined) return undefined;
      const entry = entries.get(id);
      return entry === undefined
        ? { status: 404, body: { error: "no such entry" } }
        : { status: 200, body: { status: 200, results: entry } };
    },
    afterHandle(request, response): undefined {
      if (request.method === "GET" || response.status >= 300) return;
      const { results } = response.body as { results: { id: string } };
      if (request.method === "DELETE") entries.delete(results.id);
      else entries.set(results.id, results);
    },
  };
}
