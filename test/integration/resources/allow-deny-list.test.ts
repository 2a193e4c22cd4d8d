import { describe, expect, it } from "vitest";
import { ManagedResource } from "../../support/managed-resource";
import { buildNumberedDenies, formatBadDomain } from "../../support/numbered-domains";
import type { ResourceProperties } from "../../support/provider-call";
import {
  expectReadings,
  type ManagedSandboxTenant,
  READ_BOTH_LISTS,
  startLaterRun,
  startSandboxTenant,
} from "../../support/sandbox-tenant";
import { startListTenant } from "./list-tenant";

/** Returns the contents of the tenant's two lists, as a colleague sees them in the console. */
async function readConsoleContents(tenant: ManagedSandboxTenant): Promise<Record<string, string>> {
  const all: Record<string, string> = {};
  for (const list of ["allow", "deny"]) {
    for (let page = 1; ; page += 1) {
      const { results } = await tenant.console("GET", `/allow_deny_entries?list=${list}&page_size=200&page=${page}`);
      const items = results["items"] as {
        value: string;
        list: string;
        comment: string;
        verdict_scope: string;
      }[];
      for (const { value, comment, verdict_scope } of items) {
        const key = verdict_scope === "global" ? value : `${value} (${verdict_scope})`;
        all[key] = comment === "" ? list : `${list}: ${comment}`;
      }
      if (items.length < 200) break;
    }
  }
  return all;
}

async function createConsoleEntry(
  tenant: ManagedSandboxTenant,
  list: string,
  value: string,
  comment = "",
): Promise<string> {
  const { results } = await tenant.console("POST", "/allow_deny_entries", {
    list,
    entry_type: "domain",
    value,
    comment,
  });
  return results["id"] as string;
}

async function findEntryId(tenant: ManagedSandboxTenant, value: string): Promise<string> {
  for (const list of ["allow", "deny"]) {
    const { results } = await tenant.console("GET", `/allow_deny_entries?list=${list}&q=${value}`);
    const [item] = results["items"] as { id: string }[];
    if (item !== undefined) return item.id;
  }
  throw new Error(`${value} is on no list`);
}

describe("lifecycle of a list", () => {
  it("takes exactly the expected requests", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    const content = { "evil.example": "deny: INC-7", "partner.example": "allow", "192.0.2.7": "deny" };
    expect((await list.up({ entries: content })).outcome).toBe("created");
    expect(list.id).toBe("allow-deny-list");
    expect(list.properties).toEqual({
      entries: content,
      tenant: new URL(tenant.sandbox.url).host,
      people: expect.any(String),
    });
    const trace = tenant.trace();
    expect(trace.slice(0, 2)).toEqual(READ_BOTH_LISTS);
    expect(trace.slice(2, 4).sort()).toEqual([
      'POST /allow_deny_entries {"list":"deny","entry_type":"domain","value":"evil.example","verdict_scope":"global","comment":"INC-7"} 201',
      'POST /allow_deny_entries {"list":"deny","entry_type":"ip","value":"192.0.2.7","verdict_scope":"global"} 201',
    ]);
    expect(trace.slice(4)).toEqual([
      'POST /allow_deny_entries {"list":"allow","entry_type":"domain","value":"partner.example","verdict_scope":"global"} 201',
    ]);

    expect((await list.up({ entries: content })).outcome).toBe("same");
    expect(tenant.trace()).toEqual([]);
    await list.refresh();
    expect(tenant.trace()).toEqual(READ_BOTH_LISTS);
    expect(list.inputs).toEqual({ entries: content });
    expect((await list.up({ entries: content })).outcome).toBe("same");
    expect(tenant.trace()).toEqual([]);

    const changed = {
      "evil.example": "deny: INC-8",
      "partner.example": "deny",
      "new.example (graymail)": "allow",
    };
    const up = await list.up({ entries: changed });
    expect(up.outcome).toBe("updated");
    expect(up.details).toEqual({
      'entries["evil.example"]': "UPDATE",
      'entries["partner.example"]': "UPDATE",
      'entries["new.example (graymail)"]': "ADD",
      'entries["192.0.2.7"]': "DELETE",
    });
    expect(await readConsoleContents(tenant)).toEqual(changed);
    expect(tenant.writes().map((line) => line.replace(/ade_\w+/, "ID"))).toEqual([
      expect.stringMatching(/^PATCH .*(INC-8|"list":"deny")/),
      expect.stringMatching(/^PATCH .*(INC-8|"list":"deny")/),
      expect.stringContaining('"value":"new.example","verdict_scope":"graymail"'),
      "DELETE /allow_deny_entries/ID 200",
    ]);

    expect((await list.destroy()).outcome).toBe("updated");
    expect(await readConsoleContents(tenant)).toEqual({});
  });

  it("makes no write when the tenant already holds the declared entries", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    for (let index = 0; index < 450; index += 1)
      await createConsoleEntry(tenant, "deny", formatBadDomain(index), "INC-1");
    tenant.trace();
    const up = await list.up({ entries: buildNumberedDenies(450) });
    expect(up.outcome).toBe("created");
    // The first read and at most five more, since the lists may still show rows that an earlier run removed.
    const trace = tenant.trace();
    expect(trace.filter((line) => !line.startsWith("GET"))).toEqual([]);
    expect(trace.length / (1 + 3)).toBeGreaterThan(1);
    expect(trace.length / (1 + 3)).toBeLessThanOrEqual(6);
    expect(list.properties?.["entries"]).toEqual(buildNumberedDenies(450));
  });

  it("has no change when the entries are written differently", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: { "evil.example": "deny: INC-7", "partner.example": "allow" } });
    tenant.trace();
    const written = [
      { list: "allow", value: "PARTNER.example." },
      { list: "deny", value: "Evil.Example", comment: "INC-7\r\n", entryType: "domain" },
    ];
    expect((await list.up({ entries: written })).outcome).toBe("same");
    expect(tenant.trace()).toEqual([]);
  });

  it("reads a list in ceil(N/200) requests", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: { ...buildNumberedDenies(401), "partner.example": "allow" } });
    tenant.trace();
    await list.refresh();
    expect(tenant.trace()).toHaveLength(1 + 3);
  });
});

