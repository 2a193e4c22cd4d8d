import { describe, expect, it } from "vitest";
import { type LiteralService, type LiteralTenant, startLiteralTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";

/*
 * The reference names one of the three entry types. A service may report another type for a value than the value
 * implies, so an allow of another type still contradicts the deny of the same value.
 */

type EntryHandler = "allowDenyEntry" | "allowDenyList";
const KINDS = ["allowDenyEntry", "allowDenyList"] as const;

const MAILBOX = "billing@evil.example";
/** The rows of another type that somebody added in the console: the value, and its type there. */
const ROWS = [
  ["a domain", "evil.example", "host"],
  ["a mailbox", MAILBOX, "address"],
  ["a mailbox stored as a domain", MAILBOX, "domain"],
  ["an IP address", "192.0.2.1", "ipv4"],
] as const;

function buildEntryArguments(
  kind: EntryHandler,
  list: "allow" | "deny",
  value: string,
  more: object = {},
): Record<string, unknown> {
  const acceptRisk = "a partner";
  if (kind === "allowDenyEntry") return { list, value, ...(list === "allow" ? { acceptRisk } : {}), ...more };
  return { entries: { [value]: list === "allow" ? `allow (risk accepted: ${acceptRisk})` : "deny" }, ...more };
}

const getReasons = (up: Awaited<ReturnType<ManagedResource["up"]>>): string =>
  [...Object.values(up.failures), ...up.reasons].join("\n");

const getRows = ({ entries }: LiteralService): string[] =>
  entries.map(({ list, value, entry_type }) => `${list} ${value} ${entry_type}`).sort();

const startPermissiveTenant = (): Promise<LiteralTenant> => startLiteralTenant({ allowsDuplicates: true });

describe.each(KINDS)("deny of an %s next to an undeclared allow of another type", (kind) => {
  it.each(ROWS)("isn't created: %s", async (_label, value, entry_type) => {
    await using tenant = await startPermissiveTenant();
    tenant.service.add({ list: "allow", value, entry_type, id: "console" });
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    for (const adopt of [false, true]) {
      const up = await resource.up(buildEntryArguments(kind, "deny", value, { adopt }));
      expect(["failed", "partial"]).toContain(up.outcome);
      expect(getReasons(up)).toMatch(/id console, type /);
      expect(getReasons(up)).not.toContain("adopt: true");
    }
    expect(tenant.service.writes).toEqual([]);
  });

  it("fails each run after a refresh", async () => {
    await using tenant = await startPermissiveTenant();
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(buildEntryArguments(kind, "deny", MAILBOX));
    tenant.service.add({ list: "allow", value: MAILBOX, entry_type: "address", id: "console" });
    const writes = tenant.service.writes.length;
    for (const run of [1, 2]) {
      await resource.refresh();
      const up = await resource.up(buildEntryArguments(kind, "deny", MAILBOX));
      expect(["failed", "partial"], `run ${run}`).toContain(up.outcome);
      expect(getReasons(up), `run ${run}`).toContain("id console");
    }
    expect(tenant.service.writes).toHaveLength(writes);
  });

  it("isn't reached by a move", async () => {
    await using tenant = await startPermissiveTenant();
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(buildEntryArguments(kind, "allow", MAILBOX));
    tenant.service.add({ list: "allow", value: MAILBOX, entry_type: "address", id: "console" });
    const up = await resource.up(buildEntryArguments(kind, "deny", MAILBOX));
    expect(["failed", "partial"]).toContain(up.outcome);
    expect(getReasons(up)).toContain("id console");
    expect(getRows(tenant.service)).toEqual([`allow ${MAILBOX} address`, `allow ${MAILBOX} email_address`]);
  });
});

describe.each(KINDS)("removal of an %s", (kind) => {
  it.each(["allow", "deny"] as const)("leaves an entry of another type on the %s list", async (list) => {
    await using tenant = await startPermissiveTenant();
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(buildEntryArguments(kind, "allow", MAILBOX));
    tenant.service.add({ list, value: MAILBOX, entry_type: "address", id: "console" });
    const { outcome, printed } = await resource.destroy();
    expect(outcome).toBe("updated");
    expect(getRows(tenant.service)).toEqual([`${list} ${MAILBOX} address`]);
    expect(printed).toMatch(/is also at the tenant as .*id console/);
  });
});

describe.each(KINDS)("allow of an %s next to an undeclared deny of another type", (kind) => {
  it("is created with a warning about the deny", async () => {
    await using tenant = await startPermissiveTenant();
    tenant.service.add({ list: "deny", value: MAILBOX, entry_type: "address", id: "console" });
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    const up = await resource.up(buildEntryArguments(kind, "allow", MAILBOX));
    expect([up.outcome, up.printed]).toEqual(["created", expect.stringContaining("id console")]);
    await resource.refresh();
    const again = await resource.up(buildEntryArguments(kind, "allow", MAILBOX));
    expect([again.outcome, again.printed]).toEqual(["same", expect.stringMatching(/doesn't define which of the two/)]);
    expect(getRows(tenant.service)).toEqual([`allow ${MAILBOX} email_address`, `deny ${MAILBOX} address`]);
  });
});

describe.each(KINDS)("entry of another type on the list of an %s", (kind) => {
  it("isn't taken for the declared one", async () => {
    await using tenant = await startPermissiveTenant();
    tenant.service.add({ list: "deny", value: MAILBOX, entry_type: "address", id: "console" });
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(buildEntryArguments(kind, "deny", MAILBOX));
    await resource.refresh();
    expect(await resource.up(buildEntryArguments(kind, "deny", MAILBOX))).toMatchObject({ outcome: "same" });
    await resource.up(
      buildEntryArguments(kind, "deny", MAILBOX, kind === "allowDenyEntry" ? { verdictScope: "graymail" } : {}),
    );
    expect(tenant.service.entries[0]).toMatchObject({ id: "console", verdict_scope: "global" });
  });

  it("is named if the service holds one entry of a value", async () => {
    await using tenant = await startLiteralTenant();
    tenant.service.add({ list: "deny", value: MAILBOX, entry_type: "address", id: "console" });
    const up = await new ManagedResource(tenant, kind, { name: "one" }).up(buildEntryArguments(kind, "deny", MAILBOX));
    expect(["failed", "partial"]).toContain(up.outcome);
    expect(getReasons(up)).toMatch(/id console, type "address".*type can't be changed/s);
  });
});
