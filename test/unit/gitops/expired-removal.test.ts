import { expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../provider/client";
import { buildExpiredRemoval, type ExpiredRemoval } from "../../../provider/gitops/expired-removal";
import { hashChanges, parsePlanDigest } from "../../../provider/model/plan-digest";
import { buildDesiredState, type StackLists } from "../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../provider/plan/mail-evidence";
import { makePlan } from "../../../provider/plan/make-plan";
import { buildObservedState } from "../../../provider/plan/observed-state";
import { readSettings } from "../../../provider/settings-files/read-settings";

const PAST = "expires: 2026-01-02";
const FILE = `version: 1
deny:
  - value: stays.example
  - { value: gone.example, ${PAST} }
  - { value: missing.example, ${PAST} }
  - { value: never-ours.example, ${PAST} }
  - { value: moved.example, ${PAST} }
  - { value: shown.example, ${PAST} }
  - new.example
vips:
  - { email: ceo@acme.example, ${PAST} }
  - { email: cfo@acme.example, comment: Pays }
`;

const ENTRIES = {
  "stays.example": "deny: as before",
  "gone.example": "deny",
  "missing.example": "deny",
  "moved.example": "deny",
  "shown.example": "(unmanaged) deny",
  "dropped.example": "deny",
};
const VIPS = { "ceo@acme.example": "", "cfo@acme.example": "Pays" };

const buildRow = (value: string, list = "deny", comment?: string): AllowDenyEntryRow => ({
  id: value,
  list,
  entry_type: "domain",
  value,
  verdict_scope: "global",
  comment,
  created_by: "Dana",
  created_at: "2026-01-01",
});
const ROWS = [
  buildRow("stays.example", "deny", "edited by hand"),
  buildRow("gone.example", "deny", "edited too"),
  buildRow("never-ours.example"),
  buildRow("moved.example", "allow"),
  buildRow("shown.example"),
  buildRow("dropped.example"),
  buildRow("console.example"),
];
const buildVip = (email: string, comment = ""): VipEmployeeRow =>
  ({ email, comment, source: "manual" }) as VipEmployeeRow;

function buildRemoval(
  text = FILE,
  options: { entries?: object; vips?: object; content?: Record<string, string> } = {},
): ExpiredRemoval {
  const settings = readSettings("acme.yaml", { today: "2026-11-21", readFile: () => text });
  const known = {
    entries: { content: options.content ?? ENTRIES, urn: "urn:entries", options: options.entries ?? {} },
    vips: { content: VIPS, urn: "urn:vips", options: options.vips ?? {} },
  } as StackLists;
  const vips = [buildVip("ceo@acme.example"), buildVip("cfo@acme.example", "Pays")];
  const observed = buildObservedState("2026-11-21T00:00:00.000Z", ROWS, vips);
  const whole = makePlan({
    desired: buildDesiredState(settings, known),
    observed,
    tenant: { host: "host", name: "acme" },
    source: { kind: "files", files: ["acme.yaml"], stack: "dev" },
    mail: buildEmptyEvidence("", "not asked"),
  });
  return buildExpiredRemoval(whole, settings, known);
}

it("removes only expired items that this stack declared", () => {
  const { plan, only, retained, targets, pending } = buildRemoval();
  expect(plan.blockers).toEqual([]);
  expect(plan.changes.map(({ operation, key }) => `${operation} ${key}`).sort()).toEqual([
    "remove ceo@acme.example",
    "remove gone.example",
  ]);
  // An entry already removed in the console is only dropped from state.
  expect(only.removes.map(({ key }) => key).sort()).toEqual(["ceo@acme.example", "gone.example", "missing.example"]);
  // An entry of the tenant that this stack never declared stays, and is reported.
  const reason =
    "this stack has never declared it; remove it in the console, or run once with a later `expires`, so that the stack contains it";
  expect(retained).toEqual([
    { key: "never-ours.example", kind: "entry", list: "deny", reason },
    {
      key: "moved.example",
      kind: "entry",
      list: "allow",
      reason: "it was put on the allow list in the console",
    },
    { key: "shown.example", kind: "entry", list: "deny", reason },
  ]);
  expect(targets).toEqual(["urn:entries", "urn:vips"]);
  // stays.example, new.example, dropped.example, moved.example
  expect(pending).toBe(4);
  expect(parsePlanDigest(plan.digest)?.observed).toBe(hashChanges(plan.changes));
});

it("keeps undeclared entries of an exclusive list and VIPs marked keep", () => {
  const { plan, retained, targets } = buildRemoval(FILE, {
    entries: { mode: "exclusive" },
    vips: { onDelete: "keep" },
  });
  expect(plan.changes.map(({ key }) => key)).toEqual(["gone.example"]);
  expect(retained.map(({ reason }) => reason)).toContain("lists.vips.onDelete is keep");
  expect(targets).toEqual(["urn:entries"]);
});

it("respects the removal guard of the state and of the files", () => {
  const [stateBlocker, more] = buildRemoval(FILE, { entries: { maxRemovals: 0 } }).plan.blockers;
  expect(stateBlocker?.message).toContain("One run may remove at most 0 (maxRemovals).");
  expect(more).toBeUndefined();
  const fileBlockers = buildRemoval(`${FILE}lists: { entries: { maxRemovals: 1 } }\n`).plan.blockers;
  expect(fileBlockers.map(({ message }) => message).join()).toContain("One run may remove at most 1 (maxRemovals).");
});

it("is empty when the stack declared nothing expired", () => {
  const { plan, targets } = buildRemoval(FILE.replace(/ {2}- \{ email: ceo.*\n/, ""), {
    content: { "stays.example": "deny" },
  });
  expect([plan.changes, targets]).toEqual([[], []]);
});
