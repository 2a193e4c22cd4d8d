import { expect, it } from "vitest";
import type { AllowDenyEntryRow } from "../../../../provider/client";
import type { DesiredState, StackLists } from "../../../../provider/plan/desired-state";
import { buildObservedState, getObservedIdentity } from "../../../../provider/plan/observed-state";
import type { Target } from "../../../../provider/rollout/model/target";
import {
  buildRenamedTenantBlocker,
  findFormerStack,
  type OrphanedStack,
} from "../../../../provider/rollout/planning/renamed-tenant";

const BASE_URL = "https://settings.example";
const AT = "2026-11-21T00:00:00.000Z";
const ALLOWED = ["one.example", "two.example", "three.example"];

const rows = ALLOWED.map(
  (value, index) =>
    ({
      id: `row-${index}`,
      ...{ list: "allow", entry_type: "domain", value, verdict_scope: "global", comment: "" },
      created_at: new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString(),
    }) as AllowDenyEntryRow,
);
const observed = buildObservedState(AT, rows, []);
const identity = getObservedIdentity(BASE_URL, observed);
const target = { name: "acme", stack: "acme", baseUrl: BASE_URL, settings: "settings/t0.yaml" } as Target;
/** A new tenant that holds three allows, none of which its files declare. */
const tenant = { target, observed, identity, desired: { lists: [] } as unknown as DesiredState };

function buildOrphan(stack: string, values: readonly string[], details: Partial<OrphanedStack> = {}): OrphanedStack {
  const content = Object.fromEntries(values.map((value) => [value, "allow"]));
  const knownLists = { entries: { content }, vips: { content: {} } } as unknown as StackLists;
  return { stack, knownLists, ...details };
}

const record = { stack: "t0", name: "t0", rollout: "20261101-0900-abcdef", seq: 1, identity };

it("prefers the stack whose tenant a rollout identified to one with more common entries", () => {
  const orphans = [buildOrphan("other", ALLOWED), buildOrphan("t0", ["one.example"], { record })];
  expect(findFormerStack(tenant, orphans)).toMatchObject({ stack: "t0", orphanedElements: ["allow one.example"] });
});

it("finds no other stack if nothing of the identified tenant's stack would stay", () => {
  const declared = { kind: "entry", declared: { "one.example": "allow" } };
  const desired = { lists: [declared] } as unknown as DesiredState;
  const orphans = [buildOrphan("other", ALLOWED), buildOrphan("t0", ["one.example"], { record })];
  expect(findFormerStack({ ...tenant, desired }, orphans)).toMatchObject({ stack: "t0", orphanedElements: [] });
});

it("prefers the stack of the same settings file to one with more common entries", () => {
  const last = { rollout: record.rollout, settings: target.settings };
  const orphans = [buildOrphan("other", ALLOWED), buildOrphan("t0", ["one.example", "gone.example"], { last })];
  expect(findFormerStack(tenant, orphans)).toMatchObject({ stack: "t0" });
});

it("ignores a stack whose identified tenant is another one", () => {
  const [first] = rows;
  const others = ALLOWED.map((value, index) => ({ ...first, id: `other-${index}`, value }) as AllowDenyEntryRow);
  const otherIdentity = getObservedIdentity(BASE_URL, buildObservedState(AT, others, []));
  const other = buildOrphan("other", ALLOWED, { record: { ...record, identity: otherIdentity } });
  expect(findFormerStack(tenant, [other])).toBeUndefined();
});

it.each([
  ["prefers a skip without a stack to a stack that forgets nothing", "two.example", {}, "t9"],
  ["prefers a stack that forgets something to a skip without a stack", "gone.example", {}, "gone"],
  ["prefers the identified tenant's stack to a skip without a stack", "two.example", { record }, "gone"],
])("%s", (_claim, declaredValue, details, stack) => {
  const skip = { name: "t9", reason: "frozen by the customer", sinceMs: 0, by: "dana" } as OrphanedStack["skip"];
  const last = { rollout: record.rollout, settings: target.settings };
  const declared = { kind: "entry", declared: { "one.example": "allow", [declaredValue]: "allow" } };
  const desired = { lists: [declared] } as unknown as DesiredState;
  const orphans = [
    buildOrphan("gone", ["one.example", "two.example"], { last, ...details }),
    buildOrphan("t9", [], { ...(skip && { skip }), unskipCommand: "email-security rollout unskip t9" }),
  ];
  expect(findFormerStack({ ...tenant, desired }, orphans)).toMatchObject({ stack });
});

it("accepts only an identity as evidence for a tenant whose stack exists", () => {
  const last = { rollout: record.rollout, settings: target.settings };
  const moved = { ...tenant, hasStack: true };
  const skip = { name: "t9", reason: "frozen by the customer", sinceMs: 0, by: "dana" };
  const uncreated = buildOrphan("t9", [], { skip, unskipCommand: "email-security rollout unskip t9" });
  expect(findFormerStack(moved, [buildOrphan("other", ALLOWED, { last }), uncreated])).toBeUndefined();
  expect(findFormerStack(moved, [buildOrphan("t0", ["one.example"], { record })])).toMatchObject({ stack: "t0" });
});

it("blocks a tenant that gets another stack", () => {
  const moved = { ...tenant, hasStack: true };
  const former = findFormerStack(moved, [buildOrphan("t0", ["one.example"], { record })]);
  if (former === undefined) throw new Error("no former stack");
  const commands = {
    formatStackName: String,
    formatCommand: (command: string, stack: string) => `${command} ${stack}`,
    formatMove: (stack: string) => `move ${stack}`,
  };
  const location = { file: "tenants.yaml", line: 3 } as Target["place"];
  const message = buildRenamedTenantBlocker(
    { target: { ...target, place: location }, hasStack: true },
    former,
    commands,
  )?.message;
  expect(message).toContain('"acme" has another stack, which no rollout has used');
  expect(message).toContain("That stack declared allow one.example. The tenant still has it");
  expect(message).toContain('in "tenants.yaml", write `stack: t0` for "acme".');
});
