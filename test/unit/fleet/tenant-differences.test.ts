import fc from "fast-check";
import { expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../provider/client";
import { compareTenant, type TenantDifferences } from "../../../provider/fleet/status/tenant-differences";
import { detectDrift } from "../../../provider/gitops/detect-drift";
import type { StackLists } from "../../../provider/plan/desired-state";
import { buildObservedState, type ObservedState } from "../../../provider/plan/observed-state";
import { readSettings } from "../../../provider/settings-files/read-settings";
import type { Settings } from "../../../provider/settings-files/settings-model";

type RowFields = readonly [list: string, value: string, comment?: string];

const readTextSettings = (text: string): Settings =>
  readSettings("s.yaml", { today: "2026-11-21", ownDomains: [], readFile: () => `version: 1\n${text}` });

const buildRow = ([list, value, comment = ""]: RowFields, index: number): AllowDenyEntryRow =>
  ({
    id: `id-${index}`,
    list,
    entry_type: "domain",
    value,
    verdict_scope: "global",
    comment,
  }) as AllowDenyEntryRow;

const buildObserved = (rows: readonly RowFields[], vips: readonly (readonly [string, string?])[] = []): ObservedState =>
  buildObservedState(
    "2026-11-21T00:00:00.000Z",
    rows.map(buildRow),
    vips.map(([email, source = "manual"]) => ({ email, source }) as VipEmployeeRow),
  );

const buildStackLists = (entries: Record<string, string>, vips: Record<string, string> = {}): StackLists => ({
  entries: { content: entries },
  vips: { content: vips },
});

async function findDifferences(text: string, observed: ObservedState, lists: StackLists | undefined) {
  const differences: TenantDifferences = await compareTenant(
    readTextSettings(text),
    observed,
    () => Promise.resolve(lists === undefined ? { unknownRollout: "unknown" } : { lists }),
    "host",
    { environment: {} },
  );
  const formatDifferences = (all: TenantDifferences["drift"]) =>
    all.map(({ driftKind, list, value }) => `${driftKind} ${list} ${value}`);
  return {
    drift: formatDifferences(differences.drift),
    pendingChanges: formatDifferences(differences.pendingChanges),
    unclassified: formatDifferences(differences.unclassified),
  };
}

it.each([
  ["declared since", "deny: [a.example]", [], {}, "pendingChanges", "missing deny a.example"],
  ["removed in the console", "deny: [a.example]", [], { "a.example": "deny" }, "drift", "missing deny a.example"],
  [
    "no longer declared",
    "",
    [["deny", "a.example"]],
    { "a.example": "deny" },
    "pendingChanges",
    "pending-removal deny a.example",
  ],
  [
    "no longer declared, and changed",
    "",
    [["deny", "a.example", "x"]],
    { "a.example": "deny" },
    "drift",
    "pending-removal deny a.example",
  ],
  ["of nobody", "", [["allow", "a.example"]], {}, "drift", "added allow a.example"],
  [
    "of another comment since",
    "deny: [{ value: a.example, comment: new }]",
    [["deny", "a.example", "old"]],
    { "a.example": "deny: old" },
    "pendingChanges",
    "changed deny a.example",
  ],
  [
    "of another comment in the console",
    "deny: [{ value: a.example, comment: new }]",
    [["deny", "a.example", "mine"]],
    { "a.example": "deny: new" },
    "drift",
    "changed deny a.example",
  ],
  [
    "moved to the other list in the console, with a new comment in the file",
    "deny: [{ value: a.example, comment: new }]",
    [["allow", "a.example", "old"]],
    { "a.example": "deny: old" },
    "drift",
    "changed allow a.example",
  ],
  [
    "expired",
    "deny: [{ value: a.example, expires: 2026-11-20 }]",
    [["deny", "a.example"]],
    { "a.example": "deny" },
    "pendingChanges",
    "pending-removal deny a.example",
  ],
  [
    "undeclared on an exclusive list",
    "lists: { entries: { mode: exclusive } }",
    [["allow", "a.example"]],
    {},
    "drift",
    "added allow a.example",
  ],
  [
    "undeclared allow on a list with exclusive allows",
    "lists: { entries: { mode: exclusive-allows } }",
    [["allow", "a.example"]],
    {},
    "drift",
    "added allow a.example",
  ],
  [
    "undeclared deny on a list with exclusive allows",
    "lists: { entries: { mode: exclusive-allows } }",
    [["deny", "a.example"]],
    {},
    "drift",
    "added deny a.example",
  ],
] as const)(
  "distinguishes drift from pending changes for an entry %s",
  async (_, text, rows, content, category, expected) => {
    const differences = await findDifferences(text, buildObserved(rows), buildStackLists(content));
    expect(differences).toEqual({ drift: [], pendingChanges: [], unclassified: [], [category]: [expected] });
  },
);

it("leaves differences unclassified when no rollout is known", async () => {
  const vips = "vips: [{ email: ceo@acme.example, comment: new }]";
  const known = buildStackLists({}, { "ceo@acme.example": "" });
  expect(await findDifferences(vips, buildObserved([], [["ceo@acme.example"]]), known)).toEqual({
    drift: [],
    pendingChanges: ["changed vip ceo@acme.example"],
    unclassified: [],
  });
  expect(await findDifferences("deny: [a.example]", buildObserved([]), undefined)).toEqual({
    drift: [],
    pendingChanges: [],
    unclassified: ["missing deny a.example"],
  });
});

it("agrees with drift detection when no rollout is known", async () => {
  const value = fc.constantFrom("a.example", "b.example", "c.example");
  const comment = fc.constantFrom("", "x", " x ");
  const rowsArbitrary = fc.uniqueArray(fc.tuple(fc.constantFrom("allow", "deny"), value, comment), {
    selector: ([, item]) => item,
    maxLength: 3,
  });
  const vips = fc.uniqueArray(
    fc.tuple(fc.constantFrom("a@acme.example", "b@acme.example"), fc.constantFrom("manual", "auto")),
    { selector: ([email]) => email },
  );
  let plain = 0;
  await fc.assert(
    fc.asyncProperty(rowsArbitrary, rowsArbitrary, vips, fc.boolean(), async (declared, other, people, isSame) => {
      const formatElement = ([, item, comment]: readonly string[]) =>
        `  - { value: ${item}${comment === "" ? "" : `, comment: "${comment}"`} }\n`;
      const lists = ["allow", "deny"].map((list) => {
        const own = declared.filter((row) => row[0] === list);
        return own.length === 0 ? "" : `${list}:\n${own.map(formatElement).join("")}`;
      });
      const named = people.length === 0 ? "" : `vips: [${people.map(([email]) => email).join(", ")}]\n`;
      const settings = readTextSettings(`${lists.join("")}${named}`);
      const observed = buildObserved(isSame ? declared : other, people);
      const { items, unchanged } = detectDrift(settings, observed, "host");
      const differences = await compareTenant(settings, observed, async () => ({ unknownRollout: "unknown" }), "host", {
        environment: {},
      });
      expect([differences.drift.length + differences.pendingChanges.length, differences.unclassified.length]).toEqual([
        0,
        items.length,
      ]);
      expect(differences.unchanged).toBe(unchanged);
      if (items.length === 0) plain += 1;
    }),
    { numRuns: 200 },
  );
  expect(plain).toBeGreaterThan(20);
});
