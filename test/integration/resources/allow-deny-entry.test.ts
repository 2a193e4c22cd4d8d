import { describe, expect, it } from "vitest";
import { InitFailed } from "../../support/provider-call";
import { PROVIDER_KIND, ProviderProcess } from "../../support/provider-process";
import {
  expectReadings,
  READ_BOTH_LISTS,
  shareSandboxTenant,
  startLaterRun,
  startSandboxTenant,
} from "../../support/sandbox-tenant";

const PULUMI_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

const evil = { list: "deny", value: "evil.example", comment: "Phishing, INC-7" };

/** Returns the entry as the service would answer it, with the given fields overridden by unusual values. */
function buildAnswer(id: string, entry: Record<string, unknown>): { status: number; body: unknown } {
  const row = {
    id,
    list: "deny",
    entry_type: "domain",
    value: "evil.example",
    verdict_scope: "global",
    ...entry,
  };
  return { status: 201, body: { status: 201, results: row } };
}

describe("check", () => {
  const tenant = shareSandboxTenant();

  it("omits optional values and an empty comment from the inputs", async () => {
    const entry = tenant().provider.getResource("allowDenyEntry");
    for (const value of ["Evil.Example.", "192.0.2.7", "2001:DB8::1", "Boss@Evil.example"]) {
      const checked = await entry.check({ list: "deny", value, comment: "  " });
      expect(checked).toEqual({ inputs: { list: "deny", value }, failures: {} });
    }
    expect(tenant().trace()).toEqual([]);
  });

  it("reports every problem at once, each on its property", async () => {
    const entry = tenant().provider.getResource("allowDenyEntry");
    const { failures } = await entry.check({
      list: "block",
      value: "https://evil.example/login",
      entryType: "host",
      verdictScope: "",
      comment: 7,
      coment: "typo",
    });
    expect(Object.keys(failures).sort()).toEqual(["coment", "comment", "entryType", "list", "value", "verdictScope"]);
    expect(failures["value"]).toContain('write "evil.example"');
    const contradiction = await entry.check({ list: "deny", value: "192.0.2.7", entryType: "domain" });
    expect(Object.keys(contradiction.failures)).toEqual(["entryType"]);
  });

  it("accepts values unknown in a preview", async () => {
    const entry = tenant().provider.getResource("allowDenyEntry");
    const checked = await entry.check({ list: "deny", value: PULUMI_UNKNOWN, comment: PULUMI_UNKNOWN });
    expect(checked.failures).toEqual({});
    expect(checked.inputs).toEqual({
      list: "deny",
      value: PULUMI_UNKNOWN,
      comment: PULUMI_UNKNOWN,
    });
  });
});

