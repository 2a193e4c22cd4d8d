import { describe, expect, it } from "vitest";
import { TEXT_FIELD_NAMES } from "../../../../provider/settings-files/element-fields";
import {
  BASELINE,
  buildApprovedChange,
  change,
  check,
  formatAllowEntry,
  formatTenantFile,
  old,
} from "../../../support/approved-change";

/* A sample; the rest is in check-approvals.slow.test.ts. */

describe("an added entry", () => {
  it("is proven by the approver it names, in any spelling", async () => {
    using approvedChange = change(buildApprovedChange("lindqvist, tomas"));
    expect(await check(approvedChange.history, [{ login: "Tomas-L", commit: approvedChange.head }])).toEqual({
      lines: [],
      checked: 1,
      unchanged: 1,
      notRequired: 0,
    });
  });

  it("must name an approver when the policy requires one", async () => {
    using approvedChange = change({
      "settings/acme.yaml": `${formatTenantFile(old, formatAllowEntry({}))}deny: [evil.example]\n`,
    });
    expect(await check(approvedChange.history, [])).toEqual({
      lines: [
        'settings/acme.yaml:5 error approval-missing: "partner.example" is added or changed without an approver; write `approvedBy: …`. The team\'s policy requires it (requireApproval)',
      ],
      checked: 1,
      unchanged: 1,
      notRequired: 1,
    });
  });

  it("is unproven when only somebody else approved", async () => {
    using approvedChange = change(buildApprovedChange("Tomas Lindqvist"));
    expect((await check(approvedChange.history, [{ login: "mei", commit: approvedChange.head }])).lines).toEqual([
      'settings/acme.yaml:5 error approval-unproven: "partner.example" declares that "Tomas Lindqvist" approved it, but the last review of this change by "tomas-l" isn\'t an approval; let them approve it',
    ]);
  });

  it("is unproven by an approver that the change adds", async () => {
    const baseline = BASELINE.replace("{ Tomas", "{ Sock Puppet: sock, Tomas");
    using approvedChange = change({ "settings/baseline.yaml": baseline, ...buildApprovedChange("Sock Puppet") });
    expect((await check(approvedChange.history, [{ login: "sock", commit: approvedChange.head }])).lines).toEqual([
      expect.stringContaining(
        '"Sock Puppet" approved it, but that person was not in the policy\'s `approvers` before this change',
      ),
    ]);
  });

  it.each(TEXT_FIELD_NAMES)("is unproven when its %s is altered after the approval", async (name) => {
    using approvedChange = change(buildApprovedChange("Tomas Lindqvist"));
    const fields: Record<string, string> = { approvedBy: "Tomas Lindqvist", [name]: "altered" };
    if (name === "expires") fields["expires"] = "never";
    if (name === "approvedBy") fields["approvedBy"] = "Mei Chen";
    approvedChange.history.commit("And more", {
      "settings/acme.yaml": formatTenantFile(old, formatAllowEntry(fields)),
    });
    const approvals = ["tomas-l", "mei"].map((login) => ({ login, commit: approvedChange.head }));
    expect((await check(approvedChange.history, approvals)).lines).toEqual([
      expect.stringContaining(
        `approved commit ${approvedChange.head.slice(0, 10)}, where it is different or missing; let them approve the current change`,
      ),
    ]);
  });
});
