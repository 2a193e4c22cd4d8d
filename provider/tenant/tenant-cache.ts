import {
  type AddVipResult,
  type AllowDenyEntryRow,
  type EntryChange,
  type NewEntry,
  NotFoundError,
  type SettingsClient,
  type VipEmployeeRow,
} from "../client";
import { getVipRowIdentity } from "../client/vip-employees";
import { ENTRY_LISTS, LIST_LAG_MS, type List } from "../model/assumptions";
import { canonicalizeMailbox, canonicalizeValue, type EntryValue } from "../model/entry-value";
import type { MailDomains } from "../model/mail-domains";
import { IdentityBuilder, pickVipIdentity, type TenantIdentity } from "../model/tenant-identity";
import { EntrySnapshots } from "./entry-snapshots";
import { MailDomainCache } from "./mail-domain-cache";
import {
  addQueryKey,
  type EntryQuery,
  findEffectiveVip,
  getRowNaturalKey,
  hasNaturalKey,
  selectEffectiveRow,
} from "./match-rows";
import { OngoingWrites } from "./ongoing-writes";
import { type ConfirmOptions, readConfirmedRows } from "./read-confirmed";
import { readUntil } from "./read-until";
import { ReadWriteLock } from "./read-write-lock";
import { resolveOutcome } from "./resolve-outcome";
import type { RowIndex } from "./row-index";
import type { Snapshot } from "./snapshot";
import { realSleep, type ScheduleBatch, type Sleep, scheduleBatch } from "./time";
import { VipBatches } from "./vip-batches";
import { applyVipEdit, createVipSnapshot, refetchListedVips } from "./vip-snapshot";
import type { CreatedEntry, Deletion } from "./write-results";

export interface TenantCacheOptions {
  readonly client: SettingsClient;
  /** The current time in milliseconds. Only differences matter. Default: the process's own monotonic clock. */
  readonly now?: () => number;
  /** Waits between two reads of a list that may lag. Default: the process's own timers. */
  readonly sleep?: Sleep;
  /** Default: {@link scheduleBatch}. */
  readonly scheduleBatch?: ScheduleBatch;
}

/**
 * A tenant with its snapshots. All resources of a stack share this object, so one operation needs ⌈N/200⌉ requests per
 * list, however many resources read it. Own writes keep the snapshots current. Concurrent additions and removals of
 * VIPs share requests too.
 *
 * The client applies the rate limit and retries safe requests. Before a retry of another write, it reads the list to
 * verify the outcome ({@link resolveOutcome}).
 */
export class TenantCache {
  readonly #client: SettingsClient;
  readonly #sleep: Sleep;
  readonly #writeEntry: ReadWriteLock["write"];
  readonly #writeVip: ReadWriteLock["write"];
  readonly #entries: EntrySnapshots;
  readonly #vips: Snapshot<VipEmployeeRow>;
  readonly #mailDomainCache: MailDomainCache;
  readonly #vipBatches: VipBatches;
  readonly #writes = new OngoingWrites();

  constructor({
    client,
    now = () => performance.now(),
    sleep = realSleep,
    scheduleBatch: startBatch = scheduleBatch,
  }: TenantCacheOptions) {
    const entryWriteLock = new ReadWriteLock();
    const vipWriteLock = new ReadWriteLock();
    this.#client = client;
    this.#sleep = sleep;
    this.#writeEntry = (call) => entryWriteLock.write(call);
    this.#writeVip = (call) => vipWriteLock.write(call);
    this.#entries = new EntrySnapshots(client, entryWriteLock, { now, sleep });
    this.#vips = createVipSnapshot(client, vipWriteLock, { now, sleep });
    this.#mailDomainCache = new MailDomainCache(client, this.#vips);
    this.#vipBatches = new VipBatches({
      vips: client.vipEmployees,
      write: this.#writeVip,
      scheduleBatch: startBatch,
      findListed: (mailboxes) => refetchListedVips(mailboxes, this.#vips),
      canRetry: () => client.consumeRetryBudget(),
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
    const keyedQuery = addQueryKey(query);
    return await this.#writes.findSettled(
      () => this.#entries.find(keyedQuery, (snapshot) => snapshot.getRows()),
      (row) => row.id,
    );
  }

