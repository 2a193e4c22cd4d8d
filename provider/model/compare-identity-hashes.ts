import { HASH_SAMPLE_SIZE, SMALL_SAMPLE_SIZE, type TenantIdentity } from "./identity-hash";

/* Compares the samples of two identities. Only tenant-identity.ts draws conclusions from the result. */

/** Compares the VIPs of two identities. Undefined if VIPs were not read on one side, or neither side has any. */
export function compareVips(
  { people: one }: TenantIdentity,
  { people: other }: TenantIdentity,
): "none" | "some" | "unequal" | undefined {
  if (one === undefined || other === undefined || one.length + other.length === 0) return undefined;
  if (one.length === 0 || other.length === 0) return "unequal";
  if (countShared(one, other) > 0) return "some";
  // A sample proves nothing about hashes after its last one.
  const last = [one, other]
    .flatMap((hashes) =>
      hashes.length === HASH_SAMPLE_SIZE || hashes.length === SMALL_SAMPLE_SIZE ? hashes.slice(-1) : [],
    )
    .sort()[0];
  const isDecided = (hash: string): boolean => last === undefined || hash <= last;
  return one.some(isDecided) && other.some(isDecided) ? "none" : "unequal";
}

type EntryHashes = Readonly<Record<"unique" | "counted", readonly string[]>>;

/**
 * Returns the entry hashes of two identities, in samples of equal size. An id counts as unique if either identity classifies it as unique. The
 * other identity may have had too few ids to tell.
 */
export function alignSamples(one: TenantIdentity, other: TenantIdentity): readonly [EntryHashes, EntryHashes] {
  const isSmall = [one, other].some(
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
  return [getEntryHashes(one, other), getEntryHashes(other, one)];
}

export function countAllShared(one: TenantIdentity, other: TenantIdentity): number {
  return countShared(listHashes(one), listHashes(other));
}

export function listHashes({ unique, counted, people: vipHashes = [] }: TenantIdentity): readonly string[] {
  return [...unique, ...counted, ...vipHashes];
}

export function countShared(one: readonly string[], other: readonly string[]): number {
  const knownHashes = new Set(one);
  return other.filter((hash) => knownHashes.has(hash)).length;
}
