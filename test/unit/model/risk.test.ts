import { readFileSync } from "node:fs";
import { domainToASCII } from "node:url";
import { describe, expect, it } from "vitest";
import { parseEntryValue } from "../../../provider/model/entry-value";
import { OwnDomains } from "../../../provider/model/own-domains";
import { describeRisks, findEntryRisks, RISKS } from "../../../provider/model/risk";

const OWN = new OwnDomains(["acme.example", "globex.co.uk", "mail.initech.example", "ibm.com", "hp.com"]);

function listRiskCodes(list: "allow" | "deny", value: string, own = OWN): string[] {
  const parsed = parseEntryValue(value);
  if (!parsed.ok) throw new Error(parsed.reason);
  const { entryType, canonical } = parsed.value;
  return findEntryRisks({ list, value: canonical, entryType }, own).map(({ code }) => code);
}

describe("risky allow", () => {
  it.each([
    ["allow-public-suffix", ["org.uk", "ORG.UK.", "github.io", "blogspot.com", "kawasaki.jp"]],
    ["allow-free-mail", ["gmail.com", "Outlook.com", "proton.me", "gmx.de", "qq.com", "mailinator.com"]],
    [
      "allow-private-address",
      ["10.0.0.1", "172.16.5.4", "192.168.1.1", "127.0.0.1", "169.254.1.1", "100.64.0.1", "224.0.0.1"],
    ],
    ["allow-private-address", ["0.0.0.0", "255.255.255.255", "240.0.0.1", "198.18.0.1", "192.0.0.1"]],
    ["allow-private-address", ["::1", "::", "fe80::1", "fd00::1", "ff02::1", "64:ff9b::1", "100::1"]],
    ["allow-private-address", ["::ffff:10.0.0.1", "0::10.0.0.1", "2001:0:1::1"]],
    ["allow-own-domain", ["acme.example", "ACME.example.", "mail.acme.example", "ceo@acme.example"]],
    ["allow-own-domain", ["ceo@mail.acme.example", "initech.example"]],
    // Another suffix, look-alike letters, added words, one typo; and mailboxes there.
    ["allow-look-alike", ["acme.com", "acme.co.uk", "acme.github.io", "ibm.org", "ceo@acme.com"]],
    [
      "allow-look-alike",
      ["аcme.example", domainToASCII("аcme.example"), "acmé.example", "acrne.example", "g1obex.com"],
    ],
    ["allow-look-alike", ["acme-login.example", "my-acme.com", "acmelogin.com", "ibm-support.com", "hp-login.com"]],
    ["allow-look-alike", ["acmee.example", "amce.example", "acne.example", "globx.com", "glohex.co.uk"]],
    ["allow-look-alike", ["acme.example.evil.example", "ceo@acme.example.evil.example"]],
  ])("matches %s: %j", (code, values) => {
    for (const value of values) expect([value, listRiskCodes("allow", value)]).toEqual([value, [code]]);
  });

  it("has no reason without a risk", () => {
    expect(describeRisks({ list: "allow", value: "partner.example", entryType: "domain" }, OWN)).toBeUndefined();
  });

  it("doesn't repeat its value as the own domain", () => {
    expect(describeRisks({ list: "allow", value: "acme.example", entryType: "domain" }, OWN)).toContain(
      "refused (allow-own-domain): External mail",
    );
  });

  it("gets all of its reasons at once", () => {
    expect(listRiskCodes("allow", "co.uk")).toEqual(["allow-public-suffix", "allow-own-domain"]);
    const reason = describeRisks({ list: "allow", value: "co.uk", entryType: "domain" }, OWN);
    expect(reason).toBe(
      `is "co.uk", which is refused (allow-public-suffix): ${RISKS["allow-public-suffix"].explanation} And (allow-own-domain, globex.co.uk): ${RISKS["allow-own-domain"].explanation} If it is intended, give the reason with the entry: acceptRisk: "…"`,
    );
  });
});

describe("risky deny", () => {
  it.each([
    ["deny-own-domain", ["acme.example", "mail.acme.example", "ceo@acme.example", "initech.example", "co.uk"]],
    ["deny-free-mail", ["gmail.com", "outlook.com", "outlook.de", "hotmail.co.uk", "yahoo.co.jp", "gmx.net"]],
    ["deny-free-mail", ["icloud.com", "proton.me", "web.de", "t-online.de", "GMail.com."]],
  ])("matches the deny risk %s: %j", (code, values) => {
    for (const value of values) expect([value, listRiskCodes("deny", value)]).toEqual([value, [code]]);
  });
});

