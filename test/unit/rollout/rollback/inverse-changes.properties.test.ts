import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../../provider/client";
import { decodeEntry, encodeEntry, encodeEntryKey } from "../../../../provider/model/encoded-list";
import { buildDesiredState, type StackLists } from "../../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../../provider/plan/mail-evidence";
import { makePlan } from "../../../../provider/plan/make-plan";
import { buildObservedState } from "../../../../provider/plan/observed-state";
import type { Plan } from "../../../../provider/plan/plan";
import { invertChanges } from "../../../../provider/rollout/rollback/inverse-changes";
import { renderRollbackSettings } from "../../../../provider/rollout/rollback/rollback-settings";
import { inspectSettings } from "../../../../provider/settings-files/read-settings";
import { getRunCount } from "../../../support/matrix-sampling";

const AT = "2026-11-22T09:00:00.000Z";
const VALUES = ["evil.example", "partner.example", "192.0.2.7", "boss@partner.example", "xn--bcher-kva.example"];
const MAILBOXES = ["ceo@acme.example", "cfo@acme.example", "o'neil@acme.example"];
const COMMENTS = ["", "INC-1", "no", "1.10", "a: b # c", "line one\nline two", '"quoted"', "- dash"];

/** A tenant's contents: at most one entry for each value and scope, like the service, and VIPs with their comments. */
interface TenantRows {
  readonly entries: ReadonlyMap<string, AllowDenyEntryRow>;
  readonly vips: ReadonlyMap<string, VipEmployeeRow>;
}

const row = fc
  .record({
    value: fc.constantFrom(...VALUES),
    list: fc.constantFrom("allow", "deny"),
    verdict_scope: fc.constantFrom("global", "graymail"),
    comment: fc.constantFrom(...COMMENTS),
  })
  .map((item): AllowDenyEntryRow => {
    const entry_type = item.value.includes("@") ? "email_address" : /^\d/.test(item.value) ? "ip" : "domain";
    return { ...item, entry_type, id: `${item.list} ${item.value} ${item.verdict_scope}` } as AllowDenyEntryRow;
  });

const vip = fc
  .record({ email: fc.constantFrom(...MAILBOXES), comment: fc.constantFrom(...COMMENTS) })
  .map((item): VipEmployeeRow => ({ ...item, source: "manual" }) as VipEmployeeRow);

const tenant: fc.Arbitrary<TenantRows> = fc
  .record({ entries: fc.array(row, { maxLength: 8 }), vips: fc.array(vip, { maxLength: 4 }) })
  .map(({ entries, vips }) => ({
    // A value is on one list only, whatever its scopes.
    entries: new Map(
      entries.map((entry) => [
        encodeKey(entry),
        { ...entry, list: entries.find(({ value }) => value === entry.value)?.list ?? "deny" },
      ]),
    ),
    vips: new Map(vips.map((item) => [item.email ?? "", item])),
  }));

function encodeKey({ value, entry_type, verdict_scope = "global" }: AllowDenyEntryRow): string {
  return encodeEntryKey({ value, entryType: entry_type, verdictScope: verdict_scope });
}

function buildObserved({ entries, vips }: TenantRows) {
  return buildObservedState(AT, [...entries.values()], [...vips.values()]);
}

/** Returns the contents without the fields that can't be written. */
function serializeContents({ entries, vips }: TenantRows): unknown {
  return {
    entries: [...entries].map(([key, item]) => [key, encodeEntry(item)]).sort(),
    vips: [...vips].map(([key, { comment = "" }]) => [key, comment]).sort(),
  };
}

function buildKnownLists(tenantThen: TenantRows): StackLists {
  const entries = Object.fromEntries([...tenantThen.entries].map(([key, item]) => [key, encodeEntry(item)]));
  const vips = Object.fromEntries([...tenantThen.vips].map(([key, { comment = "" }]) => [key, comment]));
  return { entries: { content: entries, exists: true }, vips: { content: vips, exists: true } };
}

const NOTHING: TenantRows = { entries: new Map(), vips: new Map() };

