import * as crypto from "node:crypto";

/*
 * If a row is much older than an earlier snapshot, but that snapshot lacks it, the row belongs to another tenant. Only times of the service's
 * clock are compared. Rows without a creation date with a time zone are ignored.
 */

/** The dated rows of a snapshot, and the time of the snapshot. This is plain data of bounded size, stored with an identity. */
export interface RowHistory {
  /** A time by the service's clock, not after the snapshot began; ISO 8601, UTC. */
  readonly at: string;
  /** A bit set with one bit per hashed row, as base64url. Its size in bytes is a power of two. Rows can share a bit. */
  readonly rows: string;
  /** The oldest rows. Each has its hash and its creation time in seconds, both in base 36. */
  readonly oldest: readonly string[];
  /**
   * The smallest hashes of rows in ascending order, four bytes each, as base64url. The snapshot has no other row with a smaller hash than the
   * last one, however many rows it has. Absent in snapshots of an earlier release.
   */
  readonly smallest?: string;
  /** The creation times of these rows in seconds, in the same form. Absent in a shrunk history. */
  readonly smallestAt?: string;
}

interface DatedRow {
  readonly id: string;
  readonly created_at?: string | null | undefined;
}

/** The maximum difference between the clocks of one service. */
const CLOCK_SKEW_S = 10 * 60;
const MAX_OLDEST = 16;
const MAX_SMALLEST = 64;
/** The last hash of a history that holds all rows. */
const MAX_HASH = 0xffff_ffff;
const MIN_BYTES = 32;
const MAX_BYTES = 1_024;
/** With this many bits per row, most rows of another tenant hit an unset bit. */
const BITS_PER_ROW = 16;

export class RowHistoryBuilder {
  readonly #hashes: number[] = [];
  #oldest: (readonly [second: number, hash: number])[] = [];
  #smallest: (readonly [hash: number, second: number])[] = [];
  #newestS: number | undefined;
  #hasUndatedRows = false;

