/**
 * Runs the service on your own machine, with a fictional company, for tests and trials.
 *
 * @module pulumi-email-security/sandbox
 */
import { randomBytes } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { createApp } from "./app";
import { SandboxError } from "./contract/errors";
import type { SandboxEntryRow, SandboxPhishingReport, SandboxThreat, SandboxVipRow } from "./contract/schemas";
import { resolveBehaviour, resolveMailOptions, type SandboxOptions } from "./options";
import { RateLimiter } from "./rate-limit";
import { type RecordedRequest, RequestLog } from "./request-log";
import { allowDenyEntryRoutes } from "./routes/allow-deny-entries";
import { metricRoutes } from "./routes/metrics";
import { phishingReportRoutes } from "./routes/phishing-reports";
import { threatRoutes } from "./routes/threats";
import { vipEmployeeRoutes } from "./routes/vip-employees";
import { getApiKeys } from "./scenarios/scenario";
import { openStore } from "./store";
import type { AuditRow } from "./store/audit-log";
import { getLookBackPeriod } from "./store/timeline";

export type { SandboxBehaviour } from "./contract/behaviour";
export { SandboxError, type SandboxErrorCode } from "./contract/errors";
export type {
  SandboxEntryRow as AllowDenyEntryRow,
  SandboxPhishingReport as PhishingReport,
  SandboxThreat as Threat,
  SandboxVipRow as VipEmployeeRow,
} from "./contract/schemas";
export type {
  SandboxHooks,
  SandboxOptions,
  ServiceRequest,
  ServiceResponse,
} from "./options";
export type { RateLimit, RetryAfter } from "./rate-limit";
export type { RecordedRequest, RequestSummary } from "./request-log";
export { scenarioNames } from "./scenarios";
export type { Scenario, ScenarioEmployee, ScenarioEntry, ScenarioTenant } from "./scenarios/scenario";
export type { AuditAction, AuditRow } from "./store/audit-log";

/**
 * A running sandbox, with direct access to its state without HTTP. Methods that take a tenant throw a {@link
 * SandboxError} with code `ERR_SANDBOX_TENANT` if that tenant doesn't exist.
 */
export interface Sandbox extends AsyncDisposable {
  /** The base URL, without a trailing slash: `http://127.0.0.1:<port>`. */
  url: string;
  /** The live log of requests to the service, in the order of their responses. */
  requests: RecordedRequest[];
  /** Clears the request log. */
  clearRequests(): void;
  /** The tenants and their API keys. The keys are fixed and fake, and the database stores only their hashes. */
  tenants: SandboxTenant[];
  /** Returns a tenant's audit rows, newest last. */
  audit(tenant: string): AuditRow[];
  /** Returns a tenant's entries, newest first, as the list endpoint does. */
  allowDenyEntries(tenant: string): SandboxEntryRow[];
  /** Returns a tenant's VIPs as the list endpoint does: newest first, and those without a mailbox last. */
  vips(tenant: string): SandboxVipRow[];
  /** Returns the excluded mailboxes of a tenant, sorted. */
  exclusions(tenant: string): string[];
  /** Returns all threats of a tenant, newest first, as the list endpoint does. */
  threats(tenant: string): SandboxThreat[];
  /** Returns all phishing reports of a tenant, newest first, as the list endpoint does. */
  phishingReports(tenant: string): SandboxPhishingReport[];
  /** Stops listening, gives pending requests half a second to finish, and closes the database. */
  close(): Promise<void>;
}

/** A tenant of the sandbox and its keys. */
export interface SandboxTenant {
  name: string;
  apiKeys: { ci: string; console: string };
}

/** SQLite treats a negative LIMIT as no limit. */
const NO_PAGING = { limit: -1, offset: 0 };

/**
 * How long an idle connection stays open, in milliseconds; a typical value for load balancers. With the 5 s default of
 * Node.js, a client that computes for that long would send its next request on a connection that has just closed.
 */
const KEEP_ALIVE_MS = 65_000;

