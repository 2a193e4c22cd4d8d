import { z } from "zod";
import { meanTimeToAnalyze, phishingReport, phishingReportDetail } from "../contract/schemas";
import type { PhishingReportStore } from "../store/phishing-reports";
import { lookBack } from "../store/timeline";
import {
  envelope,
  pageNumber,
  paginated,
  paginatedOf,
  positiveInteger,
  type Route,
  route,
  success,
  window,
} from "./route";

const PATH = "/api/v1/sonar/phishing-reports";
const section = "Phishing reports";

/** Default page size of the phishing report list. The reference doesn't give it, and no parameter changes it. */
const PAGE_SIZE = 50;

const DEFAULT_DAYS = 30;

const listQuery = z.object({
  minutes_ago: positiveInteger()
    .default(DEFAULT_DAYS * 24 * 60)
    .describe("look-back window in minutes"),
  page: pageNumber,
});

/** The reference shows no parameters for the aggregate. By default it covers the same reports as the list. */
const meanTimeQuery = z.object({
  days: positiveInteger().default(DEFAULT_DAYS).describe("the period: so many days, of 24 hours, up to now"),
});

/** Defines the endpoints of the section "Phishing reports" of the reference. */
export function phishingReportRoutes(store: PhishingReportStore): Route[] {
  return [
    route({
      method: "GET",
      path: PATH,
      section,
      summary: "list phishing reports",
      description: "Phishing reports submitted by users, the newest first.",
      query: listQuery,
      answer: () => paginatedOf(phishingReport),
      handle({ caller, at, query }) {
        const pageWindow = window({ page: query.page, page_size: PAGE_SIZE });
        return paginated(query.page, store.page(caller.tenantId, lookBack(at, query.minutes_ago), pageWindow));
      },
    }),
    route({
      method: "GET",
      path: `${PATH}/{id}`,
      section,
      summary: "one phishing report, detail form",
      params: { id: "the report id" },
      answer: () => envelope(phishingReportDetail),
      refusals: { 404: { when: "the resource does not exist" } },
      handle: ({ caller, at, params }) => success(store.detail(caller.tenantId, at, params["id"] ?? "")),
    }),
    route({
      method: "GET",
      path: `${PATH}/by_report_internet_message_id/{internet_message_id}`,
      section,
      summary: "reports by the Internet Message ID of the report email",
      description: "None for an unknown message.",
      params: {
        internet_message_id: "the Internet Message ID of the report email itself (the message the reporting user sent)",
      },
      answer: () => envelope(z.array(phishingReport)),
      handle: ({ caller, at, params }) =>
        success(store.ofReportMessage(caller.tenantId, at, params["internet_message_id"] ?? "")),
    }),
    route({
      method: "GET",
      path: `${PATH}/aggs/mttr`,
      section,
      summary: "mean time to analyze reports",
      description: "returns the average time in seconds to analyze reports",
      query: meanTimeQuery,
      answer: () => envelope(meanTimeToAnalyze),
      handle: ({ caller, at, query }) =>
        success({
          analysis_time: store.meanSecondsToAnalyze(caller.tenantId, lookBack(at, query.days * 24 * 60)),
        }),
    }),
  ];
}
