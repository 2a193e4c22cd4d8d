import { findNearestName } from "../../model/nearest-name";
import type { RiskCode } from "../../model/risk";
import { CONFIGURATION_ERRORS, SERVICE_ERRORS } from "./client-error-explanations";
import type { ExplainedErrorCode, Explanation } from "./explanation";
import { FILE_ERRORS } from "./file-error-explanations";
import { PULUMI_ERRORS } from "./pulumi-error-explanations";
import { buildRiskExplanation, RISK_CODES } from "./risks";
import { ROLLOUT_ERRORS } from "./rollout-error-explanations";
import { SANDBOX_ERRORS } from "./sandbox-error-explanations";
import { TENANT_ERRORS } from "./tenant-error-explanations";

export const EXPLANATIONS = {
  ...CONFIGURATION_ERRORS,
  ...SERVICE_ERRORS,
  ...TENANT_ERRORS,
  ...FILE_ERRORS,
  ...ROLLOUT_ERRORS,
  ...PULUMI_ERRORS,
  ...SANDBOX_ERRORS,
} satisfies Readonly<Record<ExplainedErrorCode, Explanation>>;

/** A code with an explanation: an error code, or a risk code that an error quotes. */
export type ExplainableCode = ExplainedErrorCode | RiskCode;

export const CODE_GROUPS: readonly { readonly title: string; readonly codes: readonly ExplainableCode[] }[] = [
  { title: "Configuration and arguments", codes: getCodes(CONFIGURATION_ERRORS) },
  { title: "Service and connection", codes: getCodes(SERVICE_ERRORS) },
  { title: "Resources and their tenant", codes: getCodes(TENANT_ERRORS) },
  { title: "Settings files, plans and exports", codes: getCodes(FILE_ERRORS) },
  { title: "Rollouts", codes: getCodes(ROLLOUT_ERRORS) },
  { title: "Pulumi and stacks", codes: getCodes(PULUMI_ERRORS) },
  { title: "Rejected risky entries", codes: RISK_CODES },
  { title: "The sandbox", codes: getCodes(SANDBOX_ERRORS) },
];

function getCodes<Key extends string>(errors: Readonly<Record<Key, Explanation>>): Key[] {
  return Object.keys(errors) as Key[];
}

export function getExplanation(code: ExplainableCode): Explanation {
  return isRiskCode(code) ? buildRiskExplanation(code) : EXPLANATIONS[code];
}

/** Parses a code that a user types: lower case, brackets and a missing `ERR_` are fine. Undefined for an unknown code. */
export function parseCode(input: string): ExplainableCode | undefined {
  const trimmed = input.trim().replace(/^[[(]|[\])]$/g, "");
  const risk = trimmed.toLowerCase().replace(/[_\s]/g, "-");
  if (isRiskCode(risk)) return risk;
  const error = trimmed.toUpperCase().replace(/[-\s]/g, "_");
  const fullCode = error.startsWith("ERR_") ? error : `ERR_${error}`;
  return Object.hasOwn(EXPLANATIONS, fullCode) ? (fullCode as ExplainedErrorCode) : undefined;
}

export function findNearestCode(input: string): ExplainableCode | undefined {
  const stripPrefix = (code: string): string => code.replace(/^ERR_/i, "");
  const knownCodes = [...getCodes(EXPLANATIONS), ...RISK_CODES].map(stripPrefix);
  const closest = findNearestName(stripPrefix(input.trim()), knownCodes);
  return closest === undefined ? undefined : parseCode(closest);
}

function isRiskCode(code: string): code is RiskCode {
  return (RISK_CODES as readonly string[]).includes(code);
}
