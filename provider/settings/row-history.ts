import * as crypto from "node:crypto";

/*
 * A row that was created well before an earlier reading, and that the earlier reading doesn't have, is a row of another tenant. Dates are
 * compared by the service's clock alone. A row that the service gives no date with a time zone says nothing.
 */

/** The dated rows of a reading, and when it was made. Plain data of a bounded size: it is kept with an identity. */
export interface RowHistory {
  /** A time by the service's clock at which the reading had not begun yet, or had just begun; ISO 8601, UTC. */
  readonly at: string;
  /** A set with a bit for each row's hash; base64url of a power of two of bytes. Rows can share a bit. */
  readonly rows: string;
  /** The rows that were created first, each as its hash and the second of its creation, both in base 36. */
  readonly oldest: readonly string[];
}

/** The fields of a row that date it. */
interface DatedRow {
  readonly id: string;
  readonly created_at?: string | null | undefined;
}

/** How much the clocks of a service may differ among themselves. */
const CLOCK_SKEW_S = 10 * 60;
const MAX_OLDEST = 16;
const MIN_BYTES = 32;
const MAX_BYTES = 1_024;
/** With so many bits a row, most rows of another tenant have a bit of their own. */
const BITS_PER_ROW = 16;

/** Collects the rows of one reading. */
export class RowHistoryReader {
  readonly #hashes: number[] = [];
  #oldest: (readonly [second: number, hash: number])[] = [];
  #newestS: number | undefined;
  #hasUndated = false;

  add({ id, created_at: createdAt }: DatedRow): void {
    const second = parseSecond(createdAt);
    if (second === undefined) {
      this.#hasUndated = true;
      return;
    }
    const hash = crypto.hash("sha256", `${second} ${id}`, "buffer").readUInt32BE(0);
    this.#hashes.push(hash);
    this.#newestS = Math.max(this.#newestS ?? second, second);
    this.#oldest.push([second, hash]);
    if (this.#oldest.length >= MAX_OLDEST * 8) this.#trimOldest();
  }

  /**
   * Returns what was collected; undefined where the time of the reading isn't known, or no row has a date.
   *
   * @param serviceTimeMs the service's clock when the reading began. Default: the newest creation date, which can't be later.
   */
  history(serviceTimeMs: number | undefined): RowHistory | undefined {
    if (this.#hashes.length === 0 && this.#hasUndated) return undefined;
    const atMs = serviceTimeMs ?? (this.#newestS === undefined ? undefined : this.#newestS * 1_000);
    if (atMs === undefined) return undefined;
    this.#trimOldest();
    return {
      at: new Date(atMs).toISOString(),
      rows: buildBitSet(this.#hashes).toString("base64url"),
      oldest: this.#oldest.map(([second, hash]) => `${hash.toString(36)}:${second.toString(36)}`),
    };
  }

  #trimOldest(): void {
    this.#oldest = this.#oldest.toSorted(([one], [other]) => one - other).slice(0, MAX_OLDEST);
  }
}

/**
 * Counts the rows that an earlier reading of the same tenant must have had, where it has none of them: they are another tenant's. It counts
 * only among the rows that were created first.
 *
 * @returns 0 where the earlier reading may have had some of them.
 */
export function countForeignRows(current: RowHistory, earlier: RowHistory): number {
  const latestS = Date.parse(earlier.at) / 1_000 - CLOCK_SKEW_S;
  const bits = Buffer.from(earlier.rows, "base64url");
  const old = current.oldest
    .map((text) => text.split(":").map((part) => Number.parseInt(part, 36)))
    .filter(([, second = Number.NaN]) => second < latestS);
  const missedCount = old.filter(([hash = 0]) => !hasBit(bits, hash)).length;
  // Of another tenant's rows, all are missed but those that share a bit with a row.
  const expected = old.length * (1 - computeBitShare(bits));
  return missedCount > 0 && missedCount * 2 >= expected ? old.length : 0;
}

/** Whether {@link countForeignRows} may have stopped counting: there can be more. */
export function isCountCut({ oldest }: RowHistory): boolean {
  return oldest.length >= MAX_OLDEST;
}

/** The same in at most so many bytes, for an earlier reading: rows share more bits, and what was created first is left out. */
export function shrinkHistory({ at, rows }: RowHistory, maxBytes: number): RowHistory {
  let bits = Buffer.from(rows, "base64url");
  while (bits.length > maxBytes) {
    const half = bits.length / 2;
    const [first, second] = [bits.subarray(0, half), bits.subarray(half)];
    bits = Buffer.from(first.map((byte, index) => byte | (second[index] ?? 0)));
  }
  return { at, rows: bits.toString("base64url"), oldest: [] };
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

/** The second of a date that names its time zone. */
function parseSecond(text: string | null | undefined): number | undefined {
  if (text == null || !/\d[Tt ]\d.*(?:[Zz]|[+-]\d\d:?\d\d)$/.test(text)) return undefined;
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : Math.floor(timeMs / 1_000);
}
