import { THREAT_PAGE_SIZE } from "../model/assumptions";
import { buildPageSchema, buildResultsSchema } from "./envelope";
import { addExtraQuery, type ExtraQuery } from "./extra-query";
import type { PagedList, Stopwatch } from "./paged-list";
import { iterateList } from "./paging";
import { assertKnownKeys, encodePathSegment, requireOptionalPositive } from "./parameters";
import { buildArraySchema } from "./schema-fields";
import { type Page, type Threat, threat } from "./schemas";
import type { Transport } from "./transport";

const PATH = "/threats";
const WINDOW_PARAMETERS = ["minutes_ago", "page_size", "extra"];

/** The look-back window of a listing (reference, section "Threats"). Omitted parameters are not sent. */
export interface ListThreatsQuery {
  /** The look-back window in minutes, 1 or more. Default of the service: 7*24*60, one week. */
  readonly minutes_ago?: number;
  /** The page, 1-based. Default of the service: 1. */
  readonly page?: number;
  /** Threats per page, 1 to 100. The reference gives the limit, but neither the parameter nor its default. */
  readonly page_size?: number;
  /** Parameters that are missing from the reference. */
  readonly extra?: ExtraQuery;
}

/** Detected email threats (reference, section "Threats"). */
export class Threats {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Returns one page of the threats in the look-back window: `GET /api/v1/threats`.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async list(query: ListThreatsQuery = {}): Promise<Page<Threat>> {
    return await this.#fetchPage(query);
  }

  async #fetchPage(query: ListThreatsQuery, stopwatch?: Stopwatch): Promise<Page<Threat>> {
    assertKnownKeys("query", query, [...WINDOW_PARAMETERS, "page"]);
    return await this.#transport.send({
      method: "GET",
      path: PATH,
      query: addExtraQuery(
        {
          minutes_ago: requireOptionalPositive("minutes_ago", query.minutes_ago),
          page: requireOptionalPositive("page", query.page),
          page_size: requireOptionalPositive("page_size", query.page_size, THREAT_PAGE_SIZE),
        },
        query.extra,
      ),
      envelope: "paginated",
      schema: buildPageSchema(threat),
      stopwatch,
    });
  }

  /**
   * Iterates over the threats in the look-back window. Fetches pages on demand (`GET /api/v1/threats`; no request after a
   * `break`). New threats shift the pages, so a list of several pages is read again until a full read yields nothing new.
   * Skips items already yielded.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ListUnstableError} if the list keeps changing; the items so far aren't the whole list.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async *iterate(query: Omit<ListThreatsQuery, "page"> = {}): AsyncGenerator<Threat, void, undefined> {
    assertKnownKeys("query", query, WINDOW_PARAMETERS);
    const list: PagedList<Threat> = {
      name: "list of threats",
      fetchPage: (page, stopwatch) => this.#fetchPage({ ...query, page }, stopwatch),
      getIdentity: (item) => item.id,
    };
    yield* iterateList(list);
  }

  /**
   * Returns all threats that share an Internet Message ID: `GET /api/v1/threats/by_internet_message_id/{id}`.
   *
   * @param internetMessageId the ID as the message has it, with angle brackets if wanted; sent unchanged.
   * @throws {InvalidArgumentError} if the id can't be part of a URL; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async byInternetMessageId(internetMessageId: string): Promise<Threat[]> {
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/by_internet_message_id/${encodePathSegment("internetMessageId", internetMessageId)}`,
      envelope: "array",
      schema: buildResultsSchema(buildArraySchema(threat)),
    });
  }
}
