import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createEngineAddress, ProviderProcess } from "../../support/provider-process";
import { NumberedTenants } from "./numbered-tenants";

/*
 * Ids are not unique across tenants. An entry's type and value never change at the service, so a row with the same id
 * and a different subject is another entry. The provider doesn't adopt, change or delete it.
 */

const OURS = "acme";
const THEIRS = "globex";
const partner = { list: "allow", value: "partner.example", comment: "Contract 7" };

let service: NumberedTenants;
beforeEach(async () => {
  service = await NumberedTenants.start();
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

/** Starts the provider for a run of the engine with a key. */
async function runBy(key: string, more: { instance?: string; engine?: string } = {}): Promise<ProviderProcess> {
  return await ProviderProcess.start({
    config: { "email-security:baseUrl": service.url, "email-security:apiKey": key },
    ...more,
  });
}

/** Returns the tenants' contents, to verify that nothing was changed. */
const serializeContents = () => JSON.stringify([service.listEntries(OURS), service.listEntries(THEIRS)]);

/** Declares our entry, which has id 1 in our tenant; in the other tenant, id 1 is a denied domain. */
async function startDeclaredEntry() {
  service.put(THEIRS, { list: "deny", value: "evil0.example", comment: "phish" });
  await using run = await runBy(OURS);
  const createdResource = await run.getResource("allowDenyEntry").declare(partner);
  expect([createdResource.id, service.listEntries(THEIRS)[0]?.id]).toEqual(["1", "1"]);
  service.writes.length = 0;
  return createdResource;
}

describe("entry whose id now belongs to another", () => {
  it("is gone after a refresh unless found by its value", async () => {
    const createdResource = await startDeclaredEntry();
    await using wrong = await runBy(THEIRS);
    expect(
      await wrong.getResource("allowDenyEntry").read(createdResource.id, createdResource.properties),
    ).toBeUndefined();
    // The accident: the resource is recreated in the wrong tenant, under an id that belongs to a different entry in the
    // right one.
    const elsewhere = await wrong.getResource("allowDenyEntry").declare(partner);
    expect(elsewhere.id).toBe("2");
    service.put(OURS, { list: "deny", value: "evil1.example" });
    await using right = await runBy(OURS);
    const read = await right.getResource("allowDenyEntry").read(elsewhere.id, elsewhere.properties);
    expect(read).toMatchObject({ id: "1", properties: { ...partner } });
    expect(read?.inputs).toEqual(partner);
    expect(service.writes).toEqual([`${THEIRS} POST partner.example`]);
  });

  it("is created again without changing the other entry", async () => {
    const createdResource = await startDeclaredEntry();
    const before = JSON.stringify(service.listEntries(THEIRS));
    await using wrong = await runBy(THEIRS);
    const changed = await wrong
      .getResource("allowDenyEntry")
      .change(createdResource, { ...partner, comment: "Contract 8" });
    expect(service.writes).toEqual([`${THEIRS} POST partner.example`]);
    expect(JSON.stringify(service.listEntries(THEIRS).slice(0, 1))).toBe(before);
    expect(changed.properties).toMatchObject({ entryId: "2", comment: "Contract 8" });
  });

  it("is not deleted", async () => {
    const createdResource = await startDeclaredEntry();
    const before = serializeContents();
    await using wrong = await runBy(THEIRS);
    await wrong.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties);
    expect([service.writes, serializeContents()]).toEqual([[], before]);
    await expect.poll(() => wrong.printed.join("\n")).toContain("partner.example on the allow list was already gone");
  });

  it("is not deleted when its value exists under another id", async () => {
    const createdResource = await startDeclaredEntry();
    service.put(THEIRS, partner);
    const before = serializeContents();
    await using wrong = await runBy(THEIRS);
    await wrong.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties);
    expect([service.writes, serializeContents()]).toEqual([[], before]);
    await expect.poll(() => wrong.printed.join("\n")).toContain("was created in its place and is kept");
  });

  it("is deleted although another Provider holds the same id", async () => {
    service.put(THEIRS, { list: "deny", value: "evil0.example", comment: "phish" });
    await using ours = await runBy(OURS, { instance: "acme", engine: createEngineAddress() });
    const createdResource = await ours.getResource("allowDenyEntry").declare(partner);
    await using other = await runBy(THEIRS, { instance: "globex", engine: createEngineAddress() });
    const theirs = await other.getResource("allowDenyEntry").declare({
      list: "deny",
      value: "evil0.example",
      comment: "phish",
    });
    expect(theirs.id).toBe(createdResource.id);
    service.writes.length = 0;
    // The next run drops our entry and changes nothing in the other tenant.
    const next = createEngineAddress();
    await using dropping = await runBy(OURS, { instance: "acme", engine: next });
    await using staying = await runBy(THEIRS, { instance: "globex", engine: next });
    const { inputs } = await staying.getResource("allowDenyEntry").check(theirs.inputs, theirs.inputs);
    await staying.getResource("allowDenyEntry").diff(theirs.id, theirs.properties, inputs);
    await dropping.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties);
    expect(service.writes).toEqual([`${OURS} DELETE 1`]);
  });
});

it("rejects an update answered with another entry", async () => {
  const createdResource = await startDeclaredEntry();
  await using run = await runBy(OURS);
  const other = {
    id: "1",
    list: "allow",
    entry_type: "domain",
    value: "evil0.example",
    comment: "Contract 8",
  };
  service.intercept = (method) => (method === "PATCH" ? { results: other } : undefined);
  const change = run.getResource("allowDenyEntry").change(createdResource, { ...partner, comment: "Contract 8" });
  await expect(change).rejects.toThrow(
    /asked to change "partner\.example" \(id 1\) and returned evil0\.example on the allow list.*ERR_NOT_APPLIED/s,
  );
});
