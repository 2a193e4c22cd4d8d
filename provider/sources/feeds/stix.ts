import { z } from "zod";
import { ItemCounter } from "../skipped-items";
import { SourceError, type SourceItem } from "../source-content";
import { type ParsedFeed, parseFeedJson } from "./json-feed";
import { parseStixPattern } from "./stix-pattern";

const bundleSchema = z.object({
  type: z.string().optional(),
  objects: z.array(z.unknown()).optional(),
  more: z.boolean().optional(),
});

const versionSchema = z.object({ id: z.string(), modified: z.string() });

const indicatorSchema = z.object({
  type: z.literal("indicator"),
  name: z.string().optional(),
  pattern: z.string(),
  pattern_type: z.string().optional(),
  indicator_types: z.array(z.string()).optional(),
  revoked: z.boolean().optional(),
  valid_from: z.string().optional(),
  valid_until: z.string().optional(),
});

/**
 * Parses the indicators of a STIX 2.1 bundle, or of an envelope of a TAXII 2.1 collection.
 *
 * @param now the time at which indicators have to be valid, in milliseconds since 1970.
 * @throws {SourceError} if the text isn't a complete bundle.
 */
export function parseStixFeed(text: string, name: string, now: number): ParsedFeed {
  const bundle = bundleSchema.safeParse(parseFeedJson(text, name));
  if (!bundle.success || (bundle.data.objects === undefined && bundle.data.type !== "bundle")) {
    throw new SourceError(`The source ${name} can't be read. Its response isn't a STIX bundle.`);
  }
  if (bundle.data.more === true) {
    throw new SourceError(
      `The source ${name} can't be read. Its response is only the first page of a TAXII collection. Set a larger \`limit\` in the address.`,
    );
  }
  const items: SourceItem[] = [];
  const skipped = new ItemCounter();
  let dependsOnDay = false;
  for (const object of selectNewestVersions(bundle.data.objects ?? [])) {
    const parsed = indicatorSchema.safeParse(object);
    if (!parsed.success) {
      if ((object as { type?: unknown } | null)?.type === "indicator") skipped.add("isn't a valid indicator", "");
      continue;
    }
    const { pattern, pattern_type: patternType = "stix", revoked, valid_from: from, valid_until: until } = parsed.data;
    const values = patternType === "stix" ? parseStixPattern(pattern) : undefined;
    dependsOnDay ||= [from, until].some((time) => time !== undefined && Date.parse(time) > now);
    if ([from, until].some((time) => time !== undefined && Number.isNaN(Date.parse(time)))) {
      skipped.add("has an invalid date", pattern);
      continue;
    }
    if (revoked === true) skipped.add("is revoked", pattern);
    else if (parsed.data.indicator_types?.includes("benign") === true) skipped.add("is benign", pattern);
    else if (from !== undefined && Date.parse(from) > now) skipped.add("isn't valid yet", pattern);
    else if (until !== undefined && Date.parse(until) <= now) skipped.add("is no longer valid", pattern);
    else if (values === undefined) skipped.add("has a pattern that an entry can't express", pattern);
    else {
      const { name: indicatorName } = parsed.data;
      for (const value of values) {
        if (value === undefined) skipped.add("is an alternative of a pattern that an entry can't express", pattern);
        else items.push({ value, ...(indicatorName === undefined ? {} : { name: indicatorName }) });
      }
    }
  }
  return { items, skipped: skipped.list(), dependsOnDay };
}

/** Returns the newest version of each object, because a bundle may contain several and revoke only the newest one. */
function selectNewestVersions(objects: readonly unknown[]): readonly unknown[] {
  const newestTimes = new Map<string, number>();
  const versions = objects.map((object) => {
    const { id = "", modified = "" } = versionSchema.safeParse(object).data ?? {};
    const time = Date.parse(modified);
    if (time > (newestTimes.get(id) ?? Number.NEGATIVE_INFINITY)) newestTimes.set(id, time);
    return { object, id, time };
  });
  return versions.flatMap(({ object, id, time }) => (time < (newestTimes.get(id) ?? time) ? [] : [object]));
}
