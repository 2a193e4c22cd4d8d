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
} from "../../../provider/settings/mail-domains";
import { OwnDomains } from "../../../provider/settings/own-domains";

const people = (...domains: string[]) =>
  collectMailDomains(
    domains.map((domain) => `someone@${domain}`),
    true,
  );
const printed = (...domains: string[]) => buildDomainFingerprint(people(...domains)) ?? expect.fail("no fingerprint");

const isOf = (fingerprint: string, some: MailDomains): boolean =>
  findForeignFingerprints([fingerprint], some).length === 0;

describe("people", () => {
  it("are known by the domains of their mailboxes, however these are written", () => {
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
    // Everybody can have a mailbox there, or a domain below it.
    [["a@gmail.com", "a@co.uk", "a@github.io", "a@acme.example"], ["acme.example"]],
    // A guest's.
    [[...Array.from({ length: 19 }, (_, index) => `p${index}@acme.example`), "x@partner.example"], ["acme.example"]],
  ])("who have the mailboxes %j most likely share %j", (mailboxes, likely) => {
    expect(suggestOwnDomains(mailboxes)).toEqual(likely);
  });

  it.each([
    ["acme.example", ["acme.example"], false],
    ["mail.acme.example", ["acme.example"], false],
    ["globex.example", ["acme.example"], true],
    ["acme.example.evil.example", ["acme.example"], true],
    ["globex.example", [], false],
  ])("of %s at a tenant of %j are strangers: %s", (domain, own, strange) => {
    expect(hasOnlyForeignDomains(people(domain), new OwnDomains(own))).toBe(strange);
  });

  it("may be accepted for one run, by the name of whom it is", () => {
    const says = (value: string, name?: string) =>
      isEmptyTenantAccepted({ EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: value }, name);
    expect([says("true"), says("1"), says("acme"), says("")]).toEqual([true, true, false, false]);
    expect([says("acme, t1", "acme"), says("acme, t1", "t1"), says("true", "acme")]).toEqual([true, true, false]);
  });

  it("are no strangers where one of them is known, or nobody is seen", () => {
    const own = new OwnDomains(["acme.example"]);
    expect(hasOnlyForeignDomains(people("globex.example", "acme.example"), own)).toBe(false);
    expect(hasOnlyForeignDomains(people(), own)).toBe(false);
  });
});

describe("a fingerprint", () => {
  const domain = fc.stringMatching(/^[a-z]{2,10}\.example$/);
  const domains = fc.uniqueArray(domain, { minLength: 1, maxLength: 20 });

  it("is of these people, and of nobody who shares no domain with them", () => {
    fc.assert(
      fc.property(domains, domains, (some, others) => {
        const fingerprint = printed(...some);
        expect(isOf(fingerprint, people(...some))).toBe(true);
        const isShared = others.some((one) => some.includes(one));
        if (!isShared) expect(isOf(fingerprint, people(...others))).toBe(false);
      }),
    );
  });

  it("is of a tenant that gains domains, and of one that loses some", () => {
    expect(isOf(printed("a.example"), people("a.example", "b.example"))).toBe(true);
    expect(isOf(printed("a.example", "b.example"), people("b.example"))).toBe(true);
    // Each run compares with what all before it saw.
    const gained = buildDomainFingerprint(people("a.example", "b.example"), printed("a.example")) ?? "";
    expect(isOf(gained, people("b.example"))).toBe(true);
    const later = buildDomainFingerprint(people("b.example", "c.example"), gained) ?? "";
    expect(isOf(later, people("c.example"))).toBe(true);
    expect(isOf(later, people("a.example"))).toBe(true);
  });

  it("vouches for an older one with which it shares a domain, and for no other", () => {
    const old = printed("a.example");
    const newer = buildDomainFingerprint(people("a.example", "b.example"), old) ?? "";
    const theirs = printed("z.example");
    expect(findForeignFingerprints([old, theirs, newer], people("b.example"))).toEqual([theirs]);
    expect(findForeignFingerprints([old, newer], people("c.example")).sort()).toEqual([newer, old].sort());
  });

  it("stays the same while nothing is new, and tells no domain", () => {
    const first = printed("acme.example", "acme.test");
    expect(buildDomainFingerprint(people("acme.test", "acme.example"), first)).toBe(first);
    expect(buildDomainFingerprint(people("acme.test"), first)).toBe(first);
    expect(buildDomainFingerprint(people(), first)).toBe(first);
    expect(first).toMatch(/^[\w-]{3}([\w-]{4}){2}$/);
  });

  it("of more domains than it holds stays the same too, and is of a tenant that has one of these", () => {
    const many = Array.from({ length: 30 }, (_, at) => `d${at}.example`);
    const first = printed(...many);
    expect(buildDomainFingerprint(people(...many), first)).toBe(first);
    expect(isOf(first, people(...many))).toBe(true);
  });

  it("is salted: two tenants of one domain have two", () => {
    expect(printed("acme.example")).not.toBe(printed("acme.example"));
  });

  it("is of 35 characters at most", () => {
    fc.assert(fc.property(domains, (some) => printed(...some).length <= 35));
  });

  it.each(["", "abc", "____.___", "x".repeat(1000), "AAA", "AAAa\u0000cd"])(
    "that can't be read (%j) refuses nobody",
    (text) => {
      expect(isOf(text, people("a.example"))).toBe(true);
      expect(buildDomainFingerprint(people("a.example"), text)).toMatch(/^[\w-]{7}$/);
    },
  );
});
