import { expect, it } from "vitest";
import { renderFindCsv } from "../../../../provider/commands/find/find-csv";
import {
  type FindMatch,
  type FindReport,
  findSchema,
  type TenantMatches,
} from "../../../../provider/commands/find/find-schema";
import { renderFindText } from "../../../../provider/commands/find/find-text";
import { commandsIn } from "../../../support/hostile-text";

const HOSTILE = "Allow \u001b[2J\u202e\n::error::x ##vso[task.complete]done\u0007";

const found = (fields: Partial<FindMatch> = {}): FindMatch => ({
  kind: "entry",
  wanted: "evil.example",
  how: "exact",
  key: "evil.example",
  value: "evil.example",
  entryType: "domain",
  verdictScope: "global",
  state: "there",
  ended: [],
  there: [{ id: "1", list: "deny" }],
  ...fields,
});

const tenant = (name: string, fields: Partial<TenantMatches> = {}): TenantMatches => ({
  name,
  found: [found()],
  decisions: [],
  unread: [],
  ...fields,
});

const report = (tenants: readonly TenantMatches[]): FindReport => ({
  format: "1",
  at: "2026-11-20T09:00:00.000Z",
  wanted: [{ value: "evil.example", entryType: "domain", isSender: true }],
  tenants,
  isComplete: tenants.every(({ unread }) => unread.length === 0),
});

it("groups identical matches and counts the tenants it doesn't name", () => {
  const many = Array.from({ length: 120 }, (_, at) => tenant(`t${at}`));
  const names = Array.from({ length: 100 }, (_, at) => `t${at}`).join(", ");
  expect(renderFindText(report([...many, tenant("without", { found: [] })])).replaceAll(/\s+/g, " ")).toBe(
    `evil.example: found in 120 of 121 tenants deny evil.example: at the tenant, 120 tenants in ${names} and 20 more, which --format json names its creator is unknown `,
  );
});

it("names no author where authors differ", () => {
  const by = (name: string, maker: string): TenantMatches =>
    tenant(name, { found: [found({ there: [{ id: "1", list: "deny", by: maker }] })] });
  const text = renderFindText(report([by("a", "Dana"), by("b", "Tomas")]));
  expect(text).toContain("created by different people or at different times");
  expect(text).not.toContain("Dana");
});

it("shows a VIP's internationalized domain in its own script", () => {
  const vip = found({
    kind: "vip",
    value: "ceo@xn--mnchen-3ya.example",
    key: "ceo@xn--mnchen-3ya.example",
    how: "below",
    state: "undeclared",
    there: [{ list: "vip", by: "Dana", at: "2026-11-02", source: "manual" }],
  });
  const unread = [{ where: "stack" as const, code: "ERR_PULUMI", message: "no stack" }];
  expect(renderFindText(report([tenant("acme", { found: [vip], unread })]))).toBe(`evil.example: found
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
  const one = found({
    value: HOSTILE,
    key: HOSTILE,
    verdictScope: HOSTILE,
    state: "differs",
    declared,
    ended: [{ ...declared, why: "removed", removedAt: { file: HOSTILE, line: 9 } }],
    there: [{ id: HOSTILE, list: HOSTILE, comment: HOSTILE, by: HOSTILE, at: HOSTILE, source: HOSTILE }],
    stack: { stack: HOSTILE, resource: "entries", list: HOSTILE, comment: HOSTILE },
  });
  const decisions = [
    {
      sender: "evil.example",
      scope: HOSTILE,
      of: "tenant" as const,
      decides: { list: HOSTILE, key: HOSTILE, value: HOSTILE, verdictScope: HOSTILE },
      others: 2,
      isKnown: false,
    },
  ];
  const unread = [{ where: "tenant" as const, code: "Error", message: HOSTILE }];
  const all = report([tenant(HOSTILE, { found: [one], decisions, unread }), tenant("b", { found: [one] })]);
  const text = renderFindText(all, 80);
  expect(commandsIn(text)).toEqual([]);
  expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  expect(commandsIn(renderFindCsv(all).replaceAll("\r\n", "\n"))).toEqual([]);
  expect(findSchema.parse(all)).toEqual(all);
});

it("doesn't count an unreadable tenant as searched", () => {
  const failed: TenantMatches["unread"] = [{ where: "tenant", code: "ERR_AUTH", message: "refused" }];
  const unread = tenant("b", { found: [], unread: failed });
  const headline = (tenants: readonly TenantMatches[]): string => renderFindText(report(tenants)).split("\n")[0] ?? "";
  expect(headline([tenant("a"), unread])).toBe("evil.example: found in 1 of 1 tenant, and 1 tenant could not be read");
  expect(headline([tenant("a", { found: [] }), unread, { ...unread, name: "c" }])).toBe(
    "evil.example: nothing found in 1 tenant, and 2 tenants could not be read.",
  );
});

it("truncates a long reason between words", () => {
  const message = `${"x".repeat(10)} ${"word ".repeat(195)}EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=acme`;
  const text = renderFindText(
    report([tenant("b", { found: [], unread: [{ where: "tenant", code: "ERR_AUTH", message }] })]),
  );
  expect(text).toContain("… [ERR_AUTH]");
  expect(text).not.toContain("EMAIL_SECURITY");
});
