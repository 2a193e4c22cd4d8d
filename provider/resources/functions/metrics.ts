import type * as pulumi from "@pulumi/pulumi";
import type { TargetedEntity, Threat, ThreatsOnDay, ThreatTypeCount } from "../../client";
import type { CamelCased } from "./camel-case";
import { createDataFunction, type FunctionOptions } from "./data-function";
import * as definitions from "./definitions";
import type { OutputArgs } from "./output-args";

/** The arguments of the functions about metrics. */
export interface GetMetricsArgs {
  /** The period, in days. Default of the service: 7 where its reference shows one. */
  readonly days?: number;
}

/** The arguments of {@link getTopTargetedEntities}. */
export interface GetTopTargetedEntitiesArgs extends GetMetricsArgs {
  /** Users or groups. Default: `"user"`. */
  readonly entityType?: "user" | "group";
}

/** The result of {@link getThreatsOverTime}. */
export interface GetThreatsOverTimeResult {
  /** A day each. */
  readonly days: CamelCased<ThreatsOnDay>[];
}

/** The result of {@link getTopTargetedEntities}. */
export interface GetTopTargetedEntitiesResult {
  /** At most 5, the most targeted first. The service returns names, but no mailboxes. */
  readonly entities: CamelCased<TargetedEntity>[];
}

/** The result of {@link getTopThreatTypes}. */
export interface GetTopThreatTypesResult {
  /** At most 5. */
  readonly types: CamelCased<ThreatTypeCount>[];
}

/** The result of {@link getHighlightedThreats}. */
export interface GetHighlightedThreatsResult {
  /** At most 5. */
  readonly threats: CamelCased<Threat>[];
}

/** The result of {@link getHoursSaved}. */
export interface GetHoursSavedResult {
  /** The estimated hours saved in the period. */
  readonly hoursSaved: number;
}

/** The result of {@link getProtectedInboxes}. */
export interface GetProtectedInboxesResult {
  /** The number of inboxes that received mail in the period. */
  readonly protectedInboxes: number;
}

const threatsOverTime = createDataFunction<GetMetricsArgs, GetThreatsOverTimeResult>(definitions.getThreatsOverTime);
const topTargetedEntities = createDataFunction<GetTopTargetedEntitiesArgs, GetTopTargetedEntitiesResult>(
  definitions.getTopTargetedEntities,
);
const topThreatTypes = createDataFunction<GetMetricsArgs, GetTopThreatTypesResult>(definitions.getTopThreatTypes);
const highlightedThreats = createDataFunction<GetMetricsArgs, GetHighlightedThreatsResult>(
  definitions.getHighlightedThreats,
);
const hoursSaved = createDataFunction<GetMetricsArgs, GetHoursSavedResult>(definitions.getHoursSaved);
const protectedInboxes = createDataFunction<GetMetricsArgs, GetProtectedInboxesResult>(definitions.getProtectedInboxes);

/** Returns the number of threats on each day of the period: `GET /api/v1/metrics/threats_over_time`. */
export function getThreatsOverTime(
  args: GetMetricsArgs = {},
  opts?: FunctionOptions,
): Promise<GetThreatsOverTimeResult> {
  return threatsOverTime.plain(args, opts);
}

/** {@link getThreatsOverTime} as an output: `GET /api/v1/metrics/threats_over_time`. */
export function getThreatsOverTimeOutput(
  args: OutputArgs<GetMetricsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetThreatsOverTimeResult> {
  return threatsOverTime.output(args, opts);
}

/** Returns the users or groups with the most threats: `GET /api/v1/metrics/top_targeted_entities`. */
export function getTopTargetedEntities(
  args: GetTopTargetedEntitiesArgs = {},
  opts?: FunctionOptions,
): Promise<GetTopTargetedEntitiesResult> {
  return topTargetedEntities.plain(args, opts);
}

/** {@link getTopTargetedEntities} as an output: `GET /api/v1/metrics/top_targeted_entities`. */
export function getTopTargetedEntitiesOutput(
  args: OutputArgs<GetTopTargetedEntitiesArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetTopTargetedEntitiesResult> {
  return topTargetedEntities.output(args, opts);
}

/** Returns the most frequent types of threats: `GET /api/v1/metrics/top_threat_types`. */
export function getTopThreatTypes(args: GetMetricsArgs = {}, opts?: FunctionOptions): Promise<GetTopThreatTypesResult> {
  return topThreatTypes.plain(args, opts);
}

/** {@link getTopThreatTypes} as an output: `GET /api/v1/metrics/top_threat_types`. */
export function getTopThreatTypesOutput(
  args: OutputArgs<GetMetricsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetTopThreatTypesResult> {
  return topThreatTypes.output(args, opts);
}

/** Returns threats that the service highlights: `GET /api/v1/metrics/highlighted_threats`. */
export function getHighlightedThreats(
  args: GetMetricsArgs = {},
  opts?: FunctionOptions,
): Promise<GetHighlightedThreatsResult> {
  return highlightedThreats.plain(args, opts);
}

/** {@link getHighlightedThreats} as an output: `GET /api/v1/metrics/highlighted_threats`. */
export function getHighlightedThreatsOutput(
  args: OutputArgs<GetMetricsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetHighlightedThreatsResult> {
  return highlightedThreats.output(args, opts);
}

/** Returns the estimated hours saved from prevented threats: `GET /api/v1/metrics/hours_saved`. */
export function getHoursSaved(args: GetMetricsArgs = {}, opts?: FunctionOptions): Promise<GetHoursSavedResult> {
  return hoursSaved.plain(args, opts);
}

/** {@link getHoursSaved} as an output: `GET /api/v1/metrics/hours_saved`. */
export function getHoursSavedOutput(
  args: OutputArgs<GetMetricsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetHoursSavedResult> {
  return hoursSaved.output(args, opts);
}

/** Returns the number of inboxes that received mail in the period: `GET /api/v1/metrics/protected_inboxes`. */
export function getProtectedInboxes(
  args: GetMetricsArgs = {},
  opts?: FunctionOptions,
): Promise<GetProtectedInboxesResult> {
  return protectedInboxes.plain(args, opts);
}

/** {@link getProtectedInboxes} as an output: `GET /api/v1/metrics/protected_inboxes`. */
export function getProtectedInboxesOutput(
  args: OutputArgs<GetMetricsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetProtectedInboxesResult> {
  return protectedInboxes.output(args, opts);
}
