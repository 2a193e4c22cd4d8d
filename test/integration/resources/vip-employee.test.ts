import { describe, expect, it } from "vitest";
import { InitFailed } from "../../support/provider-call";
import { ProviderProcess } from "../../support/provider-process";
import { READ_VIPS, shareSandboxTenant, startLaterRun, startSandboxTenant } from "../../support/sandbox-tenant";

const cfo = { email: "Yuki.Sato@acme.example", comment: "Signs payments" };
const mailbox = "yuki.sato@acme.example";
const detected = "ruth.castellan@acme.example";

describe("check and diff", () => {
  const tenant = shareSandboxTenant();

  it("reports every problem of its arguments", async () => {
    const vip = tenant().provider.getResource("vipEmployee");
    const { failures } = await vip.check({
      email: "Ruth <ruth@acme.example>",
      comment: 7,
      onDelete: "forget",
      name: "x",
    });
    expect(Object.keys(failures).sort()).toEqual(["comment", "email", "name", "onDelete"]);
    expect(failures["email"]).toContain('write "ruth@acme.example"');
    expect((await vip.check({ email: "acme.example" })).failures["email"]).toContain("no @");
    expect((await vip.check(cfo)).failures).toEqual({});
    expect(tenant().trace()).toEqual([]);
  });

  it.each([
    ["nothing", {}, false, []],
    ["case of the mailbox", { email: "YUKI.SATO@ACME.example" }, false, []],
    ["the comment", { comment: "Other" }, true, []],
    ["what deleting does", { onDelete: "keep" }, true, []],
    ["the mailbox", { email: "olivia.park@acme.example" }, true, ["email"]],
  ])("reports whether a change of %s updates or replaces", async (_name, change, changes, replaces) => {
    const state = { email: "yuki.sato@acme.example", comment: "Signs payments", source: "manual" };
    const vip = tenant().provider.getResource("vipEmployee");
    expect(await vip.diff(mailbox, state, { ...cfo, ...change })).toEqual({ changes, replaces });
  });
});

describe("single program", () => {
  it("can't declare a mailbox twice with different comments", async () => {
    await using tenant = await startSandboxTenant();
    const vip = tenant.provider.getResource("vipEmployee");
    expect((await vip.check(cfo)).failures).toEqual({});
    const { failures } = await vip.check({ email: mailbox, comment: "B" });
    expect(failures["email"]).toMatch(/declared twice.*"Signs payments".*with comment "B"/);
  });

  it("is warned in preview that a replacement excludes the old mailbox", async () => {
    await using tenant = await startSandboxTenant();
    const vip = tenant.provider.getResource("vipEmployee");
    // A refresh diffs before any check. It removes nothing, so it prints no warning.
    await vip.diff(mailbox, { email: mailbox }, { email: "lena.hartmann@acme.example" });
    await vip.check({ email: "olivia.park@acme.example" });
    expect((await tenant.provider.readPrintedLines()).join("\n")).not.toContain("excludes");
    await vip.diff(mailbox, { email: mailbox }, { email: "olivia.park@acme.example" });
    expect((await tenant.provider.readPrintedLines()).join("\n")).toContain("excludes that mailbox permanently");
    await vip.diff(mailbox, { email: mailbox, onDelete: "keep" }, { email: "jonas.weber@acme.example" });
    expect((await tenant.provider.readPrintedLines()).join("\n")).not.toContain("jonas.weber");
  });

  it("isn't warned of an exclusion of a mailbox that another resource declares", async () => {
    await using tenant = await startSandboxTenant();
    const vip = tenant.provider.getResource("vipEmployee");
    await vip.check({ email: "olivia.park@acme.example" });
    await tenant.provider.getResource("vipEmployee", "second").check({ email: mailbox });
    await vip.diff(mailbox, { email: mailbox }, { email: "olivia.park@acme.example" });
    const { inputs } = await tenant.provider.getResource("vipList").check({ members: ["jonas.weber@acme.example"] });
    const state = { members: { [mailbox]: "", "jonas.weber@acme.example": "" } };
    await tenant.provider.getResource("vipList").diff("vip-list", state, inputs);
    expect(await tenant.provider.readPrintedLines()).toEqual([]);
  });
});

