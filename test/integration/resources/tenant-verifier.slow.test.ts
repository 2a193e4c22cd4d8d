import { describe, expect, it } from "vitest";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { ProviderProcess } from "../../support/provider-process";
import { SEES_PEOPLE } from "../../support/sandbox-tenant";
import { click } from "../../support/tenant-console";
import { twoTenants } from "../../support/two-tenants";
import { writesOf } from "../../support/write-requests";

/*
 * The accident: a stack of one tenant is run with another tenant's key. The run must write nothing there and forget
 * nothing here.
 */

const REFUSED =
  /The API key seems to belong to a different tenant than intended.*Nothing was changed\..*\[ERR_OTHER_TENANT\]/s;

type Resource = ReturnType<ProviderProcess["resource"]>;
type Made = Awaited<ReturnType<ReturnType<ProviderProcess["resource"]>["declare"]>>;

async function runAt(
  sandbox: Sandbox,
  tenant: string,
  environment: Record<string, string> = {},
): Promise<ProviderProcess> {
  return await ProviderProcess.start({
    environment: {
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: `sandbox-${tenant}-ci`,
      ...environment,
    },
  });
}

/** Updates the resource in the current run. */
async function update(resource: Resource, { id, properties, inputs }: Made, args: Record<string, unknown>) {
  const checked = await resource.check(args, inputs);
  expect(checked.failures).toEqual({});
  await resource.diff(id, properties, checked.inputs);
  return await resource.update(id, properties, checked.inputs);
}

const values = (count: number): string[] => Array.from({ length: count }, (_, at) => `bad${at}.example`);

/** Creates a stack of single entries at acme, as a first run leaves it. */
async function entriesAtAcme(sandbox: Sandbox, count: number): Promise<readonly Made[]> {
  await using acme = await runAt(sandbox, "acme");
  const made = await Promise.all(
    values(count).map((value, at) =>
      acme.resource("allowDenyEntry", `e${at}`).declare({ list: "deny", value, comment: "INC-7" }),
    ),
  );
  sandbox.clearRequests();
  return made;
}

async function listAtAcme(sandbox: Sandbox, handler: HandlerName, args: Record<string, unknown>) {
  await using acme = await runAt(sandbox, "acme");
  const made = await acme.resource(handler).declare(args);
  sandbox.clearRequests();
  return made;
}

const outcomes = async (work: readonly Promise<unknown>[]): Promise<string[]> =>
  (await Promise.allSettled(work)).map((one) => (one.status === "rejected" ? (one.reason as Error).message : "done"));

