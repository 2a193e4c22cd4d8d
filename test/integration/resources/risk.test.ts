import { describe, expect, it } from "vitest";
import { ManagedResource } from "../../support/managed-resource";
import { PROVIDER_KIND, ProviderProcess } from "../../support/provider-process";
import { type ManagedSandboxTenant, READ_BOTH_LISTS, startSandboxTenant } from "../../support/sandbox-tenant";

const REASON = "They write from there, until May";

async function ownTenant(): Promise<ManagedSandboxTenant> {
  return await startSandboxTenant({}, { EMAIL_SECURITY_OWN_DOMAINS: "acme.example" });
}

async function findRowId(tenant: ManagedSandboxTenant, list: string, value: string): Promise<string> {
  const { results } = await tenant.console("GET", `/allow_deny_entries?list=${list}&q=${value}`);
  const [item] = results["items"] as { id: string }[];
  return item?.id ?? "";
}

describe("single entry", () => {
  it("is rejected in check when risky", async () => {
    await using tenant = await ownTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    const risky = [
      ["allow", "co.uk", "allow-public-suffix"],
      ["allow", "gmail.com", "allow-free-mail"],
      ["allow", "10.0.0.1", "allow-private-address"],
      ["allow", "ceo@acme.example", "allow-own-domain"],
      ["allow", "acme-login.example", "allow-look-alike"],
      ["deny", "acme.example", "deny-own-domain"],
      ["deny", "outlook.com", "deny-free-mail"],
    ];
    for (const [list, value, code] of risky) {
      const { failures } = await entry.check({ list, value });
      expect(failures["value"]).toContain(`(${code}`);
      expect(failures["value"]).toContain('acceptRisk: "…"');
      const accepted = await entry.check({ list, value, acceptRisk: REASON });
      expect(accepted).toEqual({ inputs: { list, value, acceptRisk: REASON }, failures: {} });
    }
    expect(tenant.trace()).toEqual([]);
  });

  it("keeps an accepted risk in state only", async () => {
    await using tenant = await ownTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    const args = { list: "allow", value: "gmail.com", comment: "Fair", acceptRisk: REASON };
    const { id, properties, inputs } = await entry.declare(args);
    expect(tenant.trace()).toEqual([
      ...READ_BOTH_LISTS,
      'POST /allow_deny_entries {"list":"allow","entry_type":"domain","value":"gmail.com","verdict_scope":"global","comment":"Fair"} 201',
    ]);
    expect(properties).toMatchObject({ comment: "Fair", acceptRisk: REASON });
    expect(await entry.diff(id, properties, inputs)).toEqual({ changes: false, replaces: [] });

    // A new reason alone is shown as a change, but needs no request to the service.
    const later = { ...inputs, acceptRisk: "Until June" };
    expect(await entry.diffDetails(id, properties, later)).toEqual({ acceptRisk: "UPDATE" });
    const changed = await entry.update(id, properties, later);
    expect(changed).toEqual({ ...properties, acceptRisk: "Until June" });
    const { acceptRisk: _removed, ...without } = inputs;
    expect(await entry.diffDetails(id, properties, without)).toEqual({ acceptRisk: "DELETE" });
    expect(await entry.update(id, properties, without)).not.toHaveProperty("acceptRisk");
    expect(tenant.trace()).toEqual([]);

    // A comment changed in the console is drift of the comment only. Nobody accepted a risk on the other list.
    await tenant.console("PATCH", `/allow_deny_entries/${id}`, { comment: "mine" });
    await tenant.provider.startNextRun();
    const drifted = await entry.read(id, changed);
    expect(drifted?.inputs).toEqual({ ...later, comment: "mine" });
    expect(drifted?.properties).toEqual({ ...changed, comment: "mine" });
    await tenant.console("PATCH", `/allow_deny_entries/${id}`, { list: "deny" });
    await tenant.provider.startNextRun();
    const moved = await entry.read(id, changed);
    expect(moved?.properties).not.toHaveProperty("acceptRisk");
    expect(moved?.inputs).not.toHaveProperty("acceptRisk");
    tenant.trace();
    expect(await entry.update(id, moved?.properties ?? {}, later)).toEqual(changed);
    expect(tenant.writes()).toEqual([`PATCH /allow_deny_entries/${id} {"list":"allow","comment":"Fair"} 200`]);
  });

  it("has the state of earlier releases without an accepted risk", async () => {
    await using tenant = await startSandboxTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    const { properties } = await entry.declare({ list: "allow", value: "partner.example", comment: "C-7" });
    expect(Object.keys(properties).sort()).toEqual(
      [
        ...["comment", "createdAt", "createdBy", "entryType", "list", "tenant", "people", "value", "verdictScope"],
        ...(PROVIDER_KIND === "native" ? ["entryId"] : []),
      ].sort(),
    );
  });
});

