import * as crypto from "node:crypto";
import { areCounters } from "./entry-id";
import { canonicalMailbox } from "./entry-value";
import {
  countForeignRows,
  isCountCut,
  type RowHistory,
  RowHistoryReader,
  shrinkHistory,
} from "./row-history";

/*
 * An API key doesn't identify its tenant, so two readings are compared by what the service itself gave out: the ids and creation
 * dates of entries, and the mailboxes of VIPs. Only hashes are kept, and only a bounded sample of them.
 */

/** What identifies the tenant behind a reading. Plain data: it is kept in a rollout's journal. */
export interface TenantIdentity {
  /** The service's address, the same for each way to write it. */
  readonly address: string;
  readonly entries: number;
  /** Hashes of entries whose ids no other tenant can have. */
  readonly unique: readonly string[];
  /** Hashes of entries whose ids look like a counter, which each tenant may have from 1. */
  readonly counted: readonly string[];
  /** Hashes of the ids alone of the same entries. */
  readonly numbers: readonly string[];
  /** How many creation dates the counted ones have, up to {@link MIN_DATES}. */
  readonly dates: number;
  /** Hashes of the mailboxes of VIPs; absent where VIPs were not read. */
  readonly people?: readonly string[];
  /** The dated entries, and when they were read. Absent in what an earlier release read, and where the service tells no time. */
  readonly history?: RowHistory;
}

/** The fields of an allow/deny entry that identify it. */
export interface IdentifyingEntry {
  readonly id: string;
  readonly entry_type: string;
  readonly value: string;
  readonly created_at?: string | null | undefined;
  readonly created_by?: string | null | undefined;
}

/** So many hashes are kept of each kind: the smallest, so that two readings of one list keep the same ones. */
const SAMPLE_SIZE = 32;
/** From so many creation dates on, it is no chance that two tenants have the same ones. */
const MIN_DATES = 3;
/** So many, and so many bytes of a set, where a reading is kept small. */
const SMALL_SAMPLE_SIZE = 8;
const SMALL_HISTORY_BYTES = 128;
/** The length of a hash. */
const HASH_LENGTH = 12;
/** The part of a sample that has to be the same where each single hash may be a coincidence. */
const MIN_SHARED_FRACTION = 0.8;

/** Takes in rows as they are read, and keeps nothing of them but a sample of hashes. */
export class IdentityReader {
  /** Each with its id. */
  readonly #rows = new Sample();
  readonly #ids = new Sample();
  readonly #dates = new Set<string>();
  readonly #history = new RowHistoryReader();
  readonly #vips = new Sample();
  #entries = 0;
  #areVipsRead = false;

