import { describe, expect, it } from "vitest";
import { startLiteralTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";
import type { ResourceProperties } from "../../support/provider-call";

/* A program undoes a change while the service still lists the old values (eventual consistency), so that there seems to be nothing to do. */

const VALUE = "evil.example";
const RISK = { acceptRisk: "a partner" };
const of = (list: string, more: object = {}) => ({ list, value: VALUE, ...RISK, ...more });
const listed = (text: string) => ({ entries: { [VALUE]: text } });
const ALLOW = "allow (risk accepted: a partner)";

const CHANGES: readonly [string, "allowDenyEntry" | "allowDenyList", ResourceProperties, ResourceProperties][] = [
  ["an entry's move", "allowDenyEntry", of("allow"), of("deny")],
  ["an entry's move to the allow list", "allowDenyEntry", of("deny"), of("allow")],
  ["an entry's comment", "allowDenyEntry", of("deny", { comment: "INC-7" }), of("deny", { comment: "INC-8" })],
  ["an entry's scope", "allowDenyEntry", of("deny"), of("deny", { verdictScope: "graymail" })],
  ["a move in a list", "allowDenyList", listed(ALLOW), listed("deny")],
  ["a comment in a list", "allowDenyList", listed("deny: INC-7"), listed("deny: INC-8")],
];

const shown = ({ list, comment, verdict_scope }: { list: string; comment: string; verdict_scope: string }) => ({
  list,
  comment,
  verdict_scope,
});

describe.each(CHANGES)("%s", (_name, kind, before, after) => {
  it.each([false, true])("is reverted while lists lag; with a refresh: %s", async (refreshes) => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true, changesBehind: 3 });
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(before);
    const rows = tenant.service.entries.map(shown);
    await resource.up(after);
    if (refreshes) await resource.refresh();
    expect(await resource.up(before)).toMatchObject({ outcome: "updated" });
    expect(tenant.service.entries.map(shown)).toEqual(rows);
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
  const [one, other] = ["one", "other"].map(
    (name) => new ManagedResource(tenant, "allowDenyEntry", { name, sharesRuns: true }),
  );
  await one?.up(of("allow"));
  await tenant.provider.startNextRun();
  await one?.up(of("deny"));
  await tenant.provider.startNextRun();
  await one?.refresh();
  expect(await other?.up(of("allow"))).toMatchObject({ outcome: "created" });
  await one?.destroy();
  expect(tenant.service.listContents()).toEqual(["allow evil.example"]);
});
