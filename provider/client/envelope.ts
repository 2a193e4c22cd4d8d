import { z } from "zod";
import { arrayOf, optionalCount } from "./fields";
import type { Page } from "./schemas";

/*
 * The shapes of the reference's section "Response envelopes". An endpoint's answer is of exactly one; which one came
 * is looked at before its content is, so that a mix-up is told as what it is.
 */

/** How an endpoint wraps what it answers. */
export type Envelope = "object" | "array" | "items" | "settings-page" | "paginated";

/** What is wrong with the envelope of a body, or undefined when it is the expected one. */
export function envelopeMismatch(expected: Envelope, body: unknown): string | undefined {
  if (!isRecord(body)) return undefined;
  if (!("results" in body)) {
    return typeof body["error"] === "string" ? "it holds `error` instead of `results`" : undefined;
  }
  const { results, pagination } = body;
  if (expected === "array") {
    return isRecord(results) ? "`results` is an object where the reference has an array" : undefined;
  }
  if (Array.isArray(results)) return "`results` is an array where the reference has an object";
  if (!isRecord(results)) return undefined;
  if (expected === "object" && Array.isArray(results["items"])) {
    return "`results` is a list of `items` where the reference has one object";
  }
  if (expected === "items") {
    if (isRecord(pagination)) {
      return "page data stands beside `results`, in `pagination`, where the reference has none";
    }
    return "total" in results ? "page data stands inside `results` where the reference has none" : undefined;
  }
  if (expected === "settings-page" && isRecord(pagination) && !("total" in results)) {
    return "the page data stands beside `results`, in `pagination`, where the reference has it inside";
  }
  if (expected === "paginated" && !isRecord(pagination) && "total" in results) {
    return "the page data stands inside `results` where the reference has it beside, in `pagination`";
  }
  // A list whose end nothing tells is the envelope of the top five. Numbers may be null; all of them missing is none.
  if (!Array.isArray(results["items"])) return undefined;
  if (expected === "settings-page" && !holdsPageData(results)) {
    return "`results` comes without page data where the reference has it inside";
  }
  if (expected === "paginated" && (pagination ?? undefined) === undefined) {
    return "`results` comes without page data where the reference has it beside, in `pagination`";
  }
  if (expected === "paginated" && isRecord(pagination) && !holdsPageData(pagination)) {
    return "`pagination` beside `results` is without page data where the reference has it there";
  }
  return undefined;
}

function holdsPageData(record: Record<string, unknown>): boolean {
  return ["page", "page_size", "total"].some((name) => Object.hasOwn(record, name));
}

/** What stands under `results`. */
export function resultsOf<T extends z.ZodType>(results: T): z.ZodType<z.output<T>> {
  return z.object({ results }).transform((body) => (body as { results: z.output<T> }).results);
}

/** The items under `results.items`, without page data. */
export function itemsOf<T extends z.ZodType>(item: T): z.ZodType<z.output<T>[]> {
  return resultsOf(z.object({ items: arrayOf(item) })).transform(
    (results) => (results as { items: z.output<T>[] }).items,
  );
}

/** A page of the VIP list or the allow/deny list: page data inside `results`. */
export function settingsPageOf<T extends z.ZodType>(item: T): z.ZodType<Page<z.output<T>>> {
  const results = z.object({
    items: arrayOf(item),
    page: optionalCount,
    page_size: optionalCount,
    total: optionalCount,
  });
  return resultsOf(results).transform((page) => page as Page<z.output<T>>);
}

/** A page of threats, phishing reports or days: page data beside `results`, in `pagination`. */
export function paginatedOf<T extends z.ZodType>(item: T): z.ZodType<Page<z.output<T>>> {
  const pagination = z.object({ page: optionalCount, page_size: optionalCount, total: optionalCount });
  return z
    .object({ pagination, results: z.object({ items: arrayOf(item) }) })
    .transform((body): Page<z.output<T>> => {
      const { results, ...rest } = body as unknown as {
        results: { items: z.output<T>[] };
        pagination: Omit<Page<unknown>, "items">;
      };
      return { items: results.items, ...rest.pagination };
    });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