describe("additive mode", () => {
  it("keeps undeclared entries at every step", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await createConsoleEntry(tenant, "deny", "clicked.example", "by hand");
    await list.up({ entries: { "evil.example": "deny" } });
    await createConsoleEntry(tenant, "allow", "later.example");
    await list.refresh();
    expect(list.inputs).toEqual({ entries: { "evil.example": "deny" } });
    await list.up({ entries: { "other.example": "deny" } });
    expect(Object.keys(await readConsoleContents(tenant)).sort()).toEqual([
      "clicked.example",
      "later.example",
      "other.example",
    ]);
    await list.destroy();
    expect(Object.keys(await readConsoleContents(tenant)).sort()).toEqual(["clicked.example", "later.example"]);
  });

  it("reverts console changes after a refresh", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    const content = { "evil.example": "deny: INC-7", "gone.example": "deny", "moved.example": "deny" };
    await list.up({ entries: content });
    await tenant.console("PATCH", `/allow_deny_entries/${await findEntryId(tenant, "evil.example")}`, {
      comment: "?",
    });
    await tenant.console("PATCH", `/allow_deny_entries/${await findEntryId(tenant, "moved.example")}`, {
      list: "allow",
    });
    await tenant.console("DELETE", `/allow_deny_entries/${await findEntryId(tenant, "gone.example")}`);
    tenant.trace();
    await list.refresh();
    // One entry is missing, so the lists are read again for 3 s.
    expectReadings(tenant.trace());
    expect(list.properties?.["entries"]).toEqual({ "evil.example": "deny: ?", "moved.example": "allow" });
    expect((await list.up({ entries: content })).outcome).toBe("updated");
    expect(await readConsoleContents(tenant)).toEqual(content);
  });
});