  async refetchEntry(query: EntryQuery): Promise<AllowDenyEntryRow | undefined> {
    return await this.#entries.find(addQueryKey(query), (snapshot) => snapshot.refetch());
  }

  /**
   * Finds an entry and confirms that it is missing. One read may miss an entry that another writer's change shifted out
   * of the pages, or that the stale list doesn't show yet. The lists are therefore refetched until they show it, by id
   * if it is known. Undefined means that the entry is gone. Concurrent callers share these reads.
   */
  findEntryConfirmed(
    query: EntryQuery,
    options: ConfirmOptions<AllowDenyEntryRow> = {},
  ): Promise<AllowDenyEntryRow | undefined> {
    return this.#entries.findConfirmed(query, options);
  }

  /** Finds all entries of a value. Refetches until the lists show one that the state expects. */
  findEntriesConfirmed(
    query: EntryQuery,
    isNamed: (row: AllowDenyEntryRow) => boolean,
  ): Promise<readonly AllowDenyEntryRow[]> {
    return this.#entries.findByValueConfirmed(query, isNamed);
  }

  /** Returns the entry of an id in the latest snapshots, whatever its value. Sends no request. */
  getCachedEntry(id: string): AllowDenyEntryRow | undefined {
    return this.#entries.getCached(id);
  }

  hasDeleted(id: string): boolean {
    return this.#entries.hasDropped(id);
  }

  async readUntil<T>(read: () => Promise<T>, isExpected: (result: T) => boolean): Promise<T> {
    return await readUntil(read, isExpected, this.#sleep);
  }

  /** Returns all entries of the given lists from the snapshot, in list order. Reads no other list. */
  async readAllEntries(lists: readonly List[] = ENTRY_LISTS): Promise<readonly AllowDenyEntryRow[]> {
    const read = await this.#entries.read(lists, (snapshot) => snapshot.getRows());
    return read.flatMap((rows) => rows.getAll());
  }

  /**
   * Finds the entry of an id, or all entries of a value, on the given lists only. Refetches if the snapshot has none, like
   * {@link findEntryConfirmed}.
   */
  findEntriesByIdOrValue(
    query: { readonly id: string; readonly value?: EntryValue | undefined },
    lists: readonly List[],
  ): Promise<readonly AllowDenyEntryRow[]> {
    return this.#entries.findByIdOrValue(query, lists);
  }

  /**
   * Adds an entry. If the outcome is unknown and the entry exists now, it is returned as one that existed before.
   * Somebody else may have created it, so the caller must compare it.
   */
  async createEntry(entry: NewEntry & { readonly verdict_scope: string }): Promise<CreatedEntry> {
    const { list, entry_type: entryType, value, verdict_scope: verdictScope } = entry;
    const readOutcome = async (): Promise<CreatedEntry | undefined> => {
      const row = await this.refetchEntry({ list, entryType, value, verdictScope });
      return row === undefined ? undefined : { row, isNew: false };
    };
    return await resolveOutcome<CreatedEntry>({
      write: async () => {
        const row = await this.#writeEntry(() => this.#client.allowDenyEntries.create(entry));
        const isNew = this.#entries.getCached(row.id) === undefined;
        return { row: this.#entries.put(row), isNew };
      },
      readOutcome,
      rereadOutcome: async () => {
        await this.#sleep(LIST_LAG_MS);
        return await readOutcome();
      },
      canRetry: () => this.#client.consumeRetryBudget(),
    });
  }

  /**
   * Changes an entry. The response may describe a different entry, so compare it.
   *
   * @throws {NotFoundError} if the entry does not exist.
   */
  async updateEntry(id: string, change: EntryChange): Promise<AllowDenyEntryRow> {
    try {
      return await this.#writes.runInSequence(id, async () => {
        const before = this.getCachedEntry(id);
        const row = await this.#writeEntry(() => this.#client.allowDenyEntries.update(id, change));
        const isSame = row.id === id && (before === undefined || hasNaturalKey(row, getRowNaturalKey(before)));
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
   * @param isMeant called with the current entry, as each list shows it, once no other write of it is in progress. If
   * it returns false, the entry stays and the result is "changed".
   */
  async deleteEntry(id: string, isMeant: (row: AllowDenyEntryRow) => boolean = () => true): Promise<Deletion> {
    return await this.#writes.runInSequence(id, async () => {
      if (!this.#entries.getAllCached(id).every(isMeant)) return "changed";
      return await this.#deleteNow(id);
    });
  }

  async #deleteNow(id: string): Promise<Deletion> {
    return await this.#writes.trackRemoval(id, async () => {
      try {
        const { deleted = true } = await this.#writeEntry(() => this.#client.allowDenyEntries.delete(id));
        if (deleted) this.#entries.drop(id);
        return deleted ? "deleted" : "refused";
      } catch (error) {
        if (!(error instanceof NotFoundError)) throw error;
        // An earlier attempt may have removed it although its response was lost.
        if (error.outcomeUnknown) this.#entries.drop(id);
        else this.#entries.forget(id);
        return error.outcomeUnknown ? "deleted" : "gone";
      }
    });
  }

