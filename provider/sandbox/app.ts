import { type Context, Hono } from "hono";
import { z } from "zod";
import { SandboxHttpError } from "./contract/errors";
import type { SandboxHooks, ServiceRequest, ServiceResponse } from "./options";
import type { RateLimiter } from "./rate-limit";
import type { RequestLog } from "./request-log";
import { describeService } from "./routes/openapi";
import { parseRequestPart, positiveIntegerSchema, type Route } from "./routes/route";
import type { Store } from "./store";
import type { Caller } from "./store/tenants";

export interface AppDependencies {
  store: Store;
  routes: Route[];
  log: RequestLog;
  hooks: SandboxHooks;
  clock: () => Date;
  limiter: RateLimiter | undefined;
}

type Env = { Variables: { request: ServiceRequest; caller: Caller | undefined } };

/**
 * Creates the HTTP application. Every request passes, in this order: the log, the hooks, the API key check, the rate
 * limit, the route, and the route's schemas.
 */
export function createApp({ store, routes, log, hooks, clock, limiter }: AppDependencies): Hono<Env> {
  const app = new Hono<Env>();
  app.onError((error) => createErrorResponse(error));
  app.notFound((context) => createJsonResponse(404, { error: `${getPath(context)} does not exist` }));

  let description: unknown;
  app.get("/openapi.json", () => {
    description ??= describeService(routes);
    return createJsonResponse(200, description);
  });
  app.get("/sandbox/requests", () => createJsonResponse(200, log.summary()));
  app.get("/sandbox/audit", (context) => {
    const { tenantId } = requireCaller(findCaller(store, context));
    const { limit } = parseRequestPart(auditQuery, context.req.query());
    const items = store.audit.readLatest(tenantId, limit);
    return createJsonResponse(200, { status: 200, results: { items, total: store.audit.count(tenantId) } });
  });

  app.use(async (context, next) => {
    const request = await readRequest(context);
    const caller = findCaller(store, context);
    context.set("request", request);
    context.set("caller", caller);

    const injected = await hooks.intercept?.(request);
    if (injected === undefined) await next();
    const replacement = injected ?? (await hooks.afterHandle?.(request, await readResponse(context.res)));
    if (replacement !== undefined) replaceResponse(context, replacement);

    const { tenant, keyLabel } = caller ?? {};
    log.record({ ...request, status: context.res.status, tenant, keyLabel });
  });

  app.use("/api/v1/*", async (context, next) => {
    const { tenantId } = requireCaller(context.get("caller"));
    limiter?.take(tenantId, clock());
    await next();
  });

  for (const route of routes) {
    app.on(route.method, toHonoPath(route), (context) => {
      const caller = requireCaller(context.get("caller"));
      const result = route.handle({
        caller,
        at: clock().toISOString(),
        params: context.req.param(),
        query: route.query && parseRequestPart(route.query, context.req.query()),
        body: route.body && parseRequestPart(route.body, requireJson(context)),
      });
      return createJsonResponse(result.status, result);
    });
  }

  // Registered last: a known path with an unsupported method gets 405.
  for (const [path, methods] of groupMethodsByPath(routes)) {
    app.all(path, (context) => {
      const allow = methods.join(", ");
      throw new SandboxHttpError(405, `${getPath(context)} takes ${allow}, not ${context.req.method}`, {
        headers: { Allow: allow },
      });
    });
  }
  return app;
}

const auditQuery = z.object({ limit: positiveIntegerSchema(1000).default(100) });

function findCaller(store: Store, context: Context): Caller | undefined {
  const key = context.req.header("x-api-key");
  return key === undefined ? undefined : store.tenants.findCaller(key);
}

/** @throws SandboxHttpError 401 (reference, "Authentication"). */
function requireCaller(caller: Caller | undefined): Caller {
  if (caller === undefined)
    throw new SandboxHttpError(401, "the X-Api-Key header is missing or does not contain a valid API key");
  return caller;
}

async function readRequest(context: Context): Promise<ServiceRequest> {
  const { req } = context;
  const text = req.method === "GET" || req.method === "HEAD" ? "" : await req.text();
  let body: unknown;
  try {
    body = text === "" ? undefined : JSON.parse(text);
  } catch {
    // `requireJson` reports this if the route needs a body.
  }
  return { method: req.method, path: getPath(context), query: { ...req.query() }, body };
}

/** Returns the JSON body. The reference says: "requests with a body use Content-Type: application/json". */
function requireJson(context: Context<Env>): unknown {
  const type = context.req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new SandboxHttpError(400, "Content-Type must be application/json");
  const { body } = context.get("request");
  if (body === undefined) throw new SandboxHttpError(400, "the body is not valid JSON");
  return body;
}

/** Returns the path as sent: ids stay percent-encoded. */
function getPath(context: Context): string {
  return new URL(context.req.url).pathname;
}

function toHonoPath(route: Route): string {
  return route.path.replace(/\{(\w+)\}/g, ":$1");
}

function groupMethodsByPath(routes: Route[]): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const route of routes) {
    const path = toHonoPath(route);
    methods.set(path, [...(methods.get(path) ?? []), route.method]);
  }
  return methods;
}

function createErrorResponse(error: unknown): Response {
  if (error instanceof SandboxHttpError) {
    return createJsonResponse(error.status, { error: error.message, ...error.details }, error.headers);
  }
  const reason = error instanceof Error ? error.message : String(error);
  return createJsonResponse(500, { error: `the sandbox failed: ${reason}` });
}

function createJsonResponse(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/json", ...headers },
  });
}

async function readResponse(response: Response): Promise<ServiceResponse> {
  const text = await response.clone().text();
  const headers = Object.fromEntries(response.headers);
  return { status: response.status, headers, body: text === "" ? undefined : JSON.parse(text) };
}

function replaceResponse(context: Context, { status, headers = {}, body }: ServiceResponse): void {
  const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
  // Cleared first: otherwise Hono copies headers of the earlier response.
  context.res = undefined;
  context.res = new Response(text ?? null, {
    status,
    headers: text === undefined ? headers : { "Content-Type": "application/json", ...headers },
  });
}
