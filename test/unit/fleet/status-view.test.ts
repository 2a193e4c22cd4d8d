import fc from "fast-check";
import { expect, it } from "vitest";
import { groupDifferences } from "../../../provider/fleet/status/difference-groups";
import { renderStatusMarkdown } from "../../../provider/fleet/status/status-markdown";
import type { FleetDifference, FleetStatus, TenantStatus } from "../../../provider/fleet/status/status-schema";
import { renderStatusText } from "../../../provider/fleet/status/status-text";
import { findTerminalCommands, HOSTILE, hostileText } from "../../support/hostile-text";
import { findBreakouts } from "../../support/markdown-breakouts";

const buildTenantStatus = (name: string, drift: readonly FleetDifference[]): TenantStatus => ({
  name,
  labels: {},
  host: "mail-security.example",
  settings: `settings/${name}.yaml`,
  stack: name,
  syncStatus: drift.length === 0 ? "in-sync" : "drifted",
  drift,
  pendingChanges: [],
});

const buildFleetStatus = (tenants: readonly TenantStatus[]): FleetStatus => ({
  format: 1,
  readAt: "2026-11-23T13:00:00.000Z",
  file: "tenants.yaml",
  project: "p",
  today: "2026-11-23",
  expiringUntil: "2026-12-07",
  tenants,
  expiring: [],
  reviews: [],
  findings: [],
  isJournalRead: true,
  isComplete: true,
});

const buildAddition = (value: string, actual: FleetDifference["actual"], more: Partial<FleetDifference> = {}) =>
  ({ driftKind: "added", list: "allow", value, actual: { list: "allow", ...actual }, ...more }) as const;

const buildNumberedTenants = (count: number, drift: (index: number) => readonly FleetDifference[]): FleetStatus =>
  buildFleetStatus(Array.from({ length: count }, (_, index) => buildTenantStatus(`t${index}`, drift(index))));

it("groups equal drift of many tenants", () => {
  const status = buildNumberedTenants(151, (index) =>
    index === 150
      ? []
      : [
          buildAddition("evil.example", {
            createdBy: index === 7 ? "Kai" : "Dana",
            createdAt: `2026-11-${10 + (index % 3)}T09:00:00Z`,
          }),
        ],
  );
  const names = Array.from({ length: 100 }, (_, index) => `t${index}`).join(", ");
  const text = renderStatusText(status);
  expect(text.replaceAll(/\s+/g, " ")).toContain(`in ${names} and 50 more, which --format json names created by`);
  expect(text).toContain("Drifted (150 tenants):\n  added allow evil.example, 150 tenants\n      in t0, t1,");
  expect(text).toContain(`      created by Dana, Kai from 2026-11-10T09:00:00Z to 2026-11-12T09:00:00Z
`);
  expect(renderStatusText(buildNumberedTenants(9, () => [buildAddition("evil.example", {})]))).toContain(
    "\n      in all 9\n",
  );
});

it("sorts drift by risk", () => {
  const status = buildNumberedTenants(3, (index) => [
    buildAddition("one.example", {}),
    ...(index > 0 ? [buildAddition("two.example", { comment: "a" })] : []),
    ...(index === 2
      ? [buildAddition("two.example", { comment: "b" }), buildAddition("gmail.com", {}, { risks: ["allow-free-mail"] })]
      : []),
  ]);
  const groups = groupDifferences(status, "drift").map(({ difference, members }) => [
    difference.value,
    difference.actual?.comment,
    members.length,
  ]);
  expect(groups).toEqual([
    ["gmail.com", undefined, 1],
    ["one.example", undefined, 3],
    ["two.example", "a", 2],
    ["two.example", "b", 1],
  ]);
});

it("limits a section to thirty items", () => {
  const long = "x".repeat(400);
  const status = buildNumberedTenants(500, (index) => [
    buildAddition(`evil${index}.example`, { comment: long, createdBy: long }),
  ]);
  const text = renderStatusText(status, 80);
  expect(text.match(/added allow/g)).toHaveLength(30);
  expect(text).toContain("and 470 more, among them 470 new allows; --format json shows all of them");
  const markdown = renderStatusMarkdown(status);
  expect(Buffer.byteLength(markdown)).toBeLessThan(60_000);
  expect(markdown).toMatch(/^- … and 4\d\d more, among them 4\d\d new allows; `--format json` shows all of them$/m);
});

