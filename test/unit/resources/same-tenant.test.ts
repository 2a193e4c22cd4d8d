import { describe, expect, it } from "vitest";
import type { Declaration, TenantList } from "../../../provider/resources/lifecycle/lifecycle";
import { PLANNED_IDENTITY, SameTenant } from "../../../provider/resources/same-tenant";
import { OwnDomains } from "../../../provider/settings/own-domains";
import { identityOf } from "../../../provider/settings/tenant-identity";
import { peopleOf } from "../../../provider/settings/tenant-people";
import type { Tenant } from "../../../provider/tenant";

function declarationOf(key: string): Declaration {
  const thing = { key, name: key };
  return {
    isList: false,
    things: () => [thing],
    find: () => undefined,
    has: () => true,
  } as unknown as Declaration;
}

it("takes what one resource has seen there for seen by all, also by those that have begun to look before", async () => {
  const tenant = {
    baseUrl: "https://api.example",
    people: async () => undefined,
    holdsAny: async (list: TenantList) => list === "entries",
  } as unknown as Tenant;
  // While a new VIP waits for what else is asked about, entries of the state are.
  const moment = async (): Promise<void> => {
    for (let at = 0; at < 6; at += 1) guard.expect("entries", declarationOf(`e${at}`), undefined);
    await guard.confirm("entries", tenant);
  };
  const guard = new SameTenant({
    environment: {},
    instance: () => undefined,
    keyFrom: () => "EMAIL_SECURITY_API_KEY",
    ownDomains: () => new OwnDomains([]),
    say: () => {},
    moment,
  });
  await expect(guard.confirm("vips", tenant)).resolves.toBeUndefined();
});

it("goes by the own domains of the files, and by what is configured only where these name none", async () => {
  const found = async (named: readonly string[]): Promise<unknown> => {
    const tenant = {
      baseUrl: "https://api.example",
      people: async () => peopleOf(["a@globex.example", "b@globex.example"], true),
      holdsAny: async () => true,
    } as unknown as Tenant;
    const guard = new SameTenant({
      environment: {},
      instance: () => undefined,
      keyFrom: () => "EMAIL_SECURITY_API_KEY",
      // Of a machine that has the files of both.
      ownDomains: () => new OwnDomains(["acme.example", "globex.example"]),
      say: () => {},
      moment: async () => {},
    });
    guard.isOf(named);
    return await guard.confirm("vips", tenant).catch((error: { code?: unknown }) => error.code);
  };
  expect(await found([])).toBeUndefined();
  expect(await found(["globex.example"])).toBeUndefined();
  expect(await found(["acme.example"])).toBe("ERR_OTHER_TENANT");
});

describe("a tenant that a rollout has planned", () => {
  const rowsOf = (tenant: string) => [
    {
      id: `${tenant}-7f3c1b9e-52aa-4d0e-8b16-90e4c7d2a5f8`,
      entry_type: "domain",
      value: "evil.example",
      created_at: "2026-11-02T09:00:00Z",
    },
  ];
  /** Confirms a list of a tenant against a plan of acme; answers the error, if any, and the lists that were read for it. */
  const confirmed = async (
    list: TenantList,
    there: { readonly rows: string; readonly mailboxes: readonly string[] },
    planned: readonly string[] = [],
  ) => {
    const read: TenantList[] = [];
    const at = "https://api.example";
    const tenant = {
      baseUrl: at,
      people: async () => undefined,
      holdsAny: async () => false,
      identity: async (one: TenantList) => {
        read.push(one);
        const rows = one === "vips" ? [] : rowsOf(there.rows);
        return identityOf(at, { rows, mailboxes: there.mailboxes });
      },
    } as unknown as Tenant;
    const guard = new SameTenant({
      environment: {
        [PLANNED_IDENTITY]: JSON.stringify(identityOf(at, { rows: rowsOf("acme"), mailboxes: planned })),
      },
      instance: () => undefined,
      keyFrom: () => "the environment variable ACME_KEY (tenants.yaml:7)",
      ownDomains: () => new OwnDomains([]),
      say: () => {},
      moment: async () => {},
    });
    const error = await guard.confirm(list, tenant).then(
      () => undefined,
      ({ message }: Error) => message,
    );
    return { error, read };
  };

  it.each(["entries", "vips"] as const)("is refused by its %s where the key opens another one", async (list) => {
    const { error } = await confirmed(list, { rows: "globex", mailboxes: [] });
    expect(error).toContain("Check whose key the environment variable ACME_KEY (tenants.yaml:7) is");
  });

  it("is known again by the list that is read anyway", async () => {
    const [rows, mailboxes] = ["acme", ["ceo@acme.example"]] as const;
    const byEntries = await confirmed("entries", { rows, mailboxes }, mailboxes);
    expect(byEntries).toEqual({ error: undefined, read: ["entries"] });
    const byPeople = await confirmed("vips", { rows, mailboxes }, mailboxes);
    expect(byPeople).toEqual({ error: undefined, read: ["vips"] });
  });

  it("is known again by its entries where it has no VIPs", async () => {
    const { error, read } = await confirmed("vips", { rows: "acme", mailboxes: [] });
    expect([error, read]).toEqual([undefined, ["vips", "entries"]]);
  });
});
