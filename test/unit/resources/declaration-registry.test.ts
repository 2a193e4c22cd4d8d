import { describe, expect, it } from "vitest";
import type { ArgumentFailure } from "../../../provider/model/arguments";
import { DeclarationRegistry } from "../../../provider/resources/declaration-registry";
import { allowDenyEntryLifecycle } from "../../../provider/resources/lifecycle/allow-deny-entry";
import { allowDenyListLifecycle } from "../../../provider/resources/lifecycle/allow-deny-list";
import { vipEmployeeLifecycle } from "../../../provider/resources/lifecycle/vip-employee";

type Arguments = Record<string, unknown>;

const declareEntry = (name: string, args: Arguments) => (program: DeclarationRegistry) =>
  program.declare(
    { kind: "AllowDenyEntry", id: name, name },
    allowDenyEntryLifecycle.declare(allowDenyEntryLifecycle.complete(args)),
  );

const declareList = (name: string, entries: Record<string, string>) => (program: DeclarationRegistry) =>
  program.declare({ kind: "AllowDenyList", id: name, name }, allowDenyListLifecycle.declare({ entries }));

const declareVip = (name: string, args: Arguments) => (program: DeclarationRegistry) =>
  program.declare(
    { kind: "VipEmployee", id: name, name },
    vipEmployeeLifecycle.declare(vipEmployeeLifecycle.complete(args)),
  );

/** Returns the failures of the last declaration. Asserts that the previous ones have none. */
function declareAll(...declarations: ((program: DeclarationRegistry) => ArgumentFailure[])[]): ArgumentFailure[] {
  const program = new DeclarationRegistry();
  const failures = declarations.map((declare) => declare(program));
  expect(failures.slice(0, -1).flat()).toEqual([]);
  return failures.at(-1) ?? [];
}

describe("value declared more than once", () => {
  const allowed = { list: "allow", value: "Evil.Example.", verdictScope: "graymail" };
  const denied = { list: "deny", value: "evil.example" };
  const buildReasonPattern = (here: string, there: string, location: string): RegExp =>
    new RegExp(`"${here}" is declared here, and "${there}" at ${location}; a value can't be on both lists`);

  it("is rejected on both lists in two entry resources", () => {
    expect(declareAll(declareEntry("one", allowed), declareEntry("two", denied))).toEqual([
      {
        property: "value",
        reason: expect.stringMatching(
          buildReasonPattern("deny evil.example", "allow evil.example", 'value of AllowDenyEntry "one"'),
        ),
      },
    ]);
  });

  it("is rejected on both lists in an entry and a list resource", () => {
    const listDeclaration = declareList("blocklist", { "evil.example": "deny" });
    expect(declareAll(listDeclaration, declareEntry("one", allowed))[0]?.reason).toMatch(
      buildReasonPattern(
        "allow evil.example",
        "deny evil.example",
        'entries\\["evil.example"\\] of AllowDenyList "blocklist"',
      ),
    );
    expect(declareAll(declareEntry("one", allowed), listDeclaration)[0]?.reason).toMatch(
      buildReasonPattern("deny evil.example", "allow evil.example", 'value of AllowDenyEntry "one"'),
    );
  });

  it("is rejected on both lists in two list resources", () => {
    const [failure] = declareAll(
      declareList("blocklist", { "evil.example": "deny" }),
      declareList("newsletters", { "evil.example (graymail)": "allow" }),
    );
    expect(failure?.reason).toMatch(/a value can't be on both lists/);
  });

  it("is allowed on one list in two scopes", () => {
    const another = { ...allowed, list: "deny" };
    expect(declareAll(declareEntry("one", another), declareEntry("two", denied))).toEqual([]);
    expect(declareAll(declareList("blocklist", { "evil.example": "deny" }), declareEntry("one", another))).toEqual([]);
  });
});

it("treats equivalent comments as one declaration", () => {
  const denied = { list: "deny", value: "evil.example" };
  const windows = { ...denied, comment: "Seen twice\r\n" };
  expect(declareAll(declareEntry("one", windows), declareEntry("two", { ...denied, comment: "Seen twice" }))).toEqual(
    [],
  );
  expect(declareAll(declareEntry("one", windows), declareEntry("two", { ...denied, comment: "Seen" }))).toHaveLength(1);
  const email = "ceo@acme.example";
  expect(declareAll(declareVip("one", { email, comment: "" }), declareVip("two", { email }))).toEqual([]);
});
