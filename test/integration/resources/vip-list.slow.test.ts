import { describe, expect, it } from "vitest";
import type { SandboxOptions, Scenario } from "../../../provider/sandbox";
import { ManagedResource } from "../../support/managed-resource";
import { type ManagedSandboxTenant, READ_VIPS, startSandboxTenant } from "../../support/sandbox-tenant";

const formatBigMailbox = (index: number): string => `person-${String(index).padStart(4, "0")}@big.example`;
const buildMembers = (count: number, comment = "Board"): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [formatBigMailbox(index), comment]));

/** Builds a company with this many mailboxes in its directory and no VIPs. */
function buildScenario(count: number): Scenario {
  return {
    name: "big",
    tenants: [
      {
        name: "acme",
        keyLabels: { ci: "Pulumi (ci)", console: "Dana Reyes (console)" },
        detectedAt: "2026-01-01T00:00:00Z",
        employees: Array.from({ length: count }, (_, index) => ({
          email: formatBigMailbox(index),
          fullName: `Person ${index}`,
          jobTitle: "Clerk",
          department: "Office",
        })),
        manualVips: [],
        exclusions: [],
        entries: [],
        threats: 0,
      },
    ],
  };
}

async function startVipListTenant(count: number, options: SandboxOptions = {}) {
  const tenant = await startSandboxTenant({ scenario: buildScenario(count), ...options });
  return {
    tenant,
    list: new ManagedResource(tenant, "vipList"),
    [Symbol.asyncDispose]: () => tenant[Symbol.asyncDispose](),
  };
}

async function readVips(tenant: ManagedSandboxTenant): Promise<Record<string, string>> {
  const all: Record<string, string> = {};
  for (let page = 1; ; page += 1) {
    const { results } = await tenant.console("GET", `/vip_employees?page_size=200&page=${page}`);
    const items = results["items"] as { email: string; comment: string }[];
    for (const { email, comment } of items) all[email] = comment;
    if (items.length < 200) return all;
  }
}

/** Formats each write as its kind and its number of mailboxes. */
function countMailboxes(writes: readonly string[]): string[] {
  return writes.map((line) => {
    const [, method, path, body = "{}", status] = /^(\w+) (\S+)(?: (.*))? (\d+)$/.exec(line) ?? [];
    const { emails, comment } = JSON.parse(body) as { emails?: string[]; comment?: string };
    return `${method} ${path} ${emails?.length ?? 1}${comment === undefined ? "" : ` "${comment}"`} ${status}`;
  });
}