describe("exclusive mode", () => {
  const buildExclusiveArguments = (entries: unknown, more: object = {}) => ({ entries, mode: "exclusive", ...more });

  it("removes undeclared entries once a refresh has shown them", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await createConsoleEntry(tenant, "allow", "clicked.example", "by hand");
    const first = await list.up(buildExclusiveArguments({ "evil.example": "deny", "worse.example": "deny" }));
    expect(first.printed).toContain("Not changed: 1 entry that no preview has shown (allow clicked.example)");
    expect(Object.keys(await readConsoleContents(tenant))).toHaveLength(3);

    await list.refresh();
    const expectedEntries = {
      "clicked.example": "(unmanaged) allow: by hand",
      "evil.example": "deny",
      "worse.example": "deny",
    };
    expect(list.properties?.["entries"]).toEqual(expectedEntries);
    expect(list.inputs["entries"]).toEqual(expectedEntries);
    await list.refresh();
    expect(list.inputs["entries"]).toEqual(expectedEntries);
    const next = await list.up(buildExclusiveArguments({ "evil.example": "deny", "worse.example": "deny" }));
    expect(next.details).toEqual({ 'entries["clicked.example"]': "DELETE" });
    expect(await readConsoleContents(tenant)).toEqual({ "evil.example": "deny", "worse.example": "deny" });
    expect((await list.up(buildExclusiveArguments({ "evil.example": "deny", "worse.example": "deny" }))).outcome).toBe(
      "same",
    );
  });

  it("keeps entries added after the refresh", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up(buildExclusiveArguments({ "evil.example": "deny", "old.example": "deny" }));
    await list.refresh();
    await createConsoleEntry(tenant, "deny", "late.example");
    const up = await list.up(buildExclusiveArguments({ "evil.example": "deny", "new.example": "deny" }));
    expect(up.printed).toContain("Not changed: 1 entry that no preview has shown (deny late.example)");
    expect(Object.keys(await readConsoleContents(tenant)).sort()).toEqual([
      "evil.example",
      "late.example",
      "new.example",
    ]);
  });

  it("never touches entries that match `ignore`", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await createConsoleEntry(tenant, "allow", "x.corp.example");
    await createConsoleEntry(tenant, "deny", "y.corp.example");
    const args = buildExclusiveArguments({ "evil.example": "deny" }, { ignore: ["allow:*.corp.example"] });
    expect((await list.up(args)).printed).not.toContain("x.corp.example");
    await list.refresh();
    expect(list.inputs["entries"]).toEqual({ "evil.example": "deny", "y.corp.example": "(unmanaged) deny" });
    await list.up(args);
    expect(Object.keys(await readConsoleContents(tenant)).sort()).toEqual(["evil.example", "x.corp.example"]);
  });

  it("adopts a declared entry that a refresh has shown", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await createConsoleEntry(tenant, "allow", "clicked.example", "by hand");
    await list.up(buildExclusiveArguments({ "evil.example": "deny" }));
    await list.refresh();
    tenant.trace();
    const args = buildExclusiveArguments({ "evil.example": "deny", "clicked.example": "deny: INC-9" });
    expect((await list.up(args)).outcome).toBe("updated");
    expect(tenant.writes()).toEqual([expect.stringContaining('{"list":"deny","comment":"INC-9"} 200')]);
    expect(list.properties?.["entries"]).toEqual(args.entries);
  });

  it("keeps the entries it found when switched to additive", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    for (let index = 0; index < 15; index += 1) await createConsoleEntry(tenant, "deny", formatBadDomain(index));
    await list.up(buildExclusiveArguments({ "evil.example": "deny" }));
    await list.refresh();
    tenant.trace();
    expect((await list.up({ entries: { "evil.example": "deny" } })).outcome).toBe("updated");
    expect(tenant.writes()).toEqual([]);
    expect(list.properties).toMatchObject({ entries: { "evil.example": "deny" } });
  });

  it("keeps undeclared entries on destroy", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await createConsoleEntry(tenant, "deny", "clicked.example");
    await list.up(buildExclusiveArguments({ "evil.example": "deny" }));
    await list.refresh();
    expect((await list.destroy()).printed).toContain("Left unchanged: 1 entry that this list never declared.");
    expect(Object.keys(await readConsoleContents(tenant))).toEqual(["clicked.example"]);
  });

  it("handles values on both lists, duplicates and unknown types", async () => {
    const buildRow = (id: string, list: string, value: string, more: object = {}) => ({
      id,
      list,
      value,
      entry_type: "domain",
      verdict_scope: "global",
      comment: "",
      ...more,
    });
    let rows = [
      buildRow("1", "allow", "evil.example"),
      buildRow("2", "deny", "evil.example"),
      buildRow("3", "deny", "evil.example"),
      buildRow("4", "deny", "com"),
      buildRow("5", "deny", "x.example", { entry_type: "url", verdict_scope: "new scope" }),
      buildRow("6", "deny", "a (b), c"),
    ];
    await using listTenant = await startListTenant({
      intercept: ({ method, path, query }) => {
        if (method === "DELETE") {
          const id = path.split("/").at(-1);
          rows = rows.filter((row) => row.id !== id);
          return { status: 200, body: { status: 200, results: { deleted: true, id } } };
        }
        const items = rows.filter((row) => row.list === query["list"]);
        return {
          status: 200,
          body: { status: 200, results: { items, page: 1, page_size: 200, total: items.length } },
        };
      },
    });
    const { list } = listTenant;
    await list.up(buildExclusiveArguments({ "evil.example": "deny" }));
    await list.refresh();
    expect(list.inputs["entries"]).toEqual({
      "evil.example": "deny",
      "evil.example (also allow)": "(unmanaged) allow",
      "com (type domain)": "(unmanaged) deny",
      "x.example (new%20scope, type url)": "(unmanaged) deny",
      "a%20%28b%29%2C%20c (type domain)": "(unmanaged) deny",
    });
    const up = await list.up(buildExclusiveArguments({ "evil.example": "deny" }));
    expect(up).toMatchObject({ outcome: "updated" });
    expect(rows.map(({ id }) => id)).toEqual(["2", "3"]);
    await list.destroy();
    expect(rows).toEqual([]);
  });
});

