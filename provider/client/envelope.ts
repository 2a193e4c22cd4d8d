import { z } from "zod";
import { SETTINGS_PAGE_SIZE } from "../model/assumptions";
import { quote } from "../model/text";
import { buildArraySchema, optionalCountSchema } from "./schema-fields";
import type { Page } from "./schemas";

/*
 * The response envelopes of the reference, section "Response envelopes". Each endpoint uses exactly one. The envelope
 * is checked before its content, so that a mix-up gets its own message.
 */

/** The envelope of an endpoint's response. */
export type EnvelopeKind = "object" | "array" | "items" | "settings-page" | "paginated";

/**
 * The maximum number of items in one response. It is far above the requested page size (at most 200, or 5 for the top
 * lists), so that services that return whole lists also work.
 */
export const MAX_RESPONSE_ITEMS: Readonly<Record<"items" | "others", number>> = { items: 100, others: 50_000 };

/** Returns a problem if a response has too many items, before they are processed. */
export function describeItemExcess(envelope: EnvelopeKind, body: unknown): string | undefined {
  const results = isRecord(body) ? body["results"] : undefined;
  const items = isRecord(results) ? results["items"] : results;
  const limit = envelope === "items" ? MAX_RESPONSE_ITEMS.items : MAX_RESPONSE_ITEMS.others;
  if (!Array.isArray(items) || items.length <= limit) return undefined;
  const expectation = envelope === "items" ? "the reference has at most 5" : `a page has at most ${SETTINGS_PAGE_SIZE}`;
  return `it lists ${items.length} items, but ${expectation}; the client reads at most ${limit}`;
}

/** Returns what is wrong with the envelope of a body; undefined if it is the expected one. */
export function describeEnvelopeMismatch(expected: EnvelopeKind, body: unknown): string | undefined {
  if (!isRecord(body)) return undefined;
  return findBodyFailure(body) ?? describeShapeMismatch(expected, body);
}

/**
 * Returns the failure that a body reports despite a success status. The rest of such a body, such as an empty list, is
 * meaningless.
 */
function findBodyFailure(body: Record<string, unknown>): string | undefined {
  const { status, error, results } = body;
  if (!("results" in body)) {
    return typeof error === "string" ? "it has `error` instead of `results`" : undefined;
  }
  if (isFailureStatus(status)) return `the \`status\` in its body is ${quote(status, 40)}`;
  if (isNonEmpty(error)) return "it has `error` in addition to `results`";
  return isRecord(results) && isNonEmpty(results["error"]) ? "it has `error` inside `results`" : undefined;
}

/**
 * Returns whether a body's own status means failure. The reference defines it as an integer, but a text may mean
 * success.
 */
function isFailureStatus(status: unknown): boolean {
  if (status === undefined || status === null) return false;
  if (typeof status === "string" && Number.isNaN(Number(status))) return /err|fail|unavailable/i.test(status);
  return !(Number(status) >= 200 && Number(status) <= 299);
}