const CLOSING_GRACE_MS = 500;

/**
 * Starts a small local implementation of the whole service on 127.0.0.1. It prints nothing.
 *
 * @throws SandboxError `ERR_SANDBOX_PORT` if the port is invalid or in use; `ERR_SANDBOX_SCENARIO` if the scenario is
 * unknown or isn't the one in the data file; `ERR_SANDBOX_DATA_FILE` if the data file can't be used;
 * `ERR_SANDBOX_OPTION` if the number of threats or the rate limit is invalid.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, data, scenario, clock = () => new Date(), newId = generateId } = options;
  assertPort(port);
  const behaviour = resolveBehaviour(options);
  const mail = resolveMailOptions(options);
  const limiter = options.rateLimit && new RateLimiter(options.rateLimit);
  const log = new RequestLog();
  const store = openStore({
    at: clock().toISOString(),
    mail,
    ...(data !== undefined && { data }),
    ...(scenario !== undefined && { scenario }),
  });
  const routes = [
    ...threatRoutes(store.threats),
    ...metricRoutes(store.threats),
    ...phishingReportRoutes(store.phishingReports),
    ...vipEmployeeRoutes(store.vipEmployees, behaviour),
    ...allowDenyEntryRoutes(store.allowDenyEntries, behaviour, newId),
  ];
  const app = createApp({ store, routes, log, hooks: options, clock, limiter });

  let server: Server;
  try {
    server = await startServer(app.fetch, port);
  } catch (error) {
    store.close();
    throw error;
  }

  const getTenantId = (name: string): number => {
    const id = store.tenants.findId(name);
    if (id !== undefined) return id;
    const names = store.tenants.listNames().join(", ");
    throw new SandboxError("ERR_SANDBOX_TENANT", `The tenant ${name} doesn't exist. The tenants are: ${names}.`);
  };
  const getFullPeriod = () => getLookBackPeriod(clock().toISOString(), Number.MAX_SAFE_INTEGER);
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= stopServer(server).finally(() => store.close());
    return closed;
  };

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: log.requests,
    clearRequests: () => log.clear(),
    tenants: store.tenants.listNames().map((name) => ({ name, apiKeys: getApiKeys(name) })),
    audit: (tenant) => store.audit.readLatest(getTenantId(tenant), NO_PAGING.limit),
    allowDenyEntries: (tenant) => store.allowDenyEntries.page(getTenantId(tenant), NO_PAGING).items,
    vips: (tenant) => store.vipEmployees.page(getTenantId(tenant), { sort: "desc", ...NO_PAGING }).items,
    exclusions: (tenant) => store.vipEmployees.exclusions(getTenantId(tenant)),
    threats: (tenant) => store.threats.page(getTenantId(tenant), getFullPeriod(), NO_PAGING).items,
    phishingReports: (tenant) => store.phishingReports.page(getTenantId(tenant), getFullPeriod(), NO_PAGING).items,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function generateId(): string {
  return `ade_${randomBytes(10).toString("hex")}`;
}

/** Runs before a data file is created. */
function assertPort(port: number): void {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return;
  throw new SandboxError("ERR_SANDBOX_PORT", `${port} isn't a valid port: specify a whole number from 0 to 65535.`);
}

/** Resolves once the server accepts connections. */
function startServer(fetch: (request: Request) => Response | Promise<Response>, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const options = {
      fetch,
      port,
      hostname: "127.0.0.1",
      overrideGlobalObjects: false,
      serverOptions: { keepAliveTimeout: KEEP_ALIVE_MS },
    };
    const server = serve(options, () => resolve(server)) as Server;
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const reason = cause.code === "EADDRINUSE" ? "it is in use; choose another" : cause.message;
      reject(new SandboxError("ERR_SANDBOX_PORT", `Can't listen on port ${port}: ${reason}.`, { cause }));
    });
  });
}

function stopServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const closeTimer = setTimeout(() => server.closeAllConnections(), CLOSING_GRACE_MS);
    server.close(() => {
      clearTimeout(closeTimer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
