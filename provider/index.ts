/**
 * Pulumi resources that keep a tenant's VIP employees and its allow/deny list in code.
 *
 * @module pulumi-email-security
 */
// The build loads the module of an exported name on first access, so that a program only pays for what it uses.
import "./model/assert-node-version";
import "./resources/compile-cache";
import "./resources/sdk-version";

export { SettingsClient, type SettingsClientOptions } from "./client";
export * from "./client/errors";
export { TenantSettings, type TenantSettingsArgs } from "./gitops/tenant-settings";
export type { EntryType, List, VerdictScope } from "./model/assumptions";
export { EmailSecurityError } from "./model/email-security-error";
export { type EntryValue, type ParseResult, parseEntryValue, parseMailbox } from "./model/entry-value";
export type { CommandErrorCode, ErrorCode, TenantErrorCode } from "./model/error-codes";
export { RISKS, type RiskCode, type RiskKind } from "./model/risk";
export { AllowDenyEntry, type AllowDenyEntryArgs } from "./resources/allow-deny-entry";
export {
  AllowDenyList,
  type AllowDenyListArgs,
  type AllowDenyListEntryArgs,
} from "./resources/allow-deny-list";
export type { ListArgs } from "./resources/encode-list-content";
export type * from "./resources/functions";
export {
  getAllowDenyEntries,
  getAllowDenyEntriesOutput,
  getHighlightedThreats,
  getHighlightedThreatsOutput,
  getHoursSaved,
  getHoursSavedOutput,
  getMeanTimeToAnalyze,
  getMeanTimeToAnalyzeOutput,
  getPhishingReport,
  getPhishingReportOutput,
  getPhishingReports,
  getPhishingReportsByReportInternetMessageId,
  getPhishingReportsByReportInternetMessageIdOutput,
  getPhishingReportsOutput,
  getProtectedInboxes,
  getProtectedInboxesOutput,
  getThreats,
  getThreatsByInternetMessageId,
  getThreatsByInternetMessageIdOutput,
  getThreatsOutput,
  getThreatsOverTime,
  getThreatsOverTimeOutput,
  getTopTargetedEntities,
  getTopTargetedEntitiesOutput,
  getTopThreatTypes,
  getTopThreatTypesOutput,
  getVipEmployees,
  getVipEmployeesOutput,
} from "./resources/functions";
export { Provider, type ProviderArgs } from "./resources/provider";
export { VipEmployee, type VipEmployeeArgs } from "./resources/vip-employee";
export { VipList, type VipListArgs, type VipListMemberArgs } from "./resources/vip-list";
export { type FileLocation, type Finding, type FindingLevel, SettingsFileError } from "./settings-files/finding";