  entry(row: IdentifyingEntry): void {
    const { id, entry_type, value, created_at, created_by } = row;
    this.#entries += 1;
    this.#history.add(row);
    if (created_at == null || created_at === "") return;
    this.#rows.add(`${hashParts("entry", id, created_at, created_by ?? "", entry_type, value)} ${id}`);
    this.#ids.add(hashParts("id", id));
    if (this.#dates.size < MIN_DATES) this.#dates.add(created_at);
  }

  /** Says that VIPs are read, of whom there may be none. */
  readsPeople(): void {
    this.#areVipsRead = true;
  }

  person(mailbox: string | null | undefined): void {
    this.#areVipsRead = true;
    if (mailbox == null || mailbox === "") return;
    this.#vips.add(hashParts("vip", canonicalMailbox(mailbox)));
  }

  /**
   * @param baseUrl of the service.
   * @param serviceTimeMs the service's clock when the reading began, where it tells it.
   */
  identity(baseUrl: string, serviceTimeMs?: number): TenantIdentity {
    const rows = this.#rows
      .hashes()
      .map((row) => [row.slice(0, HASH_LENGTH), row.slice(HASH_LENGTH + 1)] as const);
    const hashes = rows.map(([hash]) => hash);
    const isCounted = rows.length > 0 && areCounters(rows.map(([, id]) => id));
    const history = this.#history.history(serviceTimeMs);
    return {
      address: normalizeAddress(baseUrl),
      entries: this.#entries,
      unique: isCounted ? [] : hashes,
      counted: isCounted ? hashes : [],
      numbers: isCounted ? this.#ids.hashes() : [],
      dates: isCounted ? this.#dates.size : 0,
      ...(this.#areVipsRead ? { people: this.#vips.hashes() } : {}),
      ...(history === undefined ? {} : { history }),
    };
  }
}

/** The identity of a tenant whose lists were read as a whole. */
export function identityOf(
  baseUrl: string,
  {
    rows,
    mailboxes,
    servedAtMs,
  }: {
    readonly rows: Iterable<IdentifyingEntry>;
    readonly mailboxes: Iterable<string | undefined>;
    readonly servedAtMs?: number | undefined;
  },
): TenantIdentity {
  const reader = new IdentityReader();
  reader.readsPeople();
  for (const row of rows) reader.entry(row);
  for (const mailbox of mailboxes) reader.person(mailbox);
  return reader.identity(baseUrl, servedAtMs);
}

/**
 * The readings that are of one tenant, each group in the order given; usually none. This is the only place that decides it.
 *
 * Nothing identifies a tenant that holds no entry and has no VIP, so such a tenant is in no group.
 *
 * @param readings by whatever they are of.
 */
export function findSameTenants<T>(
  readings: ReadonlyMap<T, TenantIdentity>,
): readonly (readonly [T, T, ...T[]])[] {
  const allReadings = [...readings];
  const order = new Map(allReadings.map(([one], index) => [one, index]));
  const groups = new Map<T, T[]>();
  for (const [one, other] of listCandidatePairs(allReadings)) {
    const [firstGroup, secondGroup] = [groups.get(one) ?? [one], groups.get(other) ?? [other]];
    if (firstGroup === secondGroup || !isSameReading(readings, one, other)) continue;
    const mergedGroup = [...firstGroup, ...secondGroup];
    for (const member of mergedGroup) groups.set(member, mergedGroup);
  }
  return [...new Set(groups.values())].map((members) =>
    members.toSorted((one, other) => (order.get(one) ?? 0) - (order.get(other) ?? 0)),
  ) as unknown as readonly (readonly [T, T, ...T[]])[];
}

/** Whether nothing was read that identifies a tenant. */
export function isNothing({ entries, people = [] }: TenantIdentity): boolean {
  return entries + people.length === 0;
}

/** Of what identifies a tenant, its people alone. */
export function peopleAlone({ address, people = [] }: TenantIdentity): TenantIdentity {
  return { address, entries: 0, unique: [], counted: [], numbers: [], dates: 0, people };
}

/** Whether two readings are of one tenant, as far as these two alone tell. */
export function isSameTenant(one: TenantIdentity, other: TenantIdentity): boolean {
  return findSameTenants(new Map([one, other].entries())).length > 0;
}

/** The pairs that share a hash, of which no other pair can be the same tenant. */
function* listCandidatePairs<T>(
  readings: readonly (readonly [T, TenantIdentity])[],
): Iterable<readonly [T, T]> {
  const holders = new Map<string, number[]>();
  for (const [index, [, { address, unique, counted, people = [] }]] of readings.entries()) {
    const paired = new Set<number>();
    for (const hash of [...unique, ...counted, ...people]) {
      const key = `${address} ${hash}`;
      const holdersOfHash = holders.get(key);
      for (const other of holdersOfHash ?? []) paired.add(other);
      if (holdersOfHash === undefined) holders.set(key, [index]);
      else holdersOfHash.push(index);
    }
    for (const other of paired) {
      const [first, second] = [readings[other], readings[index]];
      if (first !== undefined && second !== undefined) yield [first[0], second[0]];
    }
  }
}

/**
 * Whether a reading looks like the one that was made of the same tenant before. It may be of a tenant that holds equal rows, which is no
 * reason to think so.
 */
export function isStillTenant(current: TenantIdentity, earlier: TenantIdentity): boolean {
  return compareIdentities(current, earlier) !== "different";
}

/** Whether a reading has nothing of what was read of the tenant before, and something of what was read of another one. */
export function isReplacedBy(
  current: TenantIdentity,
  earlier: TenantIdentity,
  other: TenantIdentity,
): boolean {
  if (current.address !== other.address || compareVips(current, other) === "none") return false;
  return countAllShared(current, earlier) === 0 && countAllShared(current, other) > 0;
}

/**
 * Says why a reading is of another tenant than an earlier reading, in the middle of a sentence; undefined where nothing proves it. A tenant
 * that was emptied, or whose entries were all replaced, has new entries only.
 */
export function provesOtherTenant(current: TenantIdentity, earlier: TenantIdentity): string | undefined {
  if (current.history === undefined || earlier.history === undefined || current.address !== earlier.address)
    return undefined;
  if (countAllShared(current, earlier) > 0) return undefined;
  const foreignCount = countForeignRows(current.history, earlier.history);
  if (foreignCount === 0) return undefined;
  const timeText = `${earlier.history.at.slice(0, 16).replace("T", " ")} UTC`;
  const earlierText = isNothing(earlier)
    ? `it was empty on ${timeText}`
    : `it holds nothing of what was read on ${timeText}`;
  const countText =
    foreignCount === 1
      ? "1 entry that was created before"
      : `${foreignCount}${isCountCut(current.history) ? " or more" : ""} entries that were created before`;
  return `${earlierText}, and now holds ${countText}`;
}

/** The identity in less than a thousand bytes, for a later reading to be compared with. */
export function shrinkIdentity({ history, people, ...identity }: TenantIdentity): TenantIdentity {
  const shrinkSample = (hashes: readonly string[]): readonly string[] => hashes.slice(0, SMALL_SAMPLE_SIZE);
  return {
    ...identity,
    unique: shrinkSample(identity.unique),
    counted: shrinkSample(identity.counted),
    numbers: shrinkSample(identity.numbers),
    ...(people === undefined ? {} : { people: shrinkSample(people) }),
    ...(history === undefined ? {} : { history: shrinkHistory(history, SMALL_HISTORY_BYTES) }),
  };
}

function isSameReading<T>(readings: ReadonlyMap<T, TenantIdentity>, first: T, second: T): boolean {
  const [one, other] = [readings.get(first), readings.get(second)];
  if (one === undefined || other === undefined) return false;
  const comparison = compareIdentities(one, other);
  // Tenants that a script filled in one second may hold equal rows, where each tenant's ids begin at 1.
  return comparison === "same" || (comparison === "equal" && areNumberedTogether(readings, first, second));
}

/** How two readings compare by themselves; `equal`: their rows are the same, which may be a coincidence. */
function compareIdentities(one: TenantIdentity, other: TenantIdentity): "same" | "equal" | "different" {
  if (one.address !== other.address) return "different";
  const people = compareVips(one, other);
  // A mailbox is of one tenant.
  if (people === "none") return "different";
  const [here, there] = alignSamples(one, other);
  const minUnique = Math.min(here.unique.length, there.unique.length);
  if (minUnique > 0 && countShared(here.unique, there.unique) >= minUnique / 2) return "same";
  if (one.entries === 0 && other.entries === 0) return people === "some" ? "same" : "different";
  const maxCounted = Math.max(here.counted.length, there.counted.length);
  const shared = countShared(here.counted, there.counted);
  if (shared === 0 || shared < maxCounted * MIN_SHARED_FRACTION || people === "unequal") return "different";
  return people === "some" || Math.min(one.dates, other.dates) >= MIN_DATES ? "same" : "equal";
}

/** Whether the service numbers the entries of all its tenants together: a third one has none of these ids. */
function areNumberedTogether<T>(readings: ReadonlyMap<T, TenantIdentity>, first: T, second: T): boolean {
  const one = readings.get(first);
  const numbers = one?.numbers ?? [];
  const thirdReadings = [...readings].filter(
    ([readingKey, { address, numbers: ids }]) =>
      readingKey !== first && readingKey !== second && address === one?.address && ids.length > 0,
  );
  return (
    thirdReadings.length > 0 && thirdReadings.every(([, { numbers: ids }]) => countShared(ids, numbers) === 0)
  );
}

/** What VIPs tell of two readings; undefined where they tell nothing, since one was not read, or neither has any. */
function compareVips(
  { people: one }: TenantIdentity,
  { people: other }: TenantIdentity,
): "none" | "some" | "unequal" | undefined {
  if (one === undefined || other === undefined || one.length + other.length === 0) return undefined;
  if (one.length === 0 || other.length === 0) return "unequal";
  if (countShared(one, other) > 0) return "some";
  // A sample says nothing of the hashes behind its last one.
  const last = [one, other]
    .flatMap((hashes) =>
      hashes.length === SAMPLE_SIZE || hashes.length === SMALL_SAMPLE_SIZE ? hashes.slice(-1) : [],
    )
    .sort()[0];
  const isDecided = (hash: string): boolean => last === undefined || hash <= last;
  return one.some(isDecided) && other.some(isDecided) ? "none" : "unequal";
}

/** The hashes of entries by which two readings can be compared. */
type EntryHashes = Readonly<Record<"unique" | "counted", readonly string[]>>;

/**
 * The hashes of two readings, in samples of one size. An id is of one tenant where either reading says so: the ids beside it may have told
 * less in the other one.
 */
function alignSamples(one: TenantIdentity, other: TenantIdentity): readonly [EntryHashes, EntryHashes] {
  const isSmall = [one, other].some(
    ({ entries, unique, counted }) =>
      unique.length <= SMALL_SAMPLE_SIZE &&
      counted.length <= SMALL_SAMPLE_SIZE &&
      entries > unique.length + counted.length,
  );
  const getEntryHashes = (reading: TenantIdentity, otherReading: TenantIdentity): EntryHashes => {
    const isUnique = new Set(otherReading.unique);
    const promotedHashes = reading.counted.filter((hash) => isUnique.has(hash));
    const unique =
      promotedHashes.length === 0 ? reading.unique : [...reading.unique, ...promotedHashes].sort();
    const counted = reading.counted.filter((hash) => !isUnique.has(hash));
    return isSmall
      ? { unique: unique.slice(0, SMALL_SAMPLE_SIZE), counted: counted.slice(0, SMALL_SAMPLE_SIZE) }
      : { unique, counted };
  };
  return [getEntryHashes(one, other), getEntryHashes(other, one)];
}

function countAllShared(one: TenantIdentity, other: TenantIdentity): number {
  const getAllHashes = ({ unique, counted, people = [] }: TenantIdentity) => [
    ...unique,
    ...counted,
    ...people,
  ];
  return countShared(getAllHashes(one), getAllHashes(other));
}

function countShared(one: readonly string[], other: readonly string[]): number {
  const knownHashes = new Set(one);
  return other.filter((hash) => knownHashes.has(hash)).length;
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

function normalizeAddress(baseUrl: string): string {
  const url = URL.parse(baseUrl);
  if (url === null) return baseUrl;
  const host = url.hostname.replace(/\.$/, "");
  const port = url.port === "" ? url.protocol : url.port;
  return `${LOOPBACK.has(host) ? "loopback" : host} ${port}`;
}

function hashParts(...parts: readonly string[]): string {
  return crypto.hash("sha256", JSON.stringify(parts), "base64url").slice(0, HASH_LENGTH);
}

/** The smallest of all hashes that were added. */
class Sample {
  #smallest: string[] = [];
  #largest = "";

  add(hash: string): void {
    if (this.#largest !== "" && hash >= this.#largest) return;
    this.#smallest.push(hash);
    if (this.#smallest.length >= SAMPLE_SIZE * 8) this.#trim();
  }

  hashes(): readonly string[] {
    this.#trim();
    return [...this.#smallest];
  }

  #trim(): void {
    this.#smallest = [...new Set(this.#smallest)].sort().slice(0, SAMPLE_SIZE);
    if (this.#smallest.length === SAMPLE_SIZE) this.#largest = this.#smallest.at(-1) ?? "";
  }
}
