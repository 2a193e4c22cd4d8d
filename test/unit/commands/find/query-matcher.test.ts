import { expect, it } from "vitest";
import { parseQueries } from "../../../../provider/commands/find/parse-queries";
import { QueryMatcher } from "../../../../provider/commands/find/query-matcher";

const createFormatter = (values: readonly string[], options?: { below: boolean }) => {
  const matcher = new QueryMatcher(parseQueries(values), options);
  return (value: string): string[] => matcher.match(value).map(({ query, matchType }) => `${matchType} ${query.value}`);
};

it("matches only the value itself and its parent domains", () => {
  const formatMatches = createFormatter(["ceo@mail.partner.example", "partner.example", "192.0.2.7"]);
  expect(formatMatches("ceo@mail.partner.example")).toEqual(["exact ceo@mail.partner.example"]);
  expect(formatMatches("mail.partner.example")).toEqual(["domain ceo@mail.partner.example"]);
  expect(formatMatches("partner.example")).toEqual(["parent ceo@mail.partner.example", "exact partner.example"]);
  expect(formatMatches("192.0.2.7")).toEqual(["exact 192.0.2.7"]);
  for (const value of ["notpartner.example", "x.partner.example", "cfo@mail.partner.example", "2.7", "__proto__"])
    expect([value, formatMatches(value)]).toEqual([value, []]);
});

it("matches a range or wildcard that is one query with the other queries it covers", () => {
  const ranges = createFormatter(["203.0.113.0/24", "203.0.113.5", "192.0.2.1"]);
  expect(ranges("203.0.113.0/24")).toEqual(["exact 203.0.113.0/24", "range 203.0.113.5"]);
  const wildcards = createFormatter(["*.wild.example", "a.wild.example", "ceo@a.wild.example"]);
  expect(wildcards("*.wild.example")).toEqual([
    "exact *.wild.example",
    "wildcard a.wild.example",
    "wildcard ceo@a.wild.example",
  ]);
});

it("matches a wildcard inside a label with what it covers", () => {
  const formatMatches = createFormatter(["mail1.wild.example", "eve@mail1.wild.example", "192.0.2.7"]);
  expect(formatMatches("mail*.wild.example")).toEqual([
    "wildcard mail1.wild.example",
    "wildcard eve@mail1.wild.example",
  ]);
  expect(formatMatches("e*@mail1.wild.example")).toEqual(["wildcard eve@mail1.wild.example"]);
  expect(formatMatches("192.0.2.*")).toEqual(["range 192.0.2.7"]);
  expect(formatMatches("web*.wild.example")).toEqual([]);
});

it("matches a query with one value only once", () => {
  const formatMatches = createFormatter(["*@*.wild.example", "a.wild.example"]);
  expect(formatMatches("*.wild.example")).toEqual(["domain *@*.wild.example", "wildcard a.wild.example"]);
});

it("matches subdomains and mailboxes when below is set", () => {
  const formatMatches = createFormatter(["partner.example", "10.0.0.1", "a@other.example"], { below: true });
  expect(formatMatches("partner.example")).toEqual(["exact partner.example"]);
  expect(formatMatches("a.b.partner.example")).toEqual(["below partner.example"]);
  expect(formatMatches("ceo@partner.example")).toEqual(["below partner.example"]);
  expect(formatMatches("ceo@x.partner.example")).toEqual(["below partner.example"]);
  expect(formatMatches("evilpartner.example")).toEqual([]);
  expect(formatMatches("x.other.example")).toEqual([]);
  expect(formatMatches("10.0.0.1")).toEqual(["exact 10.0.0.1"]);
});

it("matches addresses and ranges in a range when below is set", () => {
  const formatMatches = createFormatter(["192.0.2.0/24", "198.51.100.1-198.51.100.9", "2001:db8::/32"], {
    below: true,
  });
  for (const value of ["192.0.2.0", "192.0.2.255", "192.0.2.128/25", "192.0.2.1-192.0.2.9"])
    expect([value, formatMatches(value)]).toEqual([value, ["below 192.0.2.0/24"]]);
  expect(formatMatches("198.51.100.9")).toEqual(["below 198.51.100.1-198.51.100.9"]);
  expect(formatMatches("2001:db8::1")).toEqual(["below 2001:db8::/32"]);
  expect(formatMatches("192.0.2.0/24")).toEqual(["exact 192.0.2.0/24"]);
  expect(formatMatches("192.0.0.0/16")).toEqual(["range 192.0.2.0/24"]);
  for (const value of ["192.0.3.0", "198.51.100.10", "2001:db9::1", "192.0.2.128-192.0.3.1", "2.0.example"])
    expect([value, formatMatches(value)]).toEqual([value, []]);
  expect(createFormatter(["192.0.2.0/24"])("192.0.2.1")).toEqual([]);
});

it("matches subdomains and mailboxes that a wildcard covers when below is set", () => {
  const domains = createFormatter(["*.wild.example"], { below: true });
  for (const value of ["a.wild.example", "a.b.wild.example", "*.a.wild.example", "ceo@a.wild.example"])
    expect([value, domains(value)]).toEqual([value, ["below *.wild.example"]]);
  expect(domains("wild.example")).toEqual(["parent *.wild.example"]);
  for (const value of ["ceo@wild.example", "notwild.example", "192.0.2.1", "192.0.2.0/24"])
    expect([value, domains(value)]).toEqual([value, []]);
  const mailboxes = createFormatter(["*@wild.example", "*@*.wild.example"], { below: true });
  expect(mailboxes("ceo@wild.example")).toEqual(["below *@wild.example"]);
  expect(mailboxes("ceo@a.wild.example")).toEqual(["below *@*.wild.example"]);
  expect(mailboxes("other.example")).toEqual([]);
});

it("reports whether any query can match a mailbox", () => {
  const canMatchMailbox = (values: readonly string[], below = false) =>
    new QueryMatcher(parseQueries(values), { below }).canMatchMailbox;
  expect(canMatchMailbox(["partner.example", "192.0.2.7"])).toBe(false);
  expect(canMatchMailbox(["192.0.2.7"], true)).toBe(false);
  expect(canMatchMailbox(["partner.example"], true)).toBe(true);
  expect(canMatchMailbox(["ceo@partner.example"])).toBe(true);
  expect(canMatchMailbox(["*.partner.example"])).toBe(false);
  expect(canMatchMailbox(["*.partner.example"], true)).toBe(true);
  expect(new QueryMatcher(parseQueries([], ["ceo@partner.example"])).canMatchMailbox).toBe(true);
});