describe("removal guard", () => {
  it("rejects a mass removal in preview, without any request", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: buildNumberedDenies(100) });
    tenant.trace();
    const up = await list.up({ entries: buildNumberedDenies(60) });
    expect(up.outcome).toBe("refused");
    expect(up.failures[""]).toContain("would lose 40 of 100 entries (40 %). One run may remove at most 30 %.");
    expect((await list.up({ entries: [] })).failures[""]).toContain("all of them");
    expect((await list.up({ entries: [], protect: ["bad-0007.example"] })).failures["protect"]).toContain(
      "no declared entry matches it",
    );
    expect(tenant.trace()).toEqual([]);
    expect((await list.up({ entries: buildNumberedDenies(60), confirmRemovals: 40 })).outcome).toBe("updated");
    expect(Object.keys(await readConsoleContents(tenant))).toHaveLength(60);
    expect((await list.up({ entries: buildNumberedDenies(20), confirmRemovals: 40 })).failures[""]).toContain(
      "only valid for one run",
    );
  });

  it("doesn't count changes of scope", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: buildNumberedDenies(20) });
    tenant.trace();
    const rescoped = Object.fromEntries(
      Object.entries(buildNumberedDenies(20)).map(([key, text]) => [`${key} (graymail)`, text]),
    );
    expect(await list.up({ entries: rescoped })).toMatchObject({ outcome: "updated" });
    expect(await readConsoleContents(tenant)).toEqual(rescoped);
    const writes = tenant.trace().filter((request) => !request.startsWith("GET"));
    expect(writes.map((request) => request.split(" ")[0])).toEqual(Array.from({ length: 20 }, () => "PATCH"));
  });

  it("counts undeclared entries that a refresh has shown", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: buildNumberedDenies(10), mode: "exclusive" });
    for (let index = 100; index < 140; index += 1) await createConsoleEntry(tenant, "deny", formatBadDomain(index));
    await list.refresh();
    const up = await list.up({ entries: buildNumberedDenies(10), mode: "exclusive" });
    expect(up.failures[""]).toContain("would lose 40 of 50 entries (80 %)");
  });

  it("rejects a used confirmation even after a refresh", async () => {
    await using listTenant = await startListTenant();
    const { list } = listTenant;
    await list.up({ entries: buildNumberedDenies(40) });
    await list.up({ entries: buildNumberedDenies(20), confirmRemovals: 20 });
    await list.refresh();
    expect((await list.up({ entries: [], confirmRemovals: 20 })).outcome).toBe("refused");
  });
});