describe("create", () => {
  describe("of an entry without a type", () => {
    const tenant = shareSandboxTenant();

    it.each([
      ["Evil.Example.", "domain"],
      ["192.0.2.7", "ip"],
      ["2001:DB8::1", "ip"],
      ["Boss@Evil.example", "email_address"],
    ])("infers the type of %s", async (value, entryType) => {
      const { id, properties } = await tenant().provider.getResource("allowDenyEntry").declare({ list: "deny", value });
      expect(properties).toMatchObject({ entryType, verdictScope: "global" });
      const stored = tenant().sandbox.allowDenyEntries("acme");
      expect(stored.find((row) => row.id === id)).toMatchObject({ entry_type: entryType });
    });
  });

  it("keeps the declared spelling of the value", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider
      .getResource("allowDenyEntry")
      .declare({ ...evil, value: "EVIL.Example." });
    const [row] = tenant.sandbox.allowDenyEntries("acme");
    expect(createdResource.id).toBe(row?.id);
    expect(createdResource.properties).toEqual({
      list: "deny",
      value: "EVIL.Example.",
      entryType: "domain",
      verdictScope: "global",
      comment: "Phishing, INC-7",
      createdAt: row?.created_at,
      createdBy: "Pulumi (ci)",
      tenant: new URL(tenant.sandbox.url).host,
      people: expect.any(String),
      ...(PROVIDER_KIND === "native" ? { entryId: row?.id } : {}),
    });
    expect(tenant.trace()).toEqual([
      ...READ_BOTH_LISTS,
      'POST /allow_deny_entries {"list":"deny","entry_type":"domain","value":"evil.example","verdict_scope":"global","comment":"Phishing, INC-7"} 201',
    ]);
  });

  it("adopts an identical entry without a write", async () => {
    await using tenant = await startSandboxTenant();
    const { results } = await tenant.console("POST", "/allow_deny_entries", {
      ...evil,
      entry_type: "domain",
    });
    const createdResource = await tenant.provider
      .getResource("allowDenyEntry")
      .declare({ ...evil, value: "Evil.Example" });
    expect(createdResource.id).toBe(results["id"]);
    expect(createdResource.properties["createdBy"]).toBe("Dana Reyes (console)");
    expectReadings(tenant.trace());
  });

  it.each([
    ["another comment", { comment: "mine" }],
    ["the other list", { list: "allow" }],
  ])("rejects an existing entry with %s", async (_name, differs) => {
    await using tenant = await startSandboxTenant();
    const entry = { ...evil, entry_type: "domain", ...differs };
    const { results } = await tenant.console("POST", "/allow_deny_entries", entry);
    const before = tenant.sandbox.allowDenyEntries("acme");
    const create = tenant.provider.getResource("allowDenyEntry").declare(evil);
    await expect(create).rejects.toThrow(
      new RegExp(`evil.example can't be created.*${String(results["id"])}.*Dana Reyes.*adopt: true.*console`, "s"),
    );
    expect(tenant.sandbox.allowDenyEntries("acme")).toEqual(before);
    expect(tenant.writes()).toEqual([]);
  });

  it("creates an entry despite one of another scope", async () => {
    await using tenant = await startSandboxTenant();
    const graymail = { ...evil, entry_type: "domain", verdict_scope: "graymail" };
    await tenant.console("POST", "/allow_deny_entries", graymail);
    const entry = tenant.provider.getResource("allowDenyEntry");
    const createdResource = await entry.declare(evil);
    expect(tenant.sandbox.allowDenyEntries("acme")).toHaveLength(2);
    await using later = await startLaterRun(tenant);
    await later.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties);
    expect(tenant.sandbox.allowDenyEntries("acme")).toMatchObject([{ verdict_scope: "graymail" }]);
  });

  it("names the conflicting entry when the service rejects a second scope", async () => {
    const existingRow = {
      id: "g1",
      list: "deny",
      entry_type: "domain",
      value: "evil.example",
      verdict_scope: "graymail",
    };
    await using tenant = await startSandboxTenant({
      intercept: (request) => {
        if (request.method === "POST") return { status: 409, body: { error: "exists" } };
        const items = request.query["list"] === "deny" ? [existingRow] : [];
        return {
          status: 200,
          body: { status: 200, results: { items, page: 1, page_size: 200, total: items.length } },
        };
      },
    });
    const create = tenant.provider.getResource("allowDenyEntry").declare(evil);
    await expect(create).rejects.toThrow(/a different verdict_scope.*id g1, scope "graymail".*adopt: true/s);
  });

  it("adopts a different entry in place with `adopt: true`", async () => {
    await using tenant = await startSandboxTenant();
    const { results } = await tenant.console("POST", "/allow_deny_entries", {
      list: "allow",
      entry_type: "domain",
      value: "evil.example",
      comment: "?",
    });
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare({ ...evil, adopt: true });
    expect(createdResource.id).toBe(results["id"]);
    expect(tenant.writes()).toEqual([
      `PATCH /allow_deny_entries/${createdResource.id} {"list":"deny","comment":"Phishing, INC-7"} 200`,
    ]);
    expect(tenant.sandbox.allowDenyEntries("acme")).toMatchObject([{ list: "deny", comment: "Phishing, INC-7" }]);
  });

  it("leaves an entry of another scope alone despite `adopt: true`", async () => {
    await using tenant = await startSandboxTenant();
    const entry = { list: "deny", entry_type: "domain", value: "evil.example", verdict_scope: "graymail" };
    await tenant.console("POST", "/allow_deny_entries", entry);
    const { id } = await tenant.provider.getResource("allowDenyEntry").declare({ ...evil, adopt: true });
    expect(tenant.sandbox.allowDenyEntries("acme")).toMatchObject([
      { id, verdict_scope: "global" },
      { verdict_scope: "graymail", comment: "" },
    ]);
  });

  it("adopts a conflicting entry of another scope on the other list", async () => {
    await using tenant = await startSandboxTenant();
    const entry = { list: "allow", entry_type: "domain", value: "evil.example", verdict_scope: "graymail" };
    const { results } = await tenant.console("POST", "/allow_deny_entries", entry);
    const { id } = await tenant.provider.getResource("allowDenyEntry").declare({ ...evil, adopt: true });
    expect(id).toBe(results["id"]);
    expect(tenant.sandbox.allowDenyEntries("acme")).toMatchObject([
      { id, list: "deny", verdict_scope: "global", comment: "Phishing, INC-7" },
    ]);
  });

  it("resolves a conflict with a concurrent writer by the list", async () => {
    let racing = true;
    await using tenant = await startSandboxTenant({
      intercept: async (request) => {
        if (request.method !== "POST" || !racing) return undefined;
        racing = false;
        await tenant.console("POST", "/allow_deny_entries", { ...evil, entry_type: "domain" });
        return undefined;
      },
    });
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare(evil);
    expect(createdResource.properties["createdBy"]).toBe("Dana Reyes (console)");
    expect(tenant.sandbox.allowDenyEntries("acme")).toHaveLength(1);
  });

  it("posts an entry only once when the response is lost", async () => {
    await using tenant = await startSandboxTenant({
      afterHandle: (request) => (request.method === "POST" ? { status: 500, body: { error: "lost" } } : undefined),
    });
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare(evil);
    expect(createdResource.id).toBe(tenant.sandbox.allowDenyEntries("acme")[0]?.id);
    expect(tenant.writes()).toHaveLength(1);
  });

  it("reports the service's message when it rejects an entry", async () => {
    await using tenant = await startSandboxTenant({
      intercept: (request) =>
        request.method === "POST" ? { status: 400, body: { error: "value is on the global block list" } } : undefined,
    });
    const create = tenant.provider.getResource("allowDenyEntry").declare(evil);
    await expect(create).rejects.toThrow("value is on the global block list");
    expect(tenant.sandbox.allowDenyEntries("acme")).toEqual([]);
  });

  it("corrects a scope or comment that the service changed", async () => {
    await using tenant = await startSandboxTenant({
      intercept: (request) => {
        const body = request.body as Record<string, unknown>;
        if (request.method === "POST") delete body["comment"];
        return undefined;
      },
      afterHandle: (request, response) => {
        if (request.method !== "POST") return undefined;
        const results = (response.body as { results: Record<string, unknown> }).results;
        return {
          ...response,
          body: { status: 201, results: { ...results, comment: "", verdict_scope: "graymail" } },
        };
      },
    });
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare(evil);
    expect(createdResource.properties).toMatchObject({ comment: "Phishing, INC-7", verdictScope: "global" });
    expect(tenant.writes().slice(1)).toEqual([
      `PATCH /allow_deny_entries/${createdResource.id} {"verdict_scope":"global","comment":"Phishing, INC-7"} 200`,
    ]);
  });

  it("deletes at once an entry that landed on the wrong list", async () => {
    await using tenant = await startSandboxTenant({
      intercept: (request) => {
        if (request.method === "POST") (request.body as Record<string, unknown>)["list"] = "allow";
        return undefined;
      },
    });
    const create = tenant.provider.getResource("allowDenyEntry").declare(evil);
    await expect(create).rejects.toThrow(/deny list and returned .*allow list.*removed immediately/s);
    expect(tenant.sandbox.allowDenyEntries("acme")).toEqual([]);
    expect(tenant.writes().map((line) => line.split(" ")[0])).toEqual(["POST", "DELETE"]);
  });

  it("keeps in state an entry on the wrong list that couldn't be deleted", async () => {
    let broken = true;
    await using tenant = await startSandboxTenant({
      intercept: (request) => {
        if (!broken) return undefined;
        if (request.method === "POST") (request.body as Record<string, unknown>)["list"] = "allow";
        return request.method === "DELETE" ? { status: 500, body: { error: "down" } } : undefined;
      },
    });
    const entry = tenant.provider.getResource("allowDenyEntry");
    const failure = await entry.declare(evil).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InitFailed);
    const half = failure as InitFailed;
    expect(half.message).toContain("could NOT be removed");
    expect(half.properties).toMatchObject({ list: "allow" });
    broken = false;
    const correction = await entry.change(half, evil);
    expect(correction.changed).toBe(true);
    expect(tenant.sandbox.allowDenyEntries("acme")).toMatchObject([{ list: "deny", value: "evil.example" }]);
  });

  it("keeps an existing entry that is returned for the new one", async () => {
    await using tenant = await startSandboxTenant({
      intercept: (request) =>
        request.method === "POST" && (request.body as { value: string }).value === "evil.example"
          ? buildAnswer("other-1", { list: "allow", value: "other.example", id: existingId })
          : undefined,
    });
    const { results } = await tenant.console("POST", "/allow_deny_entries", {
      list: "allow",
      entry_type: "domain",
      value: "other.example",
    });
    const existingId = results["id"];
    await expect(tenant.provider.getResource("allowDenyEntry").declare(evil)).rejects.toThrow("which existed before");
    expect(tenant.sandbox.allowDenyEntries("acme")).toHaveLength(1);
    expect(tenant.writes().filter((line) => line.startsWith("DELETE"))).toEqual([]);
  });

  it("reads the lists once for many concurrent creates", async () => {
    await using tenant = await startSandboxTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    const values = Array.from({ length: 30 }, (_, index) => `bad-${index}.example`);
    await Promise.all(values.map(async (value) => await entry.declare({ list: "deny", value })));
    const trace = tenant.trace();
    expect(trace.filter((line) => line.startsWith("GET"))).toEqual(READ_BOTH_LISTS);
    expect(trace.filter((line) => line.startsWith("POST"))).toHaveLength(30);
  });
});