describe("tenant verification by state alone", () => {
  it("rejects a refresh that finds none of five entries", async () => {
    await using sandbox = await twoTenants({ people: false });
    const made = await entriesAtAcme(sandbox, 5);
    const refreshed = async (some: readonly Made[]): Promise<string[]> => {
      await using globex = await runAt(sandbox, "globex");
      return await outcomes(
        some.map(({ id, properties, inputs }, at) =>
          globex.resource("allowDenyEntry", `e${at}`).read(id, properties, inputs),
        ),
      );
    };
    const messages = await refreshed(made);
    for (const message of messages) expect(message).toMatch(REFUSED);
    // The full message appears once.
    const [inFull, ...others] = messages.filter((message) => message.includes("neither"));
    expect(others).toEqual([]);
    expect(inFull).toContain('neither "deny bad0.example" nor "deny bad1.example"');
    expect(inFull).toContain("EMAIL_SECURITY_API_KEY");
    expect(inFull).toContain("EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=true");
    expect(await refreshed(made.slice(1))).toEqual(["done", "done", "done", "done"]);
    expect(writesOf(sandbox)).toEqual([]);
  });

  it("rejects every write of such a run", async () => {
    await using sandbox = await twoTenants({ people: false });
    const made = await entriesAtAcme(sandbox, 5);
    await using globex = await runAt(sandbox, "globex");
    const entry = (at: number) => globex.resource("allowDenyEntry", `e${at}`);
    const work = [
      globex.resource("allowDenyEntry", "new").declare({ list: "deny", value: "new.example" }),
      ...made
        .slice(0, 2)
        .map((one, at) => update(entry(at), one, { list: "deny", value: values(5)[at] ?? "", comment: "Changed" })),
      ...made.slice(2).map(({ id, properties, inputs }, at) => entry(at + 2).delete(id, properties, inputs)),
    ];
    for (const message of await outcomes(work)) expect(message).toMatch(REFUSED);
    expect(writesOf(sandbox)).toEqual([]);
    expect(sandbox.allowDenyEntries("acme")).toHaveLength(5);
  });

  it.each<[HandlerName, Record<string, unknown>, Record<string, unknown>]>([
    [
      "allowDenyList",
      { entries: Object.fromEntries(values(5).map((value) => [value, "deny"])) },
      { entries: Object.fromEntries(values(6).map((value) => [value, "deny: again"])) },
    ],
    [
      "allowDenyList",
      {
        mode: "exclusive",
        maxRemovalFraction: 1,
        entries: Object.fromEntries(values(5).map((one) => [one, "deny"])),
      },
      { mode: "exclusive", maxRemovalFraction: 1, entries: { "bad0.example": "deny" } },
    ],
  ])("rejects a refresh, change or deletion of an %s", async (handler, args, changed) => {
    await using sandbox = await twoTenants({ people: false });
    const made = await listAtAcme(sandbox, handler, args);
    const { id, properties, inputs } = made;
    for (const work of [
      (list: Resource) => list.read(id, properties, inputs),
      (list: Resource) => update(list, made, changed),
      (list: Resource) => list.delete(id, properties, inputs),
    ]) {
      await using globex = await runAt(sandbox, "globex");
      await expect(work(globex.resource(handler))).rejects.toThrow(REFUSED);
    }
    expect(writesOf(sandbox)).toEqual([]);
  });

  it("accepts an emptied tenant for one run when confirmed", async () => {
    await using sandbox = await twoTenants({ people: false });
    const { id, properties, inputs } = await listAtAcme(sandbox, "allowDenyList", {
      entries: Object.fromEntries(values(5).map((value) => [value, "deny"])),
    });
    await using run = await runAt(sandbox, "globex", { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "true" });
    const read = await run.resource("allowDenyList").read(id, properties, inputs);
    expect(read?.properties["entries"]).toEqual({});
  });

  it("accepts a tenant that still has one entry, on either list", async () => {
    await using sandbox = await twoTenants({ people: false });
    const made = await entriesAtAcme(sandbox, 6);
    for (const { id } of sandbox.allowDenyEntries("acme").slice(1)) {
      await click(sandbox, "DELETE", `/allow_deny_entries/${id}`);
    }
    const [left] = sandbox.allowDenyEntries("acme");
    await click(sandbox, "PATCH", `/allow_deny_entries/${left?.id}`, { list: "allow" });
    await using acme = await runAt(sandbox, "acme");
    const read = await Promise.all(
      made.map(({ id, properties }, at) => acme.resource("allowDenyEntry", `e${at}`).read(id, properties)),
    );
    expect(read.filter((one) => one !== undefined)).toHaveLength(1);
  });
});

