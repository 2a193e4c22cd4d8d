import { describe, expect, it } from "vitest";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { ProviderProcess } from "../../support/provider-process";
import { SEES_PEOPLE } from "../../support/sandbox-tenant";
import { click } from "../../support/tenant-console";
import { startTwoTenants } from "../../support/two-tenants";
import { listWrites } from "../../support/write-requests";

/*
 * The accident: a stack of one tenant is run with another tenant's key. The run must write nothing there and forget
 * nothing here.
 */

const REFUSED =
  /The API key seems to belong to a different tenant than intended.*Nothing was changed\..*\[ERR_OTHER_TENANT\]/s;

type ProviderEntry = ReturnType<ProviderProcess["getResource"]>;
type CreatedEntry = Awaited<ReturnType<ReturnType<ProviderProcess["getResource"]>["declare"]>>;

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
async function updateResource(
  resource: ProviderEntry,
  { id, properties, inputs }: CreatedEntry,
  args: Record<string, unknown>,
) {
  const checked = await resource.check(args, inputs);
  expect(checked.failures).toEqual({});
  await resource.diff(id, properties, checked.inputs);
  return await resource.update(id, properties, checked.inputs);
}

const listValues = (count: number): string[] => Array.from({ length: count }, (_, index) => `bad${index}.example`);

/** Creates a stack of single entries at acme, as a first run leaves it. */
async function createAcmeEntries(sandbox: Sandbox, count: number): Promise<readonly CreatedEntry[]> {
  await using acme = await runAt(sandbox, "acme");
  const resources = await Promise.all(
    listValues(count).map((value, index) =>
      acme.getResource("allowDenyEntry", `e${index}`).declare({ list: "deny", value, comment: "INC-7" }),
    ),
  );
  sandbox.clearRequests();
  return resources;
}

async function listAtAcme(sandbox: Sandbox, handler: HandlerName, args: Record<string, unknown>) {
  await using acme = await runAt(sandbox, "acme");
  const createdResource = await acme.getResource(handler).declare(args);
  sandbox.clearRequests();
  return createdResource;
}

const listOutcomes = async (work: readonly Promise<unknown>[]): Promise<string[]> =>
  (await Promise.allSettled(work)).map((result) =>
    result.status === "rejected" ? (result.reason as Error).message : "done",
  );