describe("lifecycle of a VIP list", () => {
  it("takes exactly the expected requests", async () => {
    await using setup = await startVipListTenant(10);
    const { tenant, list } = setup;
    const content = {
      [formatBigMailbox(0)]: "Board",
      [formatBigMailbox(1)]: "Board",
      [formatBigMailbox(2)]: "Signs",
      [formatBigMailbox(3)]: "",
    };
    expect((await list.up({ members: content })).outcome).toBe("created");
    expect(list.id).toBe("vip-list");
    expect(list.properties).toEqual({
      members: content,
      tenant: new URL(tenant.sandbox.url).host,
      people: expect.any(String),
    });
    const trace = tenant.trace();
    expect(trace[0]).toBe(READ_VIPS[0]);
    expect(countMailboxes(trace.filter((line) => line.startsWith("POST"))).sort()).toEqual([
      'POST /vip_employees 1 "Signs" 200',
      "POST /vip_employees 1 200",
      'POST /vip_employees 2 "Board" 200',
    ]);
    expect(await readVips(tenant)).toEqual(content);

    expect((await list.up({ members: content })).outcome).toBe("same");
    expect(tenant.trace()).toEqual([]);
    await list.refresh();
    expect(tenant.trace()).toEqual(READ_VIPS);
    expect(list.inputs).toEqual({ members: content });

    const changed = { [formatBigMailbox(0)]: "Chair", [formatBigMailbox(1)]: "Board", [formatBigMailbox(4)]: "Board" };
    const up = await list.up({ members: changed });
    expect(up.outcome).toBe("updated");
    expect(up.details).toEqual({
      [`members["${formatBigMailbox(0)}"]`]: "UPDATE",
      [`members["${formatBigMailbox(2)}"]`]: "DELETE",
      [`members["${formatBigMailbox(3)}"]`]: "DELETE",
      [`members["${formatBigMailbox(4)}"]`]: "ADD",
    });
    expect(up.printed).toContain("excludes the mailbox permanently");
    expect(up.printed).toContain(
      `${formatBigMailbox(2)}, ${formatBigMailbox(3)} are no longer VIPs, and stay excluded`,
    );
    expect(countMailboxes(tenant.writes()).sort()).toEqual([
      'PATCH /vip_employees 1 "Chair" 200',
      'POST /vip_employees 1 "Board" 200',
      "POST /vip_employees/remove 2 200",
    ]);
    expect(await readVips(tenant)).toEqual(changed);

    await list.destroy();
    expect(await readVips(tenant)).toEqual({});
    expect(countMailboxes(tenant.writes())).toEqual(["POST /vip_employees/remove 3 200"]);
  });

  it("makes no write when the tenant already has the same VIPs", async () => {
    await using setup = await startVipListTenant(300);
    const { tenant, list } = setup;
    await tenant.console("POST", "/vip_employees", { emails: Object.keys(buildMembers(300)), comment: "Board" });
    await list.up({
      members: Object.keys(buildMembers(300)).map((email) => ({ email: email.toUpperCase(), comment: "Board" })),
    });
    const trace = tenant.trace();
    expect(trace.filter((line) => !line.startsWith("GET"))).toEqual([]);
    expect(trace.length).toBeLessThanOrEqual(6 * 2);
    expect(list.properties?.["members"]).toEqual(buildMembers(300));
  });

  it("writes k changed members in ceil(k/1000) requests", async () => {
    await using setup = await startVipListTenant(1_100);
    const { tenant, list } = setup;
    await list.up({ members: buildMembers(1_100) });
    expect(countMailboxes(tenant.writes()).sort()).toEqual([
      'POST /vip_employees 100 "Board" 200',
      'POST /vip_employees 1000 "Board" 200',
    ]);
    await list.up({ members: { [formatBigMailbox(0)]: "Board" }, maxRemovalFraction: 1 });
    expect(countMailboxes(tenant.writes()).sort()).toEqual([
      "POST /vip_employees/remove 1000 200",
      "POST /vip_employees/remove 99 200",
    ]);
    expect(await readVips(tenant)).toEqual({ [formatBigMailbox(0)]: "Board" });
  });

  it("adds members with many comments without a read per addition", async () => {
    await using setup = await startVipListTenant(300);
    const { tenant, list } = setup;
    const members = Object.fromEntries(
      Object.keys(buildMembers(300)).map((email, index) => [email, `Reason ${index}`]),
    );
    expect((await list.up({ members })).outcome).toBe("created");
    const trace = tenant.trace();
    expect(trace.filter((line) => line.startsWith("POST"))).toHaveLength(300);
    // The read before the writes, and a few to verify their results; not one for each addition.
    expect(trace.filter((line) => line.startsWith("GET")).length).toBeLessThanOrEqual(1 + 4 * 2);
    expect(await readVips(tenant)).toEqual(members);
  });

  it('keeps undeclared VIPs with onDelete: "keep"', async () => {
    await using setup = await startVipListTenant(3);
    const { tenant, list } = setup;
    await list.up({ members: buildMembers(3), onDelete: "keep" });
    tenant.trace();
    const up = await list.up({ members: buildMembers(1), onDelete: "keep" });
    expect(up.printed).toContain(`2 VIPs stay (onDelete: "keep"): they are only removed from the stack's state.`);
    expect(tenant.writes()).toEqual([]);
    expect((await list.destroy()).printed).toContain(
      '1 VIP stays (onDelete: "keep"): it is only removed from the stack\'s state.',
    );
    expect(Object.keys(await readVips(tenant))).toHaveLength(3);
  });
});