describe("diff", () => {
  const tenant = shareSandboxTenant();
  const state = {
    list: "deny",
    value: "Bücher.Example.",
    entryType: "domain",
    verdictScope: "global",
    comment: "one\ntwo",
    entryId: "e1",
  };
  const inputs = {
    list: "deny",
    value: "Bücher.Example.",
    entryType: "domain",
    verdictScope: "global",
    comment: "one\ntwo",
  };

  it.each([
    ["nothing", {}, false, []],
    ["case, IDN form and trailing dot", { value: "xn--bcher-kva.EXAMPLE" }, false, []],
    ["line ends and white space of the comment", { comment: "one\r\ntwo " }, false, []],
    ["adopt", { adopt: true }, false, []],
    ["the comment", { comment: "three" }, true, []],
    ["the list", { list: "allow" }, true, []],
    ["the scope", { verdictScope: "graymail" }, true, []],
    ["the value", { value: "other.example" }, true, ["value"]],
    ["value and type", { value: "192.0.2.1", entryType: "ip" }, true, ["value", "entryType"]],
    ["a comment not known yet", { comment: PULUMI_UNKNOWN }, true, []],
    ["a value not known yet", { value: PULUMI_UNKNOWN }, true, ["value"]],
  ])("reports whether a change of %s updates or replaces", async (_name, change, changes, replaces) => {
    const diff = await tenant()
      .provider.getResource("allowDenyEntry")
      .diff("e1", state, { ...inputs, ...change });
    expect(diff).toEqual({ changes, replaces });
    expect(tenant().trace()).toEqual([]);
  });
});

