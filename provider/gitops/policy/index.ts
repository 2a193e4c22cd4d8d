/**
 * What a policy pack for Pulumi's policy engine is made of: what a resource of a program declares, what is risky about
 * it, and which of a team's rules it breaks. Pure: asks nothing of the service, and reads no files.
 *
 * @module pulumi-email-security/policy
 */

export {
  type Accountable,
  type AccountableEntry,
  type AccountableVip,
  type PolicyCode,
  policyJudge,
} from "../../files/policy";
export type { Policy, PolicySubject } from "../../files/settings-schema";
export type { EntryType, List } from "../../settings/assumptions";
export type { ListedEntry, ListedVip } from "../../settings/keyed-list";
export { OwnDomains, parseOwnDomains } from "../../settings/own-domains";
export {
  RISKS,
  type Risk,
  type RiskCode,
  type RiskKind,
  type RiskSubject,
  risksOf,
} from "../../settings/risk";
export {
  declaredBy,
  type EntryInProgram,
  isFromSettingsFiles,
  type PolicyResource,
  type VipInProgram,
} from "./declared-by";
