import { z } from "zod";
import { SandboxHttpError } from "../contract/errors";
import type { ResultPage } from "../contract/result-page";
import type { Caller } from "../store/tenants";

export interface Route<Query = unknown, Body = unknown, RouteResponse extends ResponseEnvelope = ResponseEnvelope> {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** As in the reference, with `{id}` for a parameter. */
  path: string;
  section: string;
  summary: string;
  description?: string;
  params?: Record<string, string>;
  query?: z.ZodType<Query>;
  /** Schema of the JSON body. Without a schema, the body of a request is ignored. */
  body?: z.ZodType<Body>;
  /**
   * Returns the schema of the whole success body, whose `status` is also the HTTP status. Called when the service
   * describes itself.
   */
  getResponseSchema: () => z.ZodType<RouteResponse>;
  /**
   * The error responses of this endpoint by status, beyond those of any endpoint. `body` is the schema of a body with
   * more than `error`.
   */
  errorResponses?: Record<number, { condition: string; body?: () => z.ZodType }>;
  /**
   * Handles the request and returns its response.
   *
   * @throws SandboxHttpError for an error response.
   */
  handle(request: RouteRequest<Query, Body>): RouteResponse;
}

export interface RouteRequest<Query, Body> {
  caller: Caller;
  at: string;
  /** Path parameters, percent-decoded. */
  params: Record<string, string>;
  query: Query;
  body: Body;
}

export interface ResponseEnvelope {
  status: number;
}

/**
 * Infers the handler's types from the route's schemas, then erases them so that routes of different types fit in one
 * list.
 */
export function defineRoute<Query, Body, RouteResponse extends ResponseEnvelope>(
  definition: Route<Query, Body, RouteResponse>,
): Route {
  return definition as unknown as Route;
}

export function buildEnvelopeSchema<Results extends z.ZodType, const Status extends number = 200>(
  results: Results,
  status: Status = 200 as Status,
) {
  return z.object({ status: z.literal(status), results });
}

export const errorBodySchema = z.object({ error: z.string() }).meta({ id: "Error" });

export function buildSuccessResponse<Results>(results: Results): { status: 200; results: Results } {
  return { status: 200, results };
}

/** Builds the schema of a query parameter that must be a positive whole number in decimal digits. */
export function positiveIntegerSchema(maximum = Number.MAX_SAFE_INTEGER): z.ZodType<number> {
  const message = `must be a whole number from 1 to ${maximum}`;
  return z
    .string()
    .regex(/^\d+$/, { error: message, abort: true })
    .transform(Number)
    .pipe(z.int(message).min(1, message).max(maximum, message));
}

export const pageNumberSchema = positiveIntegerSchema().default(1).describe("1-based page index");

export const settingsPageShape = {
  page: pageNumberSchema,
  page_size: positiveIntegerSchema(200).default(50).describe("maximum 200"),
};

/** Converts a page to a limit and an offset. The offset of a huge page number is capped at a value that SQLite accepts. */
export function toLimitOffset(query: { page: number; page_size: number }): { limit: number; offset: number } {
  return {
    limit: query.page_size,
    offset: Math.min((query.page - 1) * query.page_size, Number.MAX_SAFE_INTEGER),
  };
}

const pageMember = z.int().min(1).describe("1-based");
const totalMember = z.int().min(0).describe("total number of items");

export function buildSettingsListSchema<Item extends z.ZodType>(item: Item) {
  return buildEnvelopeSchema(
    z.object({
      items: z.array(item),
      page: pageMember,
      page_size: z.int().min(1).max(200),
      total: totalMember,
    }),
  );
}

/** Builds the settings list envelope. Page data is inside `results`; there is no separate `pagination` object. */
export function buildSettingsListResponse<Item>(query: { page: number; page_size: number }, page: ResultPage<Item>) {
  return buildSuccessResponse({
    items: page.items,
    page: query.page,
    page_size: query.page_size,
    total: page.total,
  });
}

const pagination = z
  .object({
    page: pageMember,
    page_size: z.int().min(0).max(100).describe("number of items on this page"),
    total: totalMember,
  })
  .meta({ id: "Pagination" });

/** Builds the schema of the paginated envelope of threats, phishing reports and threats_over_time. */
export function buildPaginatedSchema<Item extends z.ZodType>(item: Item) {
  return z.object({ status: z.literal(200), pagination, results: z.object({ items: z.array(item) }) });
}

/**
 * Builds the paginated envelope, with `pagination` next to `results`. As in the reference, `page_size` is the number of
 * items on this page.
 */
export function buildPaginatedResponse<Item>(page: number, { items, total }: ResultPage<Item>) {
  return {
    status: 200 as const,
    pagination: { page, page_size: items.length, total },
    results: { items },
  };
}

/** Builds the schema of a body. Unknown fields are errors, so a misspelt field is reported instead of lost. */
export function buildBodySchema<Shape extends z.core.$ZodShape>(shape: Shape, unknownFields = "unknown field") {
  return z.strictObject(shape, {
    error: (issue) => (issue.code === "unrecognized_keys" ? `${issue.keys.join(", ")}: ${unknownFields}` : undefined),
  });
}

/**
 * Parses a value with its schema.
 *
 * @throws SandboxHttpError 400 with a message that lists every problem.
 */
export function parseRequestPart<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const reasons = parsed.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : message,
  );
  throw new SandboxHttpError(400, reasons.join("; "));
}