describe("tenant verification by state alone", () => {
  it("rejects a refresh that finds none of five entries", async () => {
    await using sandbox = await startTwoTenants({ people: false });
    const resources = await createAcmeEntries(sandbox, 5);
    const refreshAtGlobex = async (some: readonly CreatedEntry[]): Promise<string[]> => {
      await using globex = await runAt(sandbox, "globex");
      return await listOutcomes(
        some.map(({ id, properties, inputs }, index) =>
          globex.getResource("allowDenyEntry", `e${index}`).read(id, properties, inputs),
        ),
      );
    };
    const messages = await refreshAtGlobex(resources);
    for (const message of messages) expect(message).toMatch(REFUSED);
    // The full message appears once.
    const [inFull, ...others] = messages.filter((message) => message.includes("neither"));
    expect(others).toEqual([]);
    expect(inFull).toContain('neither "deny bad0.example" nor "deny bad1.example"');
    expect(inFull).toContain("EMAIL_SECURITY_API_KEY");
    expect(inFull).toContain("EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=true");
    expect(await refreshAtGlobex(resources.slice(1))).toEqual(["done", "done", "done", "done"]);
    expect(listWrites(sandbox)).toEqual([]);
  });

  it("rejects every write of such a run", async () => {
    await using sandbox = await startTwoTenants({ people: false });
    const resources = await createAcmeEntries(sandbox, 5);
    await using globex = await runAt(sandbox, "globex");
    const getEntryResource = (index: number) => globex.getResource("allowDenyEntry", `e${index}`);
    const work = [
      globex.getResource("allowDenyEntry", "new").declare({ list: "deny", value: "new.example" }),
      ...resources.slice(0, 2).map((resource, index) =>
        updateResource(getEntryResource(index), resource, {
          list: "deny",
          value: listValues(5)[index] ?? "",
          comment: "Changed",
        }),
      ),
      ...resources
        .slice(2)
        .map(({ id, properties, inputs }, index) => getEntryResource(index + 2).delete(id, properties, inputs)),
    ];
    for (const message of await listOutcomes(work)) expect(message).toMatch(REFUSED);
    expect(listWrites(sandbox)).toEqual([]);
    expect(sandbox.allowDenyEntries("acme")).toHaveLength(5);
  });

  it.each<[HandlerName, Record<string, unknown>, Record<string, unknown>]>([
    [
      "allowDenyList",
      { entries: Object.fromEntries(listValues(5).map((value) => [value, "deny"])) },
      { entries: Object.fromEntries(listValues(6).map((value) => [value, "deny: again"])) },
    ],
    [
      "allowDenyList",
      {
        mode: "exclusive",
        maxRemovalFraction: 1,
        entries: Object.fromEntries(listValues(5).map((value) => [value, "deny"])),
      },
      { mode: "exclusive", maxRemovalFraction: 1, entries: { "bad0.example": "deny" } },
    ],
  ])("rejects a refresh, change or deletion of an %s", async (handler, args, changed) => {
    await using sandbox = await startTwoTenants({ people: false });
    const createdResource = await listAtAcme(sandbox, handler, args);
    const { id, properties, inputs } = createdResource;
    for (const work of [
      (list: ProviderEntry) => list.read(id, properties, inputs),
      (list: ProviderEntry) => updateResource(list, createdResource, changed),
      (list: ProviderEntry) => list.delete(id, properties, inputs),
    ]) {
      await using globex = await runAt(sandbox, "globex");
      await expect(work(globex.getResource(handler))).rejects.toThrow(REFUSED);
    }
    expect(listWrites(sandbox)).toEqual([]);
  });

  it("accepts an emptied tenant for one run when confirmed", async () => {
    await using sandbox = await startTwoTenants({ people: false });
    const { id, properties, inputs } = await listAtAcme(sandbox, "allowDenyList", {
      entries: Object.fromEntries(listValues(5).map((value) => [value, "deny"])),
    });
    await using run = await runAt(sandbox, "globex", { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "true" });
    const read = await run.getResource("allowDenyList").read(id, properties, inputs);
    expect(read?.properties["entries"]).toEqual({});
  });

  it("accepts a tenant that still has one entry, on either list", async () => {
    await using sandbox = await startTwoTenants({ people: false });
    const resources = await createAcmeEntries(sandbox, 6);
    for (const { id } of sandbox.allowDenyEntries("acme").slice(1)) {
      await click(sandbox, "DELETE", `/allow_deny_entries/${id}`);
    }
    const [remainingRows] = sandbox.allowDenyEntries("acme");
    await click(sandbox, "PATCH", `/allow_deny_entries/${remainingRows?.id}`, { list: "allow" });
    await using acme = await runAt(sandbox, "acme");
    const read = await Promise.all(
      resources.map(({ id, properties }, index) =>
        acme.getResource("allowDenyEntry", `e${index}`).read(id, properties),
      ),
    );
    expect(read.filter((candidate) => candidate !== undefined)).toHaveLength(1);
  });
});