describe("update", () => {
  it.each([
    ["comment", { comment: "Confirmed" }, '{"comment":"Confirmed"}'],
    ["no comment", { comment: undefined }, '{"comment":""}'],
    ["scope", { verdictScope: "graymail" }, '{"verdict_scope":"graymail"}'],
    ["list, in place", { list: "allow" }, '{"list":"allow"}'],
    ["two at once", { list: "allow", comment: "OK now" }, '{"list":"allow","comment":"OK now"}'],
  ])("patches only what changed: %s", async (_name, change, body) => {
    await using tenant = await startSandboxTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    const createdResource = await entry.declare(evil);
    tenant.trace();
    const inputs = JSON.parse(JSON.stringify({ ...evil, ...change }));
    const changed = await entry.change(createdResource, inputs);
    expect(changed.changed).toBe(true);
    // Before it writes, the provider checks that the id still names that entry.
    const trace = tenant.trace();
    expect([...trace.slice(0, 2).sort(), ...trace.slice(2)]).toEqual([
      ...READ_BOTH_LISTS,
      `PATCH /allow_deny_entries/${createdResource.id} ${body} 200`,
    ]);
    expect(tenant.sandbox.allowDenyEntries("acme")).toHaveLength(1);
    const again = await entry.change(changed, inputs);
    expect(again.changed).toBe(false);
    expect(tenant.trace()).toEqual([]);
  });

  it("creates a missing entry again", async () => {
    await using tenant = await startSandboxTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    const createdResource = await entry.declare(evil);
    await tenant.console("DELETE", `/allow_deny_entries/${createdResource.id}`);
    const changed = await entry.change(createdResource, { ...evil, comment: "Again" });
    const [row] = tenant.sandbox.allowDenyEntries("acme");
    expect(row).toMatchObject({ value: "evil.example", comment: "Again" });
    expect(changed.properties["entryId"]).toBe(row?.id);
    await using later = await startLaterRun(tenant);
    await later.getResource("allowDenyEntry").delete(changed.id, changed.properties);
    expect(tenant.sandbox.allowDenyEntries("acme")).toEqual([]);
  });

  it("finds an entry that was recreated in the console", async () => {
    await using tenant = await startSandboxTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    const createdResource = await entry.declare(evil);
    await tenant.console("DELETE", `/allow_deny_entries/${createdResource.id}`);
    const { results } = await tenant.console("POST", "/allow_deny_entries", {
      list: "deny",
      entry_type: "domain",
      value: "evil.example",
    });
    const changed = await entry.change(createdResource, { ...evil, comment: "Again" });
    expect(changed.properties["entryId"]).toBe(results["id"]);
    expect(tenant.sandbox.allowDenyEntries("acme")).toMatchObject([{ comment: "Again" }]);
  });

  it("fails when the service reports a success that didn't happen", async () => {
    await using tenant = await startSandboxTenant({
      intercept: (request) => {
        if (request.method === "PATCH") (request.body as Record<string, unknown>)["list"] = "deny";
        return undefined;
      },
    });
    const entry = tenant.provider.getResource("allowDenyEntry");
    const createdResource = await entry.declare(evil);
    await expect(entry.change(createdResource, { ...evil, list: "allow" })).rejects.toThrow(
      /its list doesn't match the request.*deny list/s,
    );
  });
});

