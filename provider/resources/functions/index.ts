export * from "./allow-deny-entries";
export type { CamelCased } from "./camel-case";
export type { FunctionOptions } from "./data-function";
export {
  type GetHighlightedThreatsResult,
  type GetHoursSavedResult,
  type GetMetricsArgs,
  type GetProtectedInboxesResult,
  type GetThreatsOverTimeResult,
  type GetTopTargetedEntitiesArgs,
  type GetTopTargetedEntitiesResult,
  type GetTopThreatTypesResult,
  getHighlightedThreats,
  getHighlightedThreatsOutput,
  getHoursSaved,
  getHoursSavedOutput,
  getProtectedInboxes,
  getProtectedInboxesOutput,
  getThreatsOverTime,
  getThreatsOverTimeOutput,
  getTopTargetedEntities,
  getTopTargetedEntitiesOutput,
  getTopThreatTypes,
  getTopThreatTypesOutput,
} from "./metrics";
export type { OutputArgs } from "./output-args";
export * from "./phishing-reports";
export * from "./threats";
export * from "./vip-employees";
