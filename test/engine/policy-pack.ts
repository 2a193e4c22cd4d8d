import { resolve } from "node:path";

export const ANALYZER = resolve("examples/policy-pack/analyzer.js");

const ACCOUNTED = "CHG-12: Contract (owner: Dana Reyes, approved by: Tomas Lindqvist)";

/** Well within the longest period that the pack allows. */
const NEXT_MONTH = new Date(Date.now() + 30 * 24 * 60 * 60 * 1000).toISOString().slice(0, 10);

/** A program that violates every rule of the pack. */
export const BAD = `
  import * as pulumi from "@pulumi/pulumi";
  import { AllowDenyEntry, AllowDenyList, VipEmployee } from "pulumi-email-security";
  new AllowDenyList("partners", { entries: [
    { list: "allow", value: "partner.example", comment: pulumi.secret("Ask Mallory; owner: Trent") },
    { list: "deny", value: "evil.example", comment: "INC-7" },
  ] });
  new AllowDenyEntry("login", { list: "allow", value: "acme-login.example", comment: "${ACCOUNTED} until 9999-12-31" });
  new VipEmployee("ceo", { email: "lena.hartmann@acme.example" });
`;

/** A program that complies with all rules and accepts one risk. */
export const GOOD = `
  import { AllowDenyEntry, AllowDenyList, TenantSettings, VipEmployee } from "pulumi-email-security";
  new AllowDenyList("partners", { entries: {
    "jane@partner.example": "allow: ${ACCOUNTED} until ${NEXT_MONTH}",
    "evil.example": "deny: INC-7",
  } });
  new AllowDenyEntry("fair", {
    list: "allow", value: "acme-fair.example", comment: "${ACCOUNTED} until ${NEXT_MONTH}", acceptRisk: "Our own fair",
  });
  new VipEmployee("ceo", { email: "lena.hartmann@acme.example", comment: "Releases payments" });
  new TenantSettings("acme", { file: "acme.yaml" });
`;

/** The settings file of {@link GOOD}. Ticket, owner and approver have their own fields. */
export const SETTINGS = `
version: 1
allow:
  - value: tom@supplier.example
    comment: Contract
    ticket: CHG-13
    owner: Dana Reyes
    approvedBy: Tomas Lindqvist
    expires: never
`;

/**
 * Parses the violations of each policy from the engine's output, sorted and keyed by level and name, such as
 * `[mandatory] policy-ticket`.
 */
export function parseViolations(output: string): Record<string, string[]> {
  const violationsByPolicy: Record<string, string[]> = {};
  let policy = "";
  for (const line of output.slice(output.indexOf("\nPolicies:")).split("\n")) {
    const [, level, name] = /^ +- (\[\w+\]) +([\w-]+) /.exec(line) ?? [];
    if (name !== undefined) policy = `${level} ${name}`;
    const [, text] = /^ +(\S+: (?:has|names|does|is|allows|was) .*)$/.exec(line) ?? [];
    if (text === undefined) continue;
    violationsByPolicy[policy] = [...(violationsByPolicy[policy] ?? []), text].sort();
  }
  return violationsByPolicy;
}