describe("read", () => {
  it("returns console changes as inputs too", async () => {
    await using tenant = await startSandboxTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    const createdResource = await entry.declare(evil);
    await tenant.console("PATCH", `/allow_deny_entries/${createdResource.id}`, {
      list: "allow",
      comment: "it's fine",
      verdict_scope: "graymail",
    });
    const drifted = { list: "allow", comment: "it's fine", verdictScope: "graymail" };
    await using later = await startLaterRun(tenant);
    const read = await later.getResource("allowDenyEntry").read(createdResource.id, createdResource.properties);
    expect(read?.properties).toMatchObject(drifted);
    expect(read?.inputs).toEqual({ ...drifted, value: "evil.example" });
    const correction = await later
      .getResource("allowDenyEntry")
      .change({ id: createdResource.id, properties: read?.properties ?? {} }, evil);
    expect(correction.changed).toBe(true);
    expect(tenant.sandbox.allowDenyEntries("acme")).toMatchObject([
      { list: "deny", comment: "Phishing, INC-7", verdict_scope: "global" },
    ]);
  });

  it("finds an entry recreated in the console by its value", async () => {
    await using tenant = await startSandboxTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    const createdResource = await entry.declare({ ...evil, value: "EVIL.example" });
    await tenant.console("DELETE", `/allow_deny_entries/${createdResource.id}`);
    const { results } = await tenant.console("POST", "/allow_deny_entries", {
      list: "deny",
      entry_type: "domain",
      value: "evil.example",
    });
    await using later = await startLaterRun(tenant);
    const read = await later.getResource("allowDenyEntry").read(createdResource.id, createdResource.properties);
    expect(read).toMatchObject({
      id: results["id"],
      properties: { entryId: results["id"], value: "EVIL.example" },
    });
  });

  it("returns nothing for a deleted entry", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare(evil);
    await tenant.console("DELETE", `/allow_deny_entries/${createdResource.id}`);
    await using later = await startLaterRun(tenant);
    tenant.trace();
    expect(
      await later.getResource("allowDenyEntry").read(createdResource.id, createdResource.properties),
    ).toBeUndefined();
    // The list may lag behind the run that created the entry, so it is read again for 3 s.
    expectReadings(tenant.trace());
  });

  it("keeps an unknown scope", async () => {
    await using tenant = await startSandboxTenant({
      afterHandle: (request, response) => {
        const body = response.body as { results: { items?: Record<string, unknown>[] } };
        for (const item of body.results.items ?? []) item["verdict_scope"] = "impersonation";
        return request.method === "GET" ? response : undefined;
      },
    });
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare(evil);
    await using later = await startLaterRun(tenant);
    const read = await later.getResource("allowDenyEntry").read(createdResource.id, createdResource.properties);
    expect(read?.inputs["verdictScope"]).toBe("impersonation");
  });

  it("fails for a failing service instead of assuming an empty list", async () => {
    let down = false;
    await using tenant = await startSandboxTenant({
      intercept: () => (down ? { status: 503, body: { error: "maintenance" } } : undefined),
    });
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare(evil);
    down = true;
    await using later = await startLaterRun(tenant);
    await expect(
      later.getResource("allowDenyEntry").read(createdResource.id, createdResource.properties),
    ).rejects.toThrow("maintenance");
  });
});

