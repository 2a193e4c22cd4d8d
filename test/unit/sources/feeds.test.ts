import { describe, expect, it } from "vitest";
import { parseCsvFeed } from "../../../provider/sources/feeds/csv";
import { parseMispFeed } from "../../../provider/sources/feeds/misp";
import { parseStixFeed } from "../../../provider/sources/feeds/stix";
import { parseStixPattern } from "../../../provider/sources/feeds/stix-pattern";
import { parseTextFeed } from "../../../provider/sources/feeds/text";

const NOW = Date.parse("2026-11-29T12:00:00Z");
const getValues = (items: readonly { readonly value: string }[]): string[] => items.map(({ value }) => value);

describe("a text feed", () => {
  it.each([
    ["# title\nevil.example # why\n; x\n// y\n\n", ["evil.example"]],
    [
      "a.example ; SBL1\nb.example\t// why\nhttps://c.example/x;y\n",
      ["a.example", "b.example", "https://c.example/x;y"],
    ],
    ["\uFEFFa.example\r\nb.example\rc.example", ["a.example", "b.example", "c.example"]],
    ["0.0.0.0 a.example\n127.0.0.1\tb.example\n127.0.0.1\n", ["a.example", "b.example", "127.0.0.1"]],
    ["hxxps://a[.]example/x#y\n  b[.]example  \n", ["hxxps://a[.]example/x#y", "b[.]example"]],
  ])("lists the values of %j", (text, values) => {
    expect(getValues(parseTextFeed(text))).toEqual(values);
  });
});

describe("a CSV feed", () => {
  it("takes the named column, in any case, and the names of people", () => {
    expect(parseCsvFeed("Name;E-Mail\nJane Doe;jane@acme.example\n;joe@acme.example\n", "staff", "email")).toEqual([
      { value: "jane@acme.example", name: "Jane Doe" },
      { value: "joe@acme.example" },
    ]);
  });

  it("takes the first column of a table without titles", () => {
    expect(getValues(parseCsvFeed('# comment\na.example,"x, y"\nb.example,z\n', "feed"))).toEqual([
      "a.example",
      "b.example",
    ]);
  });

  it("reports an unknown column with the known ones", () => {
    expect(() => parseCsvFeed("Domain,Date\na.example,1\n", "feed", "Host")).toThrow(
      /no column "Host"; .*Domain, Date/,
    );
  });

  it("reports an unmatched quote, because the table may be cut short", () => {
    expect(() => parseCsvFeed('Domain\na.example\n"b.exa', "feed")).toThrow(/unmatched quote/);
  });
});

describe("a STIX pattern", () => {
  it.each([
    ["[domain-name:value = 'evil.example']", ["evil.example"]],
    ["[ipv4-addr:value = '192.0.2.1' OR ipv6-addr:value = '2001:db8::1']", ["192.0.2.1", "2001:db8::1"]],
    [
      "[email-addr:value = 'a@b.example'] OR [email-message:from_ref.value='c@d.example']",
      ["a@b.example", "c@d.example"],
    ],
    ["[domain-name:value IN ('a.example', 'b.example')]", ["a.example", "b.example"]],
    ["([domain-name:value = 'it\\'s.example'])", ["it's.example"]],
    ["[(domain-name:value = 'a.example' OR file:hashes.'SHA-256' = 'aa')]", ["a.example", undefined]],
    ["[url:value = 'https://a.example/x']", ["https://a.example/x"]],
  ])("gives the values of %s", (pattern, values) => {
    expect(parseStixPattern(pattern)).toEqual(values);
  });

  it.each([
    "[domain-name:value = 'a.example' AND ipv4-addr:value = '192.0.2.1']",
    "[domain-name:value != 'a.example']",
    "[domain-name:value LIKE '%.example']",
    "[domain-name:value MATCHES 'a']",
    "[NOT domain-name:value = 'a.example']",
    "[file:hashes.MD5 = 'aa']",
    "[domain-name:value = 'a.example'] FOLLOWEDBY [domain-name:value = 'b.example']",
    "[domain-name:value = 'a.example'] WITHIN 5 SECONDS",
    "[domain-name:value = 'a.example'",
    "[domain-name:value = 'a.exam",
    "domain-name:value = 'a.example'",
    "",
  ])("is not expressible: %s", (pattern) => {
    expect(parseStixPattern(pattern)).toBeUndefined();
  });
});

