import { z } from "zod";
import {
  hoursSavedResponseSchema,
  protectedInboxesResponseSchema,
  targetedEntityResponseSchema,
  threatResponseSchema,
  threatsOverTimeItemResponseSchema,
  threatTypeCountResponseSchema,
} from "../contract/schemas";
import type { ThreatStore } from "../store/threats";
import { getLookBackPeriod, type Period } from "../store/timeline";
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

const PATH = "/api/v1/metrics";
const section = "Metrics";

/** Default page size of threats_over_time. The reference doesn't give it. */
const PAGE_SIZE = 50;

/** "result size | 5 items" (reference, "Limits"). */
const TOP_COUNT = 5;

/** The estimated time to deal with a threat that gets through. The reference only says "estimated". */
const MINUTES_SAVED_PER_PREVENTED_THREAT = 10;

/** The reference shows this parameter for two of these endpoints; the sandbox accepts it for all. */
const days = positiveIntegerSchema().default(7).describe("the period: a number of days of 24 hours, up to now");
const daysQuery = z.object({ days });

function buildTopItemsSchema<Item extends z.ZodType>(item: Item) {
  return buildEnvelopeSchema(z.object({ items: z.array(item).max(TOP_COUNT) }));
}

export function metricRoutes(store: ThreatStore): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: `${PATH}/threats_over_time`,
      section,
      summary: "threat counts per day",
      description:
        "returns threat counts grouped by day for the period. The newest day comes first; a day (UTC) without threats has no item.",
      query: z.object({ days, page: pageNumberSchema }),
      getResponseSchema: () => buildPaginatedSchema(threatsOverTimeItemResponseSchema),
      handle({ caller, at, query }) {
        const pageWindow = toLimitOffset({ page: query.page, page_size: PAGE_SIZE });
        return buildPaginatedResponse(
          query.page,
          store.overTime(caller.tenantId, getMetricPeriod(at, query), pageWindow),
        );
      },
    }),
    defineRoute({
      method: "GET",
      path: `${PATH}/top_targeted_entities`,
      section,
      summary: "top 5 targeted users or groups",
      description: "returns at most 5 entities by threat count in the period",
      query: z.object({
        days,
        entity_type: z.enum(["user", "group"]).default("user").describe("entity type; a group is a shared mailbox"),
      }),
      getResponseSchema: () => buildTopItemsSchema(targetedEntityResponseSchema),
      handle: ({ caller, at, query }) =>
        buildSuccessResponse({
          items: store.topTargeted(caller.tenantId, getMetricPeriod(at, query), query.entity_type, TOP_COUNT),
        }),
    }),
    defineRoute({
      method: "GET",
      path: `${PATH}/top_threat_types`,
      section,
      summary: "top 5 threat types",
      description: "returns at most 5 threat types with counts",
      query: daysQuery,
      getResponseSchema: () => buildTopItemsSchema(threatTypeCountResponseSchema),
      handle: ({ caller, at, query }) =>
        buildSuccessResponse({
          items: store.topTypes(caller.tenantId, getMetricPeriod(at, query), TOP_COUNT),
        }),
    }),
    defineRoute({
      method: "GET",
      path: `${PATH}/highlighted_threats`,
      section,
      summary: "top 5 highlighted threats",
      description: "returns at most 5 highlighted threats: the most critical first, then the newest",
      query: daysQuery,
      getResponseSchema: () => buildTopItemsSchema(threatResponseSchema),
      handle: ({ caller, at, query }) =>
        buildSuccessResponse({
          items: store.highlighted(caller.tenantId, getMetricPeriod(at, query), TOP_COUNT),
        }),
    }),
    defineRoute({
      method: "GET",
      path: `${PATH}/hours_saved`,
      section,
      summary: "estimated hours saved",
      description: "estimated hours saved from prevented threats in the period",
      query: daysQuery,
      getResponseSchema: () => buildEnvelopeSchema(hoursSavedResponseSchema),
      handle({ caller, at, query }) {
        const preventedCount = store.prevented(caller.tenantId, getMetricPeriod(at, query));
        return buildSuccessResponse({
          hours_saved: (preventedCount * MINUTES_SAVED_PER_PREVENTED_THREAT) / 60,
        });
      },
    }),
    defineRoute({
      method: "GET",
      path: `${PATH}/protected_inboxes`,
      section,
      summary: "count of unique protected inboxes that received mail",
      description: "count of unique protected inboxes that received mail in the period",
      query: daysQuery,
      getResponseSchema: () => buildEnvelopeSchema(protectedInboxesResponseSchema),
      handle: ({ caller, at, query }) =>
        buildSuccessResponse({
          protected_inboxes: store.inboxes(caller.tenantId, getMetricPeriod(at, query)),
        }),
    }),
  ];
}

function getMetricPeriod(at: string, query: { days: number }): Period {
  return getLookBackPeriod(at, query.days * 24 * 60);
}
