import { expect, it } from "vitest";
import { Matcher } from "../../../../provider/gitops/find/matcher";
import { parseQueries } from "../../../../provider/gitops/find/parse-queries";

const matching = (values: readonly string[], options?: { below: boolean }) => {
  const matcher = new Matcher(parseQueries(values), options);
  return (entryType: string, value: string): string[] =>
    matcher.match(entryType, value).map(({ query, matchType }) => `${matchType} ${query.value}`);
};

it("matches the value itself and its parent domains only", () => {
  const of = matching(["ceo@mail.partner.example", "partner.example", "192.0.2.7"]);
  expect(of("email_address", "ceo@mail.partner.example")).toEqual(["exact ceo@mail.partner.example"]);
  expect(of("domain", "mail.partner.example")).toEqual(["domain ceo@mail.partner.example"]);
  expect(of("domain", "partner.example")).toEqual(["parent ceo@mail.partner.example", "exact partner.example"]);
  expect(of("ip", "192.0.2.7")).toEqual(["exact 192.0.2.7"]);
  for (const [entryType, value] of [
    ["domain", "notpartner.example"],
    ["domain", "x.partner.example"],
    ["email_address", "cfo@mail.partner.example"],
    ["domain", "192.0.2.7"],
    ["ip", "partner.example"],
    ["url", "partner.example"],
    ["constructor", "__proto__"],
  ] as const)
    expect([value, of(entryType, value)]).toEqual([value, []]);
});

it("matches subdomains and mailboxes when below is set", () => {
  const of = matching(["partner.example", "10.0.0.1", "a@other.example"], { below: true });
  expect(of("domain", "partner.example")).toEqual(["exact partner.example"]);
  expect(of("domain", "a.b.partner.example")).toEqual(["below partner.example"]);
  expect(of("email_address", "ceo@partner.example")).toEqual(["below partner.example"]);
  expect(of("email_address", "ceo@x.partner.example")).toEqual(["below partner.example"]);
  expect(of("domain", "evilpartner.example")).toEqual([]);
  expect(of("domain", "x.other.example")).toEqual([]);
  expect(of("ip", "10.0.0.1")).toEqual(["exact 10.0.0.1"]);
});

it("reports whether any query can match a mailbox", () => {
  const means = (values: readonly string[], below = false) =>
    new Matcher(parseQueries(values), { below }).canMatchMailbox;
  expect(means(["partner.example", "192.0.2.7"])).toBe(false);
  expect(means(["192.0.2.7"], true)).toBe(false);
  expect(means(["partner.example"], true)).toBe(true);
  expect(means(["ceo@partner.example"])).toBe(true);
  expect(new Matcher(parseQueries([], ["ceo@partner.example"])).canMatchMailbox).toBe(true);
});
