import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020";
import { describe, expect, it } from "vitest";
import { buildPublishedSchemas } from "../../../provider/commands/json-schemas";
import { inspectSettings } from "../../../provider/settings-files/read-settings";
import { buildSettingsJsonSchema } from "../../../provider/settings-files/settings-schema";
import { readYaml } from "../../../provider/settings-files/yaml-source";
import { createTestDirectory } from "../../support/test-directory";

const ROOT = join(__dirname, "../../..");
const TODAY = "2026-11-21";

const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(buildSettingsJsonSchema());

function isBySchema(text: string): boolean {
  return validate(readYaml(text, "a.yaml").value);
}

function listCodes(text: string): string[] {
  using directory = createTestDirectory({ "a.yaml": text });
  const { findings } = inspectSettings(directory.at("a.yaml"), { today: TODAY });
  return findings.filter(({ level }) => level === "error").map(({ code }) => code);
}

describe("the example settings files", () => {
  const files = globSync("examples/*/settings{/**,}/*.{yaml,yml}", { cwd: ROOT }).filter(
    (file) => !file.includes("node_modules"),
  );

  it("exist", () => expect(files.length).toBeGreaterThan(1));

  it.each(files)("match the schema: %s", (file) => {
    expect(
      validate(readYaml(readFileSync(join(ROOT, file), "utf8"), file).value),
      JSON.stringify(validate.errors),
    ).toBe(true);
    expect(inspectSettings(join(ROOT, file), { today: TODAY }).findings).toEqual([]);
  });
});

const WHOLE = `version: 1
include: []
ownDomains: [acme.example]
policy:
  requireComment: [allow, deny, vips]
  requireTicket: []
  ticketPattern: "^(INC|CHG)-[0-9]+$"
  requireOwner: [allow]
  requireExpiry: [allow]
  maxDays: 3650
  requireTwoPeople: [allow]
  rejectWholeDomains: false
  allowFrom: true
lists:
  entries: { mode: exclusive, protect: ["*.partner.example"], ignore: ["*.legacy.example"], maxRemovals: 20, adopt: true }
  vips: { onDelete: keep, mode: additive, maxRemovalFraction: 0.5, confirmRemovals: 3 }
remove: { allow: [], deny: [], vips: [] }
vips:
  - ceo@acme.example
  - { email: cfo@acme.example, comment: Signs payments, owner: Dana Reyes, ticket: INC-1, expires: never }
allow:
  - value: mail.partner.example
    type: domain
    comment: Contract 2026-114
    ticket: CHG-12
    owner: Dana Reyes
    approvedBy: Tomas Lindqvist
    expires: 2027-03-31
    scope: graymail
    acceptRisk: It is what they have
  - 192.0.2.7
deny:
  - evil.example
  - { value: seen.example, seen: { first: 2026-11-20, last: 2026-11-25 } }
source: { name: feed, kind: url, synced: 2026-11-29, declaration: 3f2a9c1b, etag: '"1"', lastModified: 2026-11-29T00:00:00.000Z, published: 2026-11-29T00:00:00.000Z }
sources:
  executives: { kind: microsoft-graph, group: Executive Leadership, into: vips, comment: "Member of {group}", onDelete: exclude }
  staff: { kind: google-directory, group: staff@acme.example, into: vips, max: 100, confirmRemovals: 20 }
  board: { kind: ldap, url: "ldaps://ldap.acme.example", base: "dc=acme", group: board, mailAttribute: mail, into: vips }
  feed: { kind: url, url: "https://feeds.example/domains.txt", into: deny, expires: 14d, hosts: true, scope: global, owner: Dana, ticket: INC-7 }
  table: { kind: csv, file: feeds/table.csv, column: Domain, into: allow, expires: never }
  people: { kind: csv, file: people.csv, into: vips }
  indicators: { kind: stix, url: "https://feeds.example/stix", into: deny, expires: 2w, comment: "{name} of {source}" }
  events: { kind: misp, url: "https://misp.example/events", into: deny, expires: 30d }
`;

it("accepts a file with every key, by schema and by reader", () => {
  expect(isBySchema(WHOLE), JSON.stringify(validate.errors)).toBe(true);
  expect(listCodes(WHOLE)).toEqual([]);
});