  /** Finds a VIP in the snapshot. Waits for a removal in progress, like {@link findEntry}. */
  async findVip(email: string): Promise<VipEmployeeRow | undefined> {
    const mailbox = canonicalizeMailbox(email);
    return await this.#writes.findSettled(
      async () => findEffectiveVip(await this.#vips.getRows(), email),
      () => mailbox,
    );
  }

  async refetchVip(email: string): Promise<VipEmployeeRow | undefined> {
    return findEffectiveVip(await this.#vips.refetch(), email);
  }

  /** Finds a VIP and confirms that it is missing, like {@link findEntryConfirmed}. Undefined means that the mailbox is not a VIP. */
  async findVipConfirmed(
    email: string,
    options: ConfirmOptions<VipEmployeeRow> = {},
  ): Promise<VipEmployeeRow | undefined> {
    const find = ([rows]: readonly RowIndex<VipEmployeeRow>[]): VipEmployeeRow | undefined =>
      rows === undefined ? undefined : findEffectiveVip(rows, email);
    return find(await readConfirmedRows([this.#vips], find, options));
  }

  /**
   * Returns the tenant's mail domains, from the VIP snapshot if one exists or is about to be read, otherwise from one
   * page.
   */
  readMailDomains(options: { readonly isRead: boolean }): Promise<MailDomains> {
    return this.#mailDomainCache.read(options);
  }

  /** Returns the mail domains of the latest VIP snapshot, if there is one. Sends no request. */
  getCachedMailDomains(): MailDomains | undefined {
    return this.#mailDomainCache.getCached();
  }

  /** Returns the tenant's identity, from the snapshot of a list. For entries, adds the VIP snapshot if there is one. */
  async readIdentity(list: "entries" | "vips"): Promise<TenantIdentity> {
    if (list === "entries") return this.#buildIdentity(await this.readAllEntries());
    await this.#vips.getRows();
    return pickVipIdentity(this.#buildIdentity([]));
  }

  /**
   * Returns the tenant's identity from the latest snapshots with own writes. Undefined if the entries were not read.
   * Sends no request.
   */
  getCachedIdentity(): TenantIdentity | undefined {
    const rows = this.#entries.getLatestRows();
    return rows && this.#buildIdentity(rows);
  }

  #buildIdentity(rows: Iterable<AllowDenyEntryRow>): TenantIdentity {
    const reader = new IdentityBuilder();
    for (const row of rows) reader.addEntry(row);
    const vips = this.#vips.getLatestRows();
    if (vips !== undefined) {
      reader.markVipsRead();
      for (const { email } of vips.getAll()) reader.addVip(email);
    }
    return reader.build(this.baseUrl, this.#client.serviceTimeMs);
  }

  /** Whether any of these values or mailboxes exists in the snapshot, even on another list or with another scope. */
  async hasAny(
    list: "entries" | "vips",
    things: Iterable<{ readonly target: { readonly value: string } }>,
  ): Promise<boolean> {
    const lists =
      list === "vips" ? [await this.#vips.getRows()] : await this.#entries.readBoth((entry) => entry.getRows());
    for (const { target } of things) {
      const name = list === "vips" ? target.value : canonicalizeValue(target.value);
      if (lists.some((rows) => rows.getByName(name).length > 0)) return true;
    }
    return false;
  }

  async refetchIfLagging(list: "entries" | "vips"): Promise<boolean> {
    return list === "vips" ? await this.#vips.refetchIfLagging() : await this.#entries.refetchIfLagging();
  }

  /** Returns all rows of a mailbox from the snapshot. It may occur in several spellings. */
  async readVipRows(email: string): Promise<readonly VipEmployeeRow[]> {
    return (await this.#vips.getRows()).getByName(canonicalizeMailbox(email));
  }

  /** Returns all VIPs from the snapshot, one row per mailbox. Omits rows without a mailbox. */
  async readAllVips(): Promise<readonly VipEmployeeRow[]> {
    const rows = await this.#vips.getRows();
    const mailboxes = new Set(rows.getAll().map(({ email = "" }) => canonicalizeMailbox(email)));
    return [...mailboxes].flatMap((mailbox) => findEffectiveVip(rows, mailbox) ?? []);
  }

  /**
   * Marks a mailbox as VIP, batched with concurrent additions that have the same comment. The result describes this
   * mailbox alone.
   *
   * The snapshot stays unchanged: refetch to see the effect. The response may name another mailbox if this one is an
   * alias of it.
   *
   * @throws {NotInOrganizationError} if the mailbox does not belong to the organization. Nothing was written for it.
   */
  async addVip(email: string, comment: string | undefined): Promise<AddVipResult> {
    const result = await this.#vipBatches.add(canonicalizeMailbox(email), comment);
    for (const mailbox of [email, ...result.added]) this.#vips.clearRemoval(canonicalizeMailbox(mailbox));
    return result;
  }

  /**
   * Edits the comment of the effective row, at the address that the service lists.
   *
   * @throws {NotFoundError} if no row is stored for the mailbox.
   */
  async editVipComment(email: string, comment: string): Promise<VipEmployeeRow> {
    const mailbox = canonicalizeMailbox(email);
    const rows = this.#vips.getCachedByName(mailbox);
    const address = selectEffectiveRow(rows, email)?.email ?? mailbox;
    const stored = await this.#writeVip(() => this.#client.vipEmployees.editComment(address, comment));
    const before = rows.find((row) => row.email === stored.email) ?? selectEffectiveRow(rows, email);
    const row = applyVipEdit(before, stored, email);
    const replaced = before === undefined ? undefined : getVipRowIdentity(before);
    if (replaced !== undefined) this.#vips.remove(replaced);
    this.#vips.put(row);
    return row;
  }

  /**
   * Writes the exclusion, batched with concurrent removals. Covers each address by which the service lists the mailbox, since
   * it may compare addresses literally.
   */
  async removeVip(email: string): Promise<void> {
    const mailbox = canonicalizeMailbox(email);
    const listed = this.#vips.getCachedByName(mailbox).flatMap((row) => row.email ?? []);
    const addresses = new Set(listed.length === 0 ? [mailbox] : listed);
    await this.#writes.trackRemoval(mailbox, async () => {
      await Promise.all([...addresses].map((address) => this.#vipBatches.remove(address)));
      this.#vips.dropByName(mailbox);
    });
  }

  /**
   * Returns all entries of a value from the snapshot, on both lists, of every scope and type. Those of the preferred
   * list come first.
   */
  async findEntriesByValue(query: EntryQuery): Promise<readonly AllowDenyEntryRow[]> {
    return await this.#entries.findByValue(query, (snapshot) => snapshot.getRows());
  }

  async refetchEntriesByValue(query: EntryQuery): Promise<readonly AllowDenyEntryRow[]> {
    return await this.#entries.findByValue(query, (snapshot) => snapshot.refetch());
  }

  /**
   * Serializes work on an entry's value, because two callers that look for the same value must not both add it. The
   * work must not call this method itself.
   */
  async runExclusive<T>({ value }: Pick<EntryQuery, "value">, work: () => Promise<T>): Promise<T> {
    return await this.#writes.runInSequence(`value ${canonicalizeValue(value)}`, work);
  }
}
