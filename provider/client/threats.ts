import { THREAT_PAGE_SIZE } from "../settings/assumptions";
import { paginatedOf, resultsOf } from "./envelope";
import { type ExtraQuery, withExtra } from "./extra-query";
import { arrayOf } from "./fields";
import { iterate, type PagedList, type Stopwatch } from "./paging";
import { checkKeys, checkOptional, pathSegment } from "./parameters";
import { type Page, type Threat, threat } from "./schemas";
import type { Transport } from "./transport";

const PATH = "/threats";
const WINDOW_PARAMETERS = ["minutes_ago", "page_size", "extra"];

/** What to list (reference, section "Threats"). Nothing is sent for what is left out. */
export interface ListThreatsQuery {
  /** How far to look back, in minutes, 1 or more. Default of the service: 7*24*60, one week. */
  readonly minutes_ago?: number;
  /** Which page, 1-based. Default of the service: 1. */
  readonly page?: number;
  /** Threats a page, 1 to 100. The reference tells the limit, but neither the parameter nor its default. */
  readonly page_size?: number;
  /** Parameters that the reference does not show. */
  readonly extra?: ExtraQuery;
}

/** Detected email threats (reference, section "Threats"). */
export class Threats {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * One page of the threats of the look-back window: `GET /api/v1/threats`.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async list(query: ListThreatsQuery = {}): Promise<Page<Threat>> {
    return await this.#fetchPage(query);
  }

  async #fetchPage(query: ListThreatsQuery, stopwatch?: Stopwatch): Promise<Page<Threat>> {
    checkKeys("query", query, [...WINDOW_PARAMETERS, "page"]);
    return await this.#transport.send({
      method: "GET",
      path: PATH,
      query: withExtra(
        {
          minutes_ago: checkOptional("minutes_ago", query.minutes_ago),
          page: checkOptional("page", query.page),
          page_size: checkOptional("page_size", query.page_size, THREAT_PAGE_SIZE),
        },
        query.extra,
      ),
      envelope: "paginated",
      answer: paginatedOf(threat),
      stopwatch,
    });
  }

  /**
   * The threats of the look-back window one by one, as their pages come in (`GET /api/v1/threats`, one request a page;
   * none after a `break`). A list of more than one page is read again until a whole reading brings nothing new, as new
   * threats move it; what was given out before is passed over.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {ListUnstableError} when the list keeps moving; what came until then is not the whole list.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async *iterate(query: Omit<ListThreatsQuery, "page"> = {}): AsyncGenerator<Threat, void, undefined> {
    checkKeys("query", query, WINDOW_PARAMETERS);
    const list: PagedList<Threat> = {
      name: "list of threats",
      fetchPage: (page, stopwatch) => this.#fetchPage({ ...query, page }, stopwatch),
      identity: (item) => item.id,
    };
    yield* iterate(list);
  }

  /**
   * All threats that share an Internet Message ID: `GET /api/v1/threats/by_internet_message_id/{id}`.
   *
   * @param internetMessageId as the message has it, with its angle brackets if they are wanted; it is sent as it is.
   * @throws {InvalidArgumentError} when no address can carry the id; no request was made.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async byInternetMessageId(internetMessageId: string): Promise<Threat[]> {
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/by_internet_message_id/${pathSegment("internetMessageId", internetMessageId)}`,
      envelope: "array",
      answer: resultsOf(arrayOf(threat)),
    });
  }
}