describe("a STIX bundle", () => {
  const buildIndicator = (pattern: string, more: object = {}): object => ({
    type: "indicator",
    name: "Phish",
    pattern,
    ...more,
  });
  const parseObjects = (objects: readonly unknown[], more: object = {}) =>
    parseStixFeed(JSON.stringify({ type: "bundle", objects, ...more }), "stix", NOW);

  it("lists valid indicators, and counts the others by reason", () => {
    const domain = "[domain-name:value = 'a.example']";
    const { items, skipped } = parseObjects([
      { type: "identity", name: "x" },
      buildIndicator(domain, { valid_from: "2026-11-01T00:00:00Z", valid_until: "2026-12-01T00:00:00Z" }),
      buildIndicator(domain, { revoked: true }),
      buildIndicator(domain, { indicator_types: ["benign"] }),
      buildIndicator(domain, { valid_until: "2020-13-01T00:00:00Z" }),
      buildIndicator("[domain-name:value = 'b.example' OR file:hashes.MD5 = 'aa']"),
      buildIndicator(domain, { valid_from: "2027-01-01T00:00:00Z" }),
      buildIndicator(domain, { valid_until: "2026-11-01T00:00:00Z" }),
      buildIndicator("[file:hashes.MD5 = 'aa']"),
      buildIndicator("alert tcp any", { pattern_type: "snort" }),
      { type: "indicator" },
    ]);
    expect(items).toEqual([
      { value: "a.example", name: "Phish" },
      { value: "b.example", name: "Phish" },
    ]);
    expect(skipped.map(({ reason, count }) => [reason, count])).toEqual([
      ["has a pattern that an entry can't express", 2],
      ["has an invalid date", 1],
      ["is an alternative of a pattern that an entry can't express", 1],
      ["is benign", 1],
      ["is no longer valid", 1],
      ["is revoked", 1],
      ["isn't a valid indicator", 1],
      ["isn't valid yet", 1],
    ]);
  });

  it("lists only the newest version of an indicator", () => {
    const id = "indicator--1";
    const pattern = (value: string) => `[domain-name:value = '${value}']`;
    const { items, skipped } = parseObjects([
      buildIndicator(pattern("revoked.example"), { id, modified: "2026-11-02T00:00:00Z", revoked: true }),
      buildIndicator(pattern("revoked.example"), { id, modified: "2026-11-01T00:00:00Z" }),
      buildIndicator(pattern("old.example"), { id: "indicator--2", modified: "2026-11-01T00:00:00Z" }),
      buildIndicator(pattern("new.example"), { id: "indicator--2", modified: "2026-11-02T00:00:00Z" }),
      buildIndicator(pattern("undated.example"), { id: "indicator--3", modified: "soon" }),
    ]);
    expect(items.map(({ value }) => value)).toEqual(["new.example", "undated.example"]);
    expect(skipped.map(({ reason, count }) => [reason, count])).toEqual([["is revoked", 1]]);
  });

  it("is rejected if it is one page of several", () => {
    expect(() => parseObjects([], { more: true })).toThrow(/only the first page/);
  });

  it.each(['{"type": "bundle", "objects": [', "[]", '{"error": 1}', "null"])("is rejected: %s", (text) => {
    expect(() => parseStixFeed(text, "stix", NOW)).toThrow(/^The source stix can't be read/);
  });
});

describe("MISP events", () => {
  const attributes = [
    { type: "domain", value: "a.example", to_ids: true },
    { type: "domain|ip", value: "b.example|192.0.2.1", to_ids: "1" },
    { type: "ip-dst", value: "192.0.2.2", to_ids: true, deleted: true },
    { type: "hostname", value: "c.example", to_ids: false },
    { type: "sha256", value: "aa", to_ids: true },
  ];
  const event = { Event: { info: "OSINT", timestamp: "1796000000", Attribute: attributes } };

  it.each([
    ["one event", event],
    ["a list", [event]],
    ["a search", { response: [event] }],
    ["objects", { Event: { info: "OSINT", timestamp: 1796000000, Object: [{ Attribute: attributes }] } }],
  ])("are read from %s", (_form, content) => {
    const { items, skipped, published } = parseMispFeed(JSON.stringify(content), "misp");
    expect(items).toEqual([
      { value: "a.example", name: "OSINT" },
      { value: "b.example", name: "OSINT" },
    ]);
    expect(skipped.map(({ reason }) => reason)).toEqual([
      "has the type sha256, which an entry can't express",
      "isn't meant for detection (to_ids)",
    ]);
    expect(published).toBe(new Date(1796000000 * 1_000).toISOString());
  });

  it("are read with null and numeric fields", () => {
    const attribute = { type: "domain", value: "a.example", to_ids: true };
    const content = {
      Event: { info: null, Attribute: [attribute, { type: "counter", value: 5 }], Object: [{ Attribute: null }] },
    };
    const { items, skipped } = parseMispFeed(JSON.stringify(content), "misp");
    expect([items, skipped.map(({ count }) => count)]).toEqual([[{ value: "a.example" }], [1]]);
  });

  it("have no items in a deleted object", () => {
    const Attribute = [{ type: "domain", value: "a.example", to_ids: true }];
    const content = {
      Event: {
        Object: [
          { Attribute, deleted: true },
          { Attribute, deleted: "0" },
        ],
      },
    };
    expect(parseMispFeed(JSON.stringify(content), "misp").items).toEqual([{ value: "a.example" }]);
  });

  it("have no time of publication if there are several", () => {
    expect(parseMispFeed(JSON.stringify([event, event]), "misp")).not.toHaveProperty("published");
  });

  it("are read from a search for attributes", () => {
    const { items } = parseMispFeed(JSON.stringify({ response: { Attribute: attributes } }), "misp");
    expect(getValues(items)).toEqual(["a.example", "b.example"]);
  });

  it.each(['{"Event": {"Attribute": [', "{}", '{"response": 1}'])("are rejected: %s", (text) => {
    expect(() => parseMispFeed(text, "misp")).toThrow(/^The source misp can't be read/);
  });
});