describe("partial failure", () => {
  it("applies the other entries when one fails", async () => {
    let isBroken = true;
    await using listTenant = await startListTenant({
      intercept: ({ method, body }) => {
        if (!isBroken || method !== "POST") return undefined;
        const { value } = body as { value: string };
        if (value === formatBadDomain(3))
          return { status: 400, body: { error: "this value is on a blocked registry" } };
        if (value === formatBadDomain(5)) return { status: 500, body: { error: "boom" } };
        return undefined;
      },
    });
    const { tenant, list } = listTenant;
    await createConsoleEntry(tenant, "deny", formatBadDomain(8), "made by hand");
    await createConsoleEntry(tenant, "allow", formatBadDomain(9), "a partner");
    const up = await list.up({ entries: buildNumberedDenies(10) });
    expect(up.outcome).toBe("partial");
    expect(up.reasons[0]).toContain("4 of 10 entries could not be applied");
    expect(up.reasons).toHaveLength(5);
    expect(up.reasons.join("\n")).toMatch(/deny bad-0003.example: .*400.*this value is on a blocked registry/);
    expect(up.reasons.join("\n")).toMatch(/deny bad-0005.example: .*500.*boom/);
    expect(up.reasons.join("\n")).toMatch(/deny bad-0008.example: .*comment "made by hand"/s);
    expect(up.reasons.join("\n")).toMatch(/deny bad-0009.example: .*on the allow list/s);
    const applied = Object.fromEntries(
      Object.entries(buildNumberedDenies(8)).filter(
        ([key]) => key !== formatBadDomain(3) && key !== formatBadDomain(5),
      ),
    );
    expect(list.properties?.["entries"]).toEqual(applied);

    isBroken = false;
    tenant.trace();
    const next = await list.up({ entries: buildNumberedDenies(10), adopt: true });
    expect(next.outcome).toBe("updated");
    expect(
      tenant
        .writes()
        .map((line) => line.replace(/ade_\w+/, "ID"))
        .sort(),
    ).toEqual([
      'PATCH /allow_deny_entries/ID {"comment":"INC-1"} 200',
      'PATCH /allow_deny_entries/ID {"list":"deny","comment":"INC-1"} 200',
      expect.stringContaining(`"value":"${formatBadDomain(3)}"`),
      expect.stringContaining(`"value":"${formatBadDomain(5)}"`),
    ]);
    expect(await readConsoleContents(tenant)).toEqual(buildNumberedDenies(10));
    expect((await list.up({ entries: buildNumberedDenies(10), adopt: true })).outcome).toBe("same");
  });

  it("creates no resource when every entry fails", async () => {
    await using listTenant = await startListTenant({
      intercept: ({ method }) => (method === "POST" ? { status: 400, body: { error: "no" } } : undefined),
    });
    const up = await listTenant.list.up({ entries: buildNumberedDenies(3) });
    expect(up.outcome).toBe("failed");
    expect(up.failures[""]).toMatch(/3 of 3 entries .*bad-0000.example: .*bad-0001.example: .*bad-0002.example: /s);
  });

  it("keeps entries that couldn't be removed in state", async () => {
    await using listTenant = await startListTenant({
      intercept: ({ method }) => (method === "DELETE" ? { status: 500, body: { error: "no" } } : undefined),
    });
    const { list } = listTenant;
    await list.up({ entries: buildNumberedDenies(4) });
    const up = await list.up({ entries: buildNumberedDenies(2) });
    expect(up.outcome).toBe("partial");
    expect(list.properties?.["entries"]).toEqual(buildNumberedDenies(4));
    expect(list.inputs["entries"]).toEqual(buildNumberedDenies(4));
  });

  it("lists a failed deny before failed removals", async () => {
    let isBroken = false;
    await using listTenant = await startListTenant({
      intercept: ({ method }) => (isBroken && method !== "GET" ? { status: 400, body: { error: "no" } } : undefined),
    });
    const { list } = listTenant;
    await list.up({ entries: buildNumberedDenies(20) });
    isBroken = true;
    const up = await list.up({ entries: { ...buildNumberedDenies(10), "z-new.example": "deny" }, confirmRemovals: 10 });
    expect(up.reasons.join("\n")).toMatch(/11 alike \(deny z-new\.example, deny .* and 6 more\)/);
  });

  it("stops sending requests when the key is rejected", async () => {
    let isRefused = false;
    await using listTenant = await startListTenant({
      intercept: ({ method }) =>
        isRefused && method === "POST" ? { status: 401, body: { error: "revoked" } } : undefined,
    });
    const { tenant, list } = listTenant;
    await list.up({ entries: buildNumberedDenies(1) });
    isRefused = true;
    tenant.trace();
    const up = await list.up({ entries: buildNumberedDenies(1000) });
    expect(up.outcome).toBe("partial");
    // The number of failures, the errors they share, and the number of entries not attempted.
    expect(up.reasons).toHaveLength(3);
    expect(up.reasons.at(-1)).toMatch(
      /^9\d\d more \(deny bad-\d+.example, .* and 9\d\d more\): not attempted, because others failed: .*revoked/,
    );
    expect(tenant.writes().length).toBeLessThanOrEqual(64);
    expect(list.properties?.["entries"]).toEqual(buildNumberedDenies(1));
  });
});

