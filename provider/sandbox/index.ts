/**
 * The service on your own machine, for tests and trials, with a made-up company.
 *
 * @module pulumi-email-security/sandbox
 */
import { randomBytes } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { createApp } from "./app";
import { SandboxError } from "./contract/errors";
import type { AllowDenyEntryRow, PhishingReport, Threat, VipEmployeeRow } from "./contract/schemas";
import { behaviourOf, mailOptionsOf, type SandboxOptions } from "./options";
import { RateLimiter } from "./rate-limit";
import { type RecordedRequest, RequestLog } from "./request-log";
import { allowDenyEntryRoutes } from "./routes/allow-deny-entries";
import { metricRoutes } from "./routes/metrics";
import { phishingReportRoutes } from "./routes/phishing-reports";
import { threatRoutes } from "./routes/threats";
import { vipEmployeeRoutes } from "./routes/vip-employees";
import { apiKeysOf } from "./scenarios/scenario";
import { openStore } from "./store";
import type { AuditRow } from "./store/audit-log";
import { lookBack } from "./store/timeline";

export type { SandboxBehaviour } from "./contract/behaviour";
export { SandboxError, type SandboxErrorCode } from "./contract/errors";
export type { AllowDenyEntryRow, PhishingReport, Threat, VipEmployeeRow } from "./contract/schemas";
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
 * A running sandbox, and a look inside it that needs no HTTP. A method given a tenant that isn't there throws a
 * {@link SandboxError} `ERR_SANDBOX_TENANT`.
 */
export interface Sandbox extends AsyncDisposable {
  /** The base URL, without a slash at its end: `http://127.0.0.1:<port>`. */
  url: string;
  /** The live log of requests to the service, in the order in which they were answered. */
  requests: RecordedRequest[];
  /** Empties the log of requests. */
  clearRequests(): void;
  /** The tenants with their keys, which are fixed, fake, and stored only as hashes. */
  tenants: SandboxTenant[];
  /** A tenant's audit rows, newest last. */
  audit(tenant: string): AuditRow[];
  /** A tenant's entries, newest first, as the list endpoint shows them. */
  allowDenyEntries(tenant: string): AllowDenyEntryRow[];
  /** A tenant's VIPs, newest first and those without a mailbox last, as the list endpoint shows them. */
  vips(tenant: string): VipEmployeeRow[];
  /** The mailboxes that a tenant never wants treated as VIPs, sorted. */
  exclusions(tenant: string): string[];
  /** A tenant's threats of all times, newest first, as the list endpoint shows them. */
  threats(tenant: string): Threat[];
  /** A tenant's phishing reports of all times, newest first, as the list endpoint shows them. */
  phishingReports(tenant: string): PhishingReport[];
  /** Stops listening, lets requests under way finish for half a second, and closes the database. */
  close(): Promise<void>;
}

/** A tenant of the sandbox and its keys. */
export interface SandboxTenant {
  name: string;
  apiKeys: { ci: string; console: string };
}

/** A negative LIMIT is none. */
const NO_PAGING = { limit: -1, offset: 0 };

/**
 * How long an idle connection is kept, in milliseconds: as long as by what usually stands before a service. With Node.js's 5 s, a
 * client that computes for so long would send its next request on a connection that has just been closed.
 */
const KEEP_ALIVE_MS = 65_000;

const CLOSING_GRACE_MS = 500;

/**
 * Starts a small local implementation of the whole service on 127.0.0.1. It prints nothing.
 *
 * @throws SandboxError `ERR_SANDBOX_PORT` when the port is no port or in use, `ERR_SANDBOX_SCENARIO` for an unknown
 * scenario or one that isn't the data file's, `ERR_SANDBOX_DATA_FILE` when the data file can't be used,
 * `ERR_SANDBOX_OPTION` for a number of threats or a rate limit that can't be.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, data, scenario, clock = () => new Date(), newId = randomId } = options;
  assertPort(port);
  const behaviour = behaviourOf(options);
  const mail = mailOptionsOf(options);
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
    const id = store.tenants.idOf(name);
    if (id !== undefined) return id;
    const names = store.tenants.names().join(", ");
    throw new SandboxError("ERR_SANDBOX_TENANT", `There is no tenant ${name}. The tenants are: ${names}.`);
  };
  const getFullPeriod = () => lookBack(clock().toISOString(), Number.MAX_SAFE_INTEGER);
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= stopServer(server).finally(() => store.close());
    return closed;
  };

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: log.requests,
    clearRequests: () => log.clear(),
    tenants: store.tenants.names().map((name) => ({ name, apiKeys: apiKeysOf(name) })),
    audit: (tenant) => store.audit.latest(getTenantId(tenant), NO_PAGING.limit),
    allowDenyEntries: (tenant) => store.allowDenyEntries.page(getTenantId(tenant), NO_PAGING).items,
    vips: (tenant) => store.vipEmployees.page(getTenantId(tenant), { sort: "desc", ...NO_PAGING }).items,
    exclusions: (tenant) => store.vipEmployees.exclusions(getTenantId(tenant)),
    threats: (tenant) => store.threats.page(getTenantId(tenant), getFullPeriod(), NO_PAGING).items,
    phishingReports: (tenant) =>
      store.phishingReports.page(getTenantId(tenant), getFullPeriod(), NO_PAGING).items,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function randomId(): string {
  return `ade_${randomBytes(10).toString("hex")}`;
}

/** Told before a data file is made. */
function assertPort(port: number): void {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return;
  throw new SandboxError("ERR_SANDBOX_PORT", `${port} is no port: give a whole number from 0 to 65535.`);
}

/** Resolves once the server accepts connections. */
function startServer(
  fetch: (request: Request) => Response | Promise<Response>,
  port: number,
): Promise<Server> {
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