/** Plans a file against a tenant. */
function planText(text: string, stack: StackLists, now: TenantRows): Plan {
  const { settings, findings } = inspectSettings("settings.yaml", {
    today: "2026-11-22",
    readFile: () => text,
  });
  expect(findings.filter(({ level }) => level === "error")).toEqual([]);
  if (settings === undefined) throw new Error("no settings");
  return makePlan({
    desired: buildDesiredState(settings, stack, []),
    observed: buildObserved(now),
    tenant: { host: "host", name: "t" },
    source: { kind: "files", files: [] },
    mail: buildEmptyEvidence(AT, "none"),
  });
}

/** Returns a tenant's contents after some of a plan's changes were applied. */
function applyChanges(now: TenantRows, { changes }: Plan, isDone: (index: number) => boolean = () => true): TenantRows {
  const entries = new Map(now.entries);
  const vips = new Map(now.vips);
  for (const [index, change] of changes.entries()) {
    if (!isDone(index)) continue;
    const { kind, key, after: then } = change;
    if (then === undefined) (kind === "entry" ? entries : vips).delete(key);
    else if (kind === "vip")
      vips.set(key, { email: key, comment: then.comment ?? "", source: "manual" } as VipEmployeeRow);
    else {
      const entry = decodeEntry(key, encodeEntry({ ...then, list: then.list ?? "deny" }));
      if (entry === undefined) throw new Error(key);
      const { value, entryType, verdictScope, list, comment = "" } = entry;
      entries.set(key, {
        id: key,
        value,
        entry_type: entryType,
        verdict_scope: verdictScope,
        list,
        comment,
      } as AllowDenyEntryRow);
    }
  }
  return { entries, vips };
}

function formatFile({ entries, vips }: TenantRows): string {
  const lists = {
    entries: Object.fromEntries(
      [...entries].map(([key, item]) => [key, encodeEntry({ ...item, acceptRisk: "a test" })]),
    ),
    vips: Object.fromEntries([...vips].map(([key, { comment = "" }]) => [key, comment])),
  };
  return renderRollbackSettings(lists, { entries: 100, vips: 100 });
}

