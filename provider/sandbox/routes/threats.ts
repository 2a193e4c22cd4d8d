import { z } from "zod";
import { threat } from "../contract/schemas";
import type { ThreatStore } from "../store/threats";
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

const PATH = "/api/v1/threats";
const section = "Threats";

/** Default page size of the threat list. The reference gives only the maximum. */
const PAGE_SIZE = 50;
const MAXIMUM_PAGE_SIZE = 100;

const WEEK_MINUTES = 7 * 24 * 60;

const listQuery = z.object({
  minutes_ago: positiveInteger().default(WEEK_MINUTES).describe("look-back window in minutes"),
  page: pageNumber,
  page_size: positiveInteger(MAXIMUM_PAGE_SIZE).default(PAGE_SIZE).describe("maximum 100"),
});

/** Defines the endpoints of the section "Threats" of the reference. */
export function threatRoutes(store: ThreatStore): Route[] {
  return [
    route({
      method: "GET",
      path: PATH,
      section,
      summary: "list recent threats",
      description: "Detected email threats, the newest first.",
      query: listQuery,
      answer: () => paginatedOf(threat),
      handle: ({ caller, at, query }) =>
        paginated(query.page, store.page(caller.tenantId, lookBack(at, query.minutes_ago), window(query))),
    }),
    route({
      method: "GET",
      path: `${PATH}/by_internet_message_id/{id}`,
      section,
      summary: "threats sharing an Internet Message ID",
      description: "One threat a recipient; none for an unknown message.",
      params: { id: "an Internet Message ID" },
      answer: () => envelope(z.array(threat)),
      handle: ({ caller, at, params }) => success(store.ofMessage(caller.tenantId, at, params["id"] ?? "")),
    }),
  ];
}
