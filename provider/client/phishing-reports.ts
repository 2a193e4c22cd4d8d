import { buildPageSchema, buildResultsSchema } from "./envelope";
import { addExtraQuery, type ExtraQuery } from "./extra-query";
import type { MetricsQuery } from "./metrics";
import type { Stopwatch } from "./paged-list";
import { iterateList } from "./paging";
import { assertKnownKeys, encodePathSegment, requireOptionalPositive } from "./parameters";
import { buildArraySchema } from "./schema-fields";
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

/** The look-back window of a listing (reference, section "Phishing reports"). Omitted parameters are not sent. */
export interface ListPhishingReportsQuery {
  /** The look-back window in minutes, 1 or more. Default of the service: 30*24*60, thirty days. */
  readonly minutes_ago?: number;
  /** The page, 1-based. Default of the service: 1. */
  readonly page?: number;
  /** Parameters that are missing from the reference. */
  readonly extra?: ExtraQuery;
}

/** Phishing reports of users (reference, section "Phishing reports"). */
export class PhishingReports {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Returns one page of the reports in the look-back window, in list form: `GET /api/v1/sonar/phishing-reports`.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async list(query: ListPhishingReportsQuery = {}): Promise<Page<PhishingReport>> {
    return await this.#fetchPage(query);
  }

  async #fetchPage(query: ListPhishingReportsQuery, stopwatch?: Stopwatch): Promise<Page<PhishingReport>> {
    assertKnownKeys("query", query, [...WINDOW_PARAMETERS, "page"]);
    return await this.#transport.send({
      method: "GET",
      path: PATH,
      query: addExtraQuery(
        {
          minutes_ago: requireOptionalPositive("minutes_ago", query.minutes_ago),
          page: requireOptionalPositive("page", query.page),
        },
        query.extra,
      ),
      envelope: "paginated",
      schema: buildPageSchema(phishingReport),
      stopwatch,
    });
  }

  /**
   * Iterates over the reports in the look-back window. Fetches pages on demand (`GET /api/v1/sonar/phishing-reports`; no
   * request after a `break`). New reports shift the pages, so a list of several pages is read again until a full read yields
   * nothing new. Skips items already yielded.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ListUnstableError} if the list keeps changing; the items so far aren't the whole list.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async *iterate(query: Omit<ListPhishingReportsQuery, "page"> = {}): AsyncGenerator<PhishingReport, void, undefined> {
    assertKnownKeys("query", query, WINDOW_PARAMETERS);
    yield* iterateList({
      name: "list of phishing reports",
      fetchPage: (page, stopwatch) => this.#fetchPage({ ...query, page }, stopwatch),
      getIdentity: (report) => report.id,
    });
  }

  /**
   * Returns one report in detail form, with its recipients and the addresses in its content: `GET
   * /api/v1/sonar/phishing-reports/{id}`.
   *
   * @throws {InvalidArgumentError} if the id can't be part of a URL; no request was made.
   * @throws {NotFoundError} if the report does not exist.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async get(id: string): Promise<PhishingReportDetail> {
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/${encodePathSegment("id", id)}`,
      envelope: "object",
      schema: buildResultsSchema(phishingReportDetail),
    });
  }

  /**
   * Returns the reports made by one message of a reporting user, in list form: `GET
   * /api/v1/sonar/phishing-reports/by_report_internet_message_id/{internet_message_id}`.
   *
   * @param internetMessageId the ID of the message that the user sent, not of the reported one; sent unchanged.
   * @throws {InvalidArgumentError} if the id can't be part of a URL; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async byReportInternetMessageId(internetMessageId: string): Promise<PhishingReport[]> {
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/by_report_internet_message_id/${encodePathSegment("internetMessageId", internetMessageId)}`,
      envelope: "array",
      schema: buildResultsSchema(buildArraySchema(phishingReport)),
    });
  }

  /**
   * Returns the mean time to analyze a report, in seconds: `GET /api/v1/sonar/phishing-reports/aggs/mttr`. Undefined if the
   * service returns `null` because there was nothing to analyze.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async meanTimeToAnalyze(query: MetricsQuery = {}): Promise<number | undefined> {
    assertKnownKeys("query", query, ["days", "extra"]);
    const { analysis_time: seconds } = await this.#transport.send({
      method: "GET",
      path: `${PATH}/aggs/mttr`,
      query: addExtraQuery({ days: requireOptionalPositive("days", query.days) }, query.extra),
      envelope: "object",
      schema: buildResultsSchema(meanAnalysisTime),
    });
    return seconds ?? undefined;
  }
}
