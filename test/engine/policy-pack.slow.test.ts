import { chmod } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

const ANALYZER = resolve("examples/policy-pack/analyzer.js");

const ACCOUNTED = "CHG-12: Contract (owner: Dana Reyes, approved by: Tomas Lindqvist)";

/** Well within the longest period that the pack allows. */
const NEXT_MONTH = new Date(Date.now() + 30 * 24 * 60 * 60 * 1000).toISOString().slice(0, 10);

/** A program that violates every rule of the pack. */
const BAD = `
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
const GOOD = `
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
const SETTINGS = `
version: 1
allow:
  - value: tom@supplier.example
    comment: Contract
    ticket: CHG-13
    owner: Dana Reyes
    approvedBy: Tomas Lindqvist
    expires: never
`;

it("fails the preview on a violation without showing its comment", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  await using project = await EngineProject.create({
    program: BAD,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
  const { code, output } = await project.run("up", "--yes", "--policy-pack", ANALYZER);
  expect(code).toBe(1);
  expect(output).toContain("Previewing update");
  expect(output).not.toContain("Updating");
  expect(parseViolations(output)).toEqual({
    "[mandatory] policy-comment": ["lena.hartmann@acme.example: has no comment"],
    "[mandatory] policy-max-days": [
      "acme-login.example: has no expiry date, or one beyond the limit",
      "partner.example: has no expiry date, or one beyond the limit",
    ],
    "[mandatory] policy-ticket": ["partner.example: has no ticket"],
    "[mandatory] policy-two-people": ["partner.example: has no approver other than its owner"],
    "[mandatory] policy-whole-domain": [
      "acme-login.example: allows a whole domain",
      "partner.example: allows a whole domain",
    ],
    // The stack's own configuration doesn't contain own domains.
    "[mandatory] risky-entry": ["acme-login.example: allows a look-alike of your own domain (allow-look-alike)"],
  });
  expect(output).not.toMatch(/Mallory|Trent/);
  expect(sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
});

it("writes no violation of a rule without a preview", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  await using project = await EngineProject.create({
    program: BAD,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
  const up = await project.run("up", "--yes", "--skip-preview", "--policy-pack", ANALYZER);
  expect(up.code).toBe(1);
  expect(up.output).not.toMatch(/Mallory|Trent/);
  expect(sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
});

it("reports accepted risks as advisory", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  await using project = await EngineProject.create({
    program: GOOD,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    files: {
      "acme.yaml": SETTINGS,
      // Starts the directory as Pulumi's own language host does.
      "host.js": `#!/usr/bin/env node
        process.chdir(${JSON.stringify(resolve("examples/policy-pack"))});
        process.argv.splice(3, 0, process.cwd());
        require(${JSON.stringify(resolve("node_modules/@pulumi/pulumi/cmd/run-policy-pack"))});
      `,
    },
  });
  await chmod(join(project.directory, "host.js"), 0o755);
  for (const pack of [ANALYZER, join(project.directory, "host.js")]) {
    const { code, output } = await project.run("preview", "--policy-pack", pack);
    expect(parseViolations(output), output).toEqual({
      "[advisory] accepted-risk": ["acme-fair.example: allows a look-alike of your own domain (allow-look-alike)"],
    });
    expect(code).toBe(0);
  }
});

/**
 * Parses the violations of each policy from the engine's output, sorted and keyed by level and name, such as
 * `[mandatory] policy-ticket`.
 */
function parseViolations(output: string): Record<string, string[]> {
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
