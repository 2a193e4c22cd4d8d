import { describe, expect, it } from "vitest";
import { collectMailDomains } from "../../../provider/model/mail-domains";
import { OwnDomains } from "../../../provider/model/own-domains";
import { buildTenantIdentity } from "../../../provider/model/tenant-identity";
import type { ResourceDeclaration, TenantList } from "../../../provider/resources/lifecycle/lifecycle";
import { PLANNED_IDENTITY_VARIABLE, TenantVerifier } from "../../../provider/resources/tenant-verifier";
import type { TenantCache } from "../../../provider/tenant";

function createDeclaration(key: string): ResourceDeclaration {
  const thing = { key, name: key };
  return {
    isList: false,
    getItems: () => [thing],
    find: () => undefined,
    has: () => true,
  } as unknown as ResourceDeclaration;
}

it("lets one resource's match confirm resources already being checked", async () => {
  const tenant = {
    baseUrl: "https://api.example",
    readMailDomains: async () => undefined,
    hasAny: async (list: TenantList) => list === "entries",
  } as unknown as TenantCache;
  // While a new VIP waits for other pending checks, entries from state are checked.
  const waitBriefly = async (): Promise<void> => {
    for (let index = 0; index < 6; index += 1) guard.expect("entries", createDeclaration(`e${index}`), undefined);
    await guard.confirm("entries", tenant);
  };
  const guard = new TenantVerifier({
    environment: {},
    getInstanceName: () => undefined,
    describeKeySource: () => "EMAIL_SECURITY_API_KEY",
    getOwnDomains: () => new OwnDomains([]),
    log: () => {},
    waitBriefly,
  });
  await expect(guard.confirm("vips", tenant)).resolves.toBeUndefined();
});

it("prefers the files' own domains over the configured ones", async () => {
  const verifyNamed = async (named: readonly string[]): Promise<unknown> => {
    const tenant = {
      baseUrl: "https://api.example",
      readMailDomains: async () => collectMailDomains(["a@globex.example", "b@globex.example"], true),
      hasAny: async () => true,
    } as unknown as TenantCache;
    const guard = new TenantVerifier({
      environment: {},
      getInstanceName: () => undefined,
      describeKeySource: () => "EMAIL_SECURITY_API_KEY",
      // A machine with the files of both tenants.
      getOwnDomains: () => new OwnDomains(["acme.example", "globex.example"]),
      log: () => {},
      waitBriefly: async () => {},
    });
    guard.addOwnDomains(named);
    return await guard.confirm("vips", tenant).catch((error: { code?: unknown }) => error.code);
  };
  expect(await verifyNamed([])).toBeUndefined();
  expect(await verifyNamed(["globex.example"])).toBeUndefined();
  expect(await verifyNamed(["acme.example"])).toBe("ERR_OTHER_TENANT");
});

describe("tenant of a planned rollout", () => {
  const buildRows = (tenant: string) => [
    {
      id: `${tenant}-7f3c1b9e-52aa-4d0e-8b16-90e4c7d2a5f8`,
      entry_type: "domain",
      value: "evil.example",
      created_at: "2026-11-02T09:00:00Z",
    },
  ];
  /**
   * Confirms a tenant's list against a plan of acme. Returns the error, if any, and the lists that were read for it.
   */
  const confirmLists = async (
    list: TenantList,
    there: { readonly rows: string; readonly mailboxes: readonly string[] },
    planned: readonly string[] = [],
  ) => {
    const read: TenantList[] = [];
    const address = "https://api.example";
    const tenant = {
      baseUrl: address,
      readMailDomains: async () => undefined,
      hasAny: async () => false,
      readIdentity: async (tenantList: TenantList) => {
        read.push(tenantList);
        const rows = tenantList === "vips" ? [] : buildRows(there.rows);
        return buildTenantIdentity(address, { rows, mailboxes: there.mailboxes });
      },
    } as unknown as TenantCache;
    const guard = new TenantVerifier({
      environment: {
        [PLANNED_IDENTITY_VARIABLE]: JSON.stringify(
          buildTenantIdentity(address, { rows: buildRows("acme"), mailboxes: planned }),
        ),
      },
      getInstanceName: () => undefined,
      describeKeySource: () => "the environment variable ACME_KEY (tenants.yaml:7)",
      getOwnDomains: () => new OwnDomains([]),
      log: () => {},
      waitBriefly: async () => {},
    });
    const error = await guard.confirm(list, tenant).then(
      () => undefined,
      ({ message }: Error) => message,
    );
    return { error, read };
  };

  it.each(["entries", "vips"] as const)(
    "is rejected by its %s when the key belongs to another tenant",
    async (list) => {
      const { error } = await confirmLists(list, { rows: "globex", mailboxes: [] });
      expect(error).toContain(
        "Check which tenant the key from the environment variable ACME_KEY (tenants.yaml:7) belongs to",
      );
    },
  );

  it("is recognized from the list that is read anyway", async () => {
    const [rows, mailboxes] = ["acme", ["ceo@acme.example"]] as const;
    const entryResult = await confirmLists("entries", { rows, mailboxes }, mailboxes);
    expect(entryResult).toEqual({ error: undefined, read: ["entries"] });
    const vipResult = await confirmLists("vips", { rows, mailboxes }, mailboxes);
    expect(vipResult).toEqual({ error: undefined, read: ["vips"] });
  });

  it("is recognized by its entries when it has no VIPs", async () => {
    const { error, read } = await confirmLists("vips", { rows: "acme", mailboxes: [] });
    expect([error, read]).toEqual([undefined, ["vips", "entries"]]);
  });
});
