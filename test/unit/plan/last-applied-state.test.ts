import { describe, expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../provider/client";
import { buildDesiredState } from "../../../provider/plan/desired-state";
import { describeExternalChange } from "../../../provider/plan/last-applied-state";
import { buildEmptyEvidence } from "../../../provider/plan/mail-evidence";
import { makePlan } from "../../../provider/plan/make-plan";
import { buildObservedState } from "../../../provider/plan/observed-state";
import { renderPlanText } from "../../../provider/plan/render/plan-text";
import { readSettings } from "../../../provider/settings-files/read-settings";

const UNKNOWN_ACTOR = "the service doesn't report by whom";

const buildEntryRow = (list: string, comment?: string): AllowDenyEntryRow =>
  ({ id: "1", list, entry_type: "domain", value: "bad.example", comment, created_by: "ci" }) as never;
const buildVipRow = (fields: Partial<VipEmployeeRow>): VipEmployeeRow =>
  ({ email: "ceo@acme.example", ...fields }) as VipEmployeeRow;
const describeEntryChange = (text: string | undefined, row: AllowDenyEntryRow | undefined) =>
  describeExternalChange(
    { kind: "entry", stackContent: text === undefined ? {} : { "bad.example": text } },
    "bad.example",
    row,
  );
const describeVipChange = (text: string, row: VipEmployeeRow | undefined) =>
  describeExternalChange({ kind: "vip", stackContent: { "ceo@acme.example": text } }, "ceo@acme.example", row);

describe("external change since the last run", () => {
  it("is undefined without a change or without known state", () => {
    expect(describeEntryChange("deny: INC-7", buildEntryRow("deny", " INC-7\r\n"))).toBe(undefined);
    expect(describeEntryChange("deny (risk accepted: meant): INC-7", buildEntryRow("deny", "INC-7"))).toBe(undefined);
    expect(describeEntryChange(undefined, buildEntryRow("deny", "INC-7"))).toBe(undefined);
    expect(describeEntryChange("(unmanaged) deny: INC-7", buildEntryRow("allow"))).toBe(undefined);
    expect(describeEntryChange("(unmanaged) deny: INC-7", undefined)).toBe(undefined);
    expect(describeExternalChange({ kind: "entry", stackContent: undefined }, "bad.example", undefined)).toBe(
      undefined,
    );
    expect(describeExternalChange({ kind: "entry", stackContent: {} }, "constructor", undefined)).toBe(undefined);
  });

  it("does not name an entry's creator as the author of a change", () => {
    const changed = `changed at the tenant since the stack's last run; ${UNKNOWN_ACTOR}`;
    expect(describeEntryChange("deny: INC-7", buildEntryRow("deny", "mine"))).toBe(changed);
    expect(describeEntryChange("deny", buildEntryRow("allow"))).toBe(changed);
    expect(describeEntryChange("deny", undefined)).toBe(
      "removed from the tenant since the stack's last run; the service doesn't report by whom",
    );
  });

  it("has a date only for a VIP with a valid update date", () => {
    const extractDay = (fields: Partial<VipEmployeeRow>) =>
      /\(on (.*)\)/.exec(describeVipChange("Chief", buildVipRow(fields)) ?? "")?.[1];
    const date_added = "2026-11-01T08:00:00Z";
    expect(extractDay({ date_added, updated_at: "2026-11-20T08:00:00Z" })).toBe("2026-11-20");
    expect(extractDay({ date_added, updated_at: date_added })).toBe(undefined);
    expect(extractDay({ updated_at: "\u001b[31m2026-11-20" })).toBe(undefined);
    expect(extractDay({})).toBe(undefined);
    expect(describeVipChange("Chief", buildVipRow({ comment: "Chief", updated_at: "2026-11-20" }))).toBe(undefined);
  });
});

describe("plan", () => {
  it("explains each change by the external change behind it", () => {
    const today = "2026-11-21";
    const text = "version: 1\ndeny: [bad.example, taken.example, mine.example]\n";
    const settings = readSettings("x.yaml", { today, readFile: () => text });
    const content = { "bad.example": "deny", "taken.example": "deny", "late.example": "deny" };
    const rows = [
      buildEntryRow("deny", "wait for Tomas"),
      { ...buildEntryRow("allow"), id: "2", value: "late.example" },
      { ...buildEntryRow("deny", "theirs"), id: "3", value: "mine.example" },
    ];
    const plan = makePlan({
      desired: buildDesiredState(settings, { entries: { content }, vips: { content: {} } }),
      observed: buildObservedState(`${today}T00:00:00Z`, rows, []),
      tenant: { host: "host", name: "x" },
      source: { kind: "files", files: ["x.yaml"], stack: "x" },
      mail: buildEmptyEvidence(today, "not asked"),
    });
    expect(plan.changes.map(({ key, operation, reason }) => [key, operation, reason]).sort()).toEqual([
      ["bad.example", "change", `changed at the tenant since the stack's last run; ${UNKNOWN_ACTOR}`],
      [
        "late.example",
        "remove",
        `no longer declared; changed at the tenant since the stack's last run; ${UNKNOWN_ACTOR}`,
      ],
      // The stack has never declared it, so the service's author field is the only information.
      ["mine.example", "change", undefined],
      [
        "taken.example",
        "add",
        "removed from the tenant since the stack's last run; the service doesn't report by whom",
      ],
    ]);
    const output = renderPlanText(plan, { width: 200 });
    expect(output).toContain(`changed at the tenant since the stack's last run; ${UNKNOWN_ACTOR}`);
    expect(output).toContain("created by ci");
  });

  it("shows a scope that was changed by hand as a removal and an addition", () => {
    const today = "2026-11-21";
    const readFile = () => "version: 1\ndeny: [bad.example]\n";
    const rows = [{ ...buildEntryRow("deny"), verdict_scope: "graymail" }];
    const plan = makePlan({
      desired: buildDesiredState(readSettings("x.yaml", { today, readFile }), {
        entries: { content: { "bad.example": "deny" } },
        vips: { content: {} },
      }),
      observed: buildObservedState(`${today}T00:00:00Z`, rows, []),
      tenant: { host: "host", name: "x" },
      source: { kind: "files", files: ["x.yaml"], stack: "x" },
      mail: buildEmptyEvidence(today, "not asked"),
    });
    expect(plan.changes.map(({ operation, key }) => `${operation} ${key}`).sort()).toEqual([
      "add bad.example",
      "remove bad.example (graymail)",
    ]);
  });
});