describe("invertChanges", () => {
  it("restores the state before a partial rollout, idempotently", () => {
    fc.assert(
      fc.property(
        tenant,
        tenant,
        tenant,
        fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }),
        fc.boolean(),
        (before, declaredBefore, expectedRows, doneOrNot, isKnown) => {
          // The tenant has everything that the stack declared, plus the console's own rows.
          const heldRows: TenantRows = {
            entries: new Map([...before.entries, ...declaredBefore.entries]),
            vips: new Map([...before.vips, ...declaredBefore.vips]),
          };
          fc.pre(isConsistent(heldRows) && isConsistent(expectedRows) && !hasUndeclaredScope(heldRows, declaredBefore));
          const stack = buildKnownLists(declaredBefore);
          const rollout = planText(formatFile(expectedRows), stack, heldRows);
          const now = applyChanges(heldRows, rollout, (index) => doneOrNot[index] ?? true);
          fc.pre(isConsistent(now));
          // A killed engine: the state contains nothing of the run, or all of it.
          const stackNow = isKnown ? buildKnownLists(buildDeclaredTenant(declaredBefore, expectedRows, now)) : stack;
          const { declared, current, isPartlyUnknown, unreverted } = invertChanges(
            rollout,
            stackNow,
            buildObserved(now),
            "why",
          );
          expect(unreverted).toEqual([]);
          // Applying the current declaration changes nothing.
          const asItStands = renderRollbackSettings(current, { entries: 0, vips: 0 });
          expect(planText(asItStands, stackNow, now).changes).toEqual([]);
          const known2 = isPartlyUnknown ? convertToKnown(current) : stackNow;
          const undoing = planText(renderRollbackSettings(declared, { entries: 100, vips: 100 }), known2, now);
          // With five declared entries and none of them at the tenant, a person has to confirm the tenant.
          fc.pre(undoing.blockers.every(({ code }) => code !== "other-tenant"));
          expect(undoing.blockers).toEqual([]);
          const back = applyChanges(now, undoing);
          expect(serializeContents(back)).toEqual(serializeContents(heldRows));
          const twice = invertChanges(rollout, convertToKnown(declared), buildObserved(back), "why");
          expect(
            planText(renderRollbackSettings(twice.declared, { entries: 0, vips: 0 }), convertToKnown(declared), back)
              .changes,
          ).toEqual([]);
        },
      ),
      { numRuns: getRunCount(100) },
    );
  });

  it("leaves later changes by others unchanged", () => {
    const heldRows = NOTHING;
    const expectedRows: TenantRows = {
      ...NOTHING,
      entries: new Map([["partner.example", buildDomainRow("allow", "partner.example")]]),
    };
    const rollout = planText(formatFile(expectedRows), buildKnownLists(NOTHING), heldRows);
    const actual: TenantRows = {
      ...NOTHING,
      entries: new Map([["partner.example", buildDomainRow("deny", "partner.example")]]),
    };
    const { declared, unreverted } = invertChanges(
      rollout,
      buildKnownLists(expectedRows),
      buildObserved(actual),
      "why",
    );
    expect(unreverted.map(({ key }) => key)).toEqual(["partner.example"]);
    expect(declared.entries).toEqual({ "partner.example": "deny" });
  });

  it("lists the most dangerous unreverted changes first", () => {
    const entryRows = ["a.example", "b.example", "c.example"].map((value) => buildDomainRow("deny", value));
    const heldRows: TenantRows = {
      entries: new Map([["c.example", buildDomainRow("deny", "c.example")]]),
      vips: new Map([
        ["ceo@acme.example", { email: "ceo@acme.example", comment: "", source: "manual" } as VipEmployeeRow],
      ]),
    };
    const expectedRows: TenantRows = {
      ...NOTHING,
      entries: new Map(entryRows.map((entryRow) => [entryRow.value, entryRow])),
    };
    const rollout = planText(formatFile(expectedRows), buildKnownLists(heldRows), heldRows);
    const changeComment = (item: AllowDenyEntryRow): AllowDenyEntryRow => ({ ...item, comment: "changed later" });
    const actual: TenantRows = {
      entries: new Map(entryRows.map((entryRow) => [entryRow.value, changeComment(entryRow)])),
      vips: new Map([
        ["ceo@acme.example", { email: "ceo@acme.example", comment: "again", source: "manual" } as VipEmployeeRow],
      ]),
    };
    const { unreverted } = invertChanges(rollout, buildKnownLists(expectedRows), buildObserved(actual), "why");
    expect(unreverted.map(({ key }) => key)).toEqual(["ceo@acme.example", "a.example", "b.example"]);
  });
});

function buildDomainRow(list: "allow" | "deny", value: string): AllowDenyEntryRow {
  return {
    id: value,
    list,
    entry_type: "domain",
    value,
    verdict_scope: "global",
    comment: "",
  } as AllowDenyEntryRow;
}

/** Returns whether each value is on one list only; the service refuses anything else. */
function isConsistent({ entries }: TenantRows): boolean {
  const lists = Map.groupBy(entries.values(), ({ value }) => value);
  return [...lists.values()].every((rows) => new Set(rows.map(({ list }) => list)).size === 1);
}

/**
 * Returns whether the tenant has an undeclared row of a declared value with another scope. If the declared row is gone, the
 * undeclared one counts as that row with a changed scope.
 */
function hasUndeclaredScope(heldRows: TenantRows, declared: TenantRows): boolean {
  const declaredValues = new Set([...declared.entries.values()].map(({ value }) => value));
  return [...heldRows.entries].some(([key, { value }]) => !declared.entries.has(key) && declaredValues.has(value));
}

function buildDeclaredTenant(before: TenantRows, expectedRows: TenantRows, now: TenantRows): TenantRows {
  const keepRows = <Row>(rows: ReadonlyMap<string, Row>, keys: Iterable<string>): Map<string, Row> => {
    const known = new Set(keys);
    return new Map([...rows].filter(([key]) => known.has(key)));
  };
  return {
    entries: keepRows(now.entries, [...before.entries.keys(), ...expectedRows.entries.keys()]),
    vips: keepRows(now.vips, [...before.vips.keys(), ...expectedRows.vips.keys()]),
  };
}

function convertToKnown({ entries, vips }: ReturnType<typeof invertChanges>["declared"]): StackLists {
  return { entries: { content: entries, exists: true }, vips: { content: vips, exists: true } };
}
