import {
  type AddVipResult,
  type AllowDenyEntryRow,
  type EntryChange,
  type NewEntry,
  NotFoundError,
  type SettingsClient,
  type VipEmployeeRow,
} from "../client";
import { nameOfVipRow } from "../client/vip-employees";
import { ENTRY_TYPES, LIST_LAG_MS, LISTS, type List } from "../settings/assumptions";
import { canonicalMailbox, type EntryValue, naturalKey } from "../settings/entry-value";
import { IdentityReader, peopleAlone, type TenantIdentity } from "../settings/tenant-identity";
import type { People } from "../settings/tenant-people";
import { type ConfirmOptions, readSurely } from "./confirmation";
import { EntrySnapshots } from "./entry-snapshots";
import { withKnownOutcome } from "./known-outcome";
import { type EntryQuery, isAbout, keyOfValue, rowThatCounts, vipIn, withKey } from "./matching";
import { OngoingWrites } from "./ongoing-writes";
import { PeopleCache } from "./people-cache";
import { readUntil } from "./read-until";
import type { Rows } from "./rows";
import type { Snapshot } from "./snapshot";
import { type Gather, gatherForAMoment, realSleep, type Sleep } from "./time";
import { Turns } from "./turns";
import { VipBatches } from "./vip-batches";
import { createVipSnapshot, readVipsAmong, rowAfterEdit } from "./vip-snapshot";
import type { CreatedEntry, Deletion } from "./write-results";

export interface TenantOptions {
  readonly client: SettingsClient;
  /** The current time in milliseconds; only differences matter. Default: the process's own monotonic clock. */
  readonly now?: () => number;
  /** Waits between two readings of a lagging list. Default: the process's own timers. */
  readonly sleep?: Sleep;
  /** Default: {@link gatherForAMoment}. */
  readonly gather?: Gather;
}

/**
 * A tenant with its snapshots. All resources of a stack share this object, so one operation needs ⌈N/200⌉ requests per list,
 * however many resources read it. Own writes keep the snapshots current. Concurrent additions and removals of VIPs share
 * requests too.
 *
 * The client applies the rate limit and retries safe requests. Writes that aren't safe to retry blindly are first looked up in
 * the list ({@link withKnownOutcome}).
 */
export class Tenant {
  readonly #client: SettingsClient;
  readonly #sleep: Sleep;
  readonly #writeEntry: Turns["write"];
  readonly #writeVip: Turns["write"];
  readonly #entries: EntrySnapshots;
  readonly #vips: Snapshot<VipEmployeeRow>;
  readonly #people: PeopleCache;
  readonly #vipBatches: VipBatches;
  readonly #writes = new OngoingWrites();

