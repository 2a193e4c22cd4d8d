import { z } from "zod";
import { Refusal } from "../contract/errors";
import type { Page } from "../contract/page";
import type { Caller } from "../store/tenants";

/** One endpoint of the reference: what it takes and answers, as schemas, and what it does. */
export interface Route<Query = unknown, Body = unknown, RouteResponse extends Envelope = Envelope> {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** As the reference writes it, with `{id}` for a parameter. */
  path: string;
  /** The section of the reference that it stands in. */
  section: string;
  summary: string;
  description?: string;
  /** What each path parameter is. */
  params?: Record<string, string>;
  /** Query parameters; unknown ones are ignored. */
  query?: z.ZodType<Query>;
  /** The JSON body; without one, a body that is sent is ignored. */
  body?: z.ZodType<Body>;
  /** The whole body of a success; its `status` is the HTTP status, too. Made when the service describes itself. */
  answer: () => z.ZodType<RouteResponse>;
  /** When it is refused, by status, beyond what any endpoint is refused for; and the body, where it holds more. */
  refusals?: Record<number, { when: string; body?: () => z.ZodType }>;
  /** Answers the request, or throws a {@link Refusal}. */
  handle(request: RouteRequest<Query, Body>): RouteResponse;
}

export interface RouteRequest<Query, Body> {
  caller: Caller;
  /** The moment of the request, RFC 3339. */
  at: string;
  /** Path parameters, percent-decoded. */
  params: Record<string, string>;
  query: Query;
  body: Body;
}

export interface Envelope {
  status: number;
}

/** Lets a route's handler see the types of its schemas, and lists of routes forget them. */
export function route<Query, Body, RouteResponse extends Envelope>(
  definition: Route<Query, Body, RouteResponse>,
): Route {
  return definition as unknown as Route;
}

/** The schema of a success envelope (reference, "Response envelopes"). */
export function envelope<Results extends z.ZodType, const Status extends number = 200>(
  results: Results,
  status: Status = 200 as Status,
) {
  return z.object({ status: z.literal(status), results });
}

/** The body of every error answer. */
export const errorBody = z.object({ error: z.string() }).meta({ id: "Error" });

/** A success, in its envelope. */
export function success<Results>(results: Results): { status: 200; results: Results } {
  return { status: 200, results };
}

/** A query parameter that is a positive whole number, written in digits. */
export function positiveInteger(maximum = Number.MAX_SAFE_INTEGER): z.ZodType<number> {
  const message = `must be a whole number from 1 to ${maximum}`;
  return z
    .string()
    .regex(/^\d+$/, { error: message, abort: true })
    .transform(Number)
    .pipe(z.int(message).min(1, message).max(maximum, message));
}

/** `page` of every list that has pages. */
export const pageNumber = positiveInteger().default(1).describe("1-based page index");

/** `page` and `page_size` of the settings lists (reference, "Limits"). */
export const settingsPage = {
  page: pageNumber,
  page_size: positiveInteger(200).default(50).describe("maximum 200"),
};

/** Where a page starts; past any table's end stays past it, and a number that SQLite can hold. */
export function window(query: { page: number; page_size: number }): { limit: number; offset: number } {
  return {
    limit: query.page_size,
    offset: Math.min((query.page - 1) * query.page_size, Number.MAX_SAFE_INTEGER),
  };
}

const pageMember = z.int().min(1).describe("1-based");
const totalMember = z.int().min(0).describe("total number of items");

/** The schema of the settings list envelope. */
export function settingsListOf<Item extends z.ZodType>(item: Item) {
  return envelope(
    z.object({
      items: z.array(item),
      page: pageMember,
      page_size: z.int().min(1).max(200),
      total: totalMember,
    }),
  );
}

/** The settings list envelope: the page's data stand inside `results`, with no `pagination` beside it. */
export function settingsList<Item>(query: { page: number; page_size: number }, page: Page<Item>) {
  return success({ items: page.items, page: query.page, page_size: query.page_size, total: page.total });
}

const pagination = z
  .object({
    page: pageMember,
    page_size: z.int().min(0).max(100).describe("number of items on this page"),
    total: totalMember,
  })
  .meta({ id: "Pagination" });

/** The schema of the paginated envelope of threats, phishing reports and threats_over_time. */
export function paginatedOf<Item extends z.ZodType>(item: Item) {
  return z.object({ status: z.literal(200), pagination, results: z.object({ items: z.array(item) }) });
}

/** That envelope: `pagination` beside `results`. Its `page_size` is what the reference says: what is on this page. */
export function paginated<Item>(page: number, { items, total }: Page<Item>) {
  return {
    status: 200 as const,
    pagination: { page, page_size: items.length, total },
    results: { items },
  };
}

/** A body's schema: exactly these fields, so that a misspelt one is told and not lost. */
export function body<Shape extends z.core.$ZodShape>(shape: Shape, unknownFields = "unknown field") {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys" ? `${issue.keys.join(", ")}: ${unknownFields}` : undefined,
  });
}

/**
 * Reads a value by its schema.
 *
 * @throws Refusal with status 400 that names every reason at once.
 */
export function parse<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const reasons = parsed.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : message,
  );
  throw new Refusal(400, reasons.join("; "));
}
