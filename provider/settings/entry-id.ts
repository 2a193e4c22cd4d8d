/*
 * Two tenants can have the same entry id if a service numbers each tenant's entries from 1. Ids that are random or based on a
 * clock are unique to one tenant. The service documents neither, so this looks at all ids together: a single one could look
 * like anything.
 */

/** Whether ids are sequential numbers, so another tenant can have the same ones. */
export function areCounters(ids: readonly string[]): boolean {
  const isPrefixed = ids.every((id) => PREFIX_PATTERN.test(id));
  const parts = ids.map((id) => extractSignificantPart(isPrefixed ? id.replace(PREFIX_PATTERN, "") : id));
  const kinds = Map.groupBy(parts, classifyPart);
  const isMajority = (kind: PartKind): boolean => (kinds.get(kind)?.length ?? 0) * 2 > parts.length;
  if (isMajority("unique")) return false;
  if (isMajority("short") || parts.length < 2) return !parts.some(looksRandom);
  return computeCommonShare(parts) >= (parts.length < MANY_PARTS ? 0.7 : 0.45);
}

type PartKind = "unique" | "short" | "unclear";

/** No counter has this many significant digits, but a clock in milliseconds does, as in a snowflake id. */
const CLOCK_DIGITS = 15;
/** So many characters hold enough of chance, if that is where they are from. */
const MIN_RANDOM_LENGTH = 8;
const MIN_UNIQUE_LENGTH = 12;
/** Among so many random characters, the most frequent one is rare. */
const MANY_PARTS = 8;

function classifyPart(part: string): PartKind {
  const distinct = new Set(part).size;
  if (part.length < MIN_RANDOM_LENGTH) return "short";
  const isUnique = /^\d+$/.test(part)
    ? part.length >= CLOCK_DIGITS && distinct >= 5
    : part.length >= MIN_UNIQUE_LENGTH && distinct >= 8;
  return isUnique ? "unique" : "unclear";
}

/** Which part of the ids has, on average, the most frequent character of its place. */
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

/** Without separators and the zeros that fill up a number. */
function extractSignificantPart(id: string): string {
  return id
    .replaceAll(/[-_:.{}]/g, "")
    .replace(/^0+/, "")
    .replaceAll(/0{6,}/g, "");
}

/** Whether letters and digits alternate as they don't in a number or a word. */
function looksRandom(part: string): boolean {
  const transitions = part.match(/(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[a-z\d])|(?<=\d)(?=[A-Za-z])/g) ?? [];
  return part.length >= MIN_RANDOM_LENGTH && transitions.length >= 3;
}