describe("mailbox outside the organization", () => {
  it.each([
    [400, "results"],
    [200, "top"],
  ] as const)("costs one extra request per batch (%i, %s)", async (notInOrgStatus, notInOrgShape) => {
    await using setup = await startVipListTenant(1_500, { notInOrgStatus, notInOrgShape });
    const { tenant, list } = setup;
    const members = { ...buildMembers(1_500), "typo@big.example": "Board", "zz@other.example": "Board" };
    const up = await list.up({ members });
    expect(up.outcome).toBe("partial");
    expect(up.reasons).toHaveLength(3);
    expect(up.reasons[0]).toContain("2 of 1502 VIPs could not be applied");
    expect(up.reasons[1]).toMatch(
      /^typo@big.example: According to the service, typo@big.example isn't a mailbox of the organization/,
    );
    expect(up.reasons[2]).toMatch(
      /^zz@other.example: According to the service, zz@other.example isn't a mailbox of the organization/,
    );
    expect(tenant.writes()).toHaveLength(3);
    expect(list.properties?.["members"]).toEqual(buildMembers(1_500));
    expect(await readVips(tenant)).toEqual(buildMembers(1_500));
    const next = await list.up({ members: buildMembers(1_500) });
    expect(next.outcome).toBe("updated");
    expect(tenant.writes()).toEqual([]);
  });
});

describe("existing VIPs and exclusions", () => {
  it("are removed in exclusive mode once a refresh has shown them", async () => {
    await using setup = await startVipListTenant(10);
    const { tenant, list } = setup;
    await tenant.console("POST", "/vip_employees", { emails: [formatBigMailbox(7)], comment: "by hand" });
    await tenant.console("POST", "/vip_employees", { emails: [formatBigMailbox(8)], comment: "an assistant" });
    const args = { members: buildMembers(3), mode: "exclusive", ignore: [formatBigMailbox(8)] };
    expect((await list.up(args)).printed).toContain(
      `Not changed: 1 VIP that no preview has shown (${formatBigMailbox(7)})`,
    );
    await list.refresh();
    expect(list.inputs["members"]).toEqual({ ...buildMembers(3), [formatBigMailbox(7)]: "(unmanaged) by hand" });
    await list.up(args);
    expect(Object.keys(await readVips(tenant)).sort()).toEqual([
      formatBigMailbox(0),
      formatBigMailbox(1),
      formatBigMailbox(2),
      formatBigMailbox(8),
    ]);
  });

  it("accept a comment when auto-detected", async () => {
    await using tenant = await startSandboxTenant();
    const list = new ManagedResource(tenant, "vipList");
    const up = await list.up({ members: { "ruth.castellan@acme.example": "Chief executive" } });
    expect(up.outcome).toBe("created");
    expect((await readVips(tenant))["ruth.castellan@acme.example"]).toBe("Chief executive");
  });

  it("are reported per mailbox when an exclusion still applies", async () => {
    await using setup = await startVipListTenant(3, { addClearsExclusion: false });
    const { tenant, list } = setup;
    await tenant.console("POST", "/vip_employees/remove", { emails: [formatBigMailbox(1)] });
    const up = await list.up({ members: buildMembers(3) });
    expect(up.outcome).toBe("partial");
    expect(up.reasons[1]).toContain("the mailbox is still excluded");
    // The service reported it as added, so it must stay in state.
    expect(Object.keys(list.properties?.["members"] as object)).toEqual([
      formatBigMailbox(0),
      formatBigMailbox(1),
      formatBigMailbox(2),
    ]);
    await list.refresh();
    expect(Object.keys(list.properties?.["members"] as object)).toEqual([formatBigMailbox(0), formatBigMailbox(2)]);
  });

  it("are reported when their comment is replaced", async () => {
    await using setup = await startVipListTenant(3);
    const { tenant, list } = setup;
    await tenant.console("POST", "/vip_employees", { emails: [formatBigMailbox(1)], comment: "by hand" });
    const up = await list.up({ members: buildMembers(3) });
    expect(up.printed).toContain(
      `${formatBigMailbox(1)} was already a VIP; its comment now matches the declaration. Before: "by hand"`,
    );
  });
});

it("keeps an added VIP in state when its read-back fails", async () => {
  let isAdded = false;
  let isBroken = true;
  await using setup = await startVipListTenant(4, {
    intercept: ({ method }) =>
      isBroken && isAdded && method === "GET" ? { status: 403, body: { error: "no" } } : undefined,
    afterHandle({ method }) {
      if (method === "POST") isAdded = true;
      return undefined;
    },
  });
  const { tenant, list } = setup;
  const up = await list.up({ members: buildMembers(4) });
  expect(up.outcome).toBe("partial");
  expect(list.properties?.["members"]).toEqual(buildMembers(4));
  isBroken = false;
  expect((await list.up({ members: buildMembers(3), confirmRemovals: 1 })).outcome).toBe("updated");
  expect(await readVips(tenant)).toEqual(buildMembers(3));
});