describe("create", () => {
  it("adds the mailbox", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("vipEmployee").declare(cfo);
    expect(createdResource.id).toBe(mailbox);
    expect(createdResource.properties).toEqual({
      email: "Yuki.Sato@acme.example",
      comment: "Signs payments",
      source: "manual",
      addedBy: "Pulumi (ci)",
      dateAdded: expect.any(String),
      fullName: "Yuki Sato",
      jobTitle: "Payroll Specialist",
      department: expect.any(String),
      tenant: new URL(tenant.sandbox.url).host,
      people: expect.any(String),
    });
    expect(tenant.trace()).toEqual([
      ...READ_VIPS,
      'POST /vip_employees {"emails":["yuki.sato@acme.example"],"comment":"Signs payments"} 200',
      ...READ_VIPS,
    ]);
  });

  it("makes no write for a VIP that already matches", async () => {
    await using tenant = await startSandboxTenant();
    await tenant.console("POST", "/vip_employees", { emails: [mailbox], comment: "Signs payments" });
    const createdResource = await tenant.provider.getResource("vipEmployee").declare(cfo);
    expect(createdResource.properties["addedBy"]).toBe("Dana Reyes (console)");
    expect(tenant.trace()).toEqual(Array(6).fill(READ_VIPS).flat());
  });

  it("edits the comment of an existing VIP", async () => {
    await using tenant = await startSandboxTenant();
    await tenant.console("POST", "/vip_employees", { emails: [mailbox], comment: "?" });
    await tenant.provider.getResource("vipEmployee").declare(cfo);
    expect(tenant.trace()).toEqual([
      ...READ_VIPS,
      'PATCH /vip_employees {"email":"yuki.sato@acme.example","comment":"Signs payments"} 200',
    ]);
    await expect.poll(() => tenant.provider.printed.join("\n")).toContain('was already a VIP, with the comment "?"');
  });

  it("uses the stored row of a VIP that is also auto-detected", async () => {
    await using tenant = await startSandboxTenant({
      afterHandle: (request, response) => {
        const items = (response.body as { results: { items?: Record<string, unknown>[]; total: number } }).results;
        if (request.method !== "GET" || items.items === undefined) return undefined;
        items.items.push({ email: mailbox, comment: "", added_by: "", source: "auto" });
        items.total += 1;
        return response;
      },
    });
    await tenant.console("POST", "/vip_employees", { emails: [mailbox], comment: "Signs payments" });
    const createdResource = await tenant.provider.getResource("vipEmployee").declare(cfo);
    expect(createdResource.properties).toMatchObject({ comment: "Signs payments", source: "manual" });
    expect(tenant.writes()).toEqual([]);
  });

  it.each([200, 400, 404, 409, 422] as const)(
    "rejects a mailbox outside the organization reported with status %s",
    async (status) => {
      for (const notInOrgShape of ["top", "results"] as const) {
        await using tenant = await startSandboxTenant({ notInOrgStatus: status, notInOrgShape });
        const before = tenant.sandbox.vips("acme");
        const create = tenant.provider.getResource("vipEmployee").declare({ email: "nobody@acme.example" });
        await expect(create).rejects.toThrow(
          /nobody@acme\.example isn't a mailbox.*; nothing was written\. Check the spelling/s,
        );
        expect(tenant.sandbox.vips("acme")).toEqual(before);
      }
    },
  );

  it("makes no write for an auto-detected VIP without a comment", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("vipEmployee").declare({ email: detected });
    expect(createdResource.properties).toMatchObject({ source: "auto", jobTitle: "Chief Executive Officer" });
    expect(tenant.trace()).toEqual(Array(6).fill(READ_VIPS).flat());
  });

  it("adds an auto-detected VIP explicitly to store its comment", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider
      .getResource("vipEmployee")
      .declare({ email: detected, comment: "CEO" });
    expect(createdResource.properties).toMatchObject({ comment: "CEO" });
    expect(tenant.writes()).toEqual([
      `PATCH /vip_employees {"email":"${detected}","comment":"CEO"} 404`,
      `POST /vip_employees {"emails":["${detected}"],"comment":"CEO"} 200`,
      ...(tenant.sandbox.vips("acme").some((row) => row.comment === "CEO")
        ? [`PATCH /vip_employees {"email":"${detected}","comment":"CEO"} 200`]
        : []),
    ]);
  });

  it("fails when the service stores no comment for an auto-detected VIP", async () => {
    await using tenant = await startSandboxTenant({ addStoresAutoDetected: false });
    const create = tenant.provider.getResource("vipEmployee").declare({ email: detected, comment: "CEO" });
    await expect(create).rejects.toThrow(/VIP by automatic detection.*Remove `comment` from the declaration/s);
    expect(tenant.writes()).toHaveLength(3);
  });

  it("reports an exclusion that still applies after the add", async () => {
    await using tenant = await startSandboxTenant({ addClearsExclusion: false });
    await tenant.console("POST", "/vip_employees/remove", { emails: [mailbox] });
    const create = tenant.provider.getResource("vipEmployee").declare(cfo);
    await expect(create).rejects.toThrow(/mailbox is still excluded.*console/s);
  });

  it("posts a VIP only once when the response is lost", async () => {
    await using tenant = await startSandboxTenant({
      afterHandle: (request) => (request.method === "POST" ? { status: 500, body: { error: "lost" } } : undefined),
    });
    await tenant.provider.getResource("vipEmployee").declare(cfo);
    expect(tenant.writes()).toHaveLength(1);
  });
});

