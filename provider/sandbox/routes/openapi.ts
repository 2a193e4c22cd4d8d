import { z } from "zod";
import { errorBodySchema, type Route } from "./route";

type Json = Record<string, unknown>;

/** Describes the service in OpenAPI 3.1. The description comes from the schemas that parse requests and type responses. */
export function describeService(routes: readonly Route[]): Json {
  const components: Record<string, unknown> = {};
  const getSchema = (schema: z.ZodType, io: "input" | "output" = "output"): Json => {
    const { $schema: _, $defs = {}, ...own } = z.toJSONSchema(schema, { io });
    for (const [name, definition] of Object.entries($defs)) components[name] = rewriteReferences(definition);
    return rewriteReferences(own) as Json;
  };

  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    (paths[route.path] as Json)[route.method.toLowerCase()] = buildOperation(route, getSchema);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Email Threat Detection and Security Settings API",
      version: "1.0.0",
      description:
        "A sandbox of the service: programmatic JSON access, for one organization (tenant), to detected email threats, security metrics, phishing reports, the VIP employee list and the allow/deny list. Requests are rate limited.",
    },
    servers: [{ url: "/" }],
    tags: [...new Set(routes.map(({ section }) => section))].map((name) => ({ name })),
    security: [{ ApiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        ApiKey: {
          type: "apiKey",
          in: "header",
          name: "X-Api-Key",
          description: "The key identifies the tenant; every read and write applies to that tenant only.",
        },
      },
      schemas: components,
    },
  };
}

type SchemaBuilder = (schema: z.ZodType, io?: "input" | "output") => Json;

function buildOperation(route: Route, getSchema: SchemaBuilder): Json {
  const buildJsonContent = (schema: Json) => ({ content: { "application/json": { schema } } });
  const responseSchema = getSchema(route.getResponseSchema());
  const responses: Record<number, Json> = {
    [getSuccessStatus(responseSchema)]: { description: "Success", ...buildJsonContent(responseSchema) },
  };
  for (const [status, description] of listErrorStatuses(route)) {
    const errorResponse = route.errorResponses?.[status];
    responses[status] = {
      description: errorResponse === undefined ? description : `${description}: ${errorResponse.condition}`,
      ...(status === 429 && { headers: retryAfterHeader }),
      ...buildJsonContent(getSchema(errorResponse?.body?.() ?? errorBodySchema)),
    };
  }
  return {
    operationId: buildOperationId(route),
    tags: [route.section],
    summary: route.summary,
    ...(route.description !== undefined && { description: route.description }),
    parameters: [...buildPathParameters(route), ...buildQueryParameters(route, getSchema)],
    ...(route.body && { requestBody: { required: true, ...buildJsonContent(getSchema(route.body, "input")) } }),
    responses,
  };
}

const statusDescriptions: Record<number, string> = {
  400: "Bad Request",
  401: "Unauthorized: invalid or missing API key",
  404: "Not Found",
  409: "Conflict",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error: server failure",
};

const retryAfterHeader = {
  "Retry-After": {
    description: "When to retry: seconds or an HTTP date. May be missing.",
    schema: { type: "string" },
  },
};

/** Lists the error responses of this endpoint, including those of any endpoint, sorted by status. */
function listErrorStatuses(route: Route): [status: number, description: string][] {
  const routeStatuses = Object.keys(route.errorResponses ?? {}).map(Number);
  const invalid = route.query || route.body ? [400] : [];
  return [...new Set([401, 429, 500, ...invalid, ...routeStatuses])]
    .sort((a, b) => a - b)
    .map((status) => [status, statusDescriptions[status] ?? "Refused"]);
}

function buildPathParameters({ params = {} }: Route): Json[] {
  return Object.entries(params).map(([name, description]) => ({
    name,
    in: "path",
    required: true,
    description: `${description}; percent-encoded`,
    schema: { type: "string", minLength: 1 },
  }));
}

/** Describes each parameter by its parsed value. It is required if it has no default. */
function buildQueryParameters({ query }: Route, getSchema: SchemaBuilder): Json[] {
  if (query === undefined) return [];
  const { properties = {} } = getSchema(query) as { properties?: Record<string, Json> };
  const { required = [] } = getSchema(query, "input") as { required?: string[] };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

function getSuccessStatus(responseSchema: Json): number {
  const [variant = responseSchema] = (responseSchema["anyOf"] ?? []) as Json[];
  const { status } = variant["properties"] as { status: { const: number } };
  return status.const;
}

/** Converts `get /api/v1/metrics/hours_saved` to `get_metrics_hours_saved`. */
function buildOperationId({ method, path }: Route): string {
  const words = path.replace("/api/v1/", "").match(/\w+/g) ?? [];
  return [method.toLowerCase(), ...words].join("_");
}

/** zod puts named schemas under `$defs`; OpenAPI expects them under `components`. */
function rewriteReferences(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
}