describe("tenant verification by its people", () => {
  it.each<[HandlerName, Record<string, unknown>]>([
    ["allowDenyEntry", { list: "deny", value: "bad.example" }],
    ["allowDenyList", { entries: { "bad.example": "deny" } }],
    ["vipEmployee", { email: "ceo@acme.example", comment: "Signs payments" }],
    ["vipList", { members: { "ceo@acme.example": "Signs payments" } }],
  ])("rejects a refresh, change or deletion of one %s on another tenant", async (handler, args) => {
    await using sandbox = await startTwoTenants();
    const createdResource = await listAtAcme(sandbox, handler, args);
    const { id, properties, inputs } = createdResource;
    expect(properties["people"]).toMatch(/^[\w-]{7}$/);
    expect(JSON.stringify(properties["people"])).not.toContain("acme");
    const changed = JSON.parse(
      JSON.stringify(args).replace(/"deny"|Signs payments/, (item) =>
        item === '"deny"' && handler === "allowDenyList"
          ? '"deny: Changed"'
          : item === '"deny"'
            ? '"deny","comment":"Changed"'
            : "Changed",
      ),
    );
    for (const work of [
      (resource: ProviderEntry) => resource.read(id, properties, inputs),
      (resource: ProviderEntry) => updateResource(resource, createdResource, changed),
      (resource: ProviderEntry) => resource.delete(id, properties, inputs),
    ]) {
      await using globex = await runAt(sandbox, "globex");
      await expect(work(globex.getResource(handler))).rejects.toThrow(REFUSED);
    }
    expect(listWrites(sandbox)).toEqual([]);
    // The right key continues as if nothing had happened.
    await using acme = await runAt(sandbox, "acme");
    const read = await acme.getResource(handler).read(id, properties, inputs);
    expect(read?.properties).toEqual(properties);
  });

  it("accepts a tenant that keeps one of its known domains", async () => {
    await using sandbox = await startTwoTenants({ domains: { acme: ["acme.test"] } });
    const { id, properties } = await listAtAcme(sandbox, "allowDenyEntry", {
      list: "deny",
      value: "bad.example",
    });
    await click(sandbox, "POST", "/vip_employees/remove", { emails: ["ceo@acme.example"] });
    await using acme = await runAt(sandbox, "acme");
    const read = await acme.getResource("allowDenyEntry").read(id, properties);
    expect(read?.id).toBe(id);
    expect(read?.properties["people"]).not.toBe(properties["tenantFingerprint"]);
  });

  it("accepts a new set of people for one run when confirmed", async () => {
    await using sandbox = await startTwoTenants();
    const resources = await createAcmeEntries(sandbox, 2);
    const news = await Promise.all(
      listValues(2).map(async (value) => {
        const entry = { list: "deny", value, comment: "INC-7" };
        await click(sandbox, "POST", "/allow_deny_entries", { ...entry, entry_type: "domain" }, "globex");
        return entry;
      }),
    );
    sandbox.clearRequests();
    await using accepting = await runAt(sandbox, "globex", { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "true" });
    const after = await Promise.all(
      resources.map(async ({ id, properties, inputs }, index) => {
        const entry = accepting.getResource("allowDenyEntry", `e${index}`);
        const checked = await entry.check(news[index] ?? {}, inputs);
        expect((await entry.diff(id, properties, checked.inputs)).changes).toBe(true);
        return { id, inputs: checked.inputs, properties: await entry.update(id, properties, checked.inputs) };
      }),
    );
    expect(listWrites(sandbox)).toEqual([]);
    expect(new Set(after.map(({ properties }) => properties["people"])).size).toBe(1);
    await using next = await runAt(sandbox, "globex");
    for (const [index, { id, properties, inputs }] of after.entries()) {
      const entry = next.getResource("allowDenyEntry", `e${index}`);
      expect((await entry.diff(id, properties, inputs)).changes).toBe(false);
      expect((await entry.read(id, properties, inputs))?.properties["people"]).toBe(properties["people"]);
    }
  });

  it("recognizes domains by VIPs in the program's own state", async () => {
    await using sandbox = await startTwoTenants({ domains: { acme: ["acme.test"] } });
    const entry = await listAtAcme(sandbox, "allowDenyEntry", { list: "deny", value: "bad.example" });
    const vips = await listAtAcme(sandbox, "vipList", { members: { "ceo@acme.example": "" } });
    // A state from before the entry recorded the second domain.
    const old = { ...entry.properties, people: String(entry.properties["people"]).slice(0, 7) };
    await using run = await runAt(sandbox, "acme");
    const changed = await updateResource(run.getResource("vipList"), vips, { members: { "ceo@acme.test": "" } });
    await using later = await runAt(sandbox, "acme");
    await later.getResource("vipList").diff(vips.id, changed, { members: { "ceo@acme.test": "" } });
    expect((await later.getResource("allowDenyEntry").read(entry.id, old))?.id).toBe(entry.id);
  });

  it("doesn't judge a tenant by its newest VIPs alone", async () => {
    await using sandbox = await startTwoTenants({
      domains: { acme: Array.from({ length: 120 }, () => "acme.test") },
    });
    await using acme = await runAt(sandbox, "acme", { EMAIL_SECURITY_OWN_DOMAINS: "acme.example" });
    await acme.getResource("allowDenyEntry").declare({ list: "deny", value: "bad.example" });
    expect(listWrites(sandbox)).toHaveLength(1);
  });

  it("requires the name of an explicit Provider in the confirmation", async () => {
    await using sandbox = await startTwoTenants();
    const { id, properties } = await listAtAcme(sandbox, "allowDenyEntry", {
      list: "deny",
      value: "bad.example",
    });
    const readFromOtherTenant = async (accept: string): Promise<unknown> => {
      await using run = await ProviderProcess.start({
        instance: "eu",
        config: {
          "email-security:baseUrl": sandbox.url,
          "email-security:apiKey": "sandbox-globex-ci",
        },
        environment: { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: accept },
      });
      return await run.getResource("allowDenyEntry").read(id, properties);
    };
    await expect(readFromOtherTenant("true")).rejects.toThrow(
      /EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=eu \(it is currently "true"\)\./,
    );
    expect(await readFromOtherTenant("other, eu")).toBeUndefined();
  });

  it("continues an interrupted deletion", async () => {
    await using sandbox = await startTwoTenants();
    const resources = await createAcmeEntries(sandbox, 6);
    for (const { id } of sandbox.allowDenyEntries("acme")) {
      await click(sandbox, "DELETE", `/allow_deny_entries/${id}`);
    }
    await using acme = await runAt(sandbox, "acme");
    const deleted = resources.map(({ id, properties, inputs }, index) =>
      acme.getResource("allowDenyEntry", `e${index}`).delete(id, properties, inputs),
    );
    expect(new Set(await listOutcomes(deleted))).toEqual(new Set(["done"]));
    // The read doesn't report the entry as deleted.
    const [first] = await listOutcomes(
      resources.map(({ id, properties }, index) =>
        acme.getResource("allowDenyEntry", `e${index}`).read(id, properties),
      ),
    );
    expect(first).toMatch(REFUSED);
  });
});

