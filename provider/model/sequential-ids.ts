/*
 * Two tenants can have the same entry id if a service numbers each tenant's entries from 1. Random or clock-based ids are unique to one
 * tenant. The service doesn't document its id format. This code therefore examines all ids together, because a single id proves nothing.
 */

/** Whether the ids are sequential numbers, which other tenants can have as well. */
export function areSequentialIds(ids: readonly string[]): boolean {
  const isPrefixed = ids.every((id) => PREFIX_PATTERN.test(id));
  const parts = ids.map((id) => extractSignificantPart(isPrefixed ? id.replace(PREFIX_PATTERN, "") : id));
  const kinds = Map.groupBy(parts, classifyPart);
  const isMajority = (kind: PartKind): boolean => (kinds.get(kind)?.length ?? 0) * 2 > parts.length;
  if (isMajority("unique")) return false;
  if (isMajority("short") || parts.length < 2) return !parts.some(looksRandom);
  return computeCommonShare(parts) >= (parts.length < MANY_PARTS ? 0.7 : 0.45);
}

type PartKind = "unique" | "short" | "unclear";

/** No counter has this many significant digits, but a clock in milliseconds does, for example in a snowflake id. */
const CLOCK_DIGITS = 15;
/** The minimum length at which a random-looking part has enough entropy. */
const MIN_RANDOM_LENGTH = 8;
const MIN_UNIQUE_LENGTH = 12;
/** With this many random parts, the most frequent character of each position is rare. */
const MANY_PARTS = 8;

function classifyPart(part: string): PartKind {
  const distinct = new Set(part).size;
  if (part.length < MIN_RANDOM_LENGTH) return "short";
  const isUnique = /^\d+$/.test(part)
    ? part.length >= CLOCK_DIGITS && distinct >= 5
    : part.length >= MIN_UNIQUE_LENGTH && distinct >= 8;
  return isUnique ? "unique" : "unclear";
}

/** Returns the average frequency of the most common character in each position. */
function computeCommonShare(parts: readonly string[]): number {
  const length = Math.max(...parts.map((part) => part.length));
  const padded = parts.map((part) => part.padStart(length, "0"));
  let commonTotal = 0;
  for (let position = 0; position < length; position++) {
    const counts = [...Map.groupBy(padded, (part) => part[position]).values()].map((group) => group.length);
    commonTotal += Math.max(...counts) / padded.length;
  }
  return commonTotal / length;
}

const PREFIX_PATTERN = /^(?:\p{L}+[-_:.])+/u;

/** Removes separators, leading zeros and long runs of zeros, which only pad a number. */
function extractSignificantPart(id: string): string {
  return id
    .replaceAll(/[-_:.{}]/g, "")
    .replace(/^0+/, "")
    .replaceAll(/0{6,}/g, "");
}

/** Whether letters and digits alternate more than in a number or a word. */
function looksRandom(part: string): boolean {
  const transitions = part.match(/(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[a-z\d])|(?<=\d)(?=[A-Za-z])/g) ?? [];
  return part.length >= MIN_RANDOM_LENGTH && transitions.length >= 3;
}
