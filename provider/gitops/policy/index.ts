/**
 * Building blocks of a policy pack for Pulumi's policy engine: the declarations of a program's resources, their risks, and violations of a
 * team's policy. Pure: sends no requests and reads no files.
 *
 * @module pulumi-email-security/policy
 */

export type { EntryType, List } from "../../model/assumptions";
export type { ListedEntry, ListedVip } from "../../model/encoded-list";
export { OwnDomains, parseOwnDomains } from "../../model/own-domains";
export {
  findEntryRisks,
  RISKS,
  type Risk,
  type RiskCode,
  type RiskKind,
  type RiskSubject,
} from "../../model/risk";
export {
  createPolicyCheck,
  type PolicyCode,
  type PolicyEntry,
  type PolicyFields,
  type PolicyVip,
} from "../../settings-files/policy";
export type { Policy, PolicySubject } from "../../settings-files/settings-schema";
export {
  type EntryInProgram,
  isFromSettingsFiles,
  listDeclaredItems,
  type PolicyResource,
  type VipInProgram,
} from "./declared-items";