/** Invalid files; `schema: false` if only reading the file finds the mistake. */
const MISTAKES: readonly [label: string, content: string, schema?: false][] = [
  ["no version", "deny: []"],
  ["another version", "version: 2"],
  ["a version as text", 'version: "1"'],
  ["an unknown key", "version: 1\nblock: []"],
  ["an unknown key of an entry", "version: 1\ndeny:\n  - { value: evil.example, verdictScope: global }"],
  ["an unknown key of a VIP", "version: 1\nvips:\n  - { email: ceo@acme.example, scope: global }"],
  ["an unknown key of the policy", "version: 1\npolicy: { maxdays: 3 }"],
  ["an unknown option", "version: 1\nlists: { entries: { onDelete: keep } }"],
  ["an unknown list", "version: 1\nlists: { allow: {} }"],
  ["an entry without a value", "version: 1\ndeny:\n  - { comment: x }"],
  ["a VIP without a mailbox", "version: 1\nvips:\n  - { comment: x }"],
  ["a string for a list", "version: 1\ndeny: evil.example"],
  ["an empty key", "version: 1\ndeny:"],
  ["a number for a value", "version: 1\ndeny: [1.10]"],
  ["a number for a ticket", "version: 1\ndeny:\n  - { value: evil.example, ticket: 42 }"],
  ["a list for an element", "version: 1\ndeny: [[evil.example]]"],
  ["another type", "version: 1\ndeny:\n  - { value: evil.example, type: host }"],
  ["another mode", "version: 1\nlists: { entries: { mode: replace } }"],
  ["a mode of allows for VIPs", "version: 1\nlists: { vips: { mode: exclusive-allows } }"],
  ["another onDelete", "version: 1\nlists: { vips: { onDelete: remove } }"],
  ["a share above 1", "version: 1\nlists: { vips: { maxRemovalFraction: 30 } }"],
  ["a negative number", "version: 1\nlists: { entries: { maxRemovals: -1 } }"],
  ["a fractional limit", "version: 1\nlists: { entries: { maxRemovals: 1.5 } }"],
  ["another subject", "version: 1\npolicy: { requireOwner: [denies] }"],
  ["zero days", "version: 1\npolicy: { maxDays: 0 }"],
  ["a flag as text", 'version: 1\npolicy: { rejectWholeDomains: "true" }'],
  ["a date in another form", "version: 1\ndeny:\n  - { value: evil.example, expires: 31.3.2027 }"],
  ["an empty path", 'version: 1\ninclude: [""]'],
  ["a string for a list of paths", "version: 1\ninclude: baseline.yaml"],
  ["a date that doesn't exist", "version: 1\ndeny:\n  - { value: evil.example, expires: 2027-02-30 }", false],
  ["an invalid value", "version: 1\ndeny: [https://evil.example/]", false],
  ["an invalid mailbox", "version: 1\nvips: [ceo]", false],
  ["a type that doesn't match the value", "version: 1\ndeny:\n  - { value: evil.example, type: ip }", false],
  ["a scope in capitals", "version: 1\ndeny:\n  - { value: evil.example, scope: Global }", false],
  ["a comment with a workflow command", 'version: 1\ndeny:\n  - { value: evil.example, comment: "::error::x" }', false],
  ["an invisible comment", 'version: 1\ndeny:\n  - { value: evil.example, comment: "\\u200b" }', false],
  ["a two-line owner", 'version: 1\ndeny:\n  - { value: evil.example, owner: "a\\nb" }', false],
  ["an invalid pattern", 'version: 1\nlists: { entries: { protect: ["a*b*c d"] } }', false],
  ["an invalid regular expression", 'version: 1\npolicy: { ticketPattern: "(" }', false],
  ["an invalid own domain", "version: 1\nownDomains: [acme]", false],
  ["a public suffix as an own domain", "version: 1\nownDomains: [co.uk]", false],
  ["an invalid value to remove", "version: 1\nremove: { deny: ['*'] }", false],
  ["a duplicate entry", "version: 1\ndeny: [evil.example, Evil.example]", false],
  ["a value on both lists", "version: 1\ndeny: [evil.example]\nallow: [evil.example]", false],
  ["a risky allow", "version: 1\nallow: [gmail.com]", false],
  ["a source of another kind", "version: 1\nsources: { feed: { kind: rss, into: deny } }"],
  ["a source with an unknown key", "version: 1\nsources: { a: { kind: csv, file: a.csv, into: vips, colum: b } }"],
  ["a directory into denies", "version: 1\nsources: { a: { kind: google-directory, group: a@b.example, into: deny } }"],
  ["a wrong name of a source", "version: 1\nsources: { A_B: { kind: csv, file: a.csv, into: vips } }"],
  ["a feed without a term", "version: 1\nsources: { a: { kind: url, file: a.txt, into: deny } }", false],
  ["a feed without an address", "version: 1\nsources: { a: { kind: url, into: deny, expires: 14d } }", false],
  [
    "a feed with a password",
    'version: 1\nsources: { a: { kind: url, url: "https://u:p@feeds.example/", into: deny, expires: 14d } }',
    false,
  ],
  [
    "an unknown placeholder",
    'version: 1\nsources: { a: { kind: csv, file: a.csv, into: vips, comment: "{who}" } }',
    false,
  ],
  ["a group without its name", "version: 1\nsources: { a: { kind: microsoft-graph, into: vips } }", false],
  ["a term of no length", "version: 1\nsources: { a: { kind: url, file: a, into: deny, expires: soon } }", false],
  ["a source's record without a date", "version: 1\nsource: { name: feed, kind: url }"],
  ["an element seen on no day", "version: 1\ndeny:\n  - { value: evil.example, seen: { first: soon } }", false],
  ["a file that is not there", "version: 1\ninclude: [none.yaml]", false],
  ["an address", "version: 1\ninclude: [https://example.com/baseline.yaml]", false],
];

describe("an invalid settings file", () => {
  it.each(MISTAKES)("is rejected for %s", (_label, content, schema) => {
    expect(listCodes(content), "when it is read").not.toEqual([]);
    expect(isBySchema(content), "by the schema").toBe(schema === false);
  });
});

describe("the JSON schema", () => {
  it("matches the published schema", () => {
    expect(buildPublishedSchemas()["settings.schema.json"]).toEqual(buildSettingsJsonSchema());
    const undescribed: string[] = [];
    const visitSchema = (schema: unknown, path: string): void => {
      if (typeof schema !== "object" || schema === null) return;
      for (const [key, value] of Object.entries(schema)) {
        if (key === "properties") {
          for (const [name, property] of Object.entries(value as Record<string, { description?: string }>)) {
            if ((property.description ?? "") === "") undescribed.push(`${path}.${name}`);
            visitSchema(property, `${path}.${name}`);
          }
        } else visitSchema(value, path);
      }
    };
    visitSchema(buildSettingsJsonSchema(), "");
    expect(undescribed).toEqual([]);
  });
});
