import { describe, expect, it } from "vitest";
import type { Target } from "../../../../provider/rollout/model/target";
import {
  findSameTargets,
  findSameTargetsIn,
  type RememberedTenants,
  SameTenantError,
} from "../../../../provider/rollout/targets/same-tenant";
import { identityOf, type TenantIdentity } from "../../../../provider/settings/tenant-identity";
import { targetOf } from "../../../support/journal-story";

const AT = "https://mail.example";

/** What a tenant holds: entries by their numbers, with ids that no other tenant has. */
function holding(tenant: string, ...numbers: number[]): TenantIdentity {
  const rows = numbers.map((number) => ({
    id: `${tenant}-7f3c1b9e-52aa-4d0e-8b16-${String(number).padStart(12, "0")}`,
    entry_type: "domain",
    value: `evil${number}.example`,
    created_at: "2026-11-02T09:00:00Z",
  }));
  return identityOf(AT, { rows, mailboxes: [] });
}

const [A, B, FORMER] = [holding("a", 0, 1, 2, 3), holding("b", 0, 1, 2, 3), holding("former", 0, 1, 2, 3)];

function remembering(tenants: Readonly<Record<string, TenantIdentity>>): RememberedTenants {
  return new Map(
    Object.entries(tenants).map(([stack, identity]) => [
      stack,
      { stack, name: stack, rollout: "r", identity },
    ]),
  );
}

function reading(tenants: Readonly<Record<string, TenantIdentity>>): ReadonlyMap<Target, TenantIdentity> {
  return new Map(Object.entries(tenants).map(([name, identity]) => [targetOf(name, AT), identity]));
}

const namesOf = (all: readonly { readonly name: string }[]): string[] => all.map(({ name }) => name);

function found(
  readings: Readonly<Record<string, TenantIdentity>>,
  remembered: Readonly<Record<string, TenantIdentity>>,
): readonly unknown[] {
  return findSameTargets(reading(readings), remembering(remembered)).map(
    ({ read, known, wrong, replaced }) => [namesOf(read), namesOf(known), namesOf(wrong), namesOf(replaced)],
  );
}

describe("findSameTargets", () => {
  it("names both tenants whose keys were swapped", () => {
    expect(found({ a: B, b: A }, { a: A, b: B })).toEqual([
      [["b"], ["a"], ["b"], ["a"]],
      [["a"], ["b"], ["a"], ["b"]],
    ]);
  });

  it("names the one of two that was read as itself before", () => {
    expect(found({ a: B, b: B }, { a: A, b: B })).toEqual([[["a", "b"], [], ["a"], []]]);
  });

  it("finds another tenant by a single row where none of its own is left", () => {
    const changed = holding("b", 3, 14, 15, 16);
    expect(found({ a: changed }, { a: A, b: B })).toEqual([[["a"], ["b"], ["a"], []]]);
  });

  it("takes a tenant whose rows were all removed or replaced for itself", () => {
    expect(found({ a: holding("a", 10, 11) }, { a: A, b: B })).toEqual([]);
    expect(found({ a: holding("a") }, { a: A, b: B })).toEqual([]);
  });

  it("takes a tenant for itself that the journal knows by another name too", () => {
    const former = holding("a", 0, 1);
    expect(found({ a: holding("a", 0, 10, 11, 12) }, { a: A, former })).toEqual([]);
  });
});

describe("findSameTargetsIn", () => {
  const memory = (declared: Readonly<Record<string, TenantIdentity>>) => async (of: "declared" | "all") =>
    remembering(of === "all" ? { ...declared, former: FORMER } : declared);

  it("finds a tenant that has left the file where a reading isn't what it was before", async () => {
    const same = await findSameTargetsIn(reading({ a: FORMER }), memory({ a: A }));
    expect(same.map(({ known }) => namesOf(known))).toEqual([["former"]]);
  });

  it("takes a new tenant for a former one with another name", async () => {
    expect(await findSameTargetsIn(reading({ a: FORMER }), memory({}))).toEqual([]);
  });
});

it("has a code for a key of another tenant, and one for two keys of one", () => {
  const codeOf = (readings: Readonly<Record<string, TenantIdentity>>): string =>
    new SameTenantError(findSameTargets(reading(readings), remembering({ a: A, b: B }))).code;
  expect(codeOf({ a: B })).toBe("ERR_OTHER_TENANT");
  expect(codeOf({ a: B, b: B })).toBe("ERR_SAME_TENANT");
});
