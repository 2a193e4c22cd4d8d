import {
  type AddVipResult,
  type AllowDenyEntryRow,
  type EntryChange,
  type NewEntry,
  NotFoundError,
  type SettingsClient,
  type VipEmployeeRow,
} from "../client";
import { LISTS, type List } from "../settings/assumptions";
import { canonicalMailbox, naturalKey } from "../settings/entry-value";
import { withoutUndefined } from "../settings/without-undefined";
import type { Rows } from "./rows";
import { Snapshot } from "./snapshot";

export interface TenantOptions {
  readonly client: SettingsClient;
  /** Milliseconds; only differences count. Default: the process's monotonic clock. */
  readonly now?: () => number;
}

/** What to look for on the allow/deny list: by id first, else by type, value and scope. */
export interface EntryQuery {
  readonly id?: string | undefined;
  readonly entryType: string;
  readonly value: string;
  /** Preferred, where the value stands more than once. */
  readonly list: List;
  readonly verdictScope: string;
}

/** What a create answered with, and whether that entry was not on the lists before. */
export interface CreatedEntry {
  readonly row: AllowDenyEntryRow;
  readonly isNew: boolean;
}

/**
 * One tenant as the provider process sees it. Every resource of a stack asks this one object, so reads are shared:
 * ⌈N/200⌉ requests a list for a whole operation, however many resources ask. Own writes keep the shared reading true.
 */
export class Tenant {
  readonly #client: SettingsClient;
  readonly #entries: Readonly<Record<List, Snapshot<AllowDenyEntryRow>>>;
  readonly #vips: Snapshot<VipEmployeeRow>;

