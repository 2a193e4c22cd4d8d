/**
 * Building blocks of a policy pack for Pulumi's policy engine: the declarations of a program's resources, their risks, and violations of a
 * team's policy. Pure: sends no requests and reads no files.
 *
 * @module pulumi-email-security/policy
 */

export {
  createPolicyCheck as policyJudge,
  type PolicyCode,
  type PolicyEntry as AccountableEntry,
  type PolicyFields as Accountable,
  type PolicyVip as AccountableVip,
} from "../../files/policy";
export type { Policy, PolicySubject } from "../../files/settings-schema";
export type { EntryType, List } from "../../settings/assumptions";
export type { ListedEntry, ListedVip } from "../../settings/encoded-list";
export { OwnDomains, parseOwnDomains } from "../../settings/own-domains";
export {
  findEntryRisks as risksOf,
  RISKS,
  type Risk,
  type RiskCode,
  type RiskKind,
  type RiskSubject,
} from "../../settings/risk";
export {
  type EntryInProgram,
  isFromSettingsFiles,
  listDeclaredItems as declaredBy,
  type PolicyResource,
  type VipInProgram,
} from "./declared-items";