describe("harmless value", () => {
  it.each([
    ["partner.example", "news.partner.example", "ceo@partner.example", "trade-fair.example", "example.com"],
    ["microsoft.com", "amazonses.com", "docusign.net", "salesforce.com", "siemens.com", "somebody@gmail.com"],
    ["somebody.github.io", "shop.example", "8.8.8.8", "192.0.2.7", "198.51.100.1", "203.0.113.255", "2001:db8::1"],
    ["2606:4700::1111", "::ffff:8.8.8.8"],
    // Similar to own names, but other names.
    [
      "acne.com",
      "acm.example",
      "ibn.com",
      "hp.net",
      "hpe.com",
      "global.com",

      "partner.initech.example",
    ],
    ["acme.sharepoint.com", "macmellan.example", "pharmacme.example", "ibm-consulting.example"],
  ])("has no risk when allowed: %j", (...values) => {
    for (const value of values) expect([value, listRiskCodes("allow", value)]).toEqual([value, []]);
  });

  it.each([
    ["evil.example", "acme-login.example", "acme.com", "аcme.example", "attacker@gmail.com"],
    ["10.0.0.1", "0.0.0.0", "192.0.2.7", "github.io", "com.br", "throwawaymail.com", "spambog.net"],
  ])("has no risk when denied: %j", (...values) => {
    for (const value of values) expect([value, listRiskCodes("deny", value)]).toEqual([value, []]);
  });

  it("has no own-domain risk when no own domains are configured", () => {
    const none = new OwnDomains([]);
    expect(listRiskCodes("allow", "acme.example", none)).toEqual([]);
    expect(listRiskCodes("deny", "acme.example", none)).toEqual([]);
    expect(listRiskCodes("allow", "acme.com", none)).toEqual([]);
    expect(listRiskCodes("allow", "gmail.com", none)).toEqual(["allow-free-mail"]);
  });
});

it("rejects address ranges and top-level domains as values", () => {
  for (const value of ["192.0.2.0/24", "10.0.0.0/8", "192.0.2.1-192.0.2.9", "192.0.2.*", "2001:db8::/32", "com", "*"]) {
    expect([value, parseEntryValue(value).ok]).toEqual([value, false]);
  }
  expect(parseEntryValue("10.0.0.0/8")).toMatchObject({
    reason: expect.stringContaining("is a range of addresses"),
  });
  expect(parseEntryValue("com")).toMatchObject({
    reason: expect.stringContaining("would cover all domains under it"),
  });
});

it("documents every risk code with its reason", () => {
  const rows = readFileSync("docs/reference/risk.md", "utf8").matchAll(/^\| `((?:allow|deny)-[a-z-]+)` \| (.*) \|$/gm);
  const documentedRisks = Object.fromEntries([...rows].map(([, code, why]) => [code, why]));
  expect(documentedRisks).toEqual(
    Object.fromEntries(Object.entries(RISKS).map(([code, { explanation }]) => [code, explanation])),
  );
});

describe("range or wildcard that a tenant allows", () => {
  it.each([
    ["10.0.0.0/8", "ip", ["allow-private-address"]],
    ["0.0.0.0/0", "ip", ["allow-private-address"]],
    ["9.0.0.0-11.0.0.0", "ip", ["allow-private-address"]],
    ["::/0", "ip", ["allow-private-address"]],
    ["fd00::/8", "ip", ["allow-private-address"]],
    ["203.0.113.0/24", "ip", []],
    ["2001:db8::/32", "ip", []],
    ["*.acme.example", "domain", ["allow-own-domain"]],
    ["*@acme.example", "email_address", ["allow-own-domain"]],
    ["*@gmail.com", "email_address", ["allow-free-mail"]],
    ["*.co.uk", "domain", ["allow-public-suffix", "allow-own-domain"]],
    ["*.partner.example", "domain", []],
    ["*", "domain", ["allow-public-suffix"]],
  ] as const)("is as risky as everything that %s covers", (value, entryType, codes) => {
    expect(findEntryRisks({ list: "allow", value, entryType }, OWN).map(({ code }) => code)).toEqual(codes);
  });

  const allowRange = (value: string) => findEntryRisks({ list: "allow", value, entryType: "ip" }, OWN);

  it.each([
    ["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
    ["192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4", "::/3", "2001::/32", "2002::/16"],
    ["4000::/3", "8000::/2", "c000::/2"],
  ])("is risky in a special range: %s, %s, …", (...values) => {
    for (const value of values)
      expect([value, allowRange(value)]).toEqual([value, [{ code: "allow-private-address" }]]);
  });

  it.each(["9.255.255.0-10.0.0.0", "10.255.255.255-11.0.0.0"])(
    "is risky when its range touches a special range: %s",
    (value) => {
      expect(allowRange(value)).toEqual([{ code: "allow-private-address" }]);
    },
  );

  it.each(["9.0.0.0-9.255.255.255", "11.0.0.0-11.0.0.1", "2600::/16"])("isn't risky in %s", (value) => {
    expect(allowRange(value)).toEqual([]);
  });

  it("isn't risky in an invalid address", () => {
    expect(allowRange("unknown")).toEqual([]);
  });

  it("isn't risky as a deny of all mail", () => {
    expect(findEntryRisks({ list: "deny", value: "*", entryType: "domain" })).toEqual([]);
  });
});
