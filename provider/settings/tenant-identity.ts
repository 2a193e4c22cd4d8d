import { alignSamples, compareVips, countAllShared, countShared, listHashes } from "./compare-samples";
import { areSequentialIds } from "./entry-id";
import {
  HASH_LENGTH,
  hashEntry,
  hashMailbox,
  hashParts,
  type IdentifyingEntry,
  Sample,
  SMALL_SAMPLE_SIZE,
  type TenantIdentity,
} from "./identity-hash";
import { countForeignRows, isCountTruncated, RowHistoryBuilder, shrinkHistory } from "./row-history";

/*
 * An API key doesn't identify its tenant. Two readings are therefore compared by data from the service: the ids and creation dates of
 * entries, and the mailboxes of VIPs. Only a bounded sample of hashes is kept.
 */

export type { TenantIdentity };

/** With this many equal creation dates, a coincidence is ruled out. */
const MIN_DATES = 3;
/** With this many, if the service gives them more precisely than to the second. */
const MIN_PRECISE_DATES = 2;
const FRACTION_OF_SECOND = /:\d\d[.,]\d*[1-9]/;
const SMALL_HISTORY_BYTES = 128;
/** The minimum share of equal hashes, if each single match may be a coincidence. */
const MIN_SHARED_FRACTION = 0.8;

interface CompleteLists {
  readonly rows: Iterable<IdentifyingEntry>;
  readonly mailboxes: Iterable<string | undefined>;
}

/** Builds an identity from rows as they are read. Keeps only samples of hashes, a few dates and the row history. */
export class IdentityBuilder {
  /** Hashes, each followed by the id of its row. */
  readonly #rows = new Sample();
  readonly #ids = new Sample();
  readonly #dates = new Set<string>();
  readonly #history = new RowHistoryBuilder();
  readonly #vips = new Sample();
  readonly #wanted: ReadonlySet<string>;
  readonly #held = new Set<string>();
  #entries = 0;
  #areVipsRead = false;

  /** @param earlier the identity to look for among all rows. Default: none. */
  constructor(earlier?: TenantIdentity) {
    this.#wanted = new Set(earlier === undefined ? [] : listHashes(earlier));
  }

