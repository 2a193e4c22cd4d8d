import { z } from "zod";
import {
  meanTimeToAnalyzeResponseSchema,
  phishingReportDetailResponseSchema,
  phishingReportResponseSchema,
} from "../contract/schemas";
import type { PhishingReportStore } from "../store/phishing-reports";
import { getLookBackPeriod } from "../store/timeline";
import {
  buildEnvelopeSchema,
  buildPaginatedResponse,
  buildPaginatedSchema,
  buildSuccessResponse,
  defineRoute,
  pageNumberSchema,
  positiveIntegerSchema,
  type Route,
  toLimitOffset,
} from "./route";

const PATH = "/api/v1/sonar/phishing-reports";
const section = "Phishing reports";

/** Default page size of the phishing report list. The reference doesn't give it, and no parameter changes it. */
const PAGE_SIZE = 50;

const DEFAULT_DAYS = 30;

const listQuery = z.object({
  minutes_ago: positiveIntegerSchema()
    .default(DEFAULT_DAYS * 24 * 60)
    .describe("look-back window in minutes"),
  page: pageNumberSchema,
});

/** The reference shows no parameters for the aggregate. By default it covers the same reports as the list. */
const meanTimeQuery = z.object({
  days: positiveIntegerSchema().default(DEFAULT_DAYS).describe("the period: a number of days of 24 hours, up to now"),
});

export function phishingReportRoutes(store: PhishingReportStore): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: PATH,
      section,
      summary: "list phishing reports",
      description: "Phishing reports submitted by users, newest first.",
      query: listQuery,
      getResponseSchema: () => buildPaginatedSchema(phishingReportResponseSchema),
      handle({ caller, at, query }) {
        const pageWindow = toLimitOffset({ page: query.page, page_size: PAGE_SIZE });
        return buildPaginatedResponse(
          query.page,
          store.page(caller.tenantId, getLookBackPeriod(at, query.minutes_ago), pageWindow),
        );
      },
    }),
    defineRoute({
      method: "GET",
      path: `${PATH}/{id}`,
      section,
      summary: "one phishing report, detail form",
      params: { id: "the report id" },
      getResponseSchema: () => buildEnvelopeSchema(phishingReportDetailResponseSchema),
      errorResponses: { 404: { condition: "the resource does not exist" } },
      handle: ({ caller, at, params }) => buildSuccessResponse(store.detail(caller.tenantId, at, params["id"] ?? "")),
    }),
    defineRoute({
      method: "GET",
      path: `${PATH}/by_report_internet_message_id/{internet_message_id}`,
      section,
      summary: "reports by the Internet Message ID of the report email",
      description: "Empty for an unknown message.",
      params: {
        internet_message_id: "the Internet Message ID of the report email itself (the message the reporting user sent)",
      },
      getResponseSchema: () => buildEnvelopeSchema(z.array(phishingReportResponseSchema)),
      handle: ({ caller, at, params }) =>
        buildSuccessResponse(store.listByReportMessage(caller.tenantId, at, params["internet_message_id"] ?? "")),
    }),
    defineRoute({
      method: "GET",
      path: `${PATH}/aggs/mttr`,
      section,
      summary: "mean time to analyze reports",
      description: "returns the average time in seconds to analyze reports",
      query: meanTimeQuery,
      getResponseSchema: () => buildEnvelopeSchema(meanTimeToAnalyzeResponseSchema),
      handle: ({ caller, at, query }) =>
        buildSuccessResponse({
          analysis_time: store.getMeanAnalysisSeconds(caller.tenantId, getLookBackPeriod(at, query.days * 24 * 60)),
        }),
    }),
  ];
}
