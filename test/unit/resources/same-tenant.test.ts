import { expect, it } from "vitest";
import type { Declaration, TenantList } from "../../../provider/resources/lifecycle/lifecycle";
import { SameTenant } from "../../../provider/resources/same-tenant";
import { OwnDomains } from "../../../provider/settings/own-domains";
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
