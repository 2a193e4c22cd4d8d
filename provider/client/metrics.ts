import { ENTITY_TYPE_PARAMETER } from "../settings/assumptions";
import { quote } from "../settings/text";
import { itemsOf, paginatedOf, resultsOf } from "./envelope";
import { InvalidArgumentError } from "./errors";
import { type ExtraQuery, withExtra } from "./extra-query";
import { iterate } from "./paging";
import { checkOptional } from "./parameters";
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

export interface MetricsQuery {
  /** The period, in days, sent only when given. Default of the service: 7 where the reference shows it. */
  readonly days?: number;
  /** Parameters that the reference does not show. */
  readonly extra?: ExtraQuery;
}

export interface ThreatsOverTimeQuery extends MetricsQuery {
  /** 1-based. Default: 1. */
  readonly page?: number;
}

export interface TopTargetedEntitiesQuery extends MetricsQuery {
  /** Users or groups. Default of the service: `"user"`. */
  readonly entity_type?: "user" | "group";
  /** What that parameter is called; the reference does not show it. Default: `"entity_type"`. */
  readonly entity_type_parameter?: string;
}

/** Aggregate security metrics (reference, section "Metrics"). */
export class Metrics {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** `GET /api/v1/metrics/threats_over_time`: one page of threat counts by day. */
  async threatsOverTime(query: ThreatsOverTimeQuery = {}): Promise<Page<ThreatsOnDay>> {
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/threats_over_time`,
      query: withExtra({ ...period(query), page: checkOptional("page", query.page) }, query.extra),
      envelope: "paginated",
      answer: paginatedOf(threatsOnDay),
    });
  }

  /**
   * The threat counts of all days of the period, as their pages come in.
   *
   * @throws {ListUnstableError} when the list keeps moving.
   */
  iterateThreatsOverTime(query: MetricsQuery = {}): AsyncGenerator<ThreatsOnDay, void, undefined> {
    return iterate({
      name: "list of threats over time",
      fetchPage: (page) => this.threatsOverTime({ ...query, page }),
      identity: (day) => day.date,
    });
  }

  /** `GET /api/v1/metrics/top_targeted_entities`: at most 5 users or groups, by the number of threats. */
  async topTargetedEntities(query: TopTargetedEntitiesQuery = {}): Promise<TargetedEntity[]> {
    const { entity_type: entityType, entity_type_parameter: parameter = ENTITY_TYPE_PARAMETER } = query;
    if (entityType !== undefined && entityType !== "user" && entityType !== "group") {
      throw new InvalidArgumentError(`entity_type must be "user" or "group", not ${quote(entityType)}`);
    }
    if (parameter === "") throw new InvalidArgumentError("entity_type_parameter is empty");
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/top_targeted_entities`,
      query: withExtra({ ...period(query), [parameter]: entityType }, query.extra),
      envelope: "items",
      answer: itemsOf(targetedEntity),
    });
  }

  /** `GET /api/v1/metrics/top_threat_types`: at most 5 types of threats, with their numbers. */
  async topThreatTypes(query: MetricsQuery = {}): Promise<ThreatTypeCount[]> {
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/top_threat_types`,
      query: withExtra(period(query), query.extra),
      envelope: "items",
      answer: itemsOf(threatTypeCount),
    });
  }

  /** `GET /api/v1/metrics/highlighted_threats`: at most 5 threats worth a look. */
  async highlightedThreats(query: MetricsQuery = {}): Promise<Threat[]> {
    return await this.#transport.send({
      method: "GET",
      path: `${PATH}/highlighted_threats`,
      query: withExtra(period(query), query.extra),
      envelope: "items",
      answer: itemsOf(threat),
    });
  }

  /** `GET /api/v1/metrics/hours_saved`: the estimated hours saved from prevented threats in the period. */
  async hoursSaved(query: MetricsQuery = {}): Promise<number> {
    const { hours_saved: hours } = await this.#transport.send({
      method: "GET",
      path: `${PATH}/hours_saved`,
      query: withExtra(period(query), query.extra),
      envelope: "object",
      answer: resultsOf(hoursSaved),
    });
    return hours;
  }

  /** `GET /api/v1/metrics/protected_inboxes`: how many inboxes received mail in the period. */
  async protectedInboxes(query: MetricsQuery = {}): Promise<number> {
    const { protected_inboxes: inboxes } = await this.#transport.send({
      method: "GET",
      path: `${PATH}/protected_inboxes`,
      query: withExtra(period(query), query.extra),
      envelope: "object",
      answer: resultsOf(protectedInboxes),
    });
    return inboxes;
  }
}

function period(query: MetricsQuery): { days: number | undefined } {
  return { days: checkOptional("days", query.days) };
}
