import { describe, expect, it } from "vitest";
import { lintSettings } from "../../../provider/settings-files/lint";
import { createTestDirectory } from "../../support/test-directory";

const TODAY = "2026-11-21";

/** Returns the policy findings for a file: the rule and the message, with line and column. */
function listViolations(policy: string, rest: string): [spot: string, message: string][] {
  using directory = createTestDirectory({ "tenant.yaml": `version: 1\npolicy: ${policy}\n${rest}` });
  const { findings, settings } = lintSettings(directory.at("tenant.yaml"), { today: TODAY });
  const policyFindings = findings.filter(({ code }) => code.startsWith("policy-"));
  expect(settings === undefined).toBe(policyFindings.length > 0);
  const spots = directory.formatFindings(policyFindings);
  return directory.formatMessages(policyFindings).map((message, index) => [spots[index] ?? "", message]);
}

function formatEntry(fields: Record<string, string>): string {
  return `allow:\n  - ${JSON.stringify({ value: "jane@partner.example", ...fields })}\n`;
}

describe("a broken rule", () => {
  it.each([
    [
      "{ requireComment: [deny] }",
      "deny:\n  - evil.example\n",
      "tenant.yaml:4:5 error policy-comment",
      '"evil.example" has no comment; write `comment: …` (as a mapping, under `- value: evil.example`). The team\'s policy requires it',
    ],
    [
      "{ requireComment: [vips] }",
      "vips:\n  - email: ceo@acme.example\n    owner: Dana\n",
      "tenant.yaml:4:12 error policy-comment",
      '"ceo@acme.example" has no comment; write `comment: …`. The team\'s policy requires it',
    ],
    [
      "{ requireTicket: [allow] }",
      formatEntry({}),
      "tenant.yaml:4:14 error policy-ticket",
      '"jane@partner.example" has no ticket; write `ticket: …`. The team\'s policy requires it',
    ],
    [
      '{ requireTicket: [allow], ticketPattern: "^INC-[0-9]+$" }',
      formatEntry({}),
      "tenant.yaml:4:14 error policy-ticket",
      '"jane@partner.example" has no ticket; write `ticket: …` that matches "^INC-[0-9]+$". The team\'s policy requires it',
    ],
    [
      '{ ticketPattern: "^INC-[0-9]+$" }',
      formatEntry({ ticket: "INC-7b" }),
      "tenant.yaml:4:14 error policy-ticket",
      '"jane@partner.example" has the ticket "INC-7b"; write one that matches "^INC-[0-9]+$". The team\'s policy requires it',
    ],
    [
      "{ requireOwner: [allow] }",
      formatEntry({ approvedBy: "Dana" }),
      "tenant.yaml:4:14 error policy-owner",
      '"jane@partner.example" has no owner; write `owner: …`. The team\'s policy requires it',
    ],
    [
      "{ requireExpiry: [allow], maxDays: 30 }",
      formatEntry({}),
      "tenant.yaml:4:14 error policy-expiry",
      '"jane@partner.example" has no expiry date; write `expires:` with a date, such as 2027-03-31, or never. The team\'s policy requires it',
    ],
    [
      "{ maxDays: 30 }",
      formatEntry({}),
      "tenant.yaml:4:14 error policy-max-days",
      '"jane@partner.example" is allowed without an expiry date, but 30 days are the maximum; write `expires:` with a date up to 2026-12-21. The team\'s policy requires it',
    ],
    [
      "{ maxDays: 1 }",
      formatEntry({ expires: "never" }),
      "tenant.yaml:4:14 error policy-max-days",
      '"jane@partner.example" is allowed without an expiry date, but 1 day is the maximum; write `expires:` with a date up to 2026-11-22. The team\'s policy requires it',
    ],
    [
      "{ maxDays: 365 }",
      formatEntry({ expires: "2027-11-22" }),
      "tenant.yaml:4:14 error policy-max-days",
      '"jane@partner.example" is allowed until 2027-11-22, but 365 days are the maximum; write a date up to 2027-11-21. The team\'s policy requires it',
    ],
    [
      "{ requireTwoPeople: [allow] }",
      formatEntry({ owner: "Dana" }),
      "tenant.yaml:4:14 error policy-two-people",
      '"jane@partner.example" needs two people, an owner and another person who agreed; write `approvedBy: …`. The team\'s policy requires it',
    ],
    [
      "{ requireTwoPeople: [allow] }",
      formatEntry({ owner: "Dana Reyes", approvedBy: "reyes,  dana" }),
      "tenant.yaml:4:14 error policy-two-people",
      '"jane@partner.example" is approved by "reyes,  dana", who is also its owner; have another person review it, and name them in `approvedBy:`. The team\'s policy requires it',
    ],
    [
      "{ rejectWholeDomains: true }",
      formatEntry({ value: "partner.example" }),
      "tenant.yaml:4:14 error policy-whole-domain",
      '"partner.example" allows a whole domain; allow the mailboxes that write to you, such as "name@partner.example", or give the reason for allowing the domain in `acceptRisk: …`. The team\'s policy requires it',
    ],
  ])("is reported for %s with %j", (policy, rest, spot, message) => {
    expect(listViolations(policy, rest)).toEqual([[spot, message]]);
  });
});