describe("order of changes", () => {
  it("applies denies before allows", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: { "a.example": "allow", "b.evil.example": "deny", "c.example": "deny" } });
    tenant.trace();
    await list.up({ entries: { "evil.example": "deny", "a.example": "deny", "c.example": "allow" } });
    const writes = tenant.writes().map((line) => line.replace(/ade_\w+/, "ID"));
    expect(writes.slice(0, 2).sort()).toEqual([
      'PATCH /allow_deny_entries/ID {"list":"deny"} 200',
      expect.stringMatching(/^POST .*"value":"evil.example"/),
    ]);
    expect(writes.slice(2)).toEqual([
      'PATCH /allow_deny_entries/ID {"list":"allow"} 200',
      "DELETE /allow_deny_entries/ID 200",
    ]);
  });

  it("keeps a deny whose replacement failed", async () => {
    await using listTenant = await startListTenant({
      intercept: ({ method, body }) =>
        method === "POST" && (body as { value: string }).value === "evil.example"
          ? { status: 400, body: { error: "no" } }
          : undefined,
    });
    const { tenant, list } = listTenant;
    await list.up({
      entries: { "b.evil.example": "deny", "boss@evil.example": "deny", "other.example": "deny" },
    });
    const up = await list.up({ entries: { "evil.example": "deny" } });
    expect(up.reasons.join("\n")).toContain(
      "deny b.evil.example: is kept, because its replacement deny evil.example could not be added",
    );
    expect(Object.keys(await readConsoleContents(tenant)).sort()).toEqual(["b.evil.example", "boss@evil.example"]);
  });

  it("changes the scope of a value in place", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: { "news.example": "deny: x" } });
    tenant.trace();
    await list.up({ entries: { "news.example (graymail)": "deny: x" } });
    expect(tenant.writes().map((line) => line.replace(/ade_\w+/, "ID"))).toEqual([
      'PATCH /allow_deny_entries/ID {"verdict_scope":"graymail"} 200',
    ]);
  });

  it("keeps an entry that was moved in the meantime", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: { "a.example": "deny", "b.example": "deny" } });
    await tenant.console("PATCH", `/allow_deny_entries/${await findEntryId(tenant, "a.example")}`, {
      list: "allow",
    });
    const up = await list.up({ entries: { "b.example": "deny" } });
    expect(up.reasons.join("\n")).toMatch(
      /deny a.example: was moved in the meantime: it is now a.example on the allow list/,
    );
    expect(list.properties?.["entries"]).toEqual({ "a.example": "allow", "b.example": "deny" });
    expect((await list.up({ entries: { "b.example": "deny" } })).outcome).toBe("updated");
    expect(await readConsoleContents(tenant)).toEqual({ "b.example": "deny" });
  });
});