  constructor({ client, now = () => performance.now(), sleep = realSleep, gather = gatherForAMoment }: TenantOptions) {
    const entryTurns = new Turns();
    const vipTurns = new Turns();
    this.#client = client;
    this.#sleep = sleep;
    this.#writeEntry = (call) => entryTurns.write(call);
    this.#writeVip = (call) => vipTurns.write(call);
    this.#entries = new EntrySnapshots(client, entryTurns, { now, sleep });
    this.#vips = createVipSnapshot(client, vipTurns, { now, sleep });
    this.#people = new PeopleCache(client, this.#vips);
    this.#vipBatches = new VipBatches({
      vips: client.vipEmployees,
      write: this.#writeVip,
      gather,
      listed: (mailboxes) => readVipsAmong(mailboxes, this.#vips),
      mayRepeat: () => client.takeRetry(),
    });
  }

  get baseUrl(): string {
    return this.#client.baseUrl;
  }

  /**
   * Finds an entry in the snapshot. If it is being removed, for example because it moves from a list to its own resource, waits
   * for the removal and looks again.
   */
  async findEntry(query: EntryQuery): Promise<AllowDenyEntryRow | undefined> {
    const wanted = withKey(query);
    return await this.#writes.findSettled(
      () => this.#entries.find(wanted, (snapshot) => snapshot.rows()),
      (row) => row.id,
    );
  }

  /** Finds an entry with a refetch. */
  async findEntryAnew(query: EntryQuery): Promise<AllowDenyEntryRow | undefined> {
    return await this.#entries.find(withKey(query), (snapshot) => snapshot.fresh());
  }

  /**
   * Finds an entry and confirms that it is missing. One reading may miss an entry that another writer's change shifted out of
   * the pages, or that the lagging list doesn't show yet. So the lists are refetched until they show it, by id if it is known.
   * Undefined means that the entry is gone. Concurrent callers share these readings.
   */
  findEntrySurely(
    query: EntryQuery,
    options: ConfirmOptions<AllowDenyEntryRow> = {},
  ): Promise<AllowDenyEntryRow | undefined> {
    return this.#entries.findSurely(query, options);
  }

  /** Finds all entries of a value like {@link entriesOfValue}. Refetches until the lists show one that a state says exists. */
  entriesOfValueSurely(
    query: EntryQuery,
    isNamed: (row: AllowDenyEntryRow) => boolean,
  ): Promise<readonly AllowDenyEntryRow[]> {
    return this.#entries.ofValueSurely(query, isNamed);
  }

  /** Returns the entry of an id in the latest snapshots, whatever its value. Sends no request. */
  knownEntry(id: string): AllowDenyEntryRow | undefined {
    return this.#entries.known(id);
  }

  hasDeleted(id: string): boolean {
    return this.#entries.isDropped(id);
  }

  /** Calls {@link readUntil} with the tenant's clock. */
  async readUntil<T>(read: () => Promise<T>, isExpected: (result: T) => boolean): Promise<T> {
    return await readUntil(read, isExpected, this.#sleep);
  }

  /** Returns all entries of the given lists from the snapshot, in list order. Reads no other list. */
  async allEntries(lists: readonly List[] = LISTS): Promise<readonly AllowDenyEntryRow[]> {
    const read = await this.#entries.read(lists, (snapshot) => snapshot.rows());
    return read.flatMap((rows) => rows.all());
  }

  /**
   * Finds the entry of an id, or all entries of a value, on the given lists only. Refetches if the snapshot has none, like
   * {@link findEntrySurely}.
   */
  entriesNamed(
    query: { readonly id: string; readonly value?: EntryValue | undefined },
    lists: readonly List[],
  ): Promise<readonly AllowDenyEntryRow[]> {
    return this.#entries.named(query, lists);
  }

  /**
   * Adds an entry. If the outcome is unknown, an entry that exists now is returned as one that existed before: somebody else
   * may have created it, so the caller must compare it.
   */
  async createEntry(entry: NewEntry & { readonly verdict_scope: string }): Promise<CreatedEntry> {
    const { list, entry_type: entryType, value, verdict_scope: verdictScope } = entry;
    const look = async (): Promise<CreatedEntry | undefined> => {
      const row = await this.findEntryAnew({ list, entryType, value, verdictScope });
      return row === undefined ? undefined : { row, isNew: false };
    };
    return await withKnownOutcome<CreatedEntry>({
      write: async () => {
        const row = await this.#writeEntry(() => this.#client.allowDenyEntries.create(entry));
        const isNew = this.#entries.known(row.id) === undefined;
        return { row: this.#entries.put(row), isNew };
      },
      look,
      lookAgain: async () => {
        await this.#sleep(LIST_LAG_MS);
        return await look();
      },
      mayRepeat: () => this.#client.takeRetry(),
    });
  }

  /**
   * Changes an entry. The answer may describe a different entry, so compare it.
   *
   * @throws {NotFoundError} if the entry does not exist.
   */
  async updateEntry(id: string, change: EntryChange): Promise<AllowDenyEntryRow> {
    try {
      return await this.#writes.inSequence(id, async () => {
        const before = this.knownEntry(id);
        const row = await this.#writeEntry(() => this.#client.allowDenyEntries.update(id, change));
        const isSame = row.id === id && (before === undefined || isAbout(row, keyOfValue(before)));
        return isSame ? this.#entries.put(row) : row;
      });
    } catch (error) {
      if (error instanceof NotFoundError) this.#entries.forget(id);
      throw error;
    }
  }

  /**
   * Removes an entry by id, whether or not the lists show it.
   *
   * @param isMeant called with the current entry once no other write of it is in progress. False keeps the entry and returns
   * "changed".
   */
  async deleteEntry(id: string, isMeant: (row: AllowDenyEntryRow) => boolean = () => true): Promise<Deletion> {
    return await this.#writes.inSequence(id, async () => {
      const row = this.knownEntry(id);
      if (row !== undefined && !isMeant(row)) return "changed";
      return await this.#deleteNow(id);
    });
  }

  async #deleteNow(id: string): Promise<Deletion> {
    return await this.#writes.remove(id, async () => {
      try {
        const { deleted = true } = await this.#writeEntry(() => this.#client.allowDenyEntries.delete(id));
        if (deleted) this.#entries.drop(id);
        return deleted ? "deleted" : "refused";
      } catch (error) {
        if (!(error instanceof NotFoundError)) throw error;
        // An earlier attempt may have removed it without an answer.
        if (error.outcomeUnknown) this.#entries.drop(id);
        else this.#entries.forget(id);
        return error.outcomeUnknown ? "deleted" : "gone";
      }
    });
  }

  /** Finds a VIP in the snapshot. Waits for a removal in progress, like {@link findEntry}. */
  async findVip(email: string): Promise<VipEmployeeRow | undefined> {
    const mailbox = canonicalMailbox(email);
    return await this.#writes.findSettled(
      async () => vipIn(await this.#vips.rows(), email),
      () => mailbox,
    );
  }

  /** Finds a VIP with a refetch. */
  async findVipAnew(email: string): Promise<VipEmployeeRow | undefined> {
    return vipIn(await this.#vips.fresh(), email);
  }

  /** Finds a VIP and confirms that it is missing, like {@link findEntrySurely}. Undefined means that the mailbox is not a VIP. */
  async findVipSurely(
    email: string,
    options: ConfirmOptions<VipEmployeeRow> = {},
  ): Promise<VipEmployeeRow | undefined> {
    const find = ([rows]: readonly Rows<VipEmployeeRow>[]): VipEmployeeRow | undefined =>
      rows === undefined ? undefined : vipIn(rows, email);
    return find(await readSurely([this.#vips], find, options));
  }

  /**
   * Returns whose mailboxes the tenant has, from the VIP snapshot if one exists or is about to be read, otherwise from one
   * page.
   */
  people(options: { readonly isRead: boolean }): Promise<People> {
    return this.#people.read(options);
  }

  /** Returns the people of the latest VIP snapshot, if there is one. Sends no request. */
  knownPeople(): People | undefined {
    return this.#people.known();
  }

  /** Returns what identifies the tenant, from the snapshot of a list. For entries, adds the VIP snapshot if there is one. */
  async identity(list: "entries" | "vips"): Promise<TenantIdentity> {
    if (list === "entries") return this.#identityOf(await this.allEntries());
    await this.#vips.rows();
    return peopleAlone(this.#identityOf([]));
  }

  /**
   * Returns what identifies the tenant from the latest snapshots with own writes; undefined if the entries were not read. Sends
   * no request.
   */
  knownIdentity(): TenantIdentity | undefined {
    const rows = this.#entries.newest();
    return rows && this.#identityOf(rows);
  }

  #identityOf(rows: Iterable<AllowDenyEntryRow>): TenantIdentity {
    const reader = new IdentityReader();
    for (const row of rows) reader.entry(row);
    const vips = this.#vips.newest();
    if (vips !== undefined) {
      reader.readsPeople();
      for (const { email } of vips.all()) reader.person(email);
    }
    return reader.identity(this.baseUrl, this.#client.servedAtMs);
  }

  /** Whether any of these values or mailboxes exists in the snapshot, even on another list or with another scope. */
  async holdsAny(
    list: "entries" | "vips",
    things: Iterable<{ readonly target: { readonly value: string } }>,
  ): Promise<boolean> {
    const lists = list === "vips" ? [await this.#vips.rows()] : await this.#entries.readBoth((one) => one.rows());
    for (const { target } of things) {
      const names =
        list === "vips" ? [target.value] : ENTRY_TYPES.map((entryType) => naturalKey(entryType, target.value));
      if (lists.some((rows) => names.some((name) => rows.named(name).length > 0))) return true;
    }
    return false;
  }

  /** Calls {@link Snapshot.readLater} for the lists of a setting. */
  async readLater(list: "entries" | "vips"): Promise<boolean> {
    return list === "vips" ? await this.#vips.readLater() : await this.#entries.readLater();
  }

  /** Returns all rows of a mailbox from the snapshot: it may occur in several spellings. */
  async vipRowsOf(email: string): Promise<readonly VipEmployeeRow[]> {
    return (await this.#vips.rows()).named(canonicalMailbox(email));
  }

  /** Returns all VIPs from the snapshot, one row per mailbox; rows without a mailbox are left out. */
  async allVips(): Promise<readonly VipEmployeeRow[]> {
    const rows = await this.#vips.rows();
    const mailboxes = new Set(rows.all().map(({ email = "" }) => canonicalMailbox(email)));
    return [...mailboxes].flatMap((mailbox) => vipIn(rows, mailbox) ?? []);
  }

  /**
   * Marks a mailbox as VIP, batched with concurrent additions that have the same comment. The result describes this mailbox
   * alone.
   *
   * The snapshot stays unchanged: refetch to see the effect. The answer may name another mailbox if this one is an alias of it.
   *
   * @throws {NotInOrganizationError} if the mailbox does not belong to the organization; nothing was written for it.
   */
  async addVip(email: string, comment: string | undefined): Promise<AddVipResult> {
    const result = await this.#vipBatches.add(canonicalMailbox(email), comment);
    for (const mailbox of [email, ...result.added]) this.#vips.expectNamed(canonicalMailbox(mailbox));
    return result;
  }

  /**
   * Edits the comment of the effective row, under the address that the service lists.
   *
   * @throws {NotFoundError} if no row is stored for the mailbox.
   */
  async editVipComment(email: string, comment: string): Promise<VipEmployeeRow> {
    const mailbox = canonicalMailbox(email);
    const rows = this.#vips.knownAs(mailbox);
    const address = rowThatCounts(rows, email)?.email ?? mailbox;
    const stored = await this.#writeVip(() => this.#client.vipEmployees.editComment(address, comment));
    const before = rows.find((row) => row.email === stored.email) ?? rowThatCounts(rows, email);
    const row = rowAfterEdit(before, stored, email);
    const replaced = before === undefined ? undefined : nameOfVipRow(before);
    if (replaced !== undefined) this.#vips.remove(replaced);
    this.#vips.put(row);
    return row;
  }

  /**
   * Writes the exclusion, batched with concurrent removals. Covers each address by which the service lists the mailbox, since
   * it may compare addresses literally.
   */
  async removeVip(email: string): Promise<void> {
    const mailbox = canonicalMailbox(email);
    const listed = this.#vips.knownAs(mailbox).flatMap((row) => row.email ?? []);
    const addresses = new Set(listed.length === 0 ? [mailbox] : listed);
    await this.#writes.remove(mailbox, async () => {
      await Promise.all([...addresses].map((address) => this.#vipBatches.remove(address)));
      this.#vips.dropNamed(mailbox);
    });
  }

  /** Returns all entries of a value, on both lists and of every scope, from the snapshot; those of the preferred list first. */
  async entriesOfValue(query: EntryQuery): Promise<readonly AllowDenyEntryRow[]> {
    return await this.#entries.ofValue(query, (snapshot) => snapshot.rows());
  }

  /** Returns all entries of a value with a refetch. */
  async entriesOfValueAnew(query: EntryQuery): Promise<readonly AllowDenyEntryRow[]> {
    return await this.#entries.ofValue(query, (snapshot) => snapshot.fresh());
  }

  /**
   * Serializes work on an entry's value: two callers that look for the same value must not both add it. The work must not
   * request another turn itself.
   */
  async inTurn<T>({ entryType, value }: Pick<EntryQuery, "entryType" | "value">, work: () => Promise<T>): Promise<T> {
    return await this.#writes.inSequence(`value ${naturalKey(entryType, value)}`, work);
  }
}