describe("delete", () => {
  it("removes the entry", async () => {
    await using tenant = await startSandboxTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    const createdResource = await entry.declare(evil);
    await using later = await startLaterRun(tenant);
    tenant.trace();
    await later.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties);
    expect(tenant.trace()).toEqual([...READ_BOTH_LISTS, `DELETE /allow_deny_entries/${createdResource.id} 200`]);
    await later.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties);
    expect(tenant.sandbox.allowDenyEntries("acme")).toEqual([]);
  });

  it("keeps an entry that was moved to the other list", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare({ ...evil, list: "allow" });
    await tenant.console("PATCH", `/allow_deny_entries/${createdResource.id}`, { list: "deny" });
    await using later = await startLaterRun(tenant);
    const deletion = later.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties);
    await expect(deletion).rejects.toThrow(/was moved in the meantime.*nothing was deleted.*Refresh, then run again/s);
    expect(tenant.sandbox.allowDenyEntries("acme")).toHaveLength(1);
  });

  it("keeps an entry that was recreated in the console", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare(evil);
    await tenant.console("DELETE", `/allow_deny_entries/${createdResource.id}`);
    await tenant.console("POST", "/allow_deny_entries", {
      list: "deny",
      entry_type: "domain",
      value: "evil.example",
    });
    await using later = await startLaterRun(tenant);
    await later.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties);
    expect(tenant.sandbox.allowDenyEntries("acme")).toHaveLength(1);
    expect((await later.readPrintedLines()).join("\n")).toContain("was created in its place and is kept");
  });

  it("keeps an entry that the program declares under another name", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare(evil);
    await using later = await startLaterRun(tenant);
    tenant.trace();
    const renamed = await later.getResource("allowDenyEntry").declare({ ...evil, value: "Evil.example" });
    await later.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties);
    expect(renamed.id).toBe(createdResource.id);
    expect(tenant.writes()).toEqual([]);
    expect(tenant.sandbox.allowDenyEntries("acme")).toHaveLength(1);
  });
});