describe("single program", () => {
  it("rejects conflicts between lists and single entries", async () => {
    await using tenant = await startSandboxTenant();
    const checkListArguments = async (name: string, args: ResourceProperties) =>
      (await tenant.provider.getResource("allowDenyList", name).check(args)).failures;
    const checkEntry = async (name: string, args: ResourceProperties) =>
      (await tenant.provider.getResource("allowDenyEntry", name).check(args)).failures;
    expect(await checkListArguments("blocklist", { entries: { "evil.example": "deny", "x.example": "deny" } })).toEqual(
      {},
    );
    // The engine checks a replaced resource twice.
    expect(await checkListArguments("blocklist", { entries: { "evil.example": "deny", "x.example": "deny" } })).toEqual(
      {},
    );
    expect(await checkListArguments("second", { entries: { "EVIL.example": "deny" } })).toEqual({
      "": 'invalid arguments:\n  entries["evil.example"] "deny evil.example" is also declared at entries["evil.example"] of AllowDenyList "blocklist"; keep one of the two',
    });
    expect(await checkListArguments("third", { entries: { "evil.example": "allow" } })).toEqual({
      "": expect.stringContaining('is also declared at entries["evil.example"] of AllowDenyList "blocklist"'),
    });
    expect(await checkEntry("single", { list: "deny", value: "x.example" })).toEqual({
      value:
        '"deny x.example" is also declared at entries["x.example"] of AllowDenyList "blocklist"; keep one of the two',
    });
    expect(await checkEntry("free", { list: "deny", value: "free.example" })).toEqual({});
    expect(await checkListArguments("fourth", { entries: { "free.example": "deny" } })).toEqual({
      "": expect.stringContaining(
        '"deny free.example" is also declared at value of AllowDenyEntry "free"; keep one of the two',
      ),
    });
    expect(await checkListArguments("fifth", { entries: { "own.example": "deny" } })).toEqual({});
    expect(tenant.trace()).toEqual([]);
  });

  it("rejects entries next to an exclusive list, in either order", async () => {
    await using tenant = await startSandboxTenant();
    const list = tenant.provider.getResource("allowDenyList", "all");
    const getEntryResource = (name: string) => tenant.provider.getResource("allowDenyEntry", name);
    await getEntryResource("single").check({ list: "deny", value: "x.example" });
    const exclusive = { mode: "exclusive", entries: { "evil.example": "deny" } };
    expect((await list.check(exclusive)).failures).toEqual({
      mode: 'is "exclusive", so this list would remove deny x.example, which AllowDenyEntry "single" declares: declare it here, or add it to `ignore`',
    });
    expect((await list.check({ ...exclusive, ignore: ["x.example", "*.corp.example"] })).failures).toEqual({});
    expect((await getEntryResource("late").check({ list: "allow", value: "y.example" })).failures).toEqual({
      value:
        '"allow y.example" would be removed again by AllowDenyList "all", which is exclusive: declare it there, or add it to the `ignore` of that list',
    });
    expect((await getEntryResource("fine").check({ list: "allow", value: "y.corp.example" })).failures).toEqual({});
    const vip = tenant.provider.getResource("vipEmployee");
    expect((await vip.check({ email: "yuki.sato@acme.example" })).failures).toEqual({});
  });

  it("keeps an entry that moves from a list to its own resource", async () => {
    await using tenant = await startSandboxTenant();
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "evil.example": "deny: x", "b.example": "deny" } });
    tenant.trace();
    await using next = await startLaterRun(tenant);
    const entry = next.getResource("allowDenyEntry");
    const args = { list: "deny", value: "evil.example", comment: "x" };
    const { inputs } = await next.getResource("allowDenyList").check({ entries: { "b.example": "deny" } }, list.inputs);
    expect((await entry.check(args)).failures).toEqual({});
    await Promise.all([
      next.getResource("allowDenyList").update(list.id, list.properties ?? {}, inputs),
      entry.create(args),
    ]);
    expect(tenant.writes()).toEqual([]);
    expect(Object.keys(await readConsoleContents(tenant)).sort()).toEqual(["b.example", "evil.example"]);
  });

  it("creates an entry again while a list is removing it", async () => {
    let startRemoval: () => void = () => {};
    const underWay = new Promise<void>((resolve) => {
      startRemoval = resolve;
    });
    await using tenant = await startSandboxTenant({
      async intercept({ method }) {
        if (method !== "DELETE") return undefined;
        startRemoval();
        await new Promise((resolve) => setTimeout(resolve, 300));
        return undefined;
      },
    });
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "evil.example": "deny", "b.example": "deny" } });
    await using next = await startLaterRun(tenant);
    const lists = next.getResource("allowDenyList");
    const { inputs } = await lists.check({ entries: { "b.example": "deny" } }, list.inputs);
    const update = lists.update(list.id, list.properties ?? {}, inputs);
    await underWay;
    await next.getResource("allowDenyEntry").declare({ list: "deny", value: "evil.example" });
    await update;
    expect(Object.keys(await readConsoleContents(tenant)).sort()).toEqual(["b.example", "evil.example"]);
  });
});

