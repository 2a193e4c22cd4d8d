import {
  ENTRY_TYPES,
  type EntryType,
  LISTS,
  type List,
  SETTINGS_PAGE_SIZE,
  type VerdictScope,
} from "../settings/assumptions";
import { resultsOf, settingsPageOf } from "./envelope";
import { InvalidArgumentError } from "./errors";
import { iterate, type PagedList, readWholeList } from "./paging";
import { checkOneOf, checkOptional, checkPositive, pathSegment } from "./parameters";
import {
  type AllowDenyEntryRow,
  allowDenyEntry,
  type DeleteEntryResult,
  deleteEntryResult,
  type Page,
} from "./schemas";
import type { Transport } from "./transport";

const PATH = "/settings/allow_deny_entries";

export interface ListEntriesQuery {
  /** Which list. Default: both, where the service allows it. */
  readonly list?: List;
  /** 1-based. Default: 1. */
  readonly page?: number;
  /** 1 to 200. Default: 50. */
  readonly page_size?: number;
  /** A substring of the value; a filter of the service's own, never to be relied on. */
  readonly q?: string;
}

export interface NewEntry {
  readonly list: List;
  readonly entry_type: EntryType;
  readonly value: string;
  readonly verdict_scope?: VerdictScope;
  readonly comment?: string;
}

/** What may change of an entry; what is left out stays as it is. */
export interface EntryChange {
  readonly list?: List;
  readonly verdict_scope?: VerdictScope;
  readonly comment?: string;
}

/** The allow/deny list of the tenant (reference, section "Allow/deny list"). */
export class AllowDenyEntries {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** `GET /api/v1/settings/allow_deny_entries`: one page of entries. */
  async list(query: ListEntriesQuery = {}): Promise<Page<AllowDenyEntryRow>> {
    if (query.list !== undefined) checkOneOf("list", LISTS, query.list);
    return await this.#transport.send({
      method: "GET",
      path: PATH,
      query: {
        list: query.list,
        page: checkPositive("page", query.page ?? 1),
        page_size: checkOptional("page_size", query.page_size, SETTINGS_PAGE_SIZE),
        q: query.q,
      },
      envelope: "settings-page",
      answer: settingsPageOf(allowDenyEntry),
    });
  }

  /**
   * All entries of one list, in ⌈N/200⌉ requests, as one consistent reading.
   *
   * @throws {ListUnstableError} when the list keeps changing underneath.
   */
  async readAll(list: List): Promise<AllowDenyEntryRow[]> {
    return await readWholeList(this.#paged({ list }));
  }

  /**
   * The entries one by one, as their pages come in: of one list, or of both where the service allows it.
   *
   * @throws {ListUnstableError} when the list keeps changing underneath.
   */
  iterate(
    query: Omit<ListEntriesQuery, "page" | "page_size"> = {},
  ): AsyncGenerator<AllowDenyEntryRow, void, undefined> {
    return iterate(this.#paged(query));
  }

  #paged(query: Omit<ListEntriesQuery, "page" | "page_size">): PagedList<AllowDenyEntryRow> {
    return {
      name: query.list === undefined ? "allow/deny list" : `${query.list} list`,
      fetchPage: (page) => this.list({ ...query, page, page_size: SETTINGS_PAGE_SIZE }),
      identity: (entry) => entry.id,
    };
  }

  /**
   * `POST /api/v1/settings/allow_deny_entries`: adds one entry. The answer may differ from what was asked; compare it.
   *
   * @throws {ConflictError} when the entry exists, on this list or the other.
   */
  async create(entry: NewEntry): Promise<AllowDenyEntryRow> {
    checkOneOf("list", LISTS, entry.list);
    checkOneOf("entry_type", ENTRY_TYPES, entry.entry_type);
    if (entry.value === "") throw new InvalidArgumentError("value is empty");
    return await this.#transport.send({
      method: "POST",
      path: PATH,
      body: entry,
      envelope: "object",
      answer: resultsOf(allowDenyEntry),
    });
  }

  /**
   * `PATCH /api/v1/settings/allow_deny_entries/{id}`: changes list, scope or comment in place.
   *
   * @throws {NotFoundError} when there is no such entry.
   * @throws {ConflictError} when it collides with another entry.
   */
  async update(id: string, change: EntryChange): Promise<AllowDenyEntryRow> {
    if (change.list !== undefined) checkOneOf("list", LISTS, change.list);
    return await this.#transport.send({
      method: "PATCH",
      path: `${PATH}/${pathSegment("id", id)}`,
      body: change,
      envelope: "object",
      answer: resultsOf(allowDenyEntry),
    });
  }

  /**
   * `DELETE /api/v1/settings/allow_deny_entries/{id}`: removes one entry.
   *
   * @throws {NotFoundError} when there is no such entry.
   */
  async delete(id: string): Promise<DeleteEntryResult> {
    return await this.#transport.send({
      method: "DELETE",
      path: `${PATH}/${pathSegment("id", id)}`,
      envelope: "object",
      answer: resultsOf(deleteEntryResult),
    });
  }
}