describe("tenant verification by own domains", () => {
  it("rejects another tenant before the first write of a new stack", async () => {
    await using sandbox = await startTwoTenants();
    await using globex = await runAt(sandbox, "globex", { EMAIL_SECURITY_OWN_DOMAINS: "acme.example" });
    const entries = listValues(3).map((value, index) =>
      globex.getResource("allowDenyEntry", `e${index}`).declare({ list: "deny", value }),
    );
    const list = globex.getResource("allowDenyList").declare({ entries: { "other.example": "deny" } });
    const messages = await listOutcomes([...entries, list]);
    for (const message of messages) expect(message).toMatch(REFUSED);
    expect(messages.join()).toContain('own people have mailboxes of "globex.example"');
    expect(messages.join()).toContain("add its domain to ownDomains");
    const requests = sandbox.requests.filter(({ path }) => path.endsWith("/vip_employees"));
    expect(requests).toHaveLength(1);
    expect(listWrites(sandbox)).toEqual([]);
  });

  it("accepts a tenant with a matching domain or no visible people", async () => {
    for (const people of [true, false]) {
      await using sandbox = await startTwoTenants({ people });
      await using acme = await runAt(sandbox, "acme", {
        EMAIL_SECURITY_OWN_DOMAINS: "acme.example, acme.test",
      });
      await acme.getResource("allowDenyEntry").declare({ list: "deny", value: "bad.example" });
      expect(listWrites(sandbox)).toHaveLength(1);
    }
  });
});

describe("cost of tenant verification", () => {
  it("is at most one request per run", async () => {
    await using sandbox = await startTwoTenants();
    const resources = await createAcmeEntries(sandbox, 20);
    const countMailboxReads = (): number =>
      sandbox.requests.filter(
        ({ method, path, query }) =>
          `${method} ${path.replace("/api/v1/settings", "")}?${new URLSearchParams(query)} ` === SEES_PEOPLE,
      ).length;
    await using acme = await runAt(sandbox, "acme");
    await Promise.all(
      resources.map(({ id, properties }, index) =>
        acme.getResource("allowDenyEntry", `e${index}`).read(id, properties),
      ),
    );
    expect(sandbox.requests).toHaveLength(3);
    expect(countMailboxReads()).toBe(1);
    await Promise.all(
      resources.map((resource, index) =>
        updateResource(acme.getResource("allowDenyEntry", `e${index}`), resource, {
          list: "deny",
          value: listValues(20)[index] ?? "",
          comment: "INC-8",
        }),
      ),
    );
    expect(countMailboxReads()).toBe(1);
    sandbox.clearRequests();
    await using vips = await runAt(sandbox, "acme");
    await vips.getResource("vipEmployee").declare({ email: "ceo@acme.example" });
    expect(countMailboxReads()).toBe(0);
  });

  it("is only a warning when the request is forbidden", async () => {
    await using sandbox = await startSandbox({
      scenario: "empty",
      intercept: ({ path }) =>
        path.endsWith("/vip_employees") ? { status: 403, body: { error: "no right" } } : undefined,
    });
    await using run = await runAt(sandbox, "acme");
    await run.getResource("allowDenyEntry").declare({ list: "deny", value: "bad.example" });
    expect(listWrites(sandbox)).toHaveLength(1);
    expect((await run.readPrintedLines()).join("\n")).toContain(
      "The tenant could not be verified by the mail domains of its people",
    );
  });
});
