import { expect, it } from "vitest";
import { shareSandboxTenant } from "../../support/sandbox-tenant";

const tenant = shareSandboxTenant();

const state = { list: "deny", value: "evil.example", entryType: "domain", verdictScope: "global" };

it("reports the kind of each property's change", async () => {
  const entry = tenant().provider.getResource("allowDenyEntry");
  const diffDetails = async (news: object, olds: object = state) =>
    await entry.diffDetails("e1", { ...olds }, { ...news });
  expect(await diffDetails({ list: "allow", value: "evil.example", comment: "INC-7" })).toEqual({
    list: "UPDATE",
    comment: "ADD",
  });
  expect(await diffDetails({ list: "deny", value: "evil.example" }, { ...state, comment: "INC-7" })).toEqual({
    comment: "DELETE",
  });
  expect(await diffDetails({ list: "deny", value: "worse.example" })).toEqual({ value: "UPDATE_REPLACE" });
});

it("reports no details when nothing changes", async () => {
  const entry = tenant().provider.getResource("allowDenyEntry");
  expect(await entry.diffDetails("e1", state, { list: "deny", value: "Evil.Example." })).toBeUndefined();
});

it("returns each of many concurrent diffs its own details", async () => {
  const { provider } = tenant();
  const entry = provider.getResource("allowDenyEntry");
  const other = provider.getForeignResource("exports.handler = () => ({ diff: async () => ({ changes: true }) })");
  const kinds = [
    { change: { comment: "x" }, expected: { comment: "ADD" } },
    { change: { list: "allow" }, expected: { list: "UPDATE" } },
    { change: { value: "worse.example" }, expected: { value: "UPDATE_REPLACE" } },
    { change: {}, expected: undefined },
  ];
  await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const { change, expected } = kinds[index % kinds.length] as (typeof kinds)[number];
      const [details, others] = await Promise.all([
        entry.diffDetails("e1", state, { list: "deny", value: "evil.example", ...change }),
        other.diffDetails("o1", {}, {}),
      ]);
      expect(details).toEqual(expected);
      expect(others).toBeUndefined();
    }),
  );
});
