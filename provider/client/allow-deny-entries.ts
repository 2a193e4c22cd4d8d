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
import { iterate, type PagedList, type ReadAllOptions, readWholeList, type Stopwatch } from "./paging";
import {
  checkFilled,
  checkKeys,
  checkOneOf,
  checkOptional,
  checkOptionalText,
  pathSegment,
} from "./parameters";
import {
  type AllowDenyEntryRow,
  allowDenyEntry,
  type DeleteEntryResult,
  deleteEntryResult,
  type Page,
} from "./schemas";
import type { Transport } from "./transport";

const PATH = "/settings/allow_deny_entries";
const FILTER_PARAMETERS = ["list", "q"];
const MUTABLE_FIELDS = ["list", "verdict_scope", "comment"] as const;

/** What to list (reference, section "Allow/deny list"). */
export interface ListEntriesQuery {
  /** Which list. Default: both, where the service allows it. */
  readonly list?: List;
  /** Which page, 1-based. Default: 1. */
  readonly page?: number;
  /** Entries a page, 1 to 200. Default of the service: 50. */
  readonly page_size?: number;
  /** A substring of the value; a filter of the service's own, never to be relied on. */
  readonly q?: string;
}

/** An entry to add. */
export interface NewEntry {
  readonly list: List;
  readonly entry_type: EntryType;
  /** The domain, IP address or email address. */
  readonly value: string;
  /** Default of the service: `"global"`. */
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

  /**
   * One page of entries: `GET /api/v1/settings/allow_deny_entries`.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async list(query: ListEntriesQuery = {}): Promise<Page<AllowDenyEntryRow>> {
    return await this.#fetchPage(query);
  }

  async #fetchPage(query: ListEntriesQuery, stopwatch?: Stopwatch): Promise<Page<AllowDenyEntryRow>> {
    checkKeys("query", query, [...FILTER_PARAMETERS, "page", "page_size"]);
    checkOptionalText("q", query.q);
    if (query.list !== undefined) checkOneOf("list", LISTS, query.list);
    return await this.#transport.send({
      method: "GET",
      path: PATH,
      query: {
        list: query.list,
        page: checkOptional("page", query.page) ?? 1,
        page_size: checkOptional("page_size", query.page_size, SETTINGS_PAGE_SIZE),
        q: query.q,
      },
      envelope: "settings-page",
      answer: settingsPageOf(allowDenyEntry),
      stopwatch,
    });
  }

  /**
   * All entries of one list, in ⌈N/200⌉ requests of `GET /api/v1/settings/allow_deny_entries`, as one consistent
   * reading.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {ListUnstableError} when the list keeps changing underneath.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async readAll(list: List, options?: ReadAllOptions<AllowDenyEntryRow>): Promise<AllowDenyEntryRow[]> {
    checkOneOf("list", LISTS, list);
    return await readWholeList(this.#buildPagedList({ list }), options);
  }

  /**
   * The entries one by one, as their pages of 200 come in (`GET /api/v1/settings/allow_deny_entries`; no request after
   * a `break`): of one list, or of both where the service allows it. A list of more than one page is read again until a
   * whole reading brings nothing new.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {ListUnstableError} when the list keeps moving; what came until then is not the whole list.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async *iterate(
    query: Omit<ListEntriesQuery, "page" | "page_size"> = {},
  ): AsyncGenerator<AllowDenyEntryRow, void, undefined> {
    checkKeys("query", query, FILTER_PARAMETERS);
    yield* iterate(this.#buildPagedList(query));
  }

  #buildPagedList(query: Omit<ListEntriesQuery, "page" | "page_size">): PagedList<AllowDenyEntryRow> {
    return {
      name: query.list === undefined ? "allow/deny list" : `${query.list} list`,
      fetchPage: (page, stopwatch) =>
        this.#fetchPage({ ...query, page, page_size: SETTINGS_PAGE_SIZE }, stopwatch),
      identity: (entry) => entry.id,
    };
  }

  /**
   * Adds one entry: `POST /api/v1/settings/allow_deny_entries`. The answer may differ from what was asked; compare it.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {BadRequestError} when the service finds the value, the scope or the comment invalid.
   * @throws {ConflictError} when the entry exists, on this list or the other.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async create(entry: NewEntry): Promise<AllowDenyEntryRow> {
    // What only a row that was read holds is passed over: such a row fits the type.
    checkKeys("entry", entry, Object.keys(allowDenyEntry.shape));
    checkOneOf("list", LISTS, entry.list);
    checkOneOf("entry_type", ENTRY_TYPES, entry.entry_type);
    checkFilled("value", entry.value);
    const { list, entry_type, value, verdict_scope, comment } = entry;
    checkOptionalText("verdict_scope", verdict_scope);
    checkOptionalText("comment", comment);
    return await this.#transport.send({
      method: "POST",
      path: PATH,
      body: { list, entry_type, value, verdict_scope, comment },
      envelope: "object",
      answer: resultsOf(allowDenyEntry),
    });
  }

  /**
   * Changes the list, the scope or the comment of an entry in place: `PATCH /api/v1/settings/allow_deny_entries/{id}`.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {NotFoundError} when there is no such entry.
   * @throws {ConflictError} when it collides with another entry.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async update(id: string, change: EntryChange): Promise<AllowDenyEntryRow> {
    const path = `${PATH}/${pathSegment("id", id)}`;
    checkKeys("change", change, MUTABLE_FIELDS);
    const { list, verdict_scope, comment } = change;
    if (list !== undefined) checkOneOf("list", LISTS, list);
    checkOptionalText("verdict_scope", verdict_scope);
    checkOptionalText("comment", comment);
    if (MUTABLE_FIELDS.every((name) => change[name] === undefined)) {
      throw new InvalidArgumentError(`change is empty; give at least one of ${MUTABLE_FIELDS.join(", ")}`);
    }
    return await this.#transport.send({
      method: "PATCH",
      path,
      body: { list, verdict_scope, comment },
      envelope: "object",
      answer: resultsOf(allowDenyEntry),
    });
  }

  /**
   * Removes one entry: `DELETE /api/v1/settings/allow_deny_entries/{id}`.
   *
   * @throws {InvalidArgumentError} when no address can carry the id; no request was made.
   * @throws {NotFoundError} when there is no such entry.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
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
