import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OwnDomains } from "../../../provider/settings/own-domains";
import { areStrangers, fingerprintOf, isOf, peopleOf } from "../../../provider/settings/tenant-people";

const people = (...domains: string[]) =>
  peopleOf(
    domains.map((domain) => `someone@${domain}`),
    true,
  );
const printed = (...domains: string[]) => fingerprintOf(people(...domains)) ?? expect.fail("no fingerprint");

describe("people", () => {
  it("are known by the domains of their mailboxes, however these are written", () => {
    const { domains } = peopleOf(
      ["A@Acme.example", " b@acme.example ", "c@bücher.example", undefined, "", "nobody", "x@"],
      true,
    );
    expect([...domains]).toEqual(["acme.example", "xn--bcher-kva.example"]);
  });

  it.each([
    ["acme.example", ["acme.example"], false],
    ["mail.acme.example", ["acme.example"], false],
    ["globex.example", ["acme.example"], true],
    ["acme.example.evil.example", ["acme.example"], true],
    ["globex.example", [], false],
  ])("of %s at a tenant of %j are strangers: %s", (domain, own, strange) => {
    expect(areStrangers(people(domain), new OwnDomains(own))).toBe(strange);
  });

  it("are no strangers where one of them is known, or nobody is seen", () => {
    const own = new OwnDomains(["acme.example"]);
    expect(areStrangers(people("globex.example", "acme.example"), own)).toBe(false);
    expect(areStrangers(people(), own)).toBe(false);
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
    // Each run compares with what the last one saw.
    const gained = fingerprintOf(people("a.example", "b.example"), printed("a.example"));
    expect(isOf(gained ?? "", people("b.example"))).toBe(true);
  });

  it("stays the same while the same domains are seen, and tells none of them", () => {
    const first = printed("acme.example", "acme.test");
    expect(fingerprintOf(people("acme.test", "acme.example"), first)).toBe(first);
    expect(fingerprintOf(people("acme.test"), first)).not.toBe(first);
    // A page of the VIPs shows no loss.
    expect(fingerprintOf({ ...people("acme.test"), isWhole: false }, first)).toBe(first);
    expect(fingerprintOf(people(), first)).toBe(first);
    expect(first).toMatch(/^[\w-]{8}(\.[\w-]{6}){2}$/);
  });

  it("is salted: two tenants of one domain have two", () => {
    expect(printed("acme.example")).not.toBe(printed("acme.example"));
  });

  it("is of some 64 characters at most", () => {
    fc.assert(fc.property(domains, (some) => printed(...some).length <= 64));
  });

  it.each(["", "abc", "____", "x".repeat(1000), "AAAAAAAA.", "AAAAAAAA.abc\u0000ef"])(
    "that can't be read (%j) refuses nobody",
    (text) => {
      expect(isOf(text, people("a.example"))).toBe(true);
      expect(fingerprintOf(people("a.example"), text)).toMatch(/^[\w-]{8}\.[\w-]{6}$/);
    },
  );
});