it("lists one tenant's dangerous drift before drift of all tenants", () => {
  const turned: FleetDifference = {
    driftKind: "changed",
    list: "allow",
    value: "turned.example",
    actual: { list: "allow" },
    declared: { list: "deny" },
  };
  const missingEntry: FleetDifference = {
    driftKind: "missing",
    list: "deny",
    value: "gone.example",
    declared: { list: "deny" },
  };
  const status = buildNumberedTenants(40, (tenantNumber) => [
    ...Array.from({ length: 60 }, (_, index) =>
      buildAddition(`a${index}.example`, { list: "deny", comment: "c".repeat(300) }, { list: "deny" }),
    ),
    ...(tenantNumber === 39 ? [missingEntry, turned] : []),
  ]);
  const broken = { error: { code: "Error", message: "x".repeat(500) }, drift: [] };
  const failing = status.tenants.map((tenant, index) => ({
    ...tenant,
    ...broken,
    name: `${"failing".repeat(10)}${index}`,
    error: { ...broken.error, code: `Error${index}` },
  }));
  const groups = groupDifferences(status, "drift");
  expect(groups.slice(0, 3).map(({ difference, members }) => [difference.value, members[0]?.tenant.name])).toEqual([
    ["turned.example", "t39"],
    ["gone.example", "t39"],
    ["a0.example", "t39"],
  ]);
  const text = renderStatusText(status);
  expect(text.indexOf("changed allow turned.example, 1 tenant\n      in t39\n")).toBeGreaterThan(0);
  expect(text.replaceAll(/\s+/g, " ")).toContain(
    "and 32 more, none of them a new allow, a removed deny or a removed VIP; --format json shows all of them",
  );
  const markdown = renderStatusMarkdown({ ...status, tenants: [...failing, ...status.tenants] });
  expect(Buffer.byteLength(markdown)).toBeLessThan(60_000);
  expect(markdown).toMatch(/### Drifted[^\n]*\n\n- changed allow `turned\.example`, 1 tenant\n {2}- in `t39`\n/);
  expect(markdown).toContain("### Not read (40 tenants)");
});

it("renders hostile text as plain text", () => {
  const assertEscaped = (hostile: string): void => {
    const rowFields = { comment: hostile, createdBy: hostile, createdAt: hostile };
    const location = { file: hostile, line: 1 };
    const entryFields = { tenants: [hostile], place: location };
    const status: FleetStatus = {
      ...buildFleetStatus([
        {
          ...buildTenantStatus(hostile, [
            buildAddition(hostile, rowFields, { place: location, scope: hostile, reason: hostile }),
          ]),
          error: { code: "Error", message: hostile },
          unappliedRollout: { id: hostile, wave: hostile, state: "pending", rolloutState: "running" },
        },
      ]),
      file: hostile,
      project: hostile,
      expiring: [
        {
          ...entryFields,
          list: "deny",
          value: hostile,
          expires: "2026-12-01",
          isExpired: false,
          owner: hostile,
          ticket: hostile,
        },
      ],
      reviews: [{ ...entryFields, code: "review-overdue", level: "warning", message: hostile }],
    };
    const markdown = renderStatusMarkdown(status);
    expect(findTerminalCommands(renderStatusText(status))).toEqual([]);
    expect(findTerminalCommands(markdown)).toEqual([]);
    expect(findBreakouts(markdown.slice(markdown.indexOf("\n")))).toEqual([]);
  };
  for (const hostile of Object.values(HOSTILE)) assertEscaped(hostile);
  fc.assert(fc.property(hostileText, assertEscaped), { numRuns: 50 });
});

it("groups tenants skipped together by rollouts", () => {
  const buildSkip = (index: number) => ({
    skippedAt: `2026-11-2${index % 2}T03:12:00.000Z`,
    skippedBy: "dana@build-7",
    reason: index % 2 === 0 ? Object.values(HOSTILE).join(" ") : "its key is refused",
  });
  const status = buildFleetStatus(
    Array.from({ length: 40 }, (_, index) => ({
      ...buildTenantStatus(`t${index}`, []),
      ...(index < 35 && { skipped: buildSkip(index) }),
    })),
  );
  const text = renderStatusText(status);
  expect(text).toContain(
    "Skipped by rollouts (35 tenants):\n  t0, t2, t4, t6, t8, t10, t12, t14, t16, t18, t20, t22, t24, t26, t28,",
  );
  expect(text.match(/its key is refused/g)).toHaveLength(1);
  expect(text).toMatch(
    /since 2026-11-21 03:12 UTC by\s+dana@build-7\n {6}its key is refused\n {6}until `email-security rollout unskip NAME`/,
  );
  expect(findTerminalCommands(text)).toEqual([]);
  const markdown = renderStatusMarkdown(status);
  expect(markdown).toContain("### Skipped by rollouts (35 tenants)\n\n- `t0`, `t2`,");
  expect(findBreakouts(markdown.slice(markdown.indexOf("\n")))).toEqual([]);
});

it("doesn't list an in-sync tenant under an abandoned rollout", () => {
  const rollout = { id: "20261121-0800-7f3a91", wave: "all", state: "pending" } as const;
  const renderUnreachedTenant = (rolloutState: string) =>
    renderStatusText(
      buildFleetStatus([{ ...buildTenantStatus("acme", []), unappliedRollout: { ...rollout, rolloutState } }]),
    );
  expect(renderUnreachedTenant("waiting")).toContain("Unfinished rollouts");
  expect(renderUnreachedTenant("abandoned")).not.toContain("Unfinished rollouts");
});

it("counts tenants without a rollout", () => {
  expect(renderStatusText(buildNumberedTenants(2, () => []))).toContain("Last rollouts: none yet for 2 tenants.");
});
