import { z } from "zod";
import { errorBody, type Route } from "./route";

type Json = Record<string, unknown>;

/** How the service describes itself: OpenAPI 3.1, generated from the schemas by which it reads and answers. */
export function describeService(routes: readonly Route[]): Json {
  const components: Record<string, unknown> = {};
  const schemaOf = (schema: z.ZodType, io: "input" | "output" = "output"): Json => {
    const { $schema: _, $defs = {}, ...own } = z.toJSONSchema(schema, { io });
    for (const [name, definition] of Object.entries($defs)) components[name] = inComponents(definition);
    return inComponents(own) as Json;
  };

  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    (paths[route.path] as Json)[route.method.toLowerCase()] = operationOf(route, schemaOf);
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

type SchemaOf = (schema: z.ZodType, io?: "input" | "output") => Json;

function operationOf(route: Route, schemaOf: SchemaOf): Json {
  const json = (schema: Json) => ({ content: { "application/json": { schema } } });
  const answer = schemaOf(route.answer());
  const responses: Record<number, Json> = { [statusOf(answer)]: { description: "Success", ...json(answer) } };
  for (const [status, description] of refusalsOf(route)) {
    const refusal = route.refusals?.[status];
    responses[status] = {
      description: refusal === undefined ? description : `${description}: ${refusal.when}`,
      ...(status === 429 && { headers: retryAfterHeader }),
      ...json(schemaOf(refusal?.body?.() ?? errorBody)),
    };
  }
  return {
    operationId: operationIdOf(route),
    tags: [route.section],
    summary: route.summary,
    ...(route.description !== undefined && { description: route.description }),
    parameters: [...pathParameters(route), ...queryParameters(route, schemaOf)],
    ...(route.body && { requestBody: { required: true, ...json(schemaOf(route.body, "input")) } }),
    responses,
  };
}

const meanings: Record<number, string> = {
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
    description: "When to ask again: seconds or an HTTP date; may be missing.",
    schema: { type: "string" },
  },
};

/** What any endpoint may be refused for, and what this one is, in order. */
function refusalsOf(route: Route): [status: number, description: string][] {
  const own = Object.keys(route.refusals ?? {}).map(Number);
  const invalid = route.query || route.body ? [400] : [];
  return [...new Set([401, 429, 500, ...invalid, ...own])]
    .sort((one, other) => one - other)
    .map((status) => [status, meanings[status] ?? "Refused"]);
}

function pathParameters({ params = {} }: Route): Json[] {
  return Object.entries(params).map(([name, description]) => ({
    name,
    in: "path",
    required: true,
    description: `${description}; percent-encoded`,
    schema: { type: "string", minLength: 1 },
  }));
}

/** A parameter is described as what is read from its text, and required when there is no default for it. */
function queryParameters({ query }: Route, schemaOf: SchemaOf): Json[] {
  if (query === undefined) return [];
  const { properties = {} } = schemaOf(query) as { properties?: Record<string, Json> };
  const { required = [] } = schemaOf(query, "input") as { required?: string[] };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

/** The status that an answer's schema says that it has. */
function statusOf(answer: Json): number {
  const [variant = answer] = (answer["anyOf"] ?? []) as Json[];
  const { status } = variant["properties"] as { status: { const: number } };
  return status.const;
}

/** `get /api/v1/metrics/hours_saved` → `get_metrics_hours_saved`. */
function operationIdOf({ method, path }: Route): string {
  const words = path.replace("/api/v1/", "").match(/\w+/g) ?? [];
  return [method.toLowerCase(), ...words].join("_");
}

/** zod refers to named schemas under `$defs`; in this document they stand under `components`. */
function inComponents(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
}
