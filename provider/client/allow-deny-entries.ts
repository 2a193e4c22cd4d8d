import {
  ENTRY_LISTS,
  ENTRY_TYPES,
  type EntryType,
  type List,
  SETTINGS_PAGE_SIZE,
  type VerdictScope,
} from "../model/assumptions";
import { buildResultsSchema, buildSettingsPageSchema } from "./envelope";
import { InvalidArgumentError } from "./errors";
import type { PagedList, PageRequest, Stopwatch } from "./paged-list";
import { iterateList, type ReadAllOptions, readWholeList } from "./paging";
import {
  assertKnownKeys,
  assertNotBlank,
  assertOneOf,
  assertOptionalText,
  encodePathSegment,
  requireOptionalPositive,
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

/** The filters and page of a listing (reference, section "Allow/deny list"). */
export interface ListEntriesQuery {
  /** The list. Default: both, if the service allows it. */
  readonly list?: List;
  /** The page, 1-based. Default: 1. */
  readonly page?: number;
  /** Entries per page, 1 to 200. Default of the service: 50. */
  readonly page_size?: number;
  /** A substring of the value. The service defines how this filter matches, so don't rely on it. */
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

/** The changes to an entry; omitted fields stay unchanged. */
export interface EntryChange {
  readonly list?: List;
  readonly verdict_scope?: VerdictScope;
  readonly comment?: string;
}

/** The checks of the fields of an entry, in the order in which they are sent. A missing field is a compile error. */
const FIELD_CHECKS: Readonly<Record<keyof NewEntry, (value: string) => void>> = {
  list: (list) => assertOneOf("list", ENTRY_LISTS, list),
  entry_type: (type) => assertOneOf("entry_type", ENTRY_TYPES, type),
  value: (value) => assertNotBlank("value", value),
  verdict_scope: (scope) => assertOptionalText("verdict_scope", scope),
  comment: (comment) => assertOptionalText("comment", comment),
};

const NEW_ENTRY_FIELDS = Object.keys(FIELD_CHECKS) as readonly (keyof NewEntry)[];

/** The fields that a change can have. A missing field is a compile error. */
const MUTABLE_FIELDS = Object.keys({ list: true, verdict_scope: true, comment: true } satisfies Record<
  keyof EntryChange,
  true
>) as readonly (keyof EntryChange)[];

/** @throws {InvalidArgumentError} if a field is invalid. */
function buildBody(fields: Partial<NewEntry>, names: readonly (keyof NewEntry)[]): Partial<NewEntry> {
  for (const name of names) FIELD_CHECKS[name](fields[name] as string);
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}

/** The allow/deny list of the tenant (reference, section "Allow/deny list"). */
export class AllowDenyEntries {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Returns one page of entries: `GET /api/v1/settings/allow_deny_entries`.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async list(query: ListEntriesQuery = {}): Promise<Page<AllowDenyEntryRow>> {
    return await this.#fetchPage(query);
  }

  async #fetchPage(
    query: ListEntriesQuery,
    stopwatch?: Stopwatch,
    fetch?: PageRequest,
  ): Promise<Page<AllowDenyEntryRow>> {
    assertKnownKeys("query", query, [...FILTER_PARAMETERS, "page", "page_size"]);
    assertOptionalText("q", query.q);
    if (query.list !== undefined) assertOneOf("list", ENTRY_LISTS, query.list);
    return await this.#transport.send({
      method: "GET",
      path: PATH,
      query: {
        list: query.list,
        page: requireOptionalPositive("page", query.page) ?? 1,
        page_size: requireOptionalPositive("page_size", query.page_size, SETTINGS_PAGE_SIZE),
        q: query.q,
      },
      envelope: "settings-page",
      schema: buildSettingsPageSchema(allowDenyEntry),
      stopwatch,
      fetch,
    });
  }

  /**
   * Returns all entries of one list as a consistent snapshot, in ⌈N/200⌉ requests of `GET
   * /api/v1/settings/allow_deny_entries`. Reads a list of more than ten pages eight pages at a time if it is sorted by creation
   * time, with one more request for the page where new entries appear (two if all entries have the same time).
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ListUnstableError} if the list keeps changing while it is read.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async readAll(list: List, options?: ReadAllOptions<AllowDenyEntryRow>): Promise<AllowDenyEntryRow[]> {
    assertOneOf("list", ENTRY_LISTS, list);
    return await readWholeList(this.#buildPagedList({ list }), options);
  }

  /**
   * Iterates over the entries of one list, or of both if the service allows it. Fetches pages of 200 on demand (`GET
   * /api/v1/settings/allow_deny_entries`; no request after a `break`). A list of several pages is read again until a full
   * reading yields nothing new.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ListUnstableError} if the list keeps changing; the items so far aren't the whole list.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async *iterate(
    query: Omit<ListEntriesQuery, "page" | "page_size"> = {},
  ): AsyncGenerator<AllowDenyEntryRow, void, undefined> {
    assertKnownKeys("query", query, FILTER_PARAMETERS);
    yield* iterateList(this.#buildPagedList(query));
  }

  #buildPagedList(query: Omit<ListEntriesQuery, "page" | "page_size">): PagedList<AllowDenyEntryRow> {
    return {
      name: query.list === undefined ? "allow/deny list" : `${query.list} list`,
      fetchPage: (page, stopwatch, fetch) =>
        this.#fetchPage({ ...query, page, page_size: SETTINGS_PAGE_SIZE }, stopwatch, fetch),
      pageSize: SETTINGS_PAGE_SIZE,
      getIdentity: (entry) => entry.id,
      getCreatedAt: (entry) => entry.created_at,
    };
  }

  /**
   * Adds one entry: `POST /api/v1/settings/allow_deny_entries`. The response may differ from the request, so compare
   * it.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {BadRequestError} if the service rejects the value, the scope or the comment as invalid.
   * @throws {ConflictError} if the entry exists, on this list or the other.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async create(entry: NewEntry): Promise<AllowDenyEntryRow> {
    // Ignores the fields that only stored rows have, because such a row matches the type.
    assertKnownKeys("entry", entry, Object.keys(allowDenyEntry.shape));
    return await this.#transport.send({
      method: "POST",
      path: PATH,
      body: buildBody(entry, NEW_ENTRY_FIELDS),
      envelope: "object",
      schema: buildResultsSchema(allowDenyEntry),
    });
  }

  /**
   * Changes the list, the scope or the comment of an entry in place: `PATCH /api/v1/settings/allow_deny_entries/{id}`.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {NotFoundError} if the entry does not exist.
   * @throws {ConflictError} if it collides with another entry.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async update(id: string, change: EntryChange): Promise<AllowDenyEntryRow> {
    const path = `${PATH}/${encodePathSegment("id", id)}`;
    assertKnownKeys("change", change, MUTABLE_FIELDS);
    const changedFields = MUTABLE_FIELDS.filter((name) => change[name] !== undefined);
    if (changedFields.length === 0) {
      throw new InvalidArgumentError(`change is empty; set at least one of ${MUTABLE_FIELDS.join(", ")}`);
    }
    return await this.#transport.send({
      method: "PATCH",
      path,
      body: buildBody(change, changedFields),
      envelope: "object",
      schema: buildResultsSchema(allowDenyEntry),
    });
  }

  /**
   * Removes one entry: `DELETE /api/v1/settings/allow_deny_entries/{id}`.
   *
   * @throws {InvalidArgumentError} if the id can't be part of a URL; no request was made.
   * @throws {NotFoundError} if the entry does not exist.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async delete(id: string): Promise<DeleteEntryResult> {
    return await this.#transport.send({
      method: "DELETE",
      path: `${PATH}/${encodePathSegment("id", id)}`,
      envelope: "object",
      schema: buildResultsSchema(deleteEntryResult),
    });
  }
}
