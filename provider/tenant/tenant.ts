import {
  type AddVipResult,
  type AllowDenyEntryRow,
  type EntryChange,
  type NewEntry,
  NotFoundError,
  type ReadAllOptions,
  type SettingsClient,
  type VipEmployeeRow,
} from "../client";
import { nameOfVipRow } from "../client/vip-employees";
import { ENTRY_TYPES, LIST_LAG_MS, LISTS, type List } from "../settings/assumptions";
import { ENTRY_FIELDS, isSameRow } from "../settings/entry-fields";
import { canonicalMailbox, type EntryValue, naturalKey } from "../settings/entry-value";
import { IdentityReader, type TenantIdentity } from "../settings/tenant-identity";
import { type People, peopleOf } from "../settings/tenant-people";
import { withoutUndefined } from "../settings/without-undefined";
import { withKnownOutcome } from "./known-outcome";
import {
  type EntryQuery,
  entryIn,
  isAbout,
  type KeyedQuery,
  keyOfValue,
  ofValue,
  rowThatCounts,
  vipIn,
  withKey,
} from "./matching";
import { readUntil } from "./read-until";
import type { Rows } from "./rows";
import { Snapshot, type WholeList } from "./snapshot";
import { type Gather, gatherForAMoment, realSleep, type Sleep } from "./time";
import { Turns } from "./turns";
import { VipBatches } from "./vip-batches";

/** So many VIPs are enough to see whose mailboxes a tenant has. */
const PEOPLE_ASKED = 100;

export interface TenantOptions {
  readonly client: SettingsClient;
  /** Milliseconds; only differences count. Default: the process's own monotonic clock. */
  readonly now?: () => number;
  /** Waits between two readings of a list that lags. Default: the process's own timers. */
  readonly sleep?: Sleep;
  /** Default: for a moment. */
  readonly gather?: Gather;
}

/** What a create answered with, and whether that entry was not on the lists before. */
export interface CreatedEntry {
  readonly row: AllowDenyEntryRow;
  readonly isNew: boolean;
}

