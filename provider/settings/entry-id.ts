/*
 * Two tenants can have an entry of the same id where a service numbers the entries of each tenant from 1. An id that was drawn at random, or
 * from a clock, is of one tenant. The service documents neither, so the ids that were read decide, all together: one of them can look like
 * anything.
 */

/** Whether ids are numbers that follow each other, so that another tenant can have the same. */
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

/** No counter has so many digits that count; a clock that is read in milliseconds, as in a snowflake, has. */
const CLOCK_DIGITS = 15;
/** So many characters hold enough of chance, if that is where they are from. */
const SHORTEST_RANDOM = 8;
const LONG = 12;
/** Among so many random characters, the most frequent one is rare. */
const MANY = 8;

function kindOfPart(part: string): Kind {
  const distinct = new Set(part).size;
  if (part.length < SHORTEST_RANDOM) return "short";
  const isUnique = /^\d+$/.test(part)
    ? part.length >= CLOCK_DIGITS && distinct >= 5
    : part.length >= LONG && distinct >= 8;
  return isUnique ? "unique" : "unclear";
}

/** Which part of the ids has, on average, the most frequent character of its place. */
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

/** Without separators and the zeros that fill up a number. */
function significantPart(id: string): string {
  return id
    .replaceAll(/[-_:.{}]/g, "")
    .replace(/^0+/, "")
    .replaceAll(/0{6,}/g, "");
}

/** Letters and digits that take turns, as they don't in a number or a word. */
function looksRandom(part: string): boolean {
  const turns = part.match(/(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[a-z\d])|(?<=\d)(?=[A-Za-z])/g) ?? [];
  return part.length >= SHORTEST_RANDOM && turns.length >= 3;
}