describe("list", () => {
  it("is rejected in check with every risky entry named", async () => {
    await using tenant = await ownTenant();
    const list = new ManagedResource(tenant, "allowDenyList");
    const rejection = await list.up({
      entries: { "evil.example": "deny", "gmail.com": "allow: INC-7", "acme.example": "deny" },
    });
    expect(rejection.outcome).toBe("refused");
    const [message = ""] = Object.values(rejection.failures);
    expect(message).toMatch(/entries\["gmail\.com"\] is "gmail\.com", which is refused \(allow-free-mail\)/);
    expect(message).toMatch(/entries\["acme\.example"\] is .* \(deny-own-domain\)/);
    expect(message).not.toContain("evil.example");
    expect(tenant.trace()).toEqual([]);
  });

  it("keeps accepted risks in state only", async () => {
    await using tenant = await ownTenant();
    const list = tenant.provider.getResource("allowDenyList");
    const plain = { list: "deny", value: "evil.example", comment: "INC-7" };
    const risky = { list: "allow", value: "gmail.com", comment: "Fair", acceptRisk: REASON };
    const options = { maxRemovalFraction: 1 };
    const { id, properties, inputs } = await list.declare({ entries: [plain, risky], ...options });
    expect(tenant.writes()).toEqual([
      'POST /allow_deny_entries {"list":"deny","entry_type":"domain","value":"evil.example","verdict_scope":"global","comment":"INC-7"} 201',
      'POST /allow_deny_entries {"list":"allow","entry_type":"domain","value":"gmail.com","verdict_scope":"global","comment":"Fair"} 201',
    ]);
    const text = `allow (risk accepted: ${REASON}): Fair`;
    expect(properties["entries"]).toEqual({ "evil.example": "deny: INC-7", "gmail.com": text });

    const other = {
      "evil.example": "deny: INC-7",
      "gmail.com": "allow (risk accepted: Until June (at last)): Fair",
    };
    const later = { ...inputs, entries: other };
    expect(await list.diffDetails(id, properties, later)).toEqual({ 'entries["gmail.com"]': "UPDATE" });
    const changed = await list.update(id, properties, later);
    expect(changed["entries"]).toEqual(other);
    expect(tenant.writes()).toEqual([]);

    // Drift of the comment keeps the reason; an entry moved to the other list loses it, since its risk wasn't accepted.
    const path = `/allow_deny_entries/${await findRowId(tenant, "allow", "gmail.com")}`;
    await tenant.console("PATCH", path, { comment: "mine" });
    await tenant.provider.startNextRun();
    const drifted = await list.read(id, changed);
    const driftedText = "allow (risk accepted: Until June (at last)): mine";
    expect(drifted?.properties["entries"]).toEqual({ ...other, "gmail.com": driftedText });
    await tenant.console("PATCH", path, { list: "deny" });
    await tenant.provider.startNextRun();
    const moved = await list.read(id, changed);
    expect(moved?.properties["entries"]).toEqual({ ...other, "gmail.com": "deny: mine" });
    tenant.trace();
    const updatedProperties = await list.update(id, moved?.properties ?? {}, later);
    expect(tenant.writes()).toEqual([`PATCH ${path} {"list":"allow","comment":"Fair"} 200`]);

    // Before a removal, the row is compared with the entry that was shown; the reason doesn't count, since the service
    // doesn't store it.
    const rest = await list.update(id, updatedProperties, { ...options, entries: { "evil.example": "deny: INC-7" } });
    expect(tenant.writes()).toEqual([`DELETE ${path} 200`]);
    expect(rest["entries"]).toEqual({ "evil.example": "deny: INC-7" });
  });

  it("shows undeclared entries after a refresh, risky or not", async () => {
    await using tenant = await ownTenant();
    const list = tenant.provider.getResource("allowDenyList");
    const { id, properties } = await list.declare({ entries: { "evil.example": "deny" }, mode: "exclusive" });
    const gmail = { list: "allow", entry_type: "domain", value: "gmail.com" };
    await tenant.console("POST", "/allow_deny_entries", gmail);
    await tenant.provider.startNextRun();
    const readResult = await list.read(id, properties);
    const entries = { "evil.example": "deny", "gmail.com": "(unmanaged) allow" };
    expect(readResult?.properties["entries"]).toEqual(entries);
  });
});

it("rejects invalid own domains only where they are used", async () => {
  await using provider = await ProviderProcess.start({ config: { "email-security:ownDomains": "acme" } });
  const deny = { list: "deny", value: "evil.example" };
  const message = /email-security:ownDomains contains an invalid domain: "acme" isn't a full domain/;
  await expect(provider.getResource("allowDenyEntry").check(deny)).rejects.toThrow(message);
  await expect(provider.getResource("allowDenyList").check({ entries: [deny] })).rejects.toThrow(message);
  expect(await provider.getResource("vipEmployee").check({ email: "a@acme.example" })).toMatchObject({
    failures: {},
  });
});

it("ignores own domains that are unknown in a preview", async () => {
  const unknown = { "email-security:ownDomains": "04da6b54-80e4-46f7-96ec-b56ff0331ba9" };
  await using provider = await ProviderProcess.start({ config: unknown });
  const entry = provider.getResource("allowDenyEntry");
  expect(await entry.check({ list: "allow", value: "acme.example" })).toMatchObject({ failures: {} });
  expect(Object.keys((await entry.check({ list: "allow", value: "gmail.com" })).failures)).toEqual(["value"]);
});
