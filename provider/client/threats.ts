import { z } from "zod";
import { THREAT_PAGE_SIZE } from "../settings/assumptions";
import { paginatedOf, resultsOf } from "./envelope";
import { type ExtraQuery, withExtra } from "./extra-query";
import { iterate, type PagedList } from "./paging";
import { checkOptional, pathSegment } from "./parameters";
import { type Page, type Threat, threat } from "./schemas";
import type { Transport } from "./transport";

const PATH = "/threats";

export interface ListThreatsQuery {
  /** How far to look back, in minutes. Default: one week. */
  readonly minutes_ago?: number;
  /** 1-based. Default: 1. */
  readonly page?: number;
  /** 1 to 100. Sent only when given: the reference tells the limit, not the parameter. */
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

  /** `GET /api/v1/threats`: one page of the threats of the look-back window. */
  async list(query: ListThreatsQuery = {}): Promise<Page<Threat>> {
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
    });
  }

  /**
   * The threats of the look-back window one by one, as their pages come in. New threats move the list: the reading
   * then begins anew, and what was given out before is passed over.
   *
   * @throws {ListUnstableError} when the list keeps moving.
   */
  iterate(query: Omit<ListThreatsQuery, "page"> = {}): AsyncGenerator<Threat, void, undefined> {
    const list: PagedList<Threat> = {
      name: "list of threats",
      fetchPage: (page) => this.list({ ...query, page }),
      identity: (one) => one.id,
    };
    return iterate(list);
  }

  /** `GET /api/v1/threats/by_internet_message_id/{id}`: the threats that share an Internet Message ID, all of them. */
  async byInternetMessageId(internetMessageId: string): Promise<Threat[]> {
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/by_internet_message_id/${pathSegment("internetMessageId", internetMessageId)}`,
      envelope: "array",
      answer: resultsOf(z.array(threat)),
    });
  }
}
