import { z } from "zod";
import { Refusal } from "./errors";
import type { Caller } from "./store/tenants";

/** One endpoint of the reference: what it takes, as schemas, and what it does. */
export interface Route<Query = unknown, Body = unknown> {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** As the reference writes it, with `{id}` for a parameter. */
  path: string;
  summary: string;
  /** Query parameters; unknown ones are ignored. */
  query?: z.ZodType<Query>;
  /** The JSON body; without one, a body that is sent is ignored. */
  body?: z.ZodType<Body>;
  /** Answers the request, or throws a {@link Refusal}. */
  handle(request: RouteRequest<Query, Body>): RouteAnswer;
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

/** A success; the body is `{ status, ...body }` (reference, "Response envelopes"). */
export interface RouteAnswer {
  status: number;
  body: Record<string, unknown>;
}

/** Lets a route's handler see the types of its schemas, and lists of routes forget them. */
export function route<Query, Body>(definition: Route<Query, Body>): Route {
  return definition as Route;
}

/** The success envelope. */
export function success(results: unknown, status = 200): RouteAnswer {
  return { status, body: { results } };
}

/** A query parameter that is a positive whole number, written in digits. */
export function positiveInteger(maximum: number): z.ZodType<number> {
  const message = `must be a whole number from 1 to ${maximum}`;
  return z
    .string()
    .regex(/^\d+$/, { error: message, abort: true })
    .transform(Number)
    .pipe(z.number().min(1, message).max(maximum, message));
}

/** `page` and `page_size` of the settings lists (reference, "Limits"). */
export const settingsPage = {
  page: positiveInteger(Number.MAX_SAFE_INTEGER).default(1),
  page_size: positiveInteger(200).default(50),
};

export interface Page<Item> {
  items: Item[];
  total: number;
}

/** Where a page starts; past any table's end stays past it, and a number that SQLite can hold. */
export function window(query: { page: number; page_size: number }): { limit: number; offset: number } {
  return {
    limit: query.page_size,
    offset: Math.min((query.page - 1) * query.page_size, Number.MAX_SAFE_INTEGER),
  };
}

/** The settings list envelope: the page's data stand inside `results`, with no `pagination` beside it. */
export function settingsList(query: { page: number; page_size: number }, page: Page<unknown>): RouteAnswer {
  return success({ items: page.items, page: query.page, page_size: query.page_size, total: page.total });
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
