import { expect, it } from "vitest";
import { renderFindCsv } from "../../../../provider/commands/find/find-csv";
import {
  type FindMatch,
  type FindReport,
  findSchema,
  type TenantMatches,
} from "../../../../provider/commands/find/find-schema";
import { renderFindText } from "../../../../provider/commands/find/find-text";
import { findTerminalCommands } from "../../../support/hostile-text";

const HOSTILE = "Allow \u001b[2J\u202e\n::error::x ##vso[task.complete]done\u0007";

const buildMatch = (fields: Partial<FindMatch> = {}): FindMatch => ({
  kind: "entry",
  query: "evil.example",
  matchType: "exact",
  key: "evil.example",
  value: "evil.example",
  entryType: "domain",
  verdictScope: "global",
  state: "present",
  inactive: [],
  actual: [{ id: "1", list: "deny" }],
  ...fields,
});

const buildTenantMatches = (name: string, fields: Partial<TenantMatches> = {}): TenantMatches => ({
  name,
  matches: [buildMatch()],
  decisions: [],
  readErrors: [],
  ...fields,
});

const buildFindReport = (tenants: readonly TenantMatches[]): FindReport => ({
  format: "1",
  searchedAt: "2026-11-20T09:00:00.000Z",
  queries: [{ value: "evil.example", entryType: "domain", isSender: true }],
  tenants,
  isComplete: tenants.every(({ readErrors }) => readErrors.length === 0),
});

it("groups identical matches", () => {
  const many = Array.from({ length: 120 }, (_, index) => buildTenantMatches(`t${index}`));
  const names = Array.from({ length: 100 }, (_, index) => `t${index}`).join(", ");
  expect(
    renderFindText(buildFindReport([...many, buildTenantMatches("without", { matches: [] })])).replaceAll(/\s+/g, " "),
  ).toBe(
    `evil.example: found in 120 of 121 tenants deny evil.example: at the tenant, 120 tenants in ${names} and 20 more, which --format json names its creator is unknown `,
  );
});

it("names no author where authors differ", () => {
  const buildMatchByAuthor = (name: string, maker: string): TenantMatches =>
    buildTenantMatches(name, { matches: [buildMatch({ actual: [{ id: "1", list: "deny", createdBy: maker }] })] });
  const text = renderFindText(buildFindReport([buildMatchByAuthor("a", "Dana"), buildMatchByAuthor("b", "Tomas")]));
  expect(text).toContain("created by different people or at different times");
  expect(text).not.toContain("Dana");
});

it("shows a VIP's internationalized domain in its own script", () => {
  const vip = buildMatch({
    kind: "vip",
    value: "ceo@xn--mnchen-3ya.example",
    key: "ceo@xn--mnchen-3ya.example",
    matchType: "below",
    state: "undeclared",
    actual: [{ list: "vip", createdBy: "Dana", createdAt: "2026-11-02", source: "manual" }],
  });
  const readErrors = [{ source: "stack" as const, code: "ERR_PULUMI", message: "no stack" }];
  expect(
    renderFindText(buildFindReport([buildTenantMatches("acme", { matches: [vip], readErrors })])),
  ).toBe(`evil.example: found
  VIP ceo@xn--mnchen-3ya.example (ceo@münchen.example), below it: at the
    tenant, but not declared
      added by Dana on 2026-11-02, source manual

Some sources could not be read, so there may be more matches:
  acme, its stack: no stack [ERR_PULUMI]
`);
});

it("prints hostile text as plain text within the terminal width", () => {
  const declared = {
    list: "deny",
    file: `settings/${HOSTILE}.yaml`,
    line: 3,
    comment: HOSTILE.repeat(40),
    ticket: HOSTILE,
    owner: HOSTILE,
    approvedBy: HOSTILE,
    expires: "2027-01-01",
    acceptRisk: HOSTILE,
    includedAt: [{ file: HOSTILE, line: 1 }],
    overrides: [{ file: HOSTILE, line: 2 }],
  };
  const item = buildMatch({
    value: HOSTILE,
    key: HOSTILE,
    verdictScope: HOSTILE,
    state: "differs",
    declared,
    inactive: [{ ...declared, reason: "removed", removedAt: { file: HOSTILE, line: 9 } }],
    actual: [{ id: HOSTILE, list: HOSTILE, comment: HOSTILE, createdBy: HOSTILE, createdAt: HOSTILE, source: HOSTILE }],
    stack: { stack: HOSTILE, resource: "entries", list: HOSTILE, comment: HOSTILE },
  });
  const decisions = [
    {
      sender: "evil.example",
      scope: HOSTILE,
      basis: "tenant" as const,
      decidingEntry: { list: HOSTILE, key: HOSTILE, value: HOSTILE, verdictScope: HOSTILE },
      otherEntryCount: 2,
      isCertain: false,
    },
  ];
  const readErrors = [{ source: "tenant" as const, code: "Error", message: HOSTILE }];
  const all = buildFindReport([
    buildTenantMatches(HOSTILE, { matches: [item], decisions, readErrors }),
    buildTenantMatches("b", { matches: [item] }),
  ]);
  const text = renderFindText(all, 80);
  expect(findTerminalCommands(text)).toEqual([]);
  expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  expect(findTerminalCommands(renderFindCsv(all).replaceAll("\r\n", "\n"))).toEqual([]);
  expect(findSchema.parse(all)).toEqual(all);
});

it("doesn't count an unreadable tenant as searched", () => {
  const failed: TenantMatches["readErrors"] = [{ source: "tenant", code: "ERR_AUTH", message: "refused" }];
  const unreadable = buildTenantMatches("b", { matches: [], readErrors: failed });
  const renderHeadline = (tenants: readonly TenantMatches[]): string =>
    renderFindText(buildFindReport(tenants)).split("\n")[0] ?? "";
  expect(renderHeadline([buildTenantMatches("a"), unreadable])).toBe(
    "evil.example: found in 1 of 1 tenant, and 1 tenant could not be read",
  );
  expect(renderHeadline([buildTenantMatches("a", { matches: [] }), unreadable, { ...unreadable, name: "c" }])).toBe(
    "evil.example: nothing found in 1 tenant, and 2 tenants could not be read.",
  );
});

it("truncates a long reason between words", () => {
  const message = `${"x".repeat(10)} ${"word ".repeat(195)}EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=acme`;
  const text = renderFindText(
    buildFindReport([
      buildTenantMatches("b", { matches: [], readErrors: [{ source: "tenant", code: "ERR_AUTH", message }] }),
    ]),
  );
  expect(text).toContain("… [ERR_AUTH]");
  expect(text).not.toContain("EMAIL_SECURITY");
});