describe("update", () => {
  it("edits the comment with one write", async () => {
    await using tenant = await startSandboxTenant();
    const vip = tenant.provider.getResource("vipEmployee");
    const createdResource = await vip.declare(cfo);
    tenant.trace();
    const edited = await vip.change(createdResource, { ...cfo, comment: "Signs payments over 10k" });
    expect(edited.properties).toMatchObject({
      comment: "Signs payments over 10k",
      jobTitle: "Payroll Specialist",
    });
    const bare = await vip.change(edited, { email: cfo.email });
    expect(bare.properties["comment"]).toBeUndefined();
    expect(tenant.trace()).toEqual([
      ...READ_VIPS,
      'PATCH /vip_employees {"email":"yuki.sato@acme.example","comment":"Signs payments over 10k"} 200',
      ...READ_VIPS,
      'PATCH /vip_employees {"email":"yuki.sato@acme.example","comment":""} 200',
    ]);
    expect((await vip.change(bare, { email: cfo.email })).changed).toBe(false);
  });

  it("adds a VIP again that was removed in the meantime", async () => {
    await using tenant = await startSandboxTenant();
    const vip = tenant.provider.getResource("vipEmployee");
    const createdResource = await vip.declare(cfo);
    await tenant.console("POST", "/vip_employees/remove", { emails: [mailbox] });
    await vip.change(createdResource, { ...cfo, comment: "Again" });
    expect(tenant.sandbox.vips("acme")).toContainEqual(expect.objectContaining({ email: mailbox, comment: "Again" }));
  });

  it("changes `onDelete` without any request", async () => {
    await using tenant = await startSandboxTenant();
    const vip = tenant.provider.getResource("vipEmployee");
    const createdResource = await vip.declare(cfo);
    tenant.trace();
    const changed = await vip.change(createdResource, { ...cfo, onDelete: "keep" });
    expect(changed.properties["onDelete"]).toBe("keep");
    expect(tenant.trace()).toEqual([]);
  });
});