  constructor(options: TenantOptions) {
    const { client } = options;
    const now = options.now ?? (() => performance.now());
    this.#client = client;
    const entries = (list: List) =>
      new Snapshot<AllowDenyEntryRow>({
        read: () => client.allowDenyEntries.readAll(list),
        key: (row) => row.id,
        name: (row) => naturalKey(row.entry_type, row.value),
        now,
      });
    this.#entries = { allow: entries("allow"), deny: entries("deny") };
    const mailbox = (row: VipEmployeeRow) =>
      row.email === undefined ? undefined : canonicalMailbox(row.email);
    this.#vips = new Snapshot<VipEmployeeRow>({
      // A mailbox may stand there twice, once detected and once added: the row that is stored is the one that counts.
      read: async () => {
        const rows = await client.vipEmployees.readAll();
        return [...rows.filter((row) => !isStored(row)), ...rows.filter(isStored)];
      },
      key: mailbox,
      name: (row) => mailbox(row) ?? "",
      now,
    });
  }

  /** The service's address. */
  get baseUrl(): string {
    return this.#client.baseUrl;
  }

  /** The entry as the service holds it, by the shared reading. */
  async findEntry(query: EntryQuery): Promise<AllowDenyEntryRow | undefined> {
    return await this.#findEntry(query, (snapshot) => snapshot.rows());
  }

  /** The same by a reading that begins now. */
  async findEntryAnew(query: EntryQuery): Promise<AllowDenyEntryRow | undefined> {
    return await this.#findEntry(query, (snapshot) => snapshot.fresh());
  }

  async createEntry(entry: NewEntry): Promise<CreatedEntry> {
    const row = await this.#client.allowDenyEntries.create(entry);
    const isNew = !LISTS.some((list) => this.#entries[list].known(row.id) !== undefined);
    return { row: this.#noteEntry(row), isNew };
  }

  /** @throws {NotFoundError} when there is no such entry. */
  async updateEntry(id: string, change: EntryChange): Promise<AllowDenyEntryRow> {
    try {
      return this.#noteEntry(await this.#client.allowDenyEntries.update(id, change));
    } catch (error) {
      if (error instanceof NotFoundError) this.#forgetEntry(id);
      throw error;
    }
  }

  /** Removes an entry; answers false when it was gone already, or the service says that it did not. */
  async deleteEntry(id: string): Promise<boolean> {
    try {
      const { deleted = true } = await this.#client.allowDenyEntries.delete(id);
      if (deleted) this.#forgetEntry(id);
      return deleted;
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      this.#forgetEntry(id);
      return false;
    }
  }

  /** The VIP as the service lists it, by the shared reading. */
  async findVip(email: string): Promise<VipEmployeeRow | undefined> {
    return (await this.#vips.rows()).get(canonicalMailbox(email));
  }

  /** The same by a reading that begins now. */
  async findVipAnew(email: string): Promise<VipEmployeeRow | undefined> {
    return (await this.#vips.fresh()).get(canonicalMailbox(email));
  }

  /** @throws {NotInOrganizationError} when the mailbox is none of the organization's; nothing was written. */
  async addVip(email: string, comment: string | undefined): Promise<AddVipResult> {
    return await this.#client.vipEmployees.add([email], comment);
  }

  /** @throws {NotFoundError} when no row is stored for the mailbox. */
  async editVipComment(email: string, comment: string): Promise<VipEmployeeRow> {
    const before = this.#vips.known(canonicalMailbox(email));
    const stored = await this.#client.vipEmployees.editComment(email, comment);
    // The stored row has no directory fields, and may leave out what it does not know.
    const row: VipEmployeeRow = {
      ...EMPTY_VIP,
      ...before,
      ...withoutUndefined(stored),
      email: stored.email ?? email,
      comment: stored.comment,
    };
    this.#vips.put(row);
    return row;
  }

  /** Writes the exclusion. */
  async removeVip(email: string): Promise<void> {
    await this.#client.vipEmployees.remove([email]);
    this.#vips.drop(canonicalMailbox(email));
  }

  /** All entries of a value, on both lists and of every scope, by the shared reading; those of the list first. */
  async entriesOfValue(query: EntryQuery): Promise<readonly AllowDenyEntryRow[]> {
    return await this.#entriesOfValue(query, (snapshot) => snapshot.rows());
  }

  /** The same by a reading that begins now. */
  async entriesOfValueAnew(query: EntryQuery): Promise<readonly AllowDenyEntryRow[]> {
    return await this.#entriesOfValue(query, (snapshot) => snapshot.fresh());
  }

  async #findEntry(query: EntryQuery, read: ReadSnapshot): Promise<AllowDenyEntryRow | undefined> {
    const lists = await this.#bothLists(read);
    for (const rows of lists) {
      const row = query.id === undefined ? undefined : rows.get(query.id);
      if (row !== undefined) return row;
    }
    const found = ofValue(query, lists);
    // An entry of another scope is another entry; a scope that the service does not tell can't be another one.
    return found.find((row) => (row.verdict_scope ?? query.verdictScope) === query.verdictScope);
  }

  async #entriesOfValue(query: EntryQuery, read: ReadSnapshot): Promise<AllowDenyEntryRow[]> {
    return ofValue(query, await this.#bothLists(read));
  }

  async #bothLists(read: ReadSnapshot): Promise<Rows<AllowDenyEntryRow>[]> {
    return await Promise.all(LISTS.map(async (list) => await read(this.#entries[list])));
  }

  #noteEntry(row: AllowDenyEntryRow): AllowDenyEntryRow {
    for (const list of LISTS) {
      if (row.list === list) this.#entries[list].put(row);
      else this.#entries[list].drop(row.id);
    }
    return row;
  }

  #forgetEntry(id: string): void {
    for (const list of LISTS) this.#entries[list].drop(id);
  }
}

type ReadSnapshot = (snapshot: Snapshot<AllowDenyEntryRow>) => Promise<Rows<AllowDenyEntryRow>>;

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

/** The entries of a value, those of the wanted list first. */
function ofValue(query: EntryQuery, lists: readonly Rows<AllowDenyEntryRow>[]): AllowDenyEntryRow[] {
  const key = naturalKey(query.entryType, query.value);
  const found = lists.flatMap((rows) => rows.named(key));
  return [
    ...found.filter((row) => row.list === query.list),
    ...found.filter((row) => row.list !== query.list),
  ];
}

function isStored(row: VipEmployeeRow): boolean {
  return Boolean(row.added_by || row.comment);
}
