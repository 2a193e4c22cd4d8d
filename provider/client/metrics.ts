import { ENTITY_TYPE_PARAMETER } from "../model/assumptions";
import { buildItemsSchema, buildPageSchema, buildResultsSchema } from "./envelope";
import { InvalidArgumentError } from "./errors";
import { addExtraQuery, type ExtraQuery } from "./extra-query";
import type { Stopwatch } from "./paged-list";
import { iterateList } from "./paging";
import { assertKnownKeys, assertNotBlank, assertOneOf, requireOptionalPositive } from "./parameters";
import {
  hoursSaved,
  type Page,
  protectedInboxes,
  type TargetedEntity,
  type Threat,
  type ThreatsOnDay,
  type ThreatTypeCount,
  targetedEntity,
  threat,
  threatsOnDay,
  threatTypeCount,
} from "./schemas";
import type { Transport } from "./transport";

const PATH = "/metrics";
const PERIOD_PARAMETERS = ["days", "extra"];

/** The period of a metric (reference, section "Metrics"). Omitted parameters are not sent. */
export interface MetricsQuery {
  /**
   * The period, in days, 1 or more. Default of the service: 7 for threats over time and top targeted entities; for the
   * others the reference shows neither the parameter nor a default.
   */
  readonly days?: number;
  /** Parameters that are missing from the reference. */
  readonly extra?: ExtraQuery;
}

/** The days to count. */
export interface ThreatsOverTimeQuery extends MetricsQuery {
  /** The page, 1-based. Default of the service: 1. */
  readonly page?: number;
}

/** The entities to count the threats of. */
export interface TopTargetedEntitiesQuery extends MetricsQuery {
  /** Users or groups. Default of the service: `"user"`. */
  readonly entity_type?: "user" | "group";
  /** The name of that parameter, which the reference doesn't show. Default: `"entity_type"`. */
  readonly entity_type_parameter?: string;
}

/** Aggregate security metrics (reference, section "Metrics"). */
export class Metrics {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Returns one page of threat counts by day: `GET /api/v1/metrics/threats_over_time`.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async threatsOverTime(query: ThreatsOverTimeQuery = {}): Promise<Page<ThreatsOnDay>> {
    return await this.#fetchPage(query);
  }

  async #fetchPage(query: ThreatsOverTimeQuery, stopwatch?: Stopwatch): Promise<Page<ThreatsOnDay>> {
    assertKnownKeys("query", query, [...PERIOD_PARAMETERS, "page"]);
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/threats_over_time`,
      query: addExtraQuery(
        { ...buildPeriodQuery(query), page: requireOptionalPositive("page", query.page) },
        query.extra,
      ),
      envelope: "paginated",
      schema: buildPageSchema(threatsOnDay),
      stopwatch,
    });
  }

  /**
   * Iterates over the threat counts of all days of the period. Fetches pages on demand (`GET
   * /api/v1/metrics/threats_over_time`; no request after a `break`). A list of several pages is read again until a full
   * reading yields nothing new.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ListUnstableError} if the list keeps changing; the items so far aren't the whole list.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async *iterateThreatsOverTime(query: MetricsQuery = {}): AsyncGenerator<ThreatsOnDay, void, undefined> {
    assertKnownKeys("query", query, PERIOD_PARAMETERS);
    yield* iterateList({
      name: "list of threats over time",
      fetchPage: (page, stopwatch) => this.#fetchPage({ ...query, page }, stopwatch),
      getIdentity: (day) => day.date,
    });
  }

  /**
   * Returns at most 5 users or groups, ranked by the number of threats in the period: `GET
   * /api/v1/metrics/top_targeted_entities`.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async topTargetedEntities(query: TopTargetedEntitiesQuery = {}): Promise<TargetedEntity[]> {
    assertKnownKeys("query", query, [...PERIOD_PARAMETERS, "entity_type", "entity_type_parameter"]);
    const { entity_type: entityType, entity_type_parameter: parameter = ENTITY_TYPE_PARAMETER } = query;
    if (entityType !== undefined) assertOneOf("entity_type", ["user", "group"], entityType);
    assertNotBlank("entity_type_parameter", parameter);
    if (parameter === "days") {
      throw new InvalidArgumentError('entity_type_parameter can\'t be "days", because the period has that name');
    }
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/top_targeted_entities`,
      query: addExtraQuery({ ...buildPeriodQuery(query), [parameter]: entityType }, query.extra),
      envelope: "items",
      schema: buildItemsSchema(targetedEntity),
    });
  }

  /**
   * Returns at most 5 types of threats, with their counts: `GET /api/v1/metrics/top_threat_types`.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async topThreatTypes(query: MetricsQuery = {}): Promise<ThreatTypeCount[]> {
    assertKnownKeys("query", query, PERIOD_PARAMETERS);
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/top_threat_types`,
      query: addExtraQuery(buildPeriodQuery(query), query.extra),
      envelope: "items",
      schema: buildItemsSchema(threatTypeCount),
    });
  }

  /**
   * Returns at most 5 notable threats: `GET /api/v1/metrics/highlighted_threats`.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async highlightedThreats(query: MetricsQuery = {}): Promise<Threat[]> {
    assertKnownKeys("query", query, PERIOD_PARAMETERS);
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/highlighted_threats`,
      query: addExtraQuery(buildPeriodQuery(query), query.extra),
      envelope: "items",
      schema: buildItemsSchema(threat),
    });
  }

  /**
   * Returns the estimated hours saved from prevented threats in the period: `GET /api/v1/metrics/hours_saved`.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async hoursSaved(query: MetricsQuery = {}): Promise<number> {
    assertKnownKeys("query", query, PERIOD_PARAMETERS);
    const { hours_saved: hours } = await this.#transport.send({
      method: "GET",
      path: `${PATH}/hours_saved`,
      query: addExtraQuery(buildPeriodQuery(query), query.extra),
      envelope: "object",
      schema: buildResultsSchema(hoursSaved),
    });
    return hours;
  }

  /**
   * Returns the number of protected inboxes that received mail in the period, each counted once: `GET
   * /api/v1/metrics/protected_inboxes`.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async protectedInboxes(query: MetricsQuery = {}): Promise<number> {
    assertKnownKeys("query", query, PERIOD_PARAMETERS);
    const { protected_inboxes: inboxes } = await this.#transport.send({
      method: "GET",
      path: `${PATH}/protected_inboxes`,
      query: addExtraQuery(buildPeriodQuery(query), query.extra),
      envelope: "object",
      schema: buildResultsSchema(protectedInboxes),
    });
    return inboxes;
  }
}

function buildPeriodQuery(query: MetricsQuery): { days: number | undefined } {
  return { days: requireOptionalPositive("days", query.days) };
}