describe("read", () => {
  it("returns console changes as inputs", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("vipEmployee").declare(cfo);
    await tenant.console("PATCH", "/vip_employees", { email: mailbox, comment: "edited" });
    await using later = await startLaterRun(tenant);
    tenant.trace();
    const read = await later.getResource("vipEmployee").read(createdResource.id, createdResource.properties);
    expect(read).toMatchObject({
      id: mailbox,
      inputs: { email: "Yuki.Sato@acme.example", comment: "edited" },
    });
    // A list that differs from the state may lag, so it is read again for 3 s.
    expect(tenant.trace()).toEqual(Array.from({ length: 6 }, () => READ_VIPS).flat());
  });

  it("finds auto-detected VIPs too", async () => {
    await using tenant = await startSandboxTenant();
    const read = await tenant.provider.getResource("vipEmployee").read(detected, { email: detected });
    expect(read?.properties).toMatchObject({ source: "auto", fullName: "Ruth Castellan" });
  });

  it("returns nothing for a removed VIP", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("vipEmployee").declare(cfo);
    await tenant.console("POST", "/vip_employees/remove", { emails: [mailbox] });
    await using later = await startLaterRun(tenant);
    expect(await later.getResource("vipEmployee").read(createdResource.id, createdResource.properties)).toBeUndefined();
  });
});

describe("VIP whose read-back failed", () => {
  it("is read by the next run without a write", async () => {
    let isBroken = false;
    await using tenant = await startSandboxTenant({
      afterHandle: ({ method }) => {
        isBroken ||= method === "POST";
        return isBroken && method === "GET" ? { status: 501, body: { error: "later" } } : undefined;
      },
    });
    const vip = tenant.provider.getResource("vipEmployee");
    const failure = (await vip.declare(cfo).catch((error: unknown) => error)) as InitFailed;
    expect(failure).toBeInstanceOf(InitFailed);
    expect(failure.reasons).toEqual([expect.stringContaining("[ERR_SERVER]")]);
    tenant.sandbox.clearRequests();

    isBroken = false;
    await tenant.provider.startNextRun();
    const { inputs } = await vip.check(cfo, failure.properties);
    const properties = await vip.update(failure.id, failure.properties, inputs);
    expect(tenant.trace()).toEqual(READ_VIPS);
    expect((await vip.read(failure.id, properties))?.properties).toEqual(properties);
  });
});

describe("delete", () => {
  it("writes a lasting exclusion", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("vipEmployee").declare(cfo);
    await using later = await startLaterRun(tenant);
    tenant.trace();
    await later.getResource("vipEmployee").delete(createdResource.id, createdResource.properties);
    expect(tenant.trace()).toEqual([
      ...READ_VIPS,
      'POST /vip_employees/remove {"emails":["yuki.sato@acme.example"]} 200',
    ]);
    expect(tenant.sandbox.exclusions("acme")).toContain(mailbox);
    expect((await later.readPrintedLines()).join("\n")).toContain("stays excluded");
  });

  it("writes no exclusion for a mailbox that is no longer a VIP", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("vipEmployee").declare(cfo);
    await tenant.console("POST", "/vip_employees/remove", { emails: [mailbox] });
    await using later = await startLaterRun(tenant);
    tenant.trace();
    await later.getResource("vipEmployee").delete(createdResource.id, createdResource.properties);
    expect(tenant.writes()).toEqual([]);
  });

  it('removes the VIP from state only with onDelete: "keep"', async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("vipEmployee").declare({ ...cfo, onDelete: "keep" });
    tenant.trace();
    await using later = await startLaterRun(tenant);
    await later.getResource("vipEmployee").delete(createdResource.id, createdResource.properties);
    expect(tenant.trace()).toEqual([]);
    expect(tenant.sandbox.exclusions("acme")).not.toContain(mailbox);
  });

  it("keeps a VIP that the program declares under another name", async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("vipEmployee").declare(cfo);
    await using later = await startLaterRun(tenant);
    await later.getResource("vipEmployee").declare({ ...cfo, email: mailbox });
    tenant.trace();
    await later.getResource("vipEmployee").delete(createdResource.id, createdResource.properties);
    expect(tenant.writes()).toEqual([]);
  });

  it("needs no configuration for a check", async () => {
    await using bare = await ProviderProcess.start();
    const { failures } = await bare.getResource("vipEmployee").check(cfo);
    expect(failures).toEqual({});
  });
});
