import { describe, expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../provider/client";
import {
  enforcePlanForAdoption,
  enforcePlanForEntry,
  enforcePlanForVip,
  isRemovalReviewed,
} from "../../../provider/resources/lifecycle/enforce-plan";
import type { LifecycleContext } from "../../../provider/resources/lifecycle/lifecycle";
import type { IntendedChange } from "../../../provider/resources/lifecycle/reviewed-plan";

const ROW = {
  id: "1",
  list: "allow",
  entry_type: "domain",
  value: "evil.example",
  verdict_scope: "global",
  comment: "old",
} as AllowDenyEntryRow;
const DECLARED = {
  list: "deny",
  entryType: "domain",
  value: "evil.example",
  verdictScope: "global",
  comment: "new",
} as const;
const VIP = { email: "ceo@acme.example", comment: "Board" } as unknown as VipEmployeeRow;

/** Builds a context whose plan covers the given key, and the changes that the plan is asked about. */
function buildEnforcement({
  covered = "",
  row,
  vip,
}: {
  covered?: string;
  row?: AllowDenyEntryRow;
  vip?: VipEmployeeRow;
} = {}) {
  const changes: IntendedChange[] = [];
  const context = {
    tenant: { findEntry: async () => row, findVip: async () => vip },
    getReviewedPlan: () => ({
      describeDeviation(change: IntendedChange) {
        changes.push(change);
        return change.key === covered ? undefined : "isn't in the review";
      },
    }),
  } as unknown as LifecycleContext;
  return { changes, context };
}

describe("plan for a single entry", () => {
  it("has the actual state of the entry", async () => {
    const { changes, context } = buildEnforcement({ covered: "evil.example", row: ROW });
    await enforcePlanForEntry(DECLARED, DECLARED, context);
    expect(changes).toEqual([
      {
        kind: "entry",
        key: "evil.example",
        before: { list: "allow", comment: "old" },
        after: { list: "deny", comment: "new" },
      },
    ]);
  });

  it("has no state before an entry that is missing", async () => {
    const { changes, context } = buildEnforcement({ covered: "evil.example" });
    await enforcePlanForEntry(DECLARED, DECLARED, context);
    expect(changes).toMatchObject([{ before: undefined, after: { list: "deny" } }]);
  });

  it("has no state before an entry of another scope", async () => {
    const { changes, context } = buildEnforcement({
      covered: "evil.example",
      row: { ...ROW, verdict_scope: "graymail" },
    });
    await enforcePlanForEntry(DECLARED, DECLARED, context);
    expect(changes).toMatchObject([{ before: undefined }]);
  });

  it("has no state after a removal of the entry", async () => {
    const { changes, context } = buildEnforcement({ covered: "evil.example", row: ROW });
    await enforcePlanForEntry(DECLARED, undefined, context);
    expect(changes).toMatchObject([{ before: { list: "allow" }, after: undefined }]);
  });

  it("uses the key of the declaration", async () => {
    const { context } = buildEnforcement({ covered: "new.example" });
    await expect(
      enforcePlanForEntry(DECLARED, { ...DECLARED, value: "new.example" }, context),
    ).resolves.toBeUndefined();
  });

  it("rejects what it doesn't cover", async () => {
    const { context } = buildEnforcement({ row: ROW });
    await expect(enforcePlanForEntry(DECLARED, DECLARED, context)).rejects.toThrow("This resource was not changed.");
  });
});

describe("plan for a single VIP", () => {
  const after = { email: "ceo@acme.example", comment: "new" };

  it("has the actual state of the VIP", async () => {
    const { changes, context } = buildEnforcement({ covered: "ceo@acme.example", vip: VIP });
    await enforcePlanForVip("ceo@acme.example", after, context);
    expect(changes).toEqual([
      { kind: "vip", key: "ceo@acme.example", before: { comment: "Board" }, after: { comment: "new" } },
    ]);
  });

  it("has no state of a missing VIP", async () => {
    const { changes, context } = buildEnforcement({ covered: "ceo@acme.example" });
    await enforcePlanForVip("ceo@acme.example", after, context);
    expect(changes).toMatchObject([{ before: undefined }]);
  });

  it("has no state after a removal of the VIP", async () => {
    const { changes, context } = buildEnforcement({ covered: "ceo@acme.example", vip: VIP });
    await enforcePlanForVip("ceo@acme.example", undefined, context);
    expect(changes).toMatchObject([{ after: undefined }]);
  });
});

describe("plan for an adopted entry", () => {
  const other = { ...ROW, verdict_scope: "graymail" } as AllowDenyEntryRow;

  it("rejects an entry of another scope that it doesn't remove", () => {
    const { context } = buildEnforcement();
    expect(() => enforcePlanForAdoption(other, DECLARED, context)).toThrow("It was not changed.");
  });

  it("accepts an entry of another scope that it removes", () => {
    const { changes, context } = buildEnforcement({ covered: "evil.example (graymail)" });
    enforcePlanForAdoption(other, DECLARED, context);
    expect(changes).toMatchObject([{ before: { list: "allow", comment: "old" }, after: undefined }]);
  });

  it.each([ROW, { ...ROW, verdict_scope: undefined } as unknown as AllowDenyEntryRow])(
    "isn't needed for the declared key or an unknown scope: $verdict_scope",
    (row) => {
      const { changes, context } = buildEnforcement();
      enforcePlanForAdoption(row, { ...DECLARED, ...(row.verdict_scope ? {} : { value: "x.example" }) }, context);
      expect(changes).toEqual([]);
    },
  );
});

describe("isRemovalReviewed", () => {
  it("asks for the removal of the row", () => {
    const { changes, context } = buildEnforcement({ covered: "evil.example" });
    expect(isRemovalReviewed(ROW, context)).toBe(true);
    expect(changes).toEqual([
      { kind: "entry", key: "evil.example", before: { list: "allow", comment: "old" }, after: undefined },
    ]);
  });

  it("is false for a row that the plan keeps", () => {
    expect(isRemovalReviewed(ROW, buildEnforcement().context)).toBe(false);
  });

  it.each([{}, { getReviewedPlan: () => undefined }])("is true without a plan", (context) => {
    expect(isRemovalReviewed(ROW, context as unknown as LifecycleContext)).toBe(true);
  });
});
