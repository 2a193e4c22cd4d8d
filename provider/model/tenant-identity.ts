import { alignSamples, compareVips, countAllShared, countShared, listHashes } from "./compare-identity-hashes";
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
import { areSequentialIds } from "./sequential-ids";

/*
 * An API key doesn't identify its tenant. Two identities are therefore compared by data from the service: the ids and creation dates of
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
  readonly #earlierHashes: ReadonlySet<string>;
  readonly #foundHashes = new Set<string>();
  #entries = 0;
  #areVipsRead = false;

  /** @param earlier the identity to look for among all rows. Default: none. */
  constructor(earlier?: TenantIdentity) {
    this.#earlierHashes = new Set(earlier === undefined ? [] : listHashes(earlier));
  }

  addEntry(row: IdentifyingEntry): void {
    const { id, created_at } = row;
    this.#entries += 1;
    this.#history.add(row);
    const hash = hashEntry(row);
    if (hash === undefined || created_at == null) return;
    if (this.#earlierHashes.has(hash)) this.#foundHashes.add(hash);
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
    if (this.#earlierHashes.has(hash)) this.#foundHashes.add(hash);
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
  retain({ unique, counted, people: vipHashes, ...identity }: TenantIdentity): TenantIdentity {
    const retain = (hashes: readonly string[]): readonly string[] =>
      hashes.filter((hash) => this.#foundHashes.has(hash));
    return {
      ...identity,
      unique: retain(unique),
      counted: retain(counted),
      ...(vipHashes === undefined ? {} : { people: retain(vipHashes) }),
    };
  }

  /** @param serviceTimeMs the service's clock when the read began, if known. */
  build(baseUrl: string, serviceTimeMs?: number): TenantIdentity {
    const rows = this.#rows.hashes().map((row) => [row.slice(0, HASH_LENGTH), row.slice(HASH_LENGTH + 1)] as const);
    const hashes = rows.map(([hash]) => hash);
    const hasSequentialIds = rows.length > 0 && areSequentialIds(rows.map(([, id]) => id));
    const history = this.#history.build(serviceTimeMs);
    return {
      address: normalizeAddress(baseUrl),
      entries: this.#entries,
      unique: hasSequentialIds ? [] : hashes,
      counted: hasSequentialIds ? hashes : [],
      numbers: hasSequentialIds ? this.#ids.hashes() : [],
      dates: hasSequentialIds ? this.#countDates() : 0,
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
 * Groups the identities that belong to the same tenant. The groups, and the members of each, are in the given order. Usually there are no
 * groups. No other code may decide this.
 *
 * A tenant without entries and VIPs can't be identified, so it is in no group.
 *
 * @param identities by any key, for example the tenant's name.
 */
export function findSameTenants<T>(identities: ReadonlyMap<T, TenantIdentity>): readonly (readonly [T, T, ...T[]])[] {
  const identityList = [...identities];
  const order = new Map(identityList.map(([item], index) => [item, index]));
  const groups = new Map<T, T[]>();
  for (const [a, b] of listCandidatePairs(identityList)) {
    const [firstGroup, secondGroup] = [groups.get(a) ?? [a], groups.get(b) ?? [b]];
    if (firstGroup === secondGroup || !isSameIdentity(identities, a, b)) continue;
    const mergedGroup = [...firstGroup, ...secondGroup];
    for (const member of mergedGroup) groups.set(member, mergedGroup);
  }
  const compare = (a: T | undefined, b: T | undefined): number => (order.get(a as T) ?? 0) - (order.get(b as T) ?? 0);
  return [...new Set(groups.values())]
    .map((members) => members.toSorted(compare))
    .toSorted(([a], [b]) => compare(a, b)) as unknown as readonly (readonly [T, T, ...T[]])[];
}

/** Whether an identity contains nothing that identifies a tenant. */
export function isEmptyIdentity({ entries, people: vipHashes = [] }: TenantIdentity): boolean {
  return entries + vipHashes.length === 0;
}

/** Whether an identity's entries alone can show that another identity belongs to the same tenant. */
export function isIdentifiedByEntries({ unique, dates }: TenantIdentity): boolean {
  return unique.length > 0 || dates >= MIN_DATES;
}

/** Whether an identity has nothing that a later identity can match, for example because the service gives no dates. */
export function hasNoHashes(identity: TenantIdentity): boolean {
  return listHashes(identity).length === 0;
}

export function pickVipIdentity({ address, people: vipHashes = [] }: TenantIdentity): TenantIdentity {
  return { address, entries: 0, unique: [], counted: [], numbers: [], dates: 0, people: vipHashes };
}

/** Whether two identities belong to the same tenant, without considering any others. */
export function isSameTenant(a: TenantIdentity, b: TenantIdentity): boolean {
  return findSameTenants(new Map([a, b].entries())).length > 0;
}

/** Lists the pairs that share a hash. Identities without a shared hash can't belong to the same tenant. */
function* listCandidatePairs<T>(identities: readonly (readonly [T, TenantIdentity])[]): Iterable<readonly [T, T]> {
  const holders = new Map<string, number[]>();
  for (const [index, [, { address, unique, counted, people: vipHashes = [] }]] of identities.entries()) {
    const paired = new Set<number>();
    for (const hash of [...unique, ...counted, ...vipHashes]) {
      const key = `${address} ${hash}`;
      const holdersOfHash = holders.get(key);
      for (const other of holdersOfHash ?? []) paired.add(other);
      if (holdersOfHash === undefined) holders.set(key, [index]);
      else holdersOfHash.push(index);
    }
    for (const other of paired) {
      const [first, second] = [identities[other], identities[index]];
      if (first !== undefined && second !== undefined) yield [first[0], second[0]];
    }
  }
}

/**
 * Whether an identity matches an earlier identity of the same tenant. Equal rows count as a match here, although two tenants can hold equal
 * rows.
 */
export function matchesEarlierIdentity(current: TenantIdentity, earlier: TenantIdentity): boolean {
  return compareIdentities(current, earlier) !== "different";
}

/**
 * Returns whether an identity belongs to the tenant of an earlier one. Undefined if one of them doesn't identify a
 * tenant.
 *
 * @param retain reduces the earlier identity to what the tenant still holds, because rows added since may have displaced
 * these hashes from the samples.
 */
export function isSameTenantAsEarlier(
  current: TenantIdentity,
  earlier: TenantIdentity,
  retain: (earlier: TenantIdentity) => TenantIdentity,
): boolean | undefined {
  // The service may have moved to another address and kept its ids.
  const before = { ...earlier, address: current.address };
  if (hasNoHashes(before) || isEmptyIdentity(current)) return undefined;
  if (matchesEarlierIdentity(current, before)) return true;
  const { unique, counted, people: vipHashes = [] } = retain(before);
  // No other tenant has any of these ids or mailboxes, however much has changed.
  if (unique.length + vipHashes.length > 0) return true;
  return matchesEarlierIdentity({ ...current, unique: [], counted }, before);
}

/** Whether an identity shares nothing with the earlier identity of its tenant, but something with an identity of another tenant. */
export function isReplacedBy(current: TenantIdentity, earlier: TenantIdentity, other: TenantIdentity): boolean {
  if (current.address !== other.address || compareVips(current, other) === "none") return false;
  return countAllShared(current, earlier) === 0 && countAllShared(current, other) > 0;
}

/**
 * Explains why an identity belongs to another tenant than an earlier identity, for the middle of a sentence. Undefined without proof. After a
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

/** Removes the parts of an identity that only the current identity of a comparison needs. */
export function compactIdentity({ history, ...identity }: TenantIdentity): TenantIdentity {
  return {
    ...identity,
    ...(history === undefined ? {} : { history: shrinkHistory(history, Number.POSITIVE_INFINITY) }),
  };
}

/** Shrinks an identity to less than 1,000 bytes, for comparison with a later identity. */
export function shrinkIdentity({ history, people: vipHashes, ...identity }: TenantIdentity): TenantIdentity {
  const shrinkSample = (hashes: readonly string[]): readonly string[] => hashes.slice(0, SMALL_SAMPLE_SIZE);
  return {
    ...identity,
    unique: shrinkSample(identity.unique),
    counted: shrinkSample(identity.counted),
    numbers: shrinkSample(identity.numbers),
    ...(vipHashes === undefined ? {} : { people: shrinkSample(vipHashes) }),
    ...(history === undefined ? {} : { history: shrinkHistory(history, SMALL_HISTORY_BYTES) }),
  };
}

function isSameIdentity<T>(identities: ReadonlyMap<T, TenantIdentity>, first: T, second: T): boolean {
  const [a, b] = [identities.get(first), identities.get(second)];
  if (a === undefined || b === undefined) return false;
  const comparison = compareIdentities(a, b);
  // Two tenants can hold equal rows if a script filled both in the same second and ids begin at 1 per tenant.
  return comparison === "same" || (comparison === "equal" && areNumberedTogether(identities, first, second));
}

/** Compares two identities in isolation. `equal` means that their rows are the same, which may be a coincidence. */
function compareIdentities(a: TenantIdentity, b: TenantIdentity): "same" | "equal" | "different" {
  if (a.address !== b.address) return "different";
  const vipComparison = compareVips(a, b);
  // Each mailbox belongs to one tenant.
  if (vipComparison === "none") return "different";
  const [firstHashes, secondHashes] = alignSamples(a, b);
  const minUnique = Math.min(firstHashes.unique.length, secondHashes.unique.length);
  if (minUnique > 0 && countShared(firstHashes.unique, secondHashes.unique) >= minUnique / 2) return "same";
  if (a.entries === 0 && b.entries === 0) return vipComparison === "some" ? "same" : "different";
  const maxCounted = Math.max(firstHashes.counted.length, secondHashes.counted.length);
  const shared = countShared(firstHashes.counted, secondHashes.counted);
  if (shared === 0 || shared < maxCounted * MIN_SHARED_FRACTION || vipComparison === "unequal") return "different";
  return vipComparison === "some" || Math.min(a.dates, b.dates) >= MIN_DATES ? "same" : "equal";
}

/**
 * Whether the service uses one number sequence for the entries of all tenants. In that case, no third tenant has any of
 * these ids.
 */
function areNumberedTogether<T>(identities: ReadonlyMap<T, TenantIdentity>, first: T, second: T): boolean {
  const identity = identities.get(first);
  const numbers = identity?.numbers ?? [];
  const otherIdentities = [...identities].filter(
    ([identityKey, { address, numbers: ids }]) =>
      identityKey !== first && identityKey !== second && address === identity?.address && ids.length > 0,
  );
  return otherIdentities.length > 0 && otherIdentities.every(([, { numbers: ids }]) => countShared(ids, numbers) === 0);
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
