export type { EntryType, List, VerdictScope } from "../settings/assumptions";
export { EmailSecurityError } from "../settings/email-security-error";
export type { AllowDenyEntries, EntryChange, ListEntriesQuery, NewEntry } from "./allow-deny-entries";
export * from "./errors";
export type {
  AddVipResult,
  AllowDenyEntryRow,
  DeleteEntryResult,
  Page,
  RemoveVipResult,
  VipEmployeeRow,
  VipStoredRow,
} from "./schemas";
export { SettingsClient, type SettingsClientOptions } from "./settings-client";
export type { ListVipsQuery, VipEmployees } from "./vip-employees";
