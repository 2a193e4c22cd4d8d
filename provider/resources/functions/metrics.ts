import type * as pulumi from "@pulumi/pulumi";
import type { TargetedEntity, Threat, ThreatsOnDay, ThreatTypeCount } from "../../client";
import { type CamelCased, camelCased } from "./camel-case";
import { dataFunction, type FunctionOptions } from "./data-function";
import type { OutputArgs } from "./output-args";
import { take } from "./take";

/** The arguments of the functions about metrics. */
export interface GetMetricsArgs {
  /** The period, in days. Default: the service's own, 7 where its reference shows one. */
  readonly days?: number;
}

/** The arguments of {@link getTopTargetedEntities}. */
export interface GetTopTargetedEntitiesArgs extends GetMetricsArgs {
  /** Users or groups. Default: `"user"`. */
  readonly entityType?: "user" | "group";
}

/** What {@link getThreatsOverTime} answers. */
export interface GetThreatsOverTimeResult {
  readonly days: CamelCased<ThreatsOnDay>[];
}

/** What {@link getTopTargetedEntities} answers. */
export interface GetTopTargetedEntitiesResult {
  /** At most 5, the most targeted first. The service names them, and gives no mailbox. */
  readonly entities: CamelCased<TargetedEntity>[];
}

/** What {@link getTopThreatTypes} answers. */
export interface GetTopThreatTypesResult {
  /** At most 5. */
  readonly types: CamelCased<ThreatTypeCount>[];
}

/** What {@link getHighlightedThreats} answers. */
export interface GetHighlightedThreatsResult {
  /** At most 5. */
  readonly threats: CamelCased<Threat>[];
}

/** What {@link getHoursSaved} answers. */
export interface GetHoursSavedResult {
  readonly hoursSaved: number;
}

/** What {@link getProtectedInboxes} answers. */
export interface GetProtectedInboxesResult {
  readonly protectedInboxes: number;
}

const overTime = dataFunction(
  ["days"],
  async (client, args: GetMetricsArgs): Promise<GetThreatsOverTimeResult> => ({
    days: camelCased(await take(client.metrics.iterateThreatsOverTime(period(args)))),
  }),
);

const topTargeted = dataFunction(
  ["days", "entityType"],
  async (client, args: GetTopTargetedEntitiesArgs): Promise<GetTopTargetedEntitiesResult> => {
    const entityType = args.entityType === undefined ? {} : { entity_type: args.entityType };
    return {
      entities: camelCased(await client.metrics.topTargetedEntities({ ...period(args), ...entityType })),
    };
  },
);

const topTypes = dataFunction(
  ["days"],
  async (client, args: GetMetricsArgs): Promise<GetTopThreatTypesResult> => ({
    types: camelCased(await client.metrics.topThreatTypes(period(args))),
  }),
);

const highlighted = dataFunction(
  ["days"],
  async (client, args: GetMetricsArgs): Promise<GetHighlightedThreatsResult> => ({
    threats: camelCased(await client.metrics.highlightedThreats(period(args))),
  }),
);

const hours = dataFunction(
  ["days"],
  async (client, args: GetMetricsArgs): Promise<GetHoursSavedResult> => ({
    hoursSaved: await client.metrics.hoursSaved(period(args)),
  }),
);

const inboxes = dataFunction(
  ["days"],
  async (client, args: GetMetricsArgs): Promise<GetProtectedInboxesResult> => ({
    protectedInboxes: await client.metrics.protectedInboxes(period(args)),
  }),
);

/** How many threats each day of the period had, by `GET /api/v1/metrics/threats_over_time`. */
export function getThreatsOverTime(
  args: GetMetricsArgs = {},
  opts?: FunctionOptions,
): Promise<GetThreatsOverTimeResult> {
  return overTime.plain(args, opts);
}

/** {@link getThreatsOverTime} as an output, by `GET /api/v1/metrics/threats_over_time`. */
export function getThreatsOverTimeOutput(
  args: OutputArgs<GetMetricsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetThreatsOverTimeResult> {
  return overTime.output(args, opts);
}

/** The users or groups with the most threats, by `GET /api/v1/metrics/top_targeted_entities`. */
export function getTopTargetedEntities(
  args: GetTopTargetedEntitiesArgs = {},
  opts?: FunctionOptions,
): Promise<GetTopTargetedEntitiesResult> {
  return topTargeted.plain(args, opts);
}

/** {@link getTopTargetedEntities} as an output, by `GET /api/v1/metrics/top_targeted_entities`. */
export function getTopTargetedEntitiesOutput(
  args: OutputArgs<GetTopTargetedEntitiesArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetTopTargetedEntitiesResult> {
  return topTargeted.output(args, opts);
}

/** The most frequent types of threats, by `GET /api/v1/metrics/top_threat_types`. */
export function getTopThreatTypes(
  args: GetMetricsArgs = {},
  opts?: FunctionOptions,
): Promise<GetTopThreatTypesResult> {
  return topTypes.plain(args, opts);
}

/** {@link getTopThreatTypes} as an output, by `GET /api/v1/metrics/top_threat_types`. */
export function getTopThreatTypesOutput(
  args: OutputArgs<GetMetricsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetTopThreatTypesResult> {
  return topTypes.output(args, opts);
}

/** Threats that the service finds worth a look, by `GET /api/v1/metrics/highlighted_threats`. */
export function getHighlightedThreats(
  args: GetMetricsArgs = {},
  opts?: FunctionOptions,
): Promise<GetHighlightedThreatsResult> {
  return highlighted.plain(args, opts);
}

/** {@link getHighlightedThreats} as an output, by `GET /api/v1/metrics/highlighted_threats`. */
export function getHighlightedThreatsOutput(
  args: OutputArgs<GetMetricsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetHighlightedThreatsResult> {
  return highlighted.output(args, opts);
}

/** The estimated hours that prevented threats saved, by `GET /api/v1/metrics/hours_saved`. */
export function getHoursSaved(
  args: GetMetricsArgs = {},
  opts?: FunctionOptions,
): Promise<GetHoursSavedResult> {
  return hours.plain(args, opts);
}

/** {@link getHoursSaved} as an output, by `GET /api/v1/metrics/hours_saved`. */
export function getHoursSavedOutput(
  args: OutputArgs<GetMetricsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetHoursSavedResult> {
  return hours.output(args, opts);
}

/** How many inboxes received mail in the period, by `GET /api/v1/metrics/protected_inboxes`. */
export function getProtectedInboxes(
  args: GetMetricsArgs = {},
  opts?: FunctionOptions,
): Promise<GetProtectedInboxesResult> {
  return inboxes.plain(args, opts);
}

/** {@link getProtectedInboxes} as an output, by `GET /api/v1/metrics/protected_inboxes`. */
export function getProtectedInboxesOutput(
  args: OutputArgs<GetMetricsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetProtectedInboxesResult> {
  return inboxes.output(args, opts);
}

/** The period of a metric, as the client takes it. */
export function period(args: GetMetricsArgs): { days?: number } {
  return args.days === undefined ? {} : { days: args.days };
}
