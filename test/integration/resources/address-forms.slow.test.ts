import { describe, expect, it } from "vitest";
import { startLiteralTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";

/*
 * A service may store and return an address in a different form from the one it was sent. Every later run must
 * recognize it as the same entry.
 */

const FORMS = [
  ["a prefix of 32 bits", "198.51.100.7", (value: string) => `${value}/32`],
  ["a netmask", "198.51.100.7", (value: string) => `${value}/255.255.255.255`],
  ["an IPv4-mapped address", "198.51.100.7", (value: string) => `::ffff:${value}`],
  ["an IPv4-mapped address in hexadecimal", "198.51.100.7", () => "::FFFF:C633:6407"],
  ["a prefix of 128 bits", "2001:db8::7", (value: string) => `${value}/128`],
] as const;

describe.each(FORMS)("service that stores %s", (_label, value, stored) => {
  it("receives one write for a single entry", async () => {
    await using tenant = await startLiteralTenant({ stored });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    expect(await entry.up({ list: "deny", value })).toMatchObject({ outcome: "created" });
    await entry.refresh();
    expect(await entry.up({ list: "deny", value })).toMatchObject({ outcome: "same" });
    expect(tenant.service.writes).toEqual([`POST deny ${value}`]);
    await entry.destroy();
    expect(tenant.service.listContents()).toEqual([]);
  });

  it("receives one write for a list entry", async () => {
    await using tenant = await startLiteralTenant({ stored });
    const list = new ManagedResource(tenant, "allowDenyList");
    expect(await list.up({ entries: { [value]: "deny" } })).toMatchObject({ outcome: "created" });
    await list.refresh();
    expect(await list.up({ entries: { [value]: "deny" } })).toMatchObject({ outcome: "same" });
    expect(tenant.service.writes).toEqual([`POST deny ${value}`]);
    await list.destroy();
    expect(tenant.service.listContents()).toEqual([]);
  });
});

describe("address declared in another form", () => {
  it.each(["198.51.100.7/32", "::ffff:198.51.100.7", "::ffff:c633:6407/128"])(
    "is sent in canonical form: %s",
    async (value) => {
      await using tenant = await startLiteralTenant({});
      const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
      expect(await entry.up({ list: "deny", value })).toMatchObject({ outcome: "created" });
      expect(tenant.service.listContents()).toEqual(["deny 198.51.100.7"]);
      expect(await entry.up({ list: "deny", value: "198.51.100.7" })).not.toMatchObject({
        outcome: "failed",
      });
      expect(tenant.service.writes).toEqual(["POST deny 198.51.100.7"]);
    },
  );
});
