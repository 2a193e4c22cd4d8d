import { afterAll, beforeAll, expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import type { TenantMatches } from "../../../provider/commands/find/find-schema";
import { findTenantMatches, readMatchingRows } from "../../../provider/commands/find/find-tenant-matches";
import { parseQueries } from "../../../provider/commands/find/parse-queries";
import { QueryMatcher } from "../../../provider/commands/find/query-matcher";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

let sandbox: Sandbox;
let client: SettingsClient;
let directory: TestDirectory;

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: "acme" });
  client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci", allowInsecureHttp: true });
  directory = createTestDirectory({
    "acme.yaml": `version: 1
include: [people.yaml]
vips:
  - email: Philippa.Grant@acme.example
    ticket: HR-7
    owner: Dana Reyes
  - { email: gone@acme.example, expires: 2026-01-31 }
remove: { vips: [left@acme.example] }
deny:
  - philippa.grant@acme.example
`,
    "people.yaml": "version: 1\nvips: [left@acme.example, nobody@acme.example]\n",
  });
});

afterAll(async () => {
  directory[Symbol.dispose]();
  await client.close();
  await sandbox.close();
});

const find = async (values: readonly string[], options?: { below: boolean }): Promise<TenantMatches> => {
  const matcher = new QueryMatcher(parseQueries(values), options);
  sandbox.clearRequests();
  return findTenantMatches(matcher, {
    name: "acme",
    file: directory.at("acme.yaml"),
    tenant: { rows: await readMatchingRows(client, matcher) },
    readOptions: { today: "2026-11-20" },
  });
};

const summarizeMatches = ({ matches }: TenantMatches): unknown[] =>
  matches.map(({ kind, matchType, value, state, actual }) => [
    kind,
    matchType,
    value,
    state,
    actual.map(({ createdBy }) => createdBy),
  ]);

it("finds a mailbox as both an entry and a VIP", async () => {
  const person = await find(["philippa.grant@acme.example"]);
  expect(summarizeMatches(person)).toEqual([
    ["entry", "exact", "philippa.grant@acme.example", "missing", []],
    ["vip", "exact", "philippa.grant@acme.example", "differs", ["Dana Reyes (console)"]],
  ]);
  expect(person.matches[1]?.declared).toMatchObject({
    list: "vip",
    line: 4,
    ticket: "HR-7",
    owner: "Dana Reyes",
  });
  expect(person.matches[1]).not.toHaveProperty("verdictScope");
  expect(person.matches[1]?.actual).toMatchObject([{ list: "vip", comment: expect.stringContaining("impersonated") }]);
  expect(sandbox.requests.map(({ path }) => path.replace(/.*\//, "")).sort()).toEqual([
    "allow_deny_entries",
    "allow_deny_entries",
    "vip_employees",
  ]);
});

it("reports the source of an automatically detected VIP", async () => {
  const { matches } = await find([
    "ruth.castellan@acme.example",
    "gone@acme.example",
    "left@acme.example",
    "nobody@acme.example",
  ]);
  expect(matches.map(({ value, state, inactive }) => [value, state, inactive.map(({ reason }) => reason)])).toEqual([
    ["ruth.castellan@acme.example", "undeclared", []],
    ["gone@acme.example", "inactive", ["expired"]],
    ["left@acme.example", "inactive", ["removed"]],
    ["nobody@acme.example", "missing", []],
  ]);
  // Nobody added this VIP, which the service reports as an empty name.
  expect(matches[0]?.actual).toEqual([{ list: "vip", createdAt: expect.any(String), source: "auto" }]);
});

it("reads the VIP list only for mailboxes or with --below", async () => {
  expect(summarizeMatches(await find(["acme.example"]))).toEqual([]);
  expect(sandbox.requests).toHaveLength(2);
  const below = await find(["acme.example"], { below: true });
  const people = below.matches.filter(({ kind, matchType }) => kind === "vip" && matchType === "below");
  expect(people.length).toBeGreaterThan(10);
  expect(sandbox.requests).toHaveLength(3);
});
