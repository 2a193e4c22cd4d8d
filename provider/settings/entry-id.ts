/*
 * Two tenants can have the same entry id if a service numbers each tenant's entries from 1. Ids that are random or based on a
 * clock are unique to one tenant. The service documents neither, so this looks at all ids together: a single one could look
 * like anything.
 */

/** Whether ids are sequential numbers, so another tenant can have the same ones. */
export function areCounters(ids: readonly string[]): boolean {
  const isPrefixed = ids.every((id) => PREFIX.test(id));
  const parts = ids.map((id) => significantPart(isPrefixed ? id.replace(PREFIX, "") : id));
  const kinds = Map.groupBy(parts, kindOfPart);
  const isMost = (kind: Kind): boolean => (kinds.get(kind)?.length ?? 0) * 2 > parts.length;
  if (isMost("unique")) return false;
  if (isMost("short") || parts.length < 2) return !parts.some(looksRandom);
  return commonShare(parts) >= (parts.length < MANY ? 0.7 : 0.45);
}

type Kind = "unique" | "short" | "unclear";

/** No counter has this many significant digits, but a clock in milliseconds does, as in a snowflake id. */
const CLOCK_DIGITS = 15;
/** This many characters hold enough randomness, if they are random. */
const SHORTEST_RANDOM = 8;
const LONG = 12;
/** Among this many random characters, the most frequent one is rare. */
const MANY = 8;

function kindOfPart(part: string): Kind {
  const distinct = new Set(part).size;
  if (part.length < SHORTEST_RANDOM) return "short";
  const isUnique = /^\d+$/.test(part)
    ? part.length >= CLOCK_DIGITS && distinct >= 5
    : part.length >= LONG && distinct >= 8;
  return isUnique ? "unique" : "unclear";
}

/** Returns the average share of ids that have the most frequent character of each position. */
function commonShare(parts: readonly string[]): number {
  const length = Math.max(...parts.map((part) => part.length));
  const padded = parts.map((part) => part.padStart(length, "0"));
  let common = 0;
  for (let at = 0; at < length; at++) {
    const counts = [...Map.groupBy(padded, (part) => part[at]).values()].map((same) => same.length);
    common += Math.max(...counts) / padded.length;
  }
  return common / length;
}

const PREFIX = /^(?:\p{L}+[-_:.])+/u;

/** Returns an id without separators and leading zeros. */
function significantPart(id: string): string {
  return id
    .replaceAll(/[-_:.{}]/g, "")
    .replace(/^0+/, "")
    .replaceAll(/0{6,}/g, "");
}

/** Whether letters and digits alternate as they don't in a number or a word. */
function looksRandom(part: string): boolean {
  const turns = part.match(/(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[a-z\d])|(?<=\d)(?=[A-Za-z])/g) ?? [];
  return part.length >= SHORTEST_RANDOM && turns.length >= 3;
}
