import { z } from "zod";
import { ItemCounter } from "../skipped-items";
import { SourceError, type SourceItem } from "../source-content";
import { type ParsedFeed, parseFeedJson } from "./json-feed";

const flagSchema = z.union([z.boolean(), z.string(), z.number()]);

const attributeSchema = z.object({
  type: z.string(),
  value: z.union([z.string(), z.number().transform(String)]),
  to_ids: flagSchema.optional(),
  deleted: flagSchema.optional(),
});

const attributesSchema = z.array(attributeSchema);

const eventSchema = z.object({
  info: z.string().nullish(),
  timestamp: z.union([z.string(), z.number()]).nullish(),
  Attribute: attributesSchema.nullish(),
  Object: z.array(z.object({ Attribute: attributesSchema.nullish(), deleted: flagSchema.nullish() })).nullish(),
});

const wrappedEventSchema = z.object({ Event: eventSchema });

/** The answers of MISP: one event, a list of events, the result of a search, and the result of a search for attributes. */
const feedSchema = z.union([
  wrappedEventSchema.transform((item) => [item]),
  z.array(wrappedEventSchema),
  z.object({ response: z.array(wrappedEventSchema) }).transform(({ response }) => response),
  z
    .object({ response: z.object({ Attribute: attributesSchema }) })
    .transform(({ response }) => [{ Event: { Attribute: response.Attribute } as z.infer<typeof eventSchema> }]),
]);

/** The attribute types with a value that an entry can have. The value is before a `|`. */
const VALUE_TYPES: ReadonlySet<string> = new Set([
  ...["domain", "hostname", "ip-src", "ip-dst", "email", "email-src", "email-reply-to", "url", "uri"],
  ...["domain|ip", "ip-src|port", "ip-dst|port", "hostname|port"],
]);

/**
 * Parses MISP events. Only attributes that are meant for detection (`to_ids`) are items.
 *
 * @throws {SourceError} if the text isn't a complete answer of MISP.
 */
export function parseMispFeed(text: string, name: string): ParsedFeed {
  const feed = feedSchema.safeParse(parseFeedJson(text, name));
  if (!feed.success)
    throw new SourceError(`The source ${name} can't be read. Its response isn't a list of MISP events.`);
  const items: SourceItem[] = [];
  const skipped = new ItemCounter();
  for (const { Event: event } of feed.data) {
    // The attributes of a deleted object aren't marked themselves.
    const objects = (event.Object ?? []).filter(({ deleted }) => !isTrue(deleted));
    const attributes = [event, ...objects].flatMap(({ Attribute }) => Attribute ?? []);
    for (const { type, value, to_ids: isIndicator, deleted } of attributes) {
      if (isTrue(deleted)) continue;
      if (!VALUE_TYPES.has(type)) skipped.add(`has the type ${type}, which an entry can't express`, value);
      else if (!isTrue(isIndicator)) skipped.add("isn't meant for detection (to_ids)", value);
      else items.push({ value: value.split("|", 1)[0] ?? "", ...(event.info ? { name: event.info } : {}) });
    }
  }
  // With several events, the newest one may be removed from the feed.
  const [onlyEvent, secondEvent] = feed.data;
  const seconds = secondEvent === undefined ? Number(onlyEvent?.Event.timestamp ?? Number.NaN) : Number.NaN;
  const isTime = Number.isFinite(seconds) && seconds > 0 && seconds < 1e11;
  return {
    items,
    skipped: skipped.list(),
    ...(isTime ? { published: new Date(seconds * 1_000).toISOString() } : {}),
  };
}

function isTrue(flag: boolean | string | number | null | undefined): boolean {
  return flag === true || flag === 1 || flag === "1";
}
