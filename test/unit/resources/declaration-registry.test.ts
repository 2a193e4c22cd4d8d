import { describe, expect, it } from "vitest";
import { DeclarationRegistry } from "../../../provider/resources/declaration-registry";
import { allowDenyEntryLifecycle } from "../../../provider/resources/lifecycle/allow-deny-entry";
import { allowDenyListLifecycle } from "../../../provider/resources/lifecycle/allow-deny-list";
import { vipEmployeeLifecycle } from "../../../provider/resources/lifecycle/vip-employee";
import type { ArgumentFailure } from "../../../provider/settings/arguments";

type Arguments = Record<string, unknown>;

const entry = (name: string, args: Arguments) => (program: DeclarationRegistry) =>
  program.declare(
    { kind: "AllowDenyEntry", id: name, name },
    allowDenyEntryLifecycle.declare(allowDenyEntryLifecycle.complete(args)),
  );

const list = (name: string, entries: Record<string, string>) => (program: DeclarationRegistry) =>
  program.declare({ kind: "AllowDenyList", id: name, name }, allowDenyListLifecycle.declare({ entries }));

const vip = (name: string, args: Arguments) => (program: DeclarationRegistry) =>
  program.declare(
    { kind: "VipEmployee", id: name, name },
    vipEmployeeLifecycle.declare(vipEmployeeLifecycle.complete(args)),
  );

/** Returns the failures of the last declaration. Asserts that the previous ones have none. */
function lastOf(...declarations: ((program: DeclarationRegistry) => ArgumentFailure[])[]): ArgumentFailure[] {
  const program = new DeclarationRegistry();
  const failures = declarations.map((declare) => declare(program));
  expect(failures.slice(0, -1).flat()).toEqual([]);
  return failures.at(-1) ?? [];
}

describe("value declared more than once", () => {
  const allowed = { list: "allow", value: "Evil.Example.", verdictScope: "graymail" };
  const denied = { list: "deny", value: "evil.example" };
  const reason = (here: string, there: string, at: string): RegExp =>
    new RegExp(`"${here}" is declared here, and "${there}" at ${at}; a value can't be on both lists`);

  it("is rejected on both lists in two entry resources", () => {
    expect(lastOf(entry("one", allowed), entry("two", denied))).toEqual([
      {
        property: "value",
        reason: expect.stringMatching(
          reason("deny evil.example", "allow evil.example", 'value of AllowDenyEntry "one"'),
        ),
      },
    ]);
  });

  it("is rejected on both lists in an entry and a list resource", () => {
    const ofList = list("blocklist", { "evil.example": "deny" });
    expect(lastOf(ofList, entry("one", allowed))[0]?.reason).toMatch(
      reason("allow evil.example", "deny evil.example", 'entries\\["evil.example"\\] of AllowDenyList "blocklist"'),
    );
    expect(lastOf(entry("one", allowed), ofList)[0]?.reason).toMatch(
      reason("deny evil.example", "allow evil.example", 'value of AllowDenyEntry "one"'),
    );
  });

  it("is rejected on both lists in two list resources", () => {
    const [failure] = lastOf(
      list("blocklist", { "evil.example": "deny" }),
      list("newsletters", { "evil.example (graymail)": "allow" }),
    );
    expect(failure?.reason).toMatch(/a value can't be on both lists/);
  });

  it("is allowed on one list in two scopes", () => {
    const another = { ...allowed, list: "deny" };
    expect(lastOf(entry("one", another), entry("two", denied))).toEqual([]);
    expect(lastOf(list("blocklist", { "evil.example": "deny" }), entry("one", another))).toEqual([]);
  });
});

it("treats equivalent comments as one declaration", () => {
  const denied = { list: "deny", value: "evil.example" };
  const windows = { ...denied, comment: "Seen twice\r\n" };
  expect(lastOf(entry("one", windows), entry("two", { ...denied, comment: "Seen twice" }))).toEqual([]);
  expect(lastOf(entry("one", windows), entry("two", { ...denied, comment: "Seen" }))).toHaveLength(1);
  const email = "ceo@acme.example";
  expect(lastOf(vip("one", { email, comment: "" }), vip("two", { email }))).toEqual([]);
});
