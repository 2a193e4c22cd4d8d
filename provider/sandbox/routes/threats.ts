import { z } from "zod";
import { threatResponseSchema } from "../contract/schemas";
import type { ThreatStore } from "../store/threats";
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

const PATH = "/api/v1/threats";
const section = "Threats";

/** Default page size of the threat list. The reference gives only the maximum. */
const PAGE_SIZE = 50;
const MAXIMUM_PAGE_SIZE = 100;

const WEEK_MINUTES = 7 * 24 * 60;

const listQuery = z.object({
  minutes_ago: positiveIntegerSchema().default(WEEK_MINUTES).describe("look-back window in minutes"),
  page: pageNumberSchema,
  page_size: positiveIntegerSchema(MAXIMUM_PAGE_SIZE).default(PAGE_SIZE).describe("maximum 100"),
});

export function threatRoutes(store: ThreatStore): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: PATH,
      section,
      summary: "list recent threats",
      description: "Detected email threats, newest first.",
      query: listQuery,
      getResponseSchema: () => buildPaginatedSchema(threatResponseSchema),
      handle: ({ caller, at, query }) =>
        buildPaginatedResponse(
          query.page,
          store.page(caller.tenantId, getLookBackPeriod(at, query.minutes_ago), toLimitOffset(query)),
        ),
    }),
    defineRoute({
      method: "GET",
      path: `${PATH}/by_internet_message_id/{id}`,
      section,
      summary: "threats sharing an Internet Message ID",
      description: "One threat per recipient. Empty for an unknown message.",
      params: { id: "an Internet Message ID" },
      getResponseSchema: () => buildEnvelopeSchema(z.array(threatResponseSchema)),
      handle: ({ caller, at, params }) =>
        buildSuccessResponse(store.listByMessage(caller.tenantId, at, params["id"] ?? "")),
    }),
  ];
}
