import { paginatedOf, resultsOf } from "./envelope";
import { type ExtraQuery, withExtra } from "./extra-query";
import { arrayOf } from "./fields";
import type { MetricsQuery } from "./metrics";
import { iterate, type Stopwatch } from "./paging";
import { checkKeys, checkOptional, pathSegment } from "./parameters";
import {
  meanAnalysisTime,
  type Page,
  type PhishingReport,
  type PhishingReportDetail,
  phishingReport,
  phishingReportDetail,
} from "./schemas";
import type { Transport } from "./transport";

const PATH = "/sonar/phishing-reports";
const WINDOW_PARAMETERS = ["minutes_ago", "extra"];

/** What to list (reference, section "Phishing reports"). Nothing is sent for what is left out. */
export interface ListPhishingReportsQuery {
  /** How far to look back, in minutes, 1 or more. Default of the service: 30*24*60, thirty days. */
  readonly minutes_ago?: number;
  /** Which page, 1-based. Default of the service: 1. */
  readonly page?: number;
  /** Parameters that the reference does not show. */
  readonly extra?: ExtraQuery;
}

/** Phishing reports of users (reference, section "Phishing reports"). */
export class PhishingReports {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * One page of the reports of the look-back window, in the list form: `GET /api/v1/sonar/phishing-reports`.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async list(query: ListPhishingReportsQuery = {}): Promise<Page<PhishingReport>> {
    return await this.#fetchPage(query);
  }

  async #fetchPage(query: ListPhishingReportsQuery, stopwatch?: Stopwatch): Promise<Page<PhishingReport>> {
    checkKeys("query", query, [...WINDOW_PARAMETERS, "page"]);
    return await this.#transport.send({
      method: "GET",
      path: PATH,
      query: withExtra(
        {
          minutes_ago: checkOptional("minutes_ago", query.minutes_ago),
          page: checkOptional("page", query.page),
        },
        query.extra,
      ),
      envelope: "paginated",
      answer: paginatedOf(phishingReport),
      stopwatch,
    });
  }

  /**
   * The reports of the look-back window one by one, as their pages come in (`GET /api/v1/sonar/phishing-reports`, one
   * request a page; none after a `break`). A list of more than one page is read again until a whole reading brings
   * nothing new, as new reports move it; what was given out before is passed over.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {ListUnstableError} when the list keeps moving; what came until then is not the whole list.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async *iterate(
    query: Omit<ListPhishingReportsQuery, "page"> = {},
  ): AsyncGenerator<PhishingReport, void, undefined> {
    checkKeys("query", query, WINDOW_PARAMETERS);
    yield* iterate({
      name: "list of phishing reports",
      fetchPage: (page, stopwatch) => this.#fetchPage({ ...query, page }, stopwatch),
      identity: (report) => report.id,
    });
  }

  /**
   * One report in the detail form, with its recipients and the addresses of its content:
   * `GET /api/v1/sonar/phishing-reports/{id}`.
   *
   * @throws {InvalidArgumentError} when no address can carry the id; no request was made.
   * @throws {NotFoundError} when there is no such report.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async get(id: string): Promise<PhishingReportDetail> {
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/${pathSegment("id", id)}`,
      envelope: "object",
      answer: resultsOf(phishingReportDetail),
    });
  }

  /**
   * The reports that one message of a reporting user made, in the list form:
   * `GET /api/v1/sonar/phishing-reports/by_report_internet_message_id/{internet_message_id}`.
   *
   * @param internetMessageId of the message that the user sent, not of the one reported; it is sent as it is.
   * @throws {InvalidArgumentError} when no address can carry the id; no request was made.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async byReportInternetMessageId(internetMessageId: string): Promise<PhishingReport[]> {
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/by_report_internet_message_id/${pathSegment("internetMessageId", internetMessageId)}`,
      envelope: "array",
      answer: resultsOf(arrayOf(phishingReport)),
    });
  }

  /**
   * The mean time to analyze a report, in seconds: `GET /api/v1/sonar/phishing-reports/aggs/mttr`. Undefined where the
   * service says `null`, as there was nothing to analyze.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async meanTimeToAnalyze(query: MetricsQuery = {}): Promise<number | undefined> {
    checkKeys("query", query, ["days", "extra"]);
    const { analysis_time: seconds } = await this.#transport.send({
      method: "GET",
      path: `${PATH}/aggs/mttr`,
      query: withExtra({ days: checkOptional("days", query.days) }, query.extra),
      envelope: "object",
      answer: resultsOf(meanAnalysisTime),
    });
    return seconds ?? undefined;
  }
}