describe("a satisfied rule", () => {
  it.each([
    ["{ requireComment: [allow], requireOwner: [deny, vips] }", formatEntry({ comment: "Contract 7" })],
    ['{ requireTicket: [allow], ticketPattern: "^INC-[0-9]+$" }', formatEntry({ ticket: "INC-7" })],
    ["{ requireExpiry: [allow] }", formatEntry({ expires: "never" })],
    ["{ requireExpiry: [allow], maxDays: 365 }", formatEntry({ expires: "2027-11-21" })],
    // Beyond the maximum date.
    ["{ maxDays: 9007199254740991 }", formatEntry({ expires: "9999-12-31" })],
    // Only an allow has a maximum duration.
    ["{ maxDays: 1 }", "deny: [evil.example]\nvips: [ceo@acme.example]\n"],
    ["{ requireTwoPeople: [allow] }", formatEntry({ owner: "Dana", approvedBy: "Tomas" })],
    ["{ rejectWholeDomains: true }", formatEntry({ value: "192.0.2.7" })],
    ["{ rejectWholeDomains: true }", formatEntry({ value: "partner.example", acceptRisk: "All of them write" })],
    ["{ rejectWholeDomains: true }", "deny: [evil.example]\n"],
    ["{ rejectWholeDomains: false }", formatEntry({ value: "partner.example" })],
    // Expired entries are not checked.
    ["{ requireOwner: [allow] }", formatEntry({ expires: "2026-11-20" })],
  ])("isn't reported for %s with %j", (policy, rest) => {
    expect(listViolations(policy, rest)).toEqual([]);
  });
});

it("reports all broken rules of an entry at once", () => {
  using directory = createTestDirectory({
    "tenant.yaml": "version: 1\npolicy: { requireOwner: [allow], requireTicket: [allow] }\nallow:\n  - gmail.com\n",
  });
  const { findings } = lintSettings(directory.at("tenant.yaml"), { today: TODAY });
  expect(directory.formatFindings(findings).sort()).toEqual([
    "tenant.yaml:4:5 error allow-free-mail",
    "tenant.yaml:4:5 error policy-owner",
    "tenant.yaml:4:5 error policy-ticket",
  ]);
});

it("applies an included file's rules to all entries", () => {
  using directory = createTestDirectory({
    "baseline.yaml":
      "version: 1\nallowedOverrides: [policy.requireComment]\npolicy: { requireOwner: [deny], requireComment: [deny] }\ndeny:\n  - evil.example\n",
    "tenant.yaml": "version: 1\ninclude: [baseline.yaml]\npolicy: { requireComment: [] }\ndeny:\n  - bad.example\n",
  });
  const { findings } = lintSettings(directory.at("tenant.yaml"), { today: TODAY });
  expect(directory.formatFindings(findings)).toEqual([
    "tenant.yaml:3:27 note override",
    "baseline.yaml:5:5 error policy-owner",
    "tenant.yaml:5:5 error policy-owner",
  ]);
});