describe("tenant verification by its people", () => {
  it.each<[HandlerName, Record<string, unknown>]>([
    ["allowDenyEntry", { list: "deny", value: "bad.example" }],
    ["allowDenyList", { entries: { "bad.example": "deny" } }],
    ["vipEmployee", { email: "ceo@acme.example", comment: "Signs payments" }],
    ["vipList", { members: { "ceo@acme.example": "Signs payments" } }],
  ])("rejects a refresh, change or deletion of one %s on another tenant", async (handler, args) => {
    await using sandbox = await twoTenants();
    const made = await listAtAcme(sandbox, handler, args);
    const { id, properties, inputs } = made;
    expect(properties["people"]).toMatch(/^[\w-]{7}$/);
    expect(JSON.stringify(properties["people"])).not.toContain("acme");
    const changed = JSON.parse(
      JSON.stringify(args).replace(/"deny"|Signs payments/, (one) =>
        one === '"deny"' && handler === "allowDenyList"
          ? '"deny: Changed"'
          : one === '"deny"'
            ? '"deny","comment":"Changed"'
            : "Changed",
      ),
    );
    for (const work of [
      (one: Resource) => one.read(id, properties, inputs),
      (one: Resource) => update(one, made, changed),
      (one: Resource) => one.delete(id, properties, inputs),
    ]) {
      await using globex = await runAt(sandbox, "globex");
      await expect(work(globex.resource(handler))).rejects.toThrow(REFUSED);
    }
    expect(writesOf(sandbox)).toEqual([]);
    // The right key continues as if nothing had happened.
    await using acme = await runAt(sandbox, "acme");
    const read = await acme.resource(handler).read(id, properties, inputs);
    expect(read?.properties).toEqual(properties);
  });

  it("accepts a tenant that keeps one of its known domains", async () => {
    await using sandbox = await twoTenants({ domains: { acme: ["acme.test"] } });
    const { id, properties } = await listAtAcme(sandbox, "allowDenyEntry", {
      list: "deny",
      value: "bad.example",
    });
    await click(sandbox, "POST", "/vip_employees/remove", { emails: ["ceo@acme.example"] });
    await using acme = await runAt(sandbox, "acme");
    const read = await acme.resource("allowDenyEntry").read(id, properties);
    expect(read?.id).toBe(id);
    expect(read?.properties["people"]).not.toBe(properties["tenantFingerprint"]);
  });

  it("accepts a new set of people for one run when confirmed", async () => {
    await using sandbox = await twoTenants();
    const made = await entriesAtAcme(sandbox, 2);
    const news = await Promise.all(
      values(2).map(async (value) => {
        const entry = { list: "deny", value, comment: "INC-7" };
        await click(sandbox, "POST", "/allow_deny_entries", { ...entry, entry_type: "domain" }, "globex");
        return entry;
      }),
    );
    sandbox.clearRequests();
    await using accepting = await runAt(sandbox, "globex", { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "true" });
    const after = await Promise.all(
      made.map(async ({ id, properties, inputs }, at) => {
        const entry = accepting.resource("allowDenyEntry", `e${at}`);
        const checked = await entry.check(news[at] ?? {}, inputs);
        expect((await entry.diff(id, properties, checked.inputs)).changes).toBe(true);
        return { id, inputs: checked.inputs, properties: await entry.update(id, properties, checked.inputs) };
      }),
    );
    expect(writesOf(sandbox)).toEqual([]);
    expect(new Set(after.map(({ properties }) => properties["people"])).size).toBe(1);
    await using next = await runAt(sandbox, "globex");
    for (const [at, { id, properties, inputs }] of after.entries()) {
      const entry = next.resource("allowDenyEntry", `e${at}`);
      expect((await entry.diff(id, properties, inputs)).changes).toBe(false);
      expect((await entry.read(id, properties, inputs))?.properties["people"]).toBe(properties["people"]);
    }
  });

  it("recognizes domains by VIPs in the program's own state", async () => {
    await using sandbox = await twoTenants({ domains: { acme: ["acme.test"] } });
    const entry = await listAtAcme(sandbox, "allowDenyEntry", { list: "deny", value: "bad.example" });
    const vips = await listAtAcme(sandbox, "vipList", { members: { "ceo@acme.example": "" } });
    // A state from before the entry recorded the second domain.
    const old = { ...entry.properties, people: String(entry.properties["people"]).slice(0, 7) };
    await using run = await runAt(sandbox, "acme");
    const changed = await update(run.resource("vipList"), vips, { members: { "ceo@acme.test": "" } });
    await using later = await runAt(sandbox, "acme");
    await later.resource("vipList").diff(vips.id, changed, { members: { "ceo@acme.test": "" } });
    expect((await later.resource("allowDenyEntry").read(entry.id, old))?.id).toBe(entry.id);
  });

  it("doesn't judge a tenant by its newest VIPs alone", async () => {
    await using sandbox = await twoTenants({
      domains: { acme: Array.from({ length: 120 }, () => "acme.test") },
    });
    await using acme = await runAt(sandbox, "acme", { EMAIL_SECURITY_OWN_DOMAINS: "acme.example" });
    await acme.resource("allowDenyEntry").declare({ list: "deny", value: "bad.example" });
    expect(writesOf(sandbox)).toHaveLength(1);
  });

  it("requires the name of an explicit Provider in the confirmation", async () => {
    await using sandbox = await twoTenants();
    const { id, properties } = await listAtAcme(sandbox, "allowDenyEntry", {
      list: "deny",
      value: "bad.example",
    });
    const read = async (accept: string): Promise<unknown> => {
      await using run = await ProviderProcess.start({
        instance: "eu",
        config: {
          "email-security:baseUrl": sandbox.url,
          "email-security:apiKey": "sandbox-globex-ci",
        },
        environment: { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: accept },
      });
      return await run.resource("allowDenyEntry").read(id, properties);
    };
    await expect(read("true")).rejects.toThrow(/EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=eu \(it is currently "true"\)\./);
    expect(await read("other, eu")).toBeUndefined();
  });

  it("continues an interrupted deletion", async () => {
    await using sandbox = await twoTenants();
    const made = await entriesAtAcme(sandbox, 6);
    for (const { id } of sandbox.allowDenyEntries("acme")) {
      await click(sandbox, "DELETE", `/allow_deny_entries/${id}`);
    }
    await using acme = await runAt(sandbox, "acme");
    const deleted = made.map(({ id, properties, inputs }, at) =>
      acme.resource("allowDenyEntry", `e${at}`).delete(id, properties, inputs),
    );
    expect(new Set(await outcomes(deleted))).toEqual(new Set(["done"]));
    // The read doesn't report the entry as deleted.
    const [first] = await outcomes(
      made.map(({ id, properties }, at) => acme.resource("allowDenyEntry", `e${at}`).read(id, properties)),
    );
    expect(first).toMatch(REFUSED);
  });
});