/** Returns whether an optional field has content. */
function isNonEmpty(value: unknown): boolean {
  if (typeof value === "string") return value.trim() !== "";
  if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function describeShapeMismatch(expected: EnvelopeKind, body: Record<string, unknown>): string | undefined {
  if (!("results" in body)) return undefined;
  const { results, pagination } = body;
  if (expected === "array") {
    return isRecord(results) ? "`results` is an object, but the reference has an array" : undefined;
  }
  if (Array.isArray(results)) return "`results` is an array, but the reference has an object";
  if (!isRecord(results)) return undefined;
  if (expected === "object" && Array.isArray(results["items"])) {
    return "`results` is a list of `items`, but the reference has a single object";
  }
  if (expected === "items") {
    if (isRecord(pagination)) {
      return "the page data is in `pagination`, outside `results`, but the reference has no page data";
    }
    return "total" in results ? "the page data is inside `results`, but the reference has no page data" : undefined;
  }
  if (expected === "settings-page" && isRecord(pagination) && !("total" in results)) {
    return "the page data is in `pagination`, outside `results`, but the reference has it inside";
  }
  if (expected === "paginated" && !isRecord(pagination) && "total" in results) {
    return "the page data is inside `results`, but the reference has it outside, in `pagination`";
  }
  if (isRecord(pagination) && isCount(pagination["total"]) && isCount(results["total"])) {
    if (pagination["total"] !== results["total"]) return "its two totals, inside and outside `results`, are different";
  }
  // A list without page data has the envelope of the top five. Its numbers may be null, but not all missing.
  if (!Array.isArray(results["items"])) return undefined;
  if (expected === "settings-page" && !holdsPageData(results)) {
    return "`results` has no page data, but the reference has it inside";
  }
  if (expected === "paginated" && (pagination ?? undefined) === undefined) {
    return "there is no page data, but the reference has it outside `results`, in `pagination`";
  }
  if (expected === "paginated" && isRecord(pagination) && !holdsPageData(pagination)) {
    return "`pagination`, outside `results`, has no page data, but the reference has it there";
  }
  return undefined;
}

function isCount(value: unknown): value is number {
  return typeof value === "number";
}

function holdsPageData(record: Record<string, unknown>): boolean {
  return ["page", "page_size", "total"].some((name) => Object.hasOwn(record, name));
}

/** Wraps a schema as the content of `results`. */
export function buildResultsSchema<T extends z.ZodType>(results: T): z.ZodType<z.output<T>> {
  return memoizeSchema(buildResultsSchema, results, () =>
    z.object({ results }).transform((body) => (body as { results: z.output<T> }).results),
  );
}

/** Wraps an item schema as `results.items`, without page data. */
export function buildItemsSchema<T extends z.ZodType>(item: T): z.ZodType<z.output<T>[]> {
  return memoizeSchema(buildItemsSchema, item, () =>
    buildResultsSchema(z.object({ items: buildArraySchema(item) })).transform(
      (results) => (results as { items: z.output<T>[] }).items,
    ),
  );
}

/** Wraps an item schema as a page of the VIP list or the allow/deny list: page data inside `results`. */
export function buildSettingsPageSchema<T extends z.ZodType>(item: T): z.ZodType<Page<z.output<T>>> {
  return memoizeSchema(buildSettingsPageSchema, item, () => {
    const results = z.object({
      items: buildArraySchema(item).nullable(),
      page: optionalCountSchema,
      page_size: optionalCountSchema,
      total: optionalCountSchema,
    });
    return buildResultsSchema(results).transform((page, context) =>
      requireItems(page as NullablePage<z.output<T>>, context),
    );
  });
}

/**
 * Wraps an item schema as a page of threats, phishing reports or days: page data next to `results`, in `pagination`.
 */
export function buildPageSchema<T extends z.ZodType>(item: T): z.ZodType<Page<z.output<T>>> {
  return memoizeSchema(buildPageSchema, item, () => {
    const pagination = z.object({
      page: optionalCountSchema,
      page_size: optionalCountSchema,
      total: optionalCountSchema,
    });
    return z
      .object({ pagination, results: z.object({ items: buildArraySchema(item).nullable() }) })
      .transform((body, context): Page<z.output<T>> => {
        const { results, ...rest } = body as unknown as {
          results: { items: z.output<T>[] | null };
          pagination: Omit<Page<unknown>, "items">;
        };
        return requireItems({ items: results.items, ...rest.pagination }, context);
      });
  });
}

/** Memoized schemas, by factory and argument. */
const schemaCache = new WeakMap<object, WeakMap<z.ZodType, unknown>>();

/** Creating and compiling a schema takes several times as long as parsing a response with it. */
function memoizeSchema<Schema>(factory: object, argument: z.ZodType, create: () => Schema): Schema {
  const cachedSchemas = schemaCache.get(factory) ?? new WeakMap<z.ZodType, unknown>();
  schemaCache.set(factory, cachedSchemas);
  const cached = cachedSchemas.get(argument) as Schema | undefined;
  if (cached !== undefined) return cached;
  const shape = create();
  cachedSchemas.set(argument, shape);
  return shape;
}

type NullablePage<Item> = Omit<Page<Item>, "items"> & { readonly items: readonly Item[] | null };

/** Some services send an empty list as `null`; its total must then be 0. */
function requireItems<Item>({ items, ...page }: NullablePage<Item>, context: z.RefinementCtx): Page<Item> {
  if (items !== null) return { items, ...page };
  if (page.total === 0) return { items: [], ...page };
  context.addIssue({
    code: "custom",
    path: ["results", "items"],
    message: "Invalid input: expected array, received null",
  });
  return z.NEVER;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
