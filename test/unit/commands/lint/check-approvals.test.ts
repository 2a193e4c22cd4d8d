import { describe, expect, it } from "vitest";
import { BASELINE, by, change, check, entry, old, tenant } from "../../../support/approved-change";

/* A sample; the rest is in check-approvals.slow.test.ts. */

describe("an entry that a change adds", () => {
  it("is proven by whom it names, however that is written, and older ones are not asked", async () => {
    using made = change(by("lindqvist, tomas"));
    expect(await check(made.history, [{ login: "Tomas-L", commit: made.head }])).toEqual({
      told: [],
      checked: 1,
      unchanged: 1,
      notAsked: 0,
    });
  });

  it("names somebody, where the policy demands it, and need not where it does not", async () => {
    using made = change({ "settings/acme.yaml": `${tenant(old, entry({}))}deny: [evil.example]\n` });
    expect(await check(made.history, [])).toEqual({
      told: [
        'settings/acme.yaml:5 error approval-missing: "partner.example" is added or altered, and names nobody who approved it; write `approvedBy: …`. The team\'s policy asks for it (requireApproval)',
      ],
      checked: 1,
      unchanged: 1,
      notAsked: 1,
    });
  });

  it("is not proven where whom it names has not approved, and another has", async () => {
    using made = change(by("Tomas Lindqvist"));
    expect((await check(made.history, [{ login: "mei", commit: made.head }])).told).toEqual([
      'settings/acme.yaml:5 error approval-unproven: "partner.example" says that "Tomas Lindqvist" approved it, and the last word of "tomas-l" on this change is no approval; let them approve it',
    ]);
  });

  it("is not proven by an approver whom the change itself brings", async () => {
    const baseline = BASELINE.replace("{ Tomas", "{ Sock Puppet: sock, Tomas");
    using made = change({ "settings/baseline.yaml": baseline, ...by("Sock Puppet") });
    expect((await check(made.history, [{ login: "sock", commit: made.head }])).told).toEqual([
      expect.stringContaining(
        '"Sock Puppet" approved it, who was none of the policy\'s `approvers` before this change',
      ),
    ]);
  });

  it("that is altered after the approval is not proven by it", async () => {
    using made = change(by("Tomas Lindqvist"));
    made.history.commit("And more", {
      "settings/acme.yaml": tenant(old, entry({ approvedBy: "Tomas Lindqvist", expires: "never" })),
    });
    expect((await check(made.history, [{ login: "tomas-l", commit: made.head }])).told).toEqual([
      expect.stringContaining(
        `and "tomas-l" approved commit ${made.head.slice(0, 10)}, in which it stands otherwise or not at all; let them approve the change as it is now`,
      ),
    ]);
  });
});