describe("tenant verification by own domains", () => {
  it("rejects another tenant before the first write of a new stack", async () => {
    await using sandbox = await twoTenants();
    await using globex = await runAt(sandbox, "globex", { EMAIL_SECURITY_OWN_DOMAINS: "acme.example" });
    const entries = values(3).map((value, at) =>
      globex.resource("allowDenyEntry", `e${at}`).declare({ list: "deny", value }),
    );
    const list = globex.resource("allowDenyList").declare({ entries: { "other.example": "deny" } });
    const messages = await outcomes([...entries, list]);
    for (const message of messages) expect(message).toMatch(REFUSED);
    expect(messages.join()).toContain('own people have mailboxes of "globex.example"');
    expect(messages.join()).toContain("add its domain to ownDomains");
    const requests = sandbox.requests.filter(({ path }) => path.endsWith("/vip_employees"));
    expect(requests).toHaveLength(1);
    expect(writesOf(sandbox)).toEqual([]);
  });

  it("accepts a tenant with a matching domain or no visible people", async () => {
    for (const people of [true, false]) {
      await using sandbox = await twoTenants({ people });
      await using acme = await runAt(sandbox, "acme", {
        EMAIL_SECURITY_OWN_DOMAINS: "acme.example, acme.test",
      });
      await acme.resource("allowDenyEntry").declare({ list: "deny", value: "bad.example" });
      expect(writesOf(sandbox)).toHaveLength(1);
    }
  });
});

describe("cost of tenant verification", () => {
  it("is one request per run, or none when VIPs are read anyway", async () => {
    await using sandbox = await twoTenants();
    const made = await entriesAtAcme(sandbox, 20);
    const seen = (): number =>
      sandbox.requests.filter(
        ({ method, path, query }) =>
          `${method} ${path.replace("/api/v1/settings", "")}?${new URLSearchParams(query)} ` === SEES_PEOPLE,
      ).length;
    await using acme = await runAt(sandbox, "acme");
    await Promise.all(
      made.map(({ id, properties }, at) => acme.resource("allowDenyEntry", `e${at}`).read(id, properties)),
    );
    expect(sandbox.requests).toHaveLength(3);
    expect(seen()).toBe(1);
    await Promise.all(
      made.map((one, at) =>
        update(acme.resource("allowDenyEntry", `e${at}`), one, {
          list: "deny",
          value: values(20)[at] ?? "",
          comment: "INC-8",
        }),
      ),
    );
    expect(seen()).toBe(1);
    sandbox.clearRequests();
    await using vips = await runAt(sandbox, "acme");
    await vips.resource("vipEmployee").declare({ email: "ceo@acme.example" });
    expect(seen()).toBe(0);
  });

  it("is only a warning when the request is forbidden", async () => {
    await using sandbox = await startSandbox({
      scenario: "empty",
      intercept: ({ path }) =>
        path.endsWith("/vip_employees") ? { status: 403, body: { error: "no right" } } : undefined,
    });
    await using run = await runAt(sandbox, "acme");
    await run.resource("allowDenyEntry").declare({ list: "deny", value: "bad.example" });
    expect(writesOf(sandbox)).toHaveLength(1);
    expect((await run.printedSoFar()).join("\n")).toContain(
      "The tenant could not be verified by the mail domains of its people",
    );
  });
});
