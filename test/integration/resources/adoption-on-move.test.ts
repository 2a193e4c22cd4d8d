import { expect, it } from "vitest";
import { startLiteralTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";

/*
 * The other list may hold a row of the value that a person created. An entry that moves there adopts that row, because a
 * service may refuse a second one. The run names both rows.
 */

const VALUE = "evil.example";
const KINDS = ["allowDenyEntry", "allowDenyList"] as const;

/** Returns the arguments of a resource of this kind: the value on a list, and for a list resource a second value too. */
function buildArguments(kind: (typeof KINDS)[number], list: string): Record<string, unknown> {
  if (kind === "allowDenyEntry")
    return { list, value: VALUE, ...(list === "allow" ? { acceptRisk: "a partner" } : {}), comment: "INC-7" };
  const text = list === "allow" ? "allow (risk accepted: a partner): INC-7" : "deny: INC-7";
  return { entries: { [VALUE]: text, "other.example": "deny" } };
}

const MOVES = KINDS.flatMap((kind) => [
  { kind, from: "allow", to: "deny" },
  { kind, from: "deny", to: "allow" },
]);

it.each(MOVES)("names the person's row that the move of an $kind to $to adopts", async ({ kind, from, to }) => {
  await using tenant = await startLiteralTenant({ allowsDuplicates: true });
  const resource = new ManagedResource(tenant, kind, { name: "one" });
  await resource.up(buildArguments(kind, from));
  const own = tenant.service.entries.find(({ value }) => value === VALUE)?.id;
  tenant.service.add({ list: to, value: VALUE, id: "console", comment: "by hand", created_by: "Mei Chen" });
  const { outcome, printed } = await resource.up(buildArguments(kind, to));
  expect(outcome).toBe("updated");
  expect(tenant.service.listContents()).toContain(`${to} ${VALUE}`);
  expect(printed).toMatch(
    /Adopted evil\.example .*\(id console, .*"by hand", created by Mei Chen.*; its comment now matches the declaration/,
  );
  expect(printed).toMatch(new RegExp(`Removed an entry of evil\\.example from the ${from} list: .*\\(id ${own},`));
  expect(printed).not.toContain("duplicate");
});