  add({ id, created_at: createdAt }: DatedRow): void {
    const second = parseSecond(createdAt);
    if (second === undefined) {
      this.#hasUndatedRows = true;
      return;
    }
    const hash = crypto.hash("sha256", `${second} ${id}`, "buffer").readUInt32BE(0);
    this.#hashes.push(hash);
    this.#newestS = Math.max(this.#newestS ?? second, second);
    this.#oldest.push([second, hash]);
    if (this.#oldest.length >= MAX_OLDEST * 8) this.#trimOldest();
    this.#smallest.push([hash, second]);
    if (this.#smallest.length >= MAX_SMALLEST * 8) this.#trimSmallest();
  }

  /**
   * Returns the collected history. Undefined if all rows lack a date, or if the time of the snapshot is unknown.
   *
   * @param serviceTimeMs the service's clock when the snapshot began. Default: the newest creation date, which can't be later.
   */
  build(serviceTimeMs: number | undefined): RowHistory | undefined {
    if (this.#hashes.length === 0 && this.#hasUndatedRows) return undefined;
    const atMs = serviceTimeMs ?? (this.#newestS === undefined ? undefined : this.#newestS * 1_000);
    if (atMs === undefined) return undefined;
    this.#trimOldest();
    this.#trimSmallest();
    const isComplete = this.#smallest.length < MAX_SMALLEST;
    const smallest = isComplete ? [...this.#smallest, [MAX_HASH, 0] as const] : this.#smallest;
    return {
      at: new Date(atMs).toISOString(),
      rows: buildBitSet(this.#hashes).toString("base64url"),
      oldest: this.#oldest.map(([second, hash]) => `${hash.toString(36)}:${second.toString(36)}`),
      smallest: encodeNumbers(smallest.map(([hash]) => hash)),
      smallestAt: encodeNumbers(smallest.map(([, second]) => second)),
    };
  }

  #trimSmallest(): void {
    this.#smallest = [...new Map(this.#smallest)].sort(([a], [b]) => a - b).slice(0, MAX_SMALLEST);
  }

  #trimOldest(): void {
    this.#oldest = this.#oldest.toSorted(([a], [b]) => a - b).slice(0, MAX_OLDEST);
  }
}

/**
 * Counts the rows of another tenant: old rows that an earlier snapshot of the same tenant would contain, but doesn't. The count covers only
 * the oldest rows.
 *
 * @returns 0 if the earlier snapshot may contain some of them.
 */
export function countForeignRows(current: RowHistory, earlier: RowHistory): number {
  const latestS = Date.parse(earlier.at) / 1_000 - CLOCK_SKEW_S;
  const isOld = ([, second = Number.NaN]: readonly number[]): boolean => second < latestS;
  const bits = Buffer.from(earlier.rows, "base64url");
  const oldest = current.oldest.map((text) => text.split(":").map((part) => Number.parseInt(part, 36)));
  const old = oldest.filter(isOld);
  const known = decodeNumbers(earlier.smallest);
  const seconds = decodeNumbers(current.smallestAt);
  const smallest = decodeNumbers(current.smallest).map((hash, index) => [hash, seconds[index] ?? Number.NaN]);
  const bound = known.at(-1) ?? -1;
  const decided = [...oldest, ...smallest].filter((row) => isOld(row) && (row[0] ?? MAX_HASH) < bound);
  // Below this bound, the earlier snapshot has only these hashes, however full its bit set is.
  const knownHashes = new Set(known);
  if (decided.length > 0) return decided.some(([hash = 0]) => knownHashes.has(hash)) ? 0 : old.length;
  const missedCount = old.filter(([hash = 0]) => !hasBit(bits, hash)).length;
  // An earlier snapshot lacks all rows of another tenant, except those that share a bit by chance.
  const expected = old.length * (1 - computeBitShare(bits));
  return missedCount > 0 && missedCount * 2 >= expected ? old.length : 0;
}

/** Whether {@link countForeignRows} may have reached its limit, so that there can be more rows. */
export function isCountTruncated({ oldest }: RowHistory): boolean {
  return oldest.length >= MAX_OLDEST;
}

/** Shrinks a history to a maximum number of bytes, for later comparisons. Rows share more bits, and the oldest rows are omitted. */
export function shrinkHistory({ at, rows, smallest }: RowHistory, maxBytes: number): RowHistory {
  let bits = Buffer.from(rows, "base64url");
  while (bits.length > maxBytes) {
    const half = bits.length / 2;
    const [first, second] = [bits.subarray(0, half), bits.subarray(half)];
    bits = Buffer.from(first.map((byte, index) => byte | (second[index] ?? 0)));
  }
  return {
    at,
    rows: bits.toString("base64url"),
    oldest: [],
    ...(smallest === undefined ? {} : { smallest }),
  };
}

function encodeNumbers(numbers: readonly number[]): string {
  const bytes = Buffer.alloc(numbers.length * 4);
  for (const [index, number] of numbers.entries()) bytes.writeUInt32BE(Math.max(0, number), index * 4);
  return bytes.toString("base64url");
}

function decodeNumbers(text = ""): readonly number[] {
  const bytes = Buffer.from(text, "base64url");
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readUInt32BE(index * 4));
}

function buildBitSet(hashes: readonly number[]): Buffer {
  const desiredBytes = 2 ** Math.ceil(Math.log2(Math.max(1, (hashes.length * BITS_PER_ROW) / 8)));
  const bits = Buffer.alloc(Math.min(MAX_BYTES, Math.max(MIN_BYTES, desiredBytes)));
  for (const hash of hashes) {
    const index = hash % (bits.length * 8);
    bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
  }
  return bits;
}

function hasBit(bits: Buffer, hash: number): boolean {
  const index = hash % (bits.length * 8);
  return ((bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
}

function computeBitShare(bits: Buffer): number {
  let setBits = 0;
  for (const byte of bits) for (let remaining = byte; remaining > 0; remaining &= remaining - 1) setBits += 1;
  return setBits / (bits.length * 8);
}

/** Parses a date with a time zone to seconds. Undefined for any other date. */
function parseSecond(text: string | null | undefined): number | undefined {
  if (text == null || !/\d[Tt ]\d.*(?:[Zz]|[+-]\d\d:?\d\d)$/.test(text)) return undefined;
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : Math.floor(timeMs / 1_000);
}
