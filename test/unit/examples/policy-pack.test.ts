import { describe, expect, it } from "vitest";
import { createPolicies, type Team } from "../../../examples/policy-pack/policies.js";

const TODAY = "2026-11-21";

const TEAM: Team = {
  ownDomains: ["acme.example"],
  neverAccepted: ["allow-own-domain"],
  ticket: /\b(?:INC|CHG)-[0-9]+\b/,
  policy: {},
};

const RESPONSIBLE_PEOPLE = "(owner: Dana Reyes, approved by: Tomas Lindqvist)";

/** Returns the messages that each policy reports for entries in the short form, or for VIPs. */
function collectViolations(
  policy: Team["policy"],
  entries: Record<string, string>,
  { kind = "AllowDenyList", property = "entries", parents = "" } = {},
): Record<string, string[]> {
  const type = `pulumi-nodejs:dynamic/email-security:${kind}`;
  const resource = {
    type,
    urn: `urn:pulumi:dev::settings::${parents}${type}::it`,
    props: { [property]: entries },
  };
  const reports: Record<string, string[]> = {};
  for (const { name, validateResource } of createPolicies({ ...TEAM, policy }, TODAY)) {
    const validate = validateResource as (resource: object, report: (text: string) => void) => void;
    const recordReport = (text: string): void => {
      reports[name] = [...(reports[name] ?? []), text];
    };
    validate(resource, recordReport);
  }
  return reports;
}

describe("comment rules", () => {
  it.each<[Team["policy"], comment: string, broken: string | undefined]>([
    [{ requireComment: ["allow"] }, "", "policy-comment: has no comment"],
    [{ requireComment: ["allow"] }, "Contract", undefined],
    [{ requireTicket: ["allow"] }, "Contract 12", "policy-ticket: has no ticket"],
    [{ requireTicket: ["allow"] }, "XCHG-12", "policy-ticket: has no ticket"],
    [{ requireTicket: ["allow"] }, "UTF-8 trouble, CHG-12", undefined],
    [{ requireOwner: ["allow"] }, "Its owner is unknown", "policy-owner: has no owner"],
    [{ requireOwner: ["allow"] }, "owner: , Contract", "policy-owner: has no owner"],
    [{ requireOwner: ["allow"] }, "Owner: Dana", undefined],
    [{ requireTwoPeople: ["allow"] }, "(owner: Dana Reyes)", "policy-two-people: has no approver other than its owner"],
    [
      { requireTwoPeople: ["allow"] },
      "owner: Dana Reyes, approved by: dana  reyes",
      "policy-two-people: has no approver other than its owner",
    ],
    [{ requireTwoPeople: ["allow"] }, RESPONSIBLE_PEOPLE, undefined],
    [{ requireExpiry: ["allow"] }, "until May", "policy-expiry: has no expiry date"],
    [{ requireExpiry: ["allow"] }, "until 2027-13-01", "policy-expiry: has no expiry date"],
    [{ requireExpiry: ["allow"] }, "until 2027-03-31", undefined],
    [{ maxDays: 30 }, "Contract", "policy-max-days: has no expiry date, or one beyond the limit"],
    [{ maxDays: 30 }, "until 2026-12-22", "policy-max-days: has no expiry date, or one beyond the limit"],
    [{ maxDays: 30 }, "until 2026-12-21", undefined],
    [{}, "until 2026-11-20", "expired: has expired"],
    [{}, "until 2026-11-21", undefined],
  ])("checks %j with %j: %s", (policy, comment, broken) => {
    const reports = collectViolations(policy, {
      "jane@partner.example": comment === "" ? "allow" : `allow: ${comment}`,
    });
    const [[name, texts] = [undefined, []], ...more] = Object.entries(reports);
    expect(more).toEqual([]);
    const [text, ...others] = texts.map((item) => item.replace("jane@partner.example: ", ""));
    expect(others).toEqual([]);
    expect(name === undefined ? undefined : `${name}: ${text}`).toBe(broken);
  });
});

it("applies each rule only to the lists that the policy names", () => {
  const policy: Team["policy"] = { requireComment: ["vips"], requireTicket: ["deny"] };
  expect(collectViolations(policy, { "jane@partner.example": "allow", "evil.example": "deny: Phishing" })).toEqual({
    "policy-ticket": ["evil.example: has no ticket"],
  });
  const members = { "ceo@acme.example": "", "cfo@acme.example": "Board" };
  expect(collectViolations(policy, members, { kind: "VipList", property: "members" })).toEqual({
    "policy-comment": ["ceo@acme.example: has no comment"],
  });
});

it("checks settings file entries only for data that the engine sees", () => {
  const policy: Team["policy"] = {
    requireComment: ["allow"],
    requireTicket: ["allow"],
    requireOwner: ["allow"],
    requireTwoPeople: ["allow"],
    requireExpiry: ["allow"],
    maxDays: 30,
    rejectWholeDomains: true,
  };
  const reports = collectViolations(
    policy,
    { "partner.example": "allow", "old.example": "deny: until 2020-01-01" },
    { parents: "email-security:index:TenantSettings$" },
  );
  expect(reports).toEqual({
    "policy-comment": ["partner.example: has no comment"],
    "policy-whole-domain": ["partner.example: allows a whole domain"],
  });
});

it("rejects risky entries", () => {
  expect(
    collectViolations(
      { rejectWholeDomains: true },
      {
        "acme-login.example": "allow (risk accepted: Our fair)",
        "acme.example": "allow (risk accepted: Please)",
        "gmail.com": "allow",
        "partner.example": "allow (risk accepted: All of them write)",
      },
    ),
  ).toEqual({
    "risky-entry": ["gmail.com: allows a whole free-mail domain (allow-free-mail)"],
    "never-accepted": ["acme.example: allows your own domain (allow-own-domain)"],
    "accepted-risk": [
      "acme-login.example: allows a look-alike of your own domain (allow-look-alike)",
      "acme.example: allows your own domain (allow-own-domain)",
    ],
    "policy-whole-domain": ["gmail.com: allows a whole domain"],
  });
});

it("limits the violations of a long list", () => {
  const entries = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`e${index}.example`, "deny"]));
  const { "policy-comment": texts = [] } = collectViolations({ requireComment: ["deny"] }, entries);
  expect(texts).toHaveLength(21);
  expect(texts.at(-1)).toBe("and 1980 more");
});

describe("invalid policy", () => {
  it.each<[object, string]>([
    [
      { policy: { requireComments: ["allow"] } },
      "policy: requireComments isn't an argument; did you mean requireComment?",
    ],
    [{ policy: { requireComment: ["alow"] } }, "policy: requireComment[0] "],
    [{ policy: { ticketPattern: "(" } }, "policy: ticketPattern isn't a valid RE2 regular expression"],
    [{ ownDomain: ["acme.example"] }, "Unknown rules of the team: ownDomain."],
    [{ neverAccepted: ["allow-own-domains"] }, "Unknown rules of the team: allow-own-domains."],
  ])("rejects %j", (wrong, message) => {
    expect(() => createPolicies({ ...TEAM, ...wrong } as Team, TODAY)).toThrow(message);
  });
});
