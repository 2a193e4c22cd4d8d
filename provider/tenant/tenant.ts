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
  /** Milliseconds; only differences count. Default: the process's own monotonic clock. */
  readonly now?: () => number;
  /** Waits between two readings of a list that lags. Default: the process's own timers. */
  readonly sleep?: Sleep;
  /** Default: for a moment. */
  readonly gather?: Gather;
}

/**
 * One tenant as the provider process sees it. Every resource of a stack asks this one object, so reads are shared:
 * ⌈N/200⌉ requests a list for a whole operation, however many resources ask. Own writes keep the shared reading true.
 * Additions and removals of VIPs that come at the same time share requests too.
 *
 * The client keeps to what the service bears, and tries again what may be; what it must not repeat blindly is looked up
 * in the list first ({@link withKnownOutcome}).
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

  constructor({
    client,
    now = () => performance.now(),
    sleep = realSleep,
    gather = gatherForAMoment,
  }: TenantOptions) {
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

  /** The service's address. */
  get baseUrl(): string {
    return this.#client.baseUrl;
  }

  /**
   * The entry as the service holds it, by the shared reading. One that is being removed right now, as when it goes from a
   * list to a resource of its own, is looked for when that is done: it must not be taken for one that stays.
   */
  async findEntry(query: EntryQuery): Promise<AllowDenyEntryRow | undefined> {
    const wanted = withKey(query);
    return await this.#writes.findSettled(
      () => this.#entries.find(wanted, (snapshot) => snapshot.rows()),
      (row) => row.id,
    );
  }

  /** The same by a reading that begins now. */
  async findEntryAnew(query: EntryQuery): Promise<AllowDenyEntryRow | undefined> {
    return await this.#entries.find(withKey(query), (snapshot) => snapshot.fresh());
  }

  /**
   * The same, and surely: one reading may miss an entry that another writer's change shifted out of its sight, or that the list does not
   * show yet, or not yet as it was written last. So the lists are read again until they show it, under its id where that is known.
   * Undefined means gone. All who miss an entry share these readings.
   */
  findEntrySurely(
    query: EntryQuery,
    options: ConfirmOptions<AllowDenyEntryRow> = {},
  ): Promise<AllowDenyEntryRow | undefined> {
    return this.#entries.findSurely(query, options);
  }

  /**
   * All entries of a value, as {@link entriesOfValue}, and surely: the lists are read again until they show one that a state says is
   * there.
   */
  entriesOfValueSurely(
    query: EntryQuery,
    isNamed: (row: AllowDenyEntryRow) => boolean,
  ): Promise<readonly AllowDenyEntryRow[]> {
    return this.#entries.ofValueSurely(query, isNamed);
  }

  /** The entry of an id by the last readings, whatever it is about. Reads nothing. */
  knownEntry(id: string): AllowDenyEntryRow | undefined {
    return this.#entries.known(id);
  }

  /** Whether this process has removed the entry of an id. */
  hasDeleted(id: string): boolean {
    return this.#entries.isDropped(id);
  }

  /** {@link readUntil}, by the tenant's clock. */
  async readUntil<T>(read: () => Promise<T>, isExpected: (result: T) => boolean): Promise<T> {
    return await readUntil(read, isExpected, this.#sleep);
  }

  /** All entries of the given lists by the shared reading, in their order; no other list is read. */
  async allEntries(lists: readonly List[] = LISTS): Promise<readonly AllowDenyEntryRow[]> {
    const read = await this.#entries.read(lists, (snapshot) => snapshot.rows());
    return read.flatMap((rows) => rows.all());
  }

  /**
   * The entry of an id, or else all entries of a value, on the given lists and no other; by the shared reading, and where
   * that has none surely, as {@link findEntrySurely}.
   */
  entriesNamed(
    query: { readonly id: string; readonly value?: EntryValue | undefined },
    lists: readonly List[],
  ): Promise<readonly AllowDenyEntryRow[]> {
    return this.#entries.named(query, lists);
  }

  /**
   * Adds an entry. Where it can't be known what came of it, one that is there now is answered as one that stood there
   * before: whoever made it, it must be compared with what was asked.
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
   * Changes an entry. The answer may be of another one; compare it.
   *
   * @throws {NotFoundError} when there is no such entry.
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
   * Removes an entry, whether or not the lists show it: the service knows it by its id.
   *
   * @param isMeant Asked when no other write of that entry is under way any more, with the entry as it then is: false
   * leaves it, and answers "changed".
   */
  async deleteEntry(
    id: string,
    isMeant: (row: AllowDenyEntryRow) => boolean = () => true,
  ): Promise<Deletion> {
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
        // An earlier attempt may have removed it without saying so.
        if (error.outcomeUnknown) this.#entries.drop(id);
        else this.#entries.forget(id);
        return error.outcomeUnknown ? "deleted" : "gone";
      }
    });
  }

  /** The VIP as the service lists it, by the shared reading; one that is being removed right now as {@link findEntry}. */
  async findVip(email: string): Promise<VipEmployeeRow | undefined> {
    const mailbox = canonicalMailbox(email);
    return await this.#writes.findSettled(
      async () => vipIn(await this.#vips.rows(), email),
      () => mailbox,
    );
  }

  /** The same by a reading that begins now. */
  async findVipAnew(email: string): Promise<VipEmployeeRow | undefined> {
    return vipIn(await this.#vips.fresh(), email);
  }

  /** The same, and surely, as {@link findEntrySurely}: undefined means that the mailbox is no VIP. */
  async findVipSurely(
    email: string,
    options: ConfirmOptions<VipEmployeeRow> = {},
  ): Promise<VipEmployeeRow | undefined> {
    const find = ([rows]: readonly Rows<VipEmployeeRow>[]): VipEmployeeRow | undefined =>
      rows === undefined ? undefined : vipIn(rows, email);
    return find(await readSurely([this.#vips], find, options));
  }

  /**
   * Whose mailboxes are here, by the VIPs: by their shared reading where there is one or one is about to be made anyway, else by
   * one page.
   */
  people(options: { readonly isRead: boolean }): Promise<People> {
    return this.#people.read(options);
  }

  /** The same by the last reading of the VIPs, if there was one. Reads nothing. */
  knownPeople(): People | undefined {
    return this.#people.known();
  }

  /** What identifies the tenant, by the shared reading of a list and, of entries, by that of the VIPs if there was one. */
  async identity(list: "entries" | "vips"): Promise<TenantIdentity> {
    if (list === "entries") return this.#identityOf(await this.allEntries());
    await this.#vips.rows();
    return peopleAlone(this.#identityOf([]));
  }

  /** The same by the last readings, with own writes; undefined where the entries were not read. Reads nothing. */
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

  /** Whether any of these values or mailboxes is there, be it on another list or of another scope; by the shared reading. */
  async holdsAny(
    list: "entries" | "vips",
    things: Iterable<{ readonly target: { readonly value: string } }>,
  ): Promise<boolean> {
    const lists =
      list === "vips" ? [await this.#vips.rows()] : await this.#entries.readBoth((one) => one.rows());
    for (const { target } of things) {
      const names =
        list === "vips"
          ? [target.value]
          : ENTRY_TYPES.map((entryType) => naturalKey(entryType, target.value));
      if (lists.some((rows) => names.some((name) => rows.named(name).length > 0))) return true;
    }
    return false;
  }

  /** {@link Snapshot.readLater} for the lists of a setting. */
  async readLater(list: "entries" | "vips"): Promise<boolean> {
    return list === "vips" ? await this.#vips.readLater() : await this.#entries.readLater();
  }

  /** All rows of a mailbox by the shared reading: it may be written in several ways. */
  async vipRowsOf(email: string): Promise<readonly VipEmployeeRow[]> {
    return (await this.#vips.rows()).named(canonicalMailbox(email));
  }

  /** All VIPs by the shared reading, one row a mailbox; those without a mailbox are left out. */
  async allVips(): Promise<readonly VipEmployeeRow[]> {
    const rows = await this.#vips.rows();
    const mailboxes = new Set(rows.all().map(({ email = "" }) => canonicalMailbox(email)));
    return [...mailboxes].flatMap((mailbox) => vipIn(rows, mailbox) ?? []);
  }

  /**
   * Marks a mailbox as VIP, in one request with all that are added with the same comment at about the same time. The
   * answer tells of this mailbox alone.
   *
   * The shared reading is left as it is: read back anew what came of it. The answer may name another mailbox, where this one is
   * an alias of it.
   *
   * @throws {NotInOrganizationError} when this mailbox is none of the organization's; nothing was written for it.
   */
  async addVip(email: string, comment: string | undefined): Promise<AddVipResult> {
    const result = await this.#vipBatches.add(canonicalMailbox(email), comment);
    for (const mailbox of [email, ...result.added]) this.#vips.expectNamed(canonicalMailbox(mailbox));
    return result;
  }

  /**
   * Edits the comment of the row that counts, under the address that the service lists it by.
   *
   * @throws {NotFoundError} when no row is stored for the mailbox.
   */
  async editVipComment(email: string, comment: string): Promise<VipEmployeeRow> {
    const mailbox = canonicalMailbox(email);
    const rows = this.#vips.knownAs(mailbox);
    const address = rowThatCounts(rows, email)?.email ?? mailbox;
    const stored = await this.#writeVip(() => this.#client.vipEmployees.editComment(address, comment));
    const before = rows.find((row) => row.email === stored.email) ?? rowThatCounts(rows, email);
    const row = rowAfterEdit(before, stored, email);
    const replaced = before === undefined ? undefined : nameOfVipRow(before);
    if (replaced !== undefined) this.#vips.forget(replaced);
    this.#vips.put(row);
    return row;
  }

  /**
   * Writes the exclusion, in one request with all that are removed at about the same time: of each address by which the service
   * lists the mailbox, for it may compare addresses literally.
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

  /** All entries of a value, on both lists and of every scope, by the shared reading; those of the list first. */
  async entriesOfValue(query: EntryQuery): Promise<readonly AllowDenyEntryRow[]> {
    return await this.#entries.ofValue(query, (snapshot) => snapshot.rows());
  }

  /** The same by a reading that begins now. */
  async entriesOfValueAnew(query: EntryQuery): Promise<readonly AllowDenyEntryRow[]> {
    return await this.#entries.ofValue(query, (snapshot) => snapshot.fresh());
  }

  /**
   * Runs work about an entry's value when no other such work is under way: two that look for one value and add it must not both add it.
   * Work in turn must not ask for another turn.
   */
  async inTurn<T>(
    { entryType, value }: Pick<EntryQuery, "entryType" | "value">,
    work: () => Promise<T>,
  ): Promise<T> {
    return await this.#writes.inSequence(`value ${naturalKey(entryType, value)}`, work);
  }
}