/** What came of a deletion: `gone` where there was no such entry, `refused` where the service answers that it did not delete it. */
export type Deletion = "deleted" | "gone" | "refused" | "changed";

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
  readonly #entries: Readonly<Record<List, Snapshot<AllowDenyEntryRow>>>;
  readonly #vips: Snapshot<VipEmployeeRow>;
  #lastPeople: { readonly rows: unknown; readonly people: People } | undefined;
  readonly #vipBatches: VipBatches;
  /** The last write of each entry that is under way, by id. */
  readonly #writing = new Map<string, Promise<unknown>>();
  /** What is being removed right now, by id or mailbox: who asks for it is told when that is done. */
  readonly #leaving = new Map<string, Promise<unknown>>();

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
    const entries = (list: List) =>
      new Snapshot<AllowDenyEntryRow>({
        read: () =>
          entryTurns.read(() => readWhole((options) => client.allowDenyEntries.readAll(list, options))),
        key: (row) => row.id,
        name: keyOfValue,
        isShown: (row, rows) => isSameEntry(rows.get(row.id), row),
        now,
        sleep,
      });
    this.#entries = { allow: entries("allow"), deny: entries("deny") };
    this.#vips = new Snapshot<VipEmployeeRow>({
      read: () => vipTurns.read(() => readWhole((options) => client.vipEmployees.readAll(options))),
      key: nameOfVipRow,
      name: (row) => canonicalMailbox(row.email ?? ""),
      isShown: isVipShown,
      overlay: overlayVip,
      now,
      sleep,
    });
    this.#vipBatches = new VipBatches({
      vips: client.vipEmployees,
      write: this.#writeVip,
      gather,
      listed: async (mailboxes) => {
        await this.#vips.fresh();
        const isMissing = (rows: Rows<VipEmployeeRow>) => mailboxes.some((one) => !rows.named(one).length);
        const rows = await this.#vips.secondOpinion(isMissing);
        return new Set(mailboxes.filter((mailbox) => rows.named(mailbox).length > 0));
      },
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
    return await this.#settled(
      () => this.#findEntry(wanted, (snapshot) => snapshot.rows()),
      (row) => row.id,
    );
  }

  /** The same by a reading that begins now. */
  async findEntryAnew(query: EntryQuery): Promise<AllowDenyEntryRow | undefined> {
    return await this.#findEntry(withKey(query), (snapshot) => snapshot.fresh());
  }

  /**
   * The same, and surely: one reading may miss an entry that another writer's change shifted out of its sight, or that the list does not
   * show yet. So the lists are read again until they show it, under its id where that is known. Undefined means gone. All who miss an
   * entry share these readings.
   */
  async findEntrySurely(
    query: EntryQuery,
    { isExpected = true }: ConfirmOptions = {},
  ): Promise<AllowDenyEntryRow | undefined> {
    const wanted = withKey(query);
    const isShown = (lists: readonly Rows<AllowDenyEntryRow>[]): boolean => {
      const row = entryIn(lists, wanted);
      return row !== undefined && (query.id === undefined || row.id === query.id);
    };
    return entryIn(await readSurely(this.#bothSnapshots(), isShown, isExpected), wanted);
  }

  /**
   * All entries of a value, as {@link entriesOfValue}, and surely: the lists are read again until they show one that a state says is
   * there.
   */
  async entriesOfValueSurely(
    query: EntryQuery,
    isNamed: (row: AllowDenyEntryRow) => boolean,
  ): Promise<readonly AllowDenyEntryRow[]> {
    const wanted = withKey(query);
    const isShown = (lists: readonly Rows<AllowDenyEntryRow>[]): boolean =>
      ofValue(wanted, lists).some(isNamed);
    return ofValue(wanted, await readSurely(this.#bothSnapshots(), isShown));
  }

  /** The entry of an id by the last readings, whatever it is about. Reads nothing. */
  knownEntry(id: string): AllowDenyEntryRow | undefined {
    return this.#entries.allow.known(id) ?? this.#entries.deny.known(id);
  }

  /** {@link readUntil}, by the tenant's clock. */
  async readUntil<T>(read: () => Promise<T>, isExpected: (result: T) => boolean): Promise<T> {
    return await readUntil(read, isExpected, this.#sleep);
  }

  /** All entries of the given lists by the shared reading, in their order; no other list is read. */
  async allEntries(lists: readonly List[] = LISTS): Promise<readonly AllowDenyEntryRow[]> {
    const read = await this.#readLists(lists, (snapshot) => snapshot.rows());
    return read.flatMap((rows) => rows.all());
  }

  /**
   * The entry of an id, or else all entries of a value, on the given lists and no other; by the shared reading, and where
   * that has none surely, as {@link findEntrySurely}.
   */
  async entriesNamed(
    { id, value }: { readonly id: string; readonly value?: EntryValue | undefined },
    lists: readonly List[],
  ): Promise<readonly AllowDenyEntryRow[]> {
    const key = value === undefined ? undefined : naturalKey(value.entryType, value.canonical);
    const named = (read: readonly Rows<AllowDenyEntryRow>[]): AllowDenyEntryRow[] => {
      const row = read.map((rows) => rows.get(id)).find((one) => one !== undefined);
      if (row !== undefined) return [row];
      return key === undefined ? [] : read.flatMap((rows) => rows.named(key));
    };
    const found = named(await this.#readLists(lists, (snapshot) => snapshot.rows()));
    if (found.length > 0) return found;
    const isMissing = (rows: Rows<AllowDenyEntryRow>) => named([rows]).length === 0;
    return named(await this.#readLists(lists, (snapshot) => snapshot.secondOpinion(isMissing)));
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
        const isNew = !LISTS.some((name) => this.#entries[name].known(row.id) !== undefined);
        return { row: this.#noteEntry(row), isNew };
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
      return await this.#oneByOne(id, async () => {
        const before = this.knownEntry(id);
        const row = await this.#writeEntry(() => this.#client.allowDenyEntries.update(id, change));
        const isSame = row.id === id && (before === undefined || isAbout(row, keyOfValue(before)));
        return isSame ? this.#noteEntry(row) : row;
      });
    } catch (error) {
      if (error instanceof NotFoundError) this.#dropEntry(id);
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
    return await this.#oneByOne(id, async () => {
      const row = this.knownEntry(id);
      if (row !== undefined && !isMeant(row)) return "changed";
      return await this.#deleteNow(id);
    });
  }

  async #deleteNow(id: string): Promise<Deletion> {
    return await this.#leave(id, async () => {
      try {
        const { deleted = true } = await this.#writeEntry(() => this.#client.allowDenyEntries.delete(id));
        if (deleted) this.#dropEntry(id);
        return deleted ? "deleted" : "refused";
      } catch (error) {
        if (!(error instanceof NotFoundError)) throw error;
        this.#dropEntry(id);
        // An earlier try may have removed it without saying so.
        return error.outcomeUnknown ? "deleted" : "gone";
      }
    });
  }

  /** The VIP as the service lists it, by the shared reading; one that is being removed right now as {@link findEntry}. */
  async findVip(email: string): Promise<VipEmployeeRow | undefined> {
    const mailbox = canonicalMailbox(email);
    return await this.#settled(
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
    { isExpected = true }: ConfirmOptions = {},
  ): Promise<VipEmployeeRow | undefined> {
    const isShown = ([rows]: readonly Rows<VipEmployeeRow>[]): boolean =>
      rows !== undefined && vipIn(rows, email) !== undefined;
    const [rows] = await readSurely([this.#vips], isShown, isExpected);
    return rows === undefined ? undefined : vipIn(rows, email);
  }

  /**
   * Whose mailboxes are here, by the VIPs: by their shared reading where there is one or one is about to be made anyway, else by
   * one page.
   */
  async people({ isRead }: { readonly isRead: boolean }): Promise<People> {
    if (isRead) await this.#vips.rows();
    const known = this.knownPeople();
    if (known !== undefined) return known;
    const { items, total } = await this.#client.vipEmployees.list({ page_size: PEOPLE_ASKED });
    return peopleOf(
      items.map(({ email }) => email),
      items.length === total,
    );
  }

  /** The same by the last reading of the VIPs, if there was one. Reads nothing. */
  knownPeople(): People | undefined {
    const rows = this.#vips.newest();
    if (rows === undefined) return undefined;
    if (this.#lastPeople?.rows !== rows) {
      const mailboxes = rows.all().map(({ email }) => email);
      this.#lastPeople = { rows, people: peopleOf(mailboxes, true) };
    }
    return this.#lastPeople.people;
  }

  /** What identifies the tenant, by the shared reading of a list and, of entries, by that of the VIPs if there was one. */
  async identity(list: "entries" | "vips"): Promise<TenantIdentity> {
    const reader = new IdentityReader();
    if (list === "vips") await this.#vips.rows();
    else for (const row of await this.allEntries()) reader.entry(row);
    const vips = this.#vips.newest();
    if (vips !== undefined) {
      reader.readsPeople();
      for (const { email } of vips.all()) reader.person(email);
    }
    return reader.identity(this.baseUrl);
  }

  /** Whether any of these values or mailboxes is there, be it on another list or of another scope; by the shared reading. */
  async holdsAny(
    list: "entries" | "vips",
    things: Iterable<{ readonly target: { readonly value: string } }>,
  ): Promise<boolean> {
    const lists =
      list === "vips" ? [await this.#vips.rows()] : await this.#readLists(LISTS, (one) => one.rows());
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
    return list === "vips" ? await this.#vips.readLater() : await readLater(this.#bothSnapshots());
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
    // The stored row has no directory fields, and may leave out what it does not know.
    const row: VipEmployeeRow = {
      ...EMPTY_VIP,
      ...before,
      ...withoutUndefined(stored),
      email: stored.email ?? email,
      comment: stored.comment,
    };
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
    await this.#leave(mailbox, async () => {
      await Promise.all([...addresses].map((address) => this.#vipBatches.remove(address)));
      this.#vips.dropNamed(mailbox);
    });
  }

  /** All entries of a value, on both lists and of every scope, by the shared reading; those of the list first. */
  async entriesOfValue(query: EntryQuery): Promise<readonly AllowDenyEntryRow[]> {
    return await this.#entriesOfValue(query, (snapshot) => snapshot.rows());
  }

  /** The same by a reading that begins now. */
  async entriesOfValueAnew(query: EntryQuery): Promise<readonly AllowDenyEntryRow[]> {
    return await this.#entriesOfValue(query, (snapshot) => snapshot.fresh());
  }

  /**
   * Runs work about an entry's value when no other such work is under way: two that look for one value and add it must not both add it.
   * Work in turn must not ask for another turn.
   */
  async inTurn<T>(
    { entryType, value }: Pick<EntryQuery, "entryType" | "value">,
    work: () => Promise<T>,
  ): Promise<T> {
    return await this.#oneByOne(`value ${naturalKey(entryType, value)}`, work);
  }

  /** Writes to one entry follow each other: what the second does depends on what the first has made of it. */
  async #oneByOne<T>(id: string, write: () => Promise<T>): Promise<T> {
    const before = this.#writing.get(id);
    const mine = before === undefined ? write() : before.then(write, write);
    this.#writing.set(id, mine);
    try {
      return await mine;
    } finally {
      if (this.#writing.get(id) === mine) this.#writing.delete(id);
    }
  }

  /** Removes something, and has it noted until it is known what came of it. */
  async #leave<T>(key: string, remove: () => Promise<T>): Promise<T> {
    const removal = remove().finally(() => this.#leaving.delete(key));
    this.#leaving.set(key, removal);
    return await removal;
  }

  async #settled<Row>(
    find: () => Promise<Row | undefined>,
    keyOf: (row: Row) => string,
  ): Promise<Row | undefined> {
    for (;;) {
      const row = await find();
      const leaving = row === undefined ? undefined : this.#leaving.get(keyOf(row));
      if (leaving === undefined) return row;
      await leaving.catch(() => undefined);
    }
  }

  async #findEntry(query: KeyedQuery, read: ReadSnapshot): Promise<AllowDenyEntryRow | undefined> {
    return entryIn(await this.#readLists(LISTS, read), query);
  }

  async #entriesOfValue(query: EntryQuery, read: ReadSnapshot): Promise<AllowDenyEntryRow[]> {
    return ofValue(withKey(query), await this.#readLists(LISTS, read));
  }

  #bothSnapshots(): readonly Snapshot<AllowDenyEntryRow>[] {
    return LISTS.map((list) => this.#entries[list]);
  }

  async #readLists(lists: readonly List[], read: ReadSnapshot): Promise<Rows<AllowDenyEntryRow>[]> {
    return await Promise.all(lists.map((list) => read(this.#entries[list])));
  }

  #noteEntry(row: AllowDenyEntryRow): AllowDenyEntryRow {
    for (const list of LISTS) {
      if (row.list === list) this.#entries[list].put(row);
      else this.#entries[list].drop(row.id);
    }
    return row;
  }

  /** Notes that there is no such entry any more: the service says so. */
  #dropEntry(id: string): void {
    for (const list of LISTS) this.#entries[list].drop(id);
  }
}

type ReadSnapshot = (snapshot: Snapshot<AllowDenyEntryRow>) => Promise<Rows<AllowDenyEntryRow>>;

/** How it is made sure that something is not there. */
export interface ConfirmOptions {
  /** Whether a state or a person says that it is there, so that a list which misses it may lag. Default: true. */
  readonly isExpected?: boolean;
}

/**
 * The rows of several lists. Where their shared readings don't show what is looked for, they are read again until they do, or it is sure
 * that it isn't there.
 */
async function readSurely<Row>(
  snapshots: readonly Snapshot<Row>[],
  isShown: (lists: readonly Rows<Row>[]) => boolean,
  isExpected = true,
): Promise<readonly Rows<Row>[]> {
  do {
    const lists = await Promise.all(snapshots.map((snapshot) => snapshot.rows()));
    if (isShown(lists)) return lists;
  } while (isExpected && (await readLater(snapshots)));
  return await Promise.all(snapshots.map((snapshot) => snapshot.secondOpinion((rows) => !isShown([rows]))));
}

async function readLater<Row>(snapshots: readonly Snapshot<Row>[]): Promise<boolean> {
  return (await Promise.all(snapshots.map((snapshot) => snapshot.readLater()))).includes(true);
}

/** Whether a list shows an entry as it was written. */
function isSameEntry(listed: AllowDenyEntryRow | undefined, written: AllowDenyEntryRow): boolean {
  return listed !== undefined && isSameRow(ENTRY_FIELDS, listed, written);
}

/** A mailbox's row is known by more than its mailbox, and an edit's answer may leave that out. */
function isVipShown({ email = "", comment }: VipEmployeeRow, rows: Rows<VipEmployeeRow>): boolean {
  return rows.named(canonicalMailbox(email)).some((row) => row.comment === comment);
}

/** The list's own row with the comment as it was written, since only the list has all fields. */
function overlayVip(written: VipEmployeeRow, rows: Rows<VipEmployeeRow>): void {
  const listed = vipIn(rows, written.email ?? "");
  const row = listed === undefined ? written : { ...listed, comment: written.comment };
  const key = nameOfVipRow(row);
  if (key !== undefined) rows.set(key, row);
}

const EMPTY_VIP: VipEmployeeRow = {
  email: undefined,
  full_name: undefined,
  job_title: undefined,
  department: undefined,
  comment: undefined,
  added_by: undefined,
  date_added: undefined,
  updated_at: undefined,
  source: undefined,
};

/** Reads a list, and notes whether one answer held it all. */
async function readWhole<Row>(
  readAll: (options: ReadAllOptions) => Promise<readonly Row[]>,
): Promise<WholeList<Row>> {
  let pages = 0;
  const rows = await readAll({
    onPage: () => {
      pages += 1;
    },
  });
  return { rows, isOneMoment: pages === 1 };
}
