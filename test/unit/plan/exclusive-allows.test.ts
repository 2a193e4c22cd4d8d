import { expect, it } from "vitest";
import type { AllowDenyEntryRow } from "../../../provider/client";
import { detectDrift } from "../../../provider/gitops/detect-drift";
import { buildDesiredState, type StackLists } from "../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../provider/plan/mail-evidence";
import { makePlan } from "../../../provider/plan/make-plan";
import { buildObservedState } from "../../../provider/plan/observed-state";
import type { Plan } from "../../../provider/plan/plan";
import { readSettings } from "../../../provider/settings-files/read-settings";

const MODE = "lists: { entries: { mode: exclusive-allows, maxRemovalFraction: 1 } }\n";
const FILE = `version: 1\n${MODE}deny: [evil.example]\n`;
const AT = "2026-11-21T00:00:00.000Z";

type ListedValue = readonly [list: string, value: string];

const readTextSettings = (text: string) =>
  readSettings("acme.yaml", { today: "2026-11-21", ownDomains: [], readFile: () => text });

const buildObserved = (rows: readonly ListedValue[]) =>
  buildObservedState(
    AT,
    rows.map(
      ([list, value], index) =>
        ({
          id: `id-${index}`,
          list,
          value,
          entry_type: "domain",
          verdict_scope: "global",
          comment: "",
        }) as AllowDenyEntryRow,
    ),
    [],
  );

/** @param before the mode in the last run. */
const buildKnownLists = (content: Record<string, string>, before = "exclusive-allows"): StackLists => ({
  entries: { content, options: { mode: before } },
  vips: { content: {} },
});

function planRows(rows: readonly ListedValue[], state?: StackLists, text = FILE): Plan {
  return makePlan({
    desired: buildDesiredState(readTextSettings(text), state),
    observed: buildObserved(rows),
    tenant: { host: "sandbox", name: "acme" },
    source: { kind: "files", files: ["acme.yaml"] },
    mail: buildEmptyEvidence(AT, "not asked"),
  });
}

const summarizePlan = ({ changes, unmanaged }: Plan): string[] => [
  ...changes.map(({ operation, key, before, reason }) => `${operation} ${before?.list} ${key}: ${reason}`),
  ...unmanaged.map(({ key, before }) => `unmanaged ${before.list} ${key}`),
];

const EVIL: ListedValue = ["deny", "evil.example"];
const CLICKED: readonly ListedValue[] = [EVIL, ["allow", "clicked.example"], ["deny", "colleague.example"]];

it("removes only undeclared allows", () => {
  const plan = planRows(CLICKED, buildKnownLists({ "evil.example": "deny" }));
  expect(summarizePlan(plan)).toEqual([
    "remove allow clicked.example: undeclared, and the list is exclusive-allows",
    "unmanaged deny colleague.example",
  ]);
  expect([plan.blockers, plan.findings]).toEqual([[], []]);
});

it("counts undeclared allows against the removal guard", () => {
  const flood = Array.from({ length: 12 }, (_, index): ListedValue => ["allow", `clicked-${index}.example`]);
  const denies = Array.from({ length: 12 }, (_, index): ListedValue => ["deny", `colleague-${index}.example`]);
  const text = FILE.replace(", maxRemovalFraction: 1", "");
  const { blockers } = planRows([EVIL, ...flood, ...denies], buildKnownLists({ "evil.example": "deny" }), text);
  expect(blockers.map(({ message }) => message)).toEqual([expect.stringContaining("would lose 12 of 13 entries")]);
  expect(planRows([EVIL, ...denies], buildKnownLists({ "evil.example": "deny" }), text).blockers).toEqual([]);
});

it("warns that the first run in this mode keeps undeclared allows", () => {
  const plan = planRows(CLICKED, buildKnownLists({ "evil.example": "deny" }, "additive"));
  expect(summarizePlan(plan)).toEqual(["unmanaged allow clicked.example", "unmanaged deny colleague.example"]);
  expect(plan.findings.map(({ code, message }) => [code, message])).toEqual([
    ["pruning-deferred", expect.stringContaining("list is exclusive-allows, and 1 allow is undeclared at the tenant")],
  ]);
});

it("keeps undeclared denies that an exclusive list recorded", () => {
  const state = buildKnownLists({ "evil.example": "deny", "colleague.example": "(unmanaged) deny" }, "exclusive");
  expect(summarizePlan(planRows(CLICKED, state))).toEqual([
    "remove allow clicked.example: undeclared, and the list is exclusive-allows",
    "unmanaged deny colleague.example",
  ]);
});

it("keeps denies on the first run after switching to exclusive", () => {
  const text = FILE.replace("exclusive-allows", "exclusive");
  const plan = planRows(CLICKED, buildKnownLists({ "evil.example": "deny" }), text);
  expect(summarizePlan(plan)).toEqual([
    "remove allow clicked.example: undeclared, and the list is exclusive",
    "unmanaged deny colleague.example",
  ]);
  expect(plan.findings[0]?.message).toContain("list is exclusive, and 1 is undeclared at the tenant");
});

it("keeps a recorded allow that has become a deny", () => {
  const state = buildKnownLists({ "evil.example": "deny", "clicked.example": "(unmanaged) allow" });
  expect(summarizePlan(planRows([EVIL, ["deny", "clicked.example"]], state))).toEqual([
    "unmanaged deny clicked.example",
  ]);
});

it("refuses to turn a deny into a declared allow of that value", () => {
  const state = buildKnownLists({ "evil.example": "deny", "clicked.example": "(unmanaged) allow" });
  const text = `${FILE}allow: [clicked.example]\n`;
  expect(planRows([EVIL, ["deny", "clicked.example"]], state, text).blockers).toMatchObject([{ code: "exists" }]);
});

it("removes an allow that duplicates a declared deny", () => {
  const plan = planRows([EVIL, ["allow", "evil.example"]], buildKnownLists({ "evil.example": "deny" }));
  expect(summarizePlan(plan)).toEqual([
    "remove allow evil.example (also allow): undeclared, and the list is exclusive-allows",
  ]);
});

it("reports undeclared allows and undeclared denies as drift", () => {
  const drift = detectDrift(
    readTextSettings(FILE),
    buildObserved(CLICKED),
    "sandbox",
    buildKnownLists({ "evil.example": "deny" }),
  );
  expect(drift.items.map(({ driftKind, key, actual }) => `${driftKind} ${actual?.list} ${key}`)).toEqual([
    "added allow clicked.example",
    "added deny colleague.example",
  ]);
});