describe("entries of others", () => {
  const graymail = { ...evil, verdictScope: "graymail" };

  it("aren't confused with a deleted entry of another scope", async () => {
    await using tenant = await startSandboxTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    await entry.declare(evil);
    const createdResource = await entry.declare(graymail);
    await tenant.console("DELETE", `/allow_deny_entries/${createdResource.id}`);
    await using later = await startLaterRun(tenant);
    expect(
      await later.getResource("allowDenyEntry").read(createdResource.id, createdResource.properties),
    ).toBeUndefined();
    await later.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties);
    expect(tenant.sandbox.allowDenyEntries("acme")).toMatchObject([{ verdict_scope: "global" }]);
  });

  it("stay unchanged when our missing entry is created again", async () => {
    await using tenant = await startSandboxTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    const createdResource = await entry.declare(graymail);
    const theirs = { ...evil, entry_type: "domain", comment: "theirs" };
    await tenant.console("POST", "/allow_deny_entries", theirs);
    await tenant.console("DELETE", `/allow_deny_entries/${createdResource.id}`);
    await entry.change(createdResource, { ...graymail, comment: "ours" });
    const rows = tenant.sandbox.allowDenyEntries("acme").map((row) => [row.verdict_scope, row.comment, row.created_by]);
    expect(rows.sort()).toEqual([
      ["global", "theirs", "Dana Reyes (console)"],
      ["graymail", "ours", "Pulumi (ci)"],
    ]);
  });

  it("are kept by a rename on a service that omits scopes", async () => {
    await using tenant = await startSandboxTenant({
      afterHandle: (_request, response) => {
        const body = response.body as {
          results: { items?: Record<string, unknown>[] } & Record<string, unknown>;
        };
        for (const row of body.results.items ?? [body.results]) delete row["verdict_scope"];
        return response;
      },
    });
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare(graymail);
    await using later = await startLaterRun(tenant);
    const renamed = await later.getResource("allowDenyEntry").declare(graymail);
    expect(renamed.id).toBe(createdResource.id);
    await later.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties);
    expect(tenant.sandbox.allowDenyEntries("acme")).toHaveLength(1);
  });

  it("are kept when one is returned for our create", async () => {
    await using tenant = await startSandboxTenant({
      intercept: async (request) => {
        if (request.method !== "POST" || (request.body as { list: string }).list !== "deny") return undefined;
        const theirs = { list: "allow", entry_type: "domain", value: "evil.example", comment: "theirs" };
        const { results } = await tenant.console("POST", "/allow_deny_entries", theirs);
        return { status: 200, body: { status: 200, results } };
      },
    });
    const create = tenant.provider.getResource("allowDenyEntry").declare(evil);
    await expect(create).rejects.toThrow("doesn't match the request, so it was not changed");
    expect(tenant.sandbox.allowDenyEntries("acme")).toMatchObject([{ list: "allow", comment: "theirs" }]);
  });

  it("aren't reported deleted when the key is another tenant's", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare(evil);
    await using other = await ProviderProcess.start({
      environment: {
        EMAIL_SECURITY_BASE_URL: tenant.sandbox.url,
        EMAIL_SECURITY_API_KEY: "sandbox-globex-ci",
      },
    });
    await expect(
      other.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties),
    ).rejects.toThrow(/people have mailboxes of "globex\.example".*\[ERR_OTHER_TENANT\]/);
    expect(tenant.sandbox.allowDenyEntries("acme")).toHaveLength(1);
  });

  it("require a replacement when the resource moves to another tenant", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare(evil);
    await using other = await ProviderProcess.start({
      instance: "globex",
      config: {
        "email-security:baseUrl": tenant.sandbox.url,
        "email-security:apiKey": "sandbox-globex-ci",
      },
    });
    const diff = await other
      .getResource("allowDenyEntry")
      .diff(createdResource.id, createdResource.properties, createdResource.inputs);
    expect(diff).toEqual({ changes: true, replaces: ["tenant"] });
  });
});

