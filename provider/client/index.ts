/**
 * The standalone HTTP client of the service: all endpoints, with types and errors.
 *
 * @module pulumi-email-security/client
 */
import "../model/assert-node-version";

export type { EntryType, List, VerdictScope } from "../model/assumptions";
export { EmailSecurityError } from "../model/email-security-error";
export type { CommandErrorCode, ErrorCode, TenantErrorCode } from "../model/error-codes";
export type { AllowDenyEntries, EntryChange, ListEntriesQuery, NewEntry } from "./allow-deny-entries";
export * from "./errors";
export type { ExtraQuery } from "./extra-query";
export type { Metrics, MetricsQuery, ThreatsOverTimeQuery, TopTargetedEntitiesQuery } from "./metrics";
export type { ReadAllOptions } from "./paging";
export type { ListPhishingReportsQuery, PhishingReports } from "./phishing-reports";
export type { RequestLimiter } from "./rate-limiter";
export type { FailureScope } from "./response-classification";
export * from "./schemas";
export { SettingsClient } from "./settings-client";
export type { ListThreatsQuery, Threats } from "./threats";
export type { Time } from "./time";
export type { SettingsClientOptions } from "./transport";
export type { ListVipsQuery, VipEmployees } from "./vip-employees";