describe("entries of others", () => {
  const createGraymailEntry = async (tenant: ManagedSandboxTenant, list: string, value: string, comment: string) =>
    await tenant.console("POST", "/allow_deny_entries", {
      list,
      entry_type: "domain",
      value,
      verdict_scope: "graymail",
      comment,
    });

  it("aren't adopted in another scope without `adopt: true`", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: { "x.example": "deny", "y.example": "deny" } });
    await tenant.console("DELETE", `/allow_deny_entries/${await findEntryId(tenant, "x.example")}`);
    await createGraymailEntry(tenant, "deny", "x.example", "colleague");
    expect((await list.up({ entries: { "x.example": "deny", "y.example": "deny: new" } })).outcome).toBe("updated");
    expect(await readConsoleContents(tenant)).toEqual({
      "x.example": "deny",
      "x.example (graymail)": "deny: colleague",
      "y.example": "deny: new",
    });
  });

  it("aren't moved when only the scope of ours changes", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: { "x.example": "deny", "y.example": "deny" } });
    await tenant.console("DELETE", `/allow_deny_entries/${await findEntryId(tenant, "x.example")}`);
    await createConsoleEntry(tenant, "allow", "x.example", "colleague");
    const up = await list.up({ entries: { "x.example (graymail)": "deny", "y.example": "deny" } });
    expect(up.outcome).toBe("partial");
    expect(await readConsoleContents(tenant)).toEqual({ "x.example": "allow: colleague", "y.example": "deny" });
  });

  it("are kept when recreated under a removed key, until previewed", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: { "x.example": "deny: ours", "y.example": "deny" } });
    await tenant.console("DELETE", `/allow_deny_entries/${await findEntryId(tenant, "x.example")}`);
    await createConsoleEntry(tenant, "deny", "x.example", "do not remove");
    const up = await list.up({ entries: { "y.example": "deny" } });
    expect(up.reasons.join("\n")).toMatch(/deny x.example: was changed in the meantime: .*do not remove/);
    expect(list.properties?.["entries"]).toEqual({ "x.example": "deny: do not remove", "y.example": "deny" });
    expect((await list.up({ entries: { "y.example": "deny" } })).outcome).toBe("updated");
    expect(await readConsoleContents(tenant)).toEqual({ "y.example": "deny" });
  });
});

describe("one value in two scopes", () => {
  const buildBothScopes = (text: string) => ({ "x.example": text, "x.example (graymail)": text });

  it("moves to the other list in one run", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: buildBothScopes("allow") });
    expect((await list.up({ entries: buildBothScopes("deny") })).outcome).toBe("updated");
    expect(await readConsoleContents(tenant)).toEqual(buildBothScopes("deny"));
    await list.up({ entries: { "x.example": "allow" } });
    expect(await readConsoleContents(tenant)).toEqual({ "x.example": "allow" });
    expect((await list.up({ entries: { "x.example": "allow" } })).outcome).toBe("same");
  });

  it("is restored in both scopes when one row is gone", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up({ entries: buildBothScopes("allow") });
    await tenant.console("DELETE", `/allow_deny_entries/${await findEntryId(tenant, "x.example")}`);
    await list.up({ entries: buildBothScopes("deny") });
    expect(await readConsoleContents(tenant)).toEqual(buildBothScopes("deny"));
  });

  it("can't be allowed in one scope and denied in the other", async () => {
    await using listTenant = await startListTenant();
    const up = await listTenant.list.up({ entries: { "x.example": "deny", "x.example (graymail)": "allow" } });
    expect(up.failures[""]).toContain("is on the allow list here and on the deny list at");
  });
});

it("keeps an entry that moves to a single entry of the other list", async () => {
  await using tenant = await startSandboxTenant();
  const list = new ManagedResource(tenant, "allowDenyList");
  await list.up({ entries: { "evil.example": "deny: x", "b.example": "deny" } });
  await using next = await startLaterRun(tenant);
  const lists = next.getResource("allowDenyList");
  const { inputs } = await lists.check({ entries: { "b.example": "deny" } }, list.inputs);
  const entry = next.getResource("allowDenyEntry");
  const args = { list: "allow", value: "evil.example", comment: "x", adopt: true };
  await entry.check(args);
  await Promise.allSettled([entry.create(args), lists.update(list.id, list.properties ?? {}, inputs)]);
  expect(await readConsoleContents(tenant)).toEqual({ "evil.example": "allow: x", "b.example": "deny" });
});

it("counts actual entries for the removal guard after a partial run", async () => {
  await using listTenant = await startListTenant({
    intercept: ({ method, body }) =>
      method === "POST" && (body as { value: string }).value === formatBadDomain(7)
        ? { status: 400, body: { error: "no" } }
        : undefined,
  });
  const { tenant, list } = listTenant;
  await list.up({ entries: [] });
  expect((await list.up({ entries: buildNumberedDenies(60) })).outcome).toBe("partial");
  tenant.trace();
  const emptied = await list.up({ entries: [] });
  expect(emptied.outcome).toBe("failed");
  expect(emptied.failures[""]).toContain("would lose 59 of 59 entries (100 %), all of them");
  expect(tenant.writes()).toEqual([]);
  expect((await list.up({ entries: [], confirmRemovals: 59 })).outcome).toBe("updated");
});
