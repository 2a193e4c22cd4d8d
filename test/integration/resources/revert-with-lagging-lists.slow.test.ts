import { describe, expect, it } from "vitest";
import { startLiteralTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";
import type { ResourceProperties } from "../../support/provider-call";

/* A program undoes a change while the service still lists the old values (eventual consistency), so that there seems to be nothing to do. */

const VALUE = "evil.example";
const RISK = { acceptRisk: "a partner" };
const buildEntryArguments = (list: string, more: object = {}) => ({ list, value: VALUE, ...RISK, ...more });
const buildListArguments = (text: string) => ({ entries: { [VALUE]: text } });
const ALLOW = "allow (risk accepted: a partner)";

const CHANGES: readonly [string, "allowDenyEntry" | "allowDenyList", ResourceProperties, ResourceProperties][] = [
  ["an entry's move", "allowDenyEntry", buildEntryArguments("allow"), buildEntryArguments("deny")],
  ["an entry's move to the allow list", "allowDenyEntry", buildEntryArguments("deny"), buildEntryArguments("allow")],
  [
    "an entry's comment",
    "allowDenyEntry",
    buildEntryArguments("deny", { comment: "INC-7" }),
    buildEntryArguments("deny", { comment: "INC-8" }),
  ],
  [
    "an entry's scope",
    "allowDenyEntry",
    buildEntryArguments("deny"),
    buildEntryArguments("deny", { verdictScope: "graymail" }),
  ],
  ["a move in a list", "allowDenyList", buildListArguments(ALLOW), buildListArguments("deny")],
  ["a comment in a list", "allowDenyList", buildListArguments("deny: INC-7"), buildListArguments("deny: INC-8")],
];

const pickShownFields = ({
  list,
  comment,
  verdict_scope,
}: {
  list: string;
  comment: string;
  verdict_scope: string;
}) => ({
  list,
  comment,
  verdict_scope,
});

describe.each(CHANGES)("%s", (_name, kind, before, after) => {
  it.each([false, true])("is reverted while lists lag (refresh: %s)", async (refreshes) => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true, changesBehind: 3 });
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(before);
    const rows = tenant.service.entries.map(pickShownFields);
    await resource.up(after);
    if (refreshes) await resource.refresh();
    expect(await resource.up(before)).toMatchObject({ outcome: "updated" });
    expect(tenant.service.entries.map(pickShownFields)).toEqual(rows);
  });

  it("reports no drift while lists lag", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true, changesBehind: 3 });
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(before);
    await resource.up(after);
    await resource.refresh();
    expect(await resource.up(after)).toMatchObject({ outcome: "same" });
  });
});

it("reverts a move through a renamed resource while lists lag", async () => {
  await using tenant = await startLiteralTenant({ allowsDuplicates: true, changesBehind: 3 });
  const [a, b] = ["one", "other"].map(
    (name) => new ManagedResource(tenant, "allowDenyEntry", { name, sharesRuns: true }),
  );
  await a?.up(buildEntryArguments("allow"));
  await tenant.provider.startNextRun();
  await a?.up(buildEntryArguments("deny"));
  await tenant.provider.startNextRun();
  await a?.refresh();
  expect(await b?.up(buildEntryArguments("allow"))).toMatchObject({ outcome: "created" });
  await a?.destroy();
  expect(tenant.service.listContents()).toEqual(["allow evil.example"]);
});
