import { z } from "zod";
import { paginatedOf, resultsOf } from "./envelope";
import { type ExtraQuery, withExtra } from "./extra-query";
import { iterate } from "./paging";
import { checkOptional, pathSegment } from "./parameters";
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

export interface ListPhishingReportsQuery {
  /** How far to look back, in minutes. Default: thirty days. */
  readonly minutes_ago?: number;
  /** 1-based. Default: 1. */
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

  /** `GET /api/v1/sonar/phishing-reports`: one page of the reports of the look-back window. */
  async list(query: ListPhishingReportsQuery = {}): Promise<Page<PhishingReport>> {
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
    });
  }

  /**
   * The reports of the look-back window one by one, as their pages come in. New reports move the list: the reading then
   * begins anew, and what was given out before is passed over.
   *
   * @throws {ListUnstableError} when the list keeps moving.
   */
  iterate(
    query: Omit<ListPhishingReportsQuery, "page"> = {},
  ): AsyncGenerator<PhishingReport, void, undefined> {
    return iterate({
      name: "list of phishing reports",
      fetchPage: (page) => this.list({ ...query, page }),
      identity: (report) => report.id,
    });
  }

  /**
   * `GET /api/v1/sonar/phishing-reports/{id}`: one report with its recipients and content.
   *
   * @throws {NotFoundError} when there is no such report.
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
   * `GET /api/v1/sonar/phishing-reports/by_report_internet_message_id/{internet_message_id}`: the reports that one
   * message of a reporting user made.
   */
  async byReportInternetMessageId(internetMessageId: string): Promise<PhishingReport[]> {
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/by_report_internet_message_id/${pathSegment("internetMessageId", internetMessageId)}`,
      envelope: "array",
      answer: resultsOf(z.array(phishingReport)),
    });
  }

  /**
   * `GET /api/v1/sonar/phishing-reports/aggs/mttr`: the mean time to analyze a report, in seconds; undefined where the
   * service says there is none.
   */
  async meanTimeToAnalyze(query: { readonly extra?: ExtraQuery } = {}): Promise<number | undefined> {
    const { analysis_time: seconds } = await this.#transport.send({
      method: "GET",
      path: `${PATH}/aggs/mttr`,
      query: withExtra({}, query.extra),
      envelope: "object",
      answer: resultsOf(meanAnalysisTime),
    });
    return seconds ?? undefined;
  }
}