  addEntry(row: IdentifyingEntry): void {
    const { id, created_at } = row;
    this.#entries += 1;
    this.#history.add(row);
    const hash = hashEntry(row);
    if (hash === undefined || created_at == null) return;
    if (this.#wanted.has(hash)) this.#held.add(hash);
    this.#rows.add(`${hash} ${id}`);
    this.#ids.add(hashParts("id", id));
    if (this.#dates.size < MIN_DATES) this.#dates.add(created_at);
  }

  /** Records that VIPs are read, even if there are none. */
  markVipsRead(): void {
    this.#areVipsRead = true;
  }

  addVip(mailbox: string | null | undefined): void {
    this.#areVipsRead = true;
    const hash = hashMailbox(mailbox);
    if (hash === undefined) return;
    if (this.#wanted.has(hash)) this.#held.add(hash);
    this.#vips.add(hash);
  }

  addAll({ rows, mailboxes }: CompleteLists): void {
    this.markVipsRead();
    for (const row of rows) this.addEntry(row);
    for (const mailbox of mailboxes) this.addVip(mailbox);
  }

  /**
   * Reduces an identity to the hashes that the added rows contain. Only hashes passed to the constructor are looked
   * for. Unlike a sample of the present rows, the result doesn't depend on rows added since.
   */
  retain({ unique, counted, people, ...identity }: TenantIdentity): TenantIdentity {
    const retain = (hashes: readonly string[]): readonly string[] => hashes.filter((hash) => this.#held.has(hash));
    return {
      ...identity,
      unique: retain(unique),
      counted: retain(counted),
      ...(people === undefined ? {} : { people: retain(people) }),
    };
  }

  /** @param serviceTimeMs the service's clock when the reading began, if known. */
  build(baseUrl: string, serviceTimeMs?: number): TenantIdentity {
    const rows = this.#rows.hashes().map((row) => [row.slice(0, HASH_LENGTH), row.slice(HASH_LENGTH + 1)] as const);
    const hashes = rows.map(([hash]) => hash);
    const isCounted = rows.length > 0 && areSequentialIds(rows.map(([, id]) => id));
    const history = this.#history.build(serviceTimeMs);
    return {
      address: normalizeAddress(baseUrl),
      entries: this.#entries,
      unique: isCounted ? [] : hashes,
      counted: isCounted ? hashes : [],
      numbers: isCounted ? this.#ids.hashes() : [],
      dates: isCounted ? this.#countDates() : 0,
      ...(this.#areVipsRead ? { people: this.#vips.hashes() } : {}),
      ...(history === undefined ? {} : { history }),
    };
  }

  #countDates(): number {
    const preciseDates = [...this.#dates].filter((date) => FRACTION_OF_SECOND.test(date));
    return preciseDates.length >= MIN_PRECISE_DATES ? MIN_DATES : this.#dates.size;
  }
}

export function buildTenantIdentity(
  baseUrl: string,
  { servedAtMs, ...lists }: CompleteLists & { readonly servedAtMs?: number | undefined },
): TenantIdentity {
  const builder = new IdentityBuilder();
  builder.addAll(lists);
  return builder.build(baseUrl, servedAtMs);
}

/**
 * Groups the readings that belong to the same tenant. The groups, and the members of each, are in the given order. Usually there are no
 * groups. No other code may decide this.
 *
 * A tenant without entries and VIPs can't be identified, so it is in no group.
 *
 * @param readings by any key, for example the tenant's name.
 */
export function findSameTenants<T>(readings: ReadonlyMap<T, TenantIdentity>): readonly (readonly [T, T, ...T[]])[] {
  const allReadings = [...readings];
  const order = new Map(allReadings.map(([one], index) => [one, index]));
  const groups = new Map<T, T[]>();
  for (const [one, other] of listCandidatePairs(allReadings)) {
    const [firstGroup, secondGroup] = [groups.get(one) ?? [one], groups.get(other) ?? [other]];
    if (firstGroup === secondGroup || !isSameReading(readings, one, other)) continue;
    const mergedGroup = [...firstGroup, ...secondGroup];
    for (const member of mergedGroup) groups.set(member, mergedGroup);
  }
  const compare = (one: T | undefined, other: T | undefined): number =>
    (order.get(one as T) ?? 0) - (order.get(other as T) ?? 0);
  return [...new Set(groups.values())]
    .map((members) => members.toSorted(compare))
    .toSorted(([one], [other]) => compare(one, other)) as unknown as readonly (readonly [T, T, ...T[]])[];
}

/** Whether a reading contains nothing that identifies a tenant. */
export function isEmptyIdentity({ entries, people = [] }: TenantIdentity): boolean {
  return entries + people.length === 0;
}

/** Whether a reading's entries alone can show that another reading belongs to the same tenant. */
export function isIdentifiedByEntries({ unique, dates }: TenantIdentity): boolean {
  return unique.length > 0 || dates >= MIN_DATES;
}

/** Whether a reading has nothing that a later reading can match, for example because the service gives no dates. */
export function identifiesNone(identity: TenantIdentity): boolean {
  return listHashes(identity).length === 0;
}

export function pickVipIdentity({ address, people = [] }: TenantIdentity): TenantIdentity {
  return { address, entries: 0, unique: [], counted: [], numbers: [], dates: 0, people };
}

/** Whether two readings belong to the same tenant, without considering any others. */
export function isSameTenant(one: TenantIdentity, other: TenantIdentity): boolean {
  return findSameTenants(new Map([one, other].entries())).length > 0;
}

/** Lists the pairs that share a hash. Readings without a shared hash can't belong to the same tenant. */
function* listCandidatePairs<T>(readings: readonly (readonly [T, TenantIdentity])[]): Iterable<readonly [T, T]> {
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
 * Whether a reading matches an earlier reading of the same tenant. Equal rows count as a match here, although two tenants can hold equal
 * rows.
 */
export function isStillTenant(current: TenantIdentity, earlier: TenantIdentity): boolean {
  return compareIdentities(current, earlier) !== "different";
}

/**
 * Returns whether a reading belongs to the tenant of an earlier one. Undefined if one of them doesn't identify a
 * tenant.
 *
 * @param retain reduces the earlier reading to what the tenant still holds, because rows added since may have displaced
 * these hashes from the samples.
 */
export function isTenantOfReading(
  current: TenantIdentity,
  earlier: TenantIdentity,
  retain: (earlier: TenantIdentity) => TenantIdentity,
): boolean | undefined {
  // The service may have moved to another address and kept its ids.
  const before = { ...earlier, address: current.address };
  if (identifiesNone(before) || isEmptyIdentity(current)) return undefined;
  if (isStillTenant(current, before)) return true;
  const { unique, counted, people = [] } = retain(before);
  // No other tenant has any of these ids or mailboxes, however much has changed.
  if (unique.length + people.length > 0) return true;
  return isStillTenant({ ...current, unique: [], counted }, before);
}

/** Whether a reading shares nothing with the earlier reading of its tenant, but something with a reading of another tenant. */
export function isReplacedBy(current: TenantIdentity, earlier: TenantIdentity, other: TenantIdentity): boolean {
  if (current.address !== other.address || compareVips(current, other) === "none") return false;
  return countAllShared(current, earlier) === 0 && countAllShared(current, other) > 0;
}

/**
 * Explains why a reading belongs to another tenant than an earlier reading, for the middle of a sentence. Undefined without proof. After a
 * tenant was emptied, or all its entries were replaced, it has only new entries. Old entries are therefore proof of another tenant.
 */
export function describeOtherTenantProof(current: TenantIdentity, earlier: TenantIdentity): string | undefined {
  if (current.history === undefined || earlier.history === undefined || current.address !== earlier.address)
    return undefined;
  if (countAllShared(current, earlier) > 0) return undefined;
  const foreignCount = countForeignRows(current.history, earlier.history);
  if (foreignCount === 0) return undefined;
  const timeText = `${earlier.history.at.slice(0, 16).replace("T", " ")} UTC`;
  const earlierText = isEmptyIdentity(earlier)
    ? `it was empty on ${timeText}`
    : `it has nothing in common with what was read on ${timeText}`;
  const countText =
    foreignCount === 1
      ? "1 entry that was created before that"
      : `${foreignCount}${isCountTruncated(current.history) ? " or more" : ""} entries that were created before that`;
  return `${earlierText}, and now has ${countText}`;
}

/** Removes the parts of an identity that only the current reading of a comparison needs. */
export function compactIdentity({ history, ...identity }: TenantIdentity): TenantIdentity {
  return {
    ...identity,
    ...(history === undefined ? {} : { history: shrinkHistory(history, Number.POSITIVE_INFINITY) }),
  };
}

/** Shrinks an identity to less than 1,000 bytes, for comparison with a later reading. */
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
  // Two tenants can hold equal rows if a script filled both in the same second and ids begin at 1 per tenant.
  return comparison === "same" || (comparison === "equal" && areNumberedTogether(readings, first, second));
}

/** Compares two readings in isolation. `equal` means that their rows are the same, which may be a coincidence. */
function compareIdentities(one: TenantIdentity, other: TenantIdentity): "same" | "equal" | "different" {
  if (one.address !== other.address) return "different";
  const people = compareVips(one, other);
  // Each mailbox belongs to one tenant.
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

/**
 * Whether the service uses one number sequence for the entries of all tenants. In that case, no third tenant has any of
 * these ids.
 */
function areNumberedTogether<T>(readings: ReadonlyMap<T, TenantIdentity>, first: T, second: T): boolean {
  const one = readings.get(first);
  const numbers = one?.numbers ?? [];
  const thirdReadings = [...readings].filter(
    ([readingKey, { address, numbers: ids }]) =>
      readingKey !== first && readingKey !== second && address === one?.address && ids.length > 0,
  );
  return thirdReadings.length > 0 && thirdReadings.every(([, { numbers: ids }]) => countShared(ids, numbers) === 0);
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Returns the form in which the addresses of services are compared: host and port. All names of this machine are one. */
export function normalizeAddress(baseUrl: string): string {
  const url = URL.parse(baseUrl);
  if (url === null) return baseUrl;
  const host = url.hostname.replace(/\.$/, "");
  const port = url.port === "" ? url.protocol : url.port;
  return `${LOOPBACK.has(host) ? "loopback" : host} ${port}`;
}

/** Formats a normalized address for people: `mail.example:8443`, `https://mail.example`. */
export function formatAddress(address: string): string {
  const [name = address, port] = address.split(" ");
  const host = name === "loopback" ? "localhost" : name;
  if (port === undefined) return host;
  return port.endsWith(":") ? `${port}//${host}` : `${host}:${port}`;
}