describe("single program", () => {
  it("can't declare a value twice with different lists", async () => {
    await using tenant = await startSandboxTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    expect((await entry.check(evil)).failures).toEqual({});
    // The engine checks a replaced resource twice; the same declaration twice is not a conflict.
    expect((await entry.check({ ...evil, value: "EVIL.example." })).failures).toEqual({});
    const { failures } = await entry.check({ ...evil, list: "allow" });
    expect(failures["value"]).toMatch(/declared twice in this program, once as deny evil.example .* and once as allow/);
    expect((await entry.check({ ...evil, verdictScope: "graymail" })).failures).toEqual({});
  });

  it("reverts console drift together with its own change", async () => {
    await using tenant = await startSandboxTenant();
    const entry = tenant.provider.getResource("allowDenyEntry");
    const createdResource = await entry.declare(evil);
    await tenant.console("PATCH", `/allow_deny_entries/${createdResource.id}`, { list: "allow" });
    await using later = await startLaterRun(tenant);
    tenant.trace();
    await later.getResource("allowDenyEntry").change(createdResource, { ...evil, comment: "INC-8" });
    const trace = tenant.trace();
    expect([...trace.slice(0, 2).sort(), ...trace.slice(2)]).toEqual([
      ...READ_BOTH_LISTS,
      `PATCH /allow_deny_entries/${createdResource.id} {"list":"deny","comment":"INC-8"} 200`,
    ]);
    expect(tenant.sandbox.allowDenyEntries("acme")).toMatchObject([{ list: "deny", comment: "INC-8" }]);
  });
});

describe("configuration", () => {
  it("prefers the environment to the stack configuration", async () => {
    await using tenant = await startSandboxTenant();

    await using fromConfig = await ProviderProcess.start({
      config: { "email-security:baseUrl": tenant.sandbox.url, "email-security:apiKey": "sandbox-globex-ci" },
    });
    await fromConfig.getResource("allowDenyEntry").declare(evil);
    expect(tenant.sandbox.allowDenyEntries("globex")).toHaveLength(1);
    await using both = await ProviderProcess.start({
      config: {
        "email-security:baseUrl": "https://nowhere.invalid",
        "email-security:apiKey": "sandbox-globex-ci",
      },
      environment: { EMAIL_SECURITY_BASE_URL: tenant.sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    });
    await both.getResource("allowDenyEntry").declare(evil);
    expect(tenant.sandbox.allowDenyEntries("acme")).toHaveLength(1);
  });

  it("names the missing setting and where to set it", async () => {
    await using bare = await ProviderProcess.start();
    const create = bare.getResource("allowDenyEntry").declare(evil);
    await expect(create).rejects.toThrow(/EMAIL_SECURITY_BASE_URL.*pulumi config set email-security:baseUrl/);
  });

  it("serves concurrent first calls of two resource types", async () => {
    await using tenant = await startSandboxTenant({ scenario: "acme" });

    await using fromConfig = await ProviderProcess.start({
      config: { "email-security:baseUrl": tenant.sandbox.url, "email-security:apiKey": "sandbox-acme-ci" },
    });
    const entry = fromConfig.getResource("allowDenyEntry");
    const vip = fromConfig.getResource("vipEmployee");
    const resources = await Promise.all([
      entry.create({ ...evil, entryType: "domain", verdictScope: "global" }),
      entry.create({ ...evil, value: "worse.example", entryType: "domain", verdictScope: "global" }),
      vip.create({ email: "yuki.sato@acme.example", comment: "Runs payroll weekly" }),
    ]);
    expect(resources).toHaveLength(3);
  });
});
