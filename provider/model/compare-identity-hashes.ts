import { HASH_SAMPLE_SIZE, SMALL_SAMPLE_SIZE, type TenantIdentity } from "./identity-hash";

/* Compares the samples of two identities. Only tenant-identity.ts draws conclusions from the result. */

/** Compares the VIPs of two identities. Undefined if VIPs were not read on one side, or neither side has any. */
export function compareVips(
  { people: a }: TenantIdentity,
  { people: b }: TenantIdentity,
): "none" | "some" | "unequal" | undefined {
  if (a === undefined || b === undefined || a.length + b.length === 0) return undefined;
  if (a.length === 0 || b.length === 0) return "unequal";
  if (countShared(a, b) > 0) return "some";
  // A sample proves nothing about hashes after its last one.
  const last = [a, b]
    .flatMap((hashes) =>
      hashes.length === HASH_SAMPLE_SIZE || hashes.length === SMALL_SAMPLE_SIZE ? hashes.slice(-1) : [],
    )
    .sort()[0];
  const isDecided = (hash: string): boolean => last === undefined || hash <= last;
  return a.some(isDecided) && b.some(isDecided) ? "none" : "unequal";
}

type EntryHashes = Readonly<Record<"unique" | "counted", readonly string[]>>;

/**
 * Returns the entry hashes of two identities, in samples of equal size. An id counts as unique if either identity classifies it as unique. The
 * other identity may have had too few ids to tell.
 */
export function alignSamples(a: TenantIdentity, b: TenantIdentity): readonly [EntryHashes, EntryHashes] {
  const isSmall = [a, b].some(
    ({ entries, unique, counted }) =>
      unique.length <= SMALL_SAMPLE_SIZE &&
      counted.length <= SMALL_SAMPLE_SIZE &&
      entries > unique.length + counted.length,
  );
  const getEntryHashes = (identity: TenantIdentity, otherIdentity: TenantIdentity): EntryHashes => {
    const uniqueHashes = new Set(otherIdentity.unique);
    const promotedHashes = identity.counted.filter((hash) => uniqueHashes.has(hash));
    const unique = promotedHashes.length === 0 ? identity.unique : [...identity.unique, ...promotedHashes].sort();
    const counted = identity.counted.filter((hash) => !uniqueHashes.has(hash));
    return isSmall
      ? { unique: unique.slice(0, SMALL_SAMPLE_SIZE), counted: counted.slice(0, SMALL_SAMPLE_SIZE) }
      : { unique, counted };
  };
  return [getEntryHashes(a, b), getEntryHashes(b, a)];
}

export function countAllShared(a: TenantIdentity, b: TenantIdentity): number {
  return countShared(listHashes(a), listHashes(b));
}

export function listHashes({ unique, counted, people: vipHashes = [] }: TenantIdentity): readonly string[] {
  return [...unique, ...counted, ...vipHashes];
}

export function countShared(a: readonly string[], b: readonly string[]): number {
  const knownHashes = new Set(a);
  return b.filter((hash) => knownHashes.has(hash)).length;
}
