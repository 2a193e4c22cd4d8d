import { describe, expect, it } from "vitest";
import { createRowHooks } from "../../support/intercept-rows";
import { READ_VIPS, startLaterRun, startSandboxTenant } from "../../support/sandbox-tenant";

/*
 * A service that compares literally holds one mailbox or value in two spellings. The list can still be read: the run
 * applies the declared spelling, leaves the other row, and reports both.
 */

const manual = { comment: "CFO", source: "manual", added_by: "Dana", date_added: "2026-01-02" };
const entry = { list: "deny", entry_type: "domain", verdict_scope: "global", comment: "INC-1" };

describe("duplicate mailbox", () => {
  it.each([
    ["white space", "yuki.sato@acme.example", " yuki.sato@acme.example"],
    ["case", "yuki.sato@acme.example", "Yuki.Sato@ACME.example"],
    ["the form of Unicode", "jos\u00e9@acme.example", "jose\u0301@acme.example"],
  ])("is reported and left alone when it differs in %s", async (_label, declared, other) => {
    const vips = [
      { ...manual, email: declared },
      { ...manual, email: other, comment: "old" },
      { ...manual, email: "lena.hartmann@acme.example", comment: "CEO" },
    ];
    await using tenant = await startSandboxTenant(createRowHooks([], vips));
    const createdResource = await tenant.provider
      .getResource("vipEmployee")
      .declare({ email: declared, comment: "CFO" });
    expect(tenant.trace()).toEqual(Array(6).fill(READ_VIPS).flat());
    await expect
      .poll(() => tenant.provider.printed.join("\n"))
      .toMatch(
        /has 2 copies of the same element\. This resource manages .*comment "CFO".*; the others are: .*comment "old".*Remove the extra ones/,
      );
    await using later = await startLaterRun(tenant);
    expect(
      (await later.getResource("vipEmployee").read(createdResource.id, createdResource.properties))?.properties,
    ).toEqual(createdResource.properties);
    await using lists = await startLaterRun(tenant);
    const list = lists.getResource("vipList");
    const members = { [declared]: "CFO", "lena.hartmann@acme.example": "CEO" };
    const whole = await list.declare({ members });
    expect((await list.read(whole.id, whole.properties))?.properties["members"]).toEqual(whole.properties["members"]);
    expect(tenant.writes()).toEqual([]);
    await expect.poll(() => lists.printed.join("\n")).toContain("has 2 copies of the same element");
  });

  it("causes no message when one is detected and one added", async () => {
    const vips = [
      { ...manual, email: "yuki.sato@acme.example" },
      { email: "yuki.sato@acme.example", source: "auto" },
    ];
    await using tenant = await startSandboxTenant(createRowHooks([], vips));
    await tenant.provider.getResource("vipEmployee").declare({ email: "yuki.sato@acme.example", comment: "CFO" });
    await tenant.provider.getResource("vipEmployee").check({ email: "yuki.sato@acme.example" });
    expect([tenant.writes(), tenant.provider.printed.join("")]).toEqual([[], ""]);
  });
});

describe("duplicate value", () => {
  const rows = [
    { ...entry, id: "e1", value: "EVIL.example.", comment: "old" },
    { ...entry, id: "e2", value: "evil.example" },
  ];

  it("is matched by its declared spelling, alone and in a list", async () => {
    await using tenant = await startSandboxTenant(createRowHooks(rows, []));
    const createdResource = await tenant.provider
      .getResource("allowDenyEntry")
      .declare({ list: "deny", value: "evil.example", comment: "INC-1" });
    expect([createdResource.id, tenant.writes()]).toEqual(["e2", []]);
    await expect
      .poll(() => tenant.provider.printed.join("\n"))
      .toMatch(/This resource manages evil\.example .*id e2.*; the others are: EVIL\.example\. .*id e1/);
    await using later = await startLaterRun(tenant);
    const list = later.getResource("allowDenyList");
    const whole = await list.declare({ entries: { "evil.example": "deny: INC-1" } });
    const read = await list.read(whole.id, whole.properties);
    expect(read?.properties["entries"]).toEqual({ "evil.example": "deny: INC-1" });
    expect(tenant.writes()).toEqual([]);
    await expect.poll(() => later.printed.join("\n")).toContain("This resource manages evil.example ");
  });
});
