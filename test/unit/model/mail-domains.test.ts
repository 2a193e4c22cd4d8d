import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  buildDomainFingerprint,
  collectMailDomains,
  findForeignFingerprints,
  hasOnlyForeignDomains,
  isEmptyTenantAccepted,
  type MailDomains,
  suggestOwnDomains,
} from "../../../provider/model/mail-domains";
import { OwnDomains } from "../../../provider/model/own-domains";

const collectPeopleDomains = (...domains: string[]) =>
  collectMailDomains(
    domains.map((domain) => `someone@${domain}`),
    true,
  );
const fingerprintDomains = (...domains: string[]) =>
  buildDomainFingerprint(collectPeopleDomains(...domains)) ?? expect.fail("no fingerprint");

const matchesFingerprint = (fingerprint: string, some: MailDomains): boolean =>
  findForeignFingerprints([fingerprint], some).length === 0;

describe("mail domains of VIPs", () => {
  it("includes the normalized domains of valid mailboxes", () => {
    const { domains } = collectMailDomains(
      ["A@Acme.example", " b@acme.example ", "c@bücher.example", undefined, "", "nobody", "x@"],
      true,
    );
    expect([...domains]).toEqual(["acme.example", "xn--bcher-kva.example"]);
  });

  it.each([
    [[], []],
    [["a@acme.example", undefined, "nobody"], ["acme.example"]],
    [
      ["a@b.example", "a@acme.example", "b@Acme.example"],
      ["acme.example", "b.example"],
    ],
    // Public providers and suffixes, where anybody can have a mailbox or a subdomain.
    [["a@gmail.com", "a@co.uk", "a@github.io", "a@acme.example"], ["acme.example"]],
    // A guest's.
    [[...Array.from({ length: 19 }, (_, index) => `p${index}@acme.example`), "x@partner.example"], ["acme.example"]],
  ])("suggests from the mailboxes %j the own domains %j", (mailboxes, likely) => {
    expect(suggestOwnDomains(mailboxes)).toEqual(likely);
  });

  it.each([
    ["acme.example", ["acme.example"], false],
    ["mail.acme.example", ["acme.example"], false],
    ["globex.example", ["acme.example"], true],
    ["acme.example.evil.example", ["acme.example"], true],
    ["globex.example", [], false],
  ])("classifies %s at a tenant of %j as foreign: %s", (domain, own, strange) => {
    expect(hasOnlyForeignDomains(collectPeopleDomains(domain), new OwnDomains(own))).toBe(strange);
  });

  it("accepts an empty tenant for one run by its name", () => {
    const isAccepted = (value: string, name?: string) =>
      isEmptyTenantAccepted({ EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: value }, name);
    expect([isAccepted("true"), isAccepted("1"), isAccepted("acme"), isAccepted("")]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect([isAccepted("acme, t1", "acme"), isAccepted("acme, t1", "t1"), isAccepted("true", "acme")]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("treats no one as foreign with one known domain or no VIPs", () => {
    const own = new OwnDomains(["acme.example"]);
    expect(hasOnlyForeignDomains(collectPeopleDomains("globex.example", "acme.example"), own)).toBe(false);
    expect(hasOnlyForeignDomains(collectPeopleDomains(), own)).toBe(false);
  });
});

describe("domain fingerprint", () => {
  const domain = fc.stringMatching(/^[a-z]{2,10}\.example$/);
  const domains = fc.uniqueArray(domain, { minLength: 1, maxLength: 20 });

  it("matches only sets that share a domain", () => {
    fc.assert(
      fc.property(domains, domains, (some, others) => {
        const fingerprint = fingerprintDomains(...some);
        expect(matchesFingerprint(fingerprint, collectPeopleDomains(...some))).toBe(true);
        const isShared = others.some((other) => some.includes(other));
        if (!isShared) expect(matchesFingerprint(fingerprint, collectPeopleDomains(...others))).toBe(false);
      }),
    );
  });

  it("matches a tenant that gains or loses domains", () => {
    expect(matchesFingerprint(fingerprintDomains("a.example"), collectPeopleDomains("a.example", "b.example"))).toBe(
      true,
    );
    expect(matchesFingerprint(fingerprintDomains("a.example", "b.example"), collectPeopleDomains("b.example"))).toBe(
      true,
    );
    // Each run compares with the domains that all earlier runs saw.
    const gained =
      buildDomainFingerprint(collectPeopleDomains("a.example", "b.example"), fingerprintDomains("a.example")) ?? "";
    expect(matchesFingerprint(gained, collectPeopleDomains("b.example"))).toBe(true);
    const later = buildDomainFingerprint(collectPeopleDomains("b.example", "c.example"), gained) ?? "";
    expect(matchesFingerprint(later, collectPeopleDomains("c.example"))).toBe(true);
    expect(matchesFingerprint(later, collectPeopleDomains("a.example"))).toBe(true);
  });

  it("vouches only for an older fingerprint with a shared domain", () => {
    const old = fingerprintDomains("a.example");
    const newer = buildDomainFingerprint(collectPeopleDomains("a.example", "b.example"), old) ?? "";
    const theirs = fingerprintDomains("z.example");
    expect(findForeignFingerprints([old, theirs, newer], collectPeopleDomains("b.example"))).toEqual([theirs]);
    expect(findForeignFingerprints([old, newer], collectPeopleDomains("c.example")).sort()).toEqual(
      [newer, old].sort(),
    );
  });

  it("stays the same without new domains", () => {
    const first = fingerprintDomains("acme.example", "acme.test");
    expect(buildDomainFingerprint(collectPeopleDomains("acme.test", "acme.example"), first)).toBe(first);
    expect(buildDomainFingerprint(collectPeopleDomains("acme.test"), first)).toBe(first);
    expect(buildDomainFingerprint(collectPeopleDomains(), first)).toBe(first);
    expect(first).toMatch(/^[\w-]{3}([\w-]{4}){2}$/);
  });

  it("stays the same with more domains than it can hold", () => {
    const many = Array.from({ length: 30 }, (_, index) => `d${index}.example`);
    const first = fingerprintDomains(...many);
    expect(buildDomainFingerprint(collectPeopleDomains(...many), first)).toBe(first);
    expect(matchesFingerprint(first, collectPeopleDomains(...many))).toBe(true);
  });

  it("differs between two tenants with the same domain", () => {
    expect(fingerprintDomains("acme.example")).not.toBe(fingerprintDomains("acme.example"));
  });

  it("has at most 35 characters", () => {
    fc.assert(fc.property(domains, (some) => fingerprintDomains(...some).length <= 35));
  });

  it.each(["", "abc", "____.___", "x".repeat(1000), "AAA", "AAAa\u0000cd"])(
    "rejects no tenant when it is unreadable (%j)",
    (text) => {
      expect(matchesFingerprint(text, collectPeopleDomains("a.example"))).toBe(true);
      expect(buildDomainFingerprint(collectPeopleDomains("a.example"), text)).toMatch(/^[\w-]{7}$/);
    },
  );
});
