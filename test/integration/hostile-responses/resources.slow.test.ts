import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ProviderProcess } from "../../support/provider-process";
import { readRequestText } from "../../support/read-request-body";
import { getRejection } from "../client/service";
import { writeFlood } from "./hostile-service";

interface HostileRow {
  id: string;
  list: string;
  entry_type: string;
  value: string;
  verdict_scope: string;
  comment: string;
}

interface HostileVip {
  email: string;
  comment: string;
  source: string;
  added_by: string;
}

/** Writes the response to a list request, given the rows and the requested page. */
type ListResponder = (rows: readonly unknown[], page: number, response: ServerResponse) => void;

const respondWithResults = (response: ServerResponse, status: number, results: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(status < 300 ? { results } : { error: String(results) }));
};

const createPagedAnswer =
  (size: number): ListResponder =>
  (rows, page, response) =>
    respondWithResults(response, 200, {
      items: rows.slice((page - 1) * size, page * size),
      page,
      page_size: size,
      total: rows.length,
    });

const honestly = createPagedAnswer(200);

const setTotal =
  (total: number | string): ListResponder =>
  (rows, page, response) =>
    respondWithResults(response, 200, { items: page === 1 ? rows : [], page, page_size: 200, total });

const createTextAnswer =
  (body: string): ListResponder =>
  (_rows, _page, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(body);
  };

/** A tenant that handles writes correctly, but responds to list requests arbitrarily. */
class HostileTenant implements AsyncDisposable {
  readonly entries: HostileRow[] = [];
  readonly vips: HostileVip[] = [];
  /** The write requests, such as `DELETE /…`, with their paths as sent. */
  readonly writes: string[] = [];
  reads = 0;
  telling: ListResponder = honestly;
  nextId: () => string = () => `e-${this.entries.length + 1}`;
  /** Returns the response to an entry's creation. Default: the new entry. */
  created: (() => HostileRow) | undefined;
  readonly provider: ProviderProcess;
  readonly #server;

  private constructor(server: ReturnType<typeof createServer>, provider: ProviderProcess) {
    this.#server = server;
    this.provider = provider;
  }

  static async start(): Promise<HostileTenant> {
    const server = createServer(async (request, response) => {
      const text = await readRequestText(request);
      if (text === undefined) return;
      tenant.#answer(request.method ?? "", request.url ?? "", text === "" ? {} : JSON.parse(text), response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const provider = await ProviderProcess.start({
      environment: { EMAIL_SECURITY_BASE_URL: url, EMAIL_SECURITY_API_KEY: "key" },
    });
    const tenant = new HostileTenant(server, provider);
    return tenant;
  }

  #answer(method: string, url: string, body: Record<string, string>, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, "http://x");
    const isVips = pathname.includes("/vip_employees");
    if (method === "GET") {
      this.reads += 1;
      const list = searchParams.get("list");
      const rows = isVips ? this.vips : this.entries.filter((row) => row.list === list);
      this.telling(rows, Number(searchParams.get("page")), response);
      return;
    }
    this.writes.push(`${method} ${url.replace("/api/v1/settings", "")}`);
    if (isVips) {
      const emails = (body["emails"] ?? []) as unknown as string[];
      if (url.endsWith("/remove")) {
        for (const email of emails)
          this.vips.splice(
            this.vips.findIndex((vip) => vip.email === email),
            1,
          );
        respondWithResults(response, 200, { affected: emails.length });
        return;
      }
      for (const email of emails)
        this.vips.push({ email, comment: body["comment"] ?? "", source: "manual", added_by: "us" });
      respondWithResults(response, 200, { added: emails, already_vip: [], not_in_org: [] });
      return;
    }
    if (method === "POST") {
      if (this.entries.some((row) => row.value === body["value"])) {
        respondWithResults(response, 409, "it exists");
        return;
      }
      if (this.created !== undefined) {
        respondWithResults(response, 201, this.created());
        return;
      }
      const row = { comment: "", verdict_scope: "global", ...body, id: this.nextId() } as unknown as HostileRow;
      this.entries.push(row);
      respondWithResults(response, 201, row);
      return;
    }
    const id = decodeURIComponent(url.slice(url.lastIndexOf("/allow_deny_entries/") + "/allow_deny_entries/".length));
    const index = this.entries.findIndex((row) => row.id === id);
    const row = this.entries[index];
    if (row === undefined) {
      respondWithResults(response, 404, "no such entry");
      return;
    }
    if (method === "PATCH") Object.assign(row, body);
    else this.entries.splice(index, 1);
    respondWithResults(response, 200, method === "PATCH" ? row : { id, deleted: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.provider[Symbol.asyncDispose]();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const DECLARED = {
  entry: { list: "deny", value: "evil.example", comment: "INC-1" },
  list: { entries: { "bad-1.example": "deny: INC-2", "good.example": "allow" }, adopt: true },
  vip: { email: "jane@company.example", comment: "CFO" },
  vips: { members: { "ceo@company.example": "CEO", "cto@company.example": "" } },
};

/** Returns one resource of every kind. */
function listResources(provider: ProviderProcess) {
  return {
    entry: provider.getResource("allowDenyEntry"),
    list: provider.getResource("allowDenyList"),
    vip: provider.getResource("vipEmployee"),
    vips: provider.getResource("vipList"),
  };
}

async function declareAll(provider: ProviderProcess) {
  const { entry, list, vip, vips } = listResources(provider);
  return {
    entry: await entry.declare(DECLARED.entry),
    list: await list.declare(DECLARED.list),
    vip: await vip.declare(DECLARED.vip),
    vips: await vips.declare(DECLARED.vips),
  };
}

/** List responses that can't be trusted. */
const LIES: readonly [string, ListResponder, RegExp][] = [
  ["a total that is too high", setTotal(1_000), /could not be read consistently/],
  ["a total that is too low", setTotal(1), /could not be read consistently/],
  ["a negative total", setTotal(-1), /doesn't match the reference: results\.total/],
  ["a total that is a text", setTotal("3"), /doesn't match the reference: results\.total/],
  [
    "one page for ever",
    (rows, page, response) => respondWithResults(response, 200, { items: rows, page, page_size: 200, total: 1e9 }),
    /was listed twice/,
  ],
  [
    "10 million nested arrays",
    createTextAnswer(`{"results": ${"[".repeat(10_000_000)}`),
    /JSON with more than 1000000 values/,
  ],
  [
    "1 GiB",
    async (_rows, _page, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      await writeFlood(response as unknown as Socket, Buffer.alloc(64 * 1024, "["), 2 ** 30);
      response.end();
    },
    /more than 16777216 bytes/,
  ],
  [
    "an invalid id",
    createTextAnswer('{"results": {"items": [{"id": "", "email": 7}], "total": 1}}'),
    /results\.items\.0\./,
  ],
  ["no list at all", createTextAnswer('{"results": {"__proto__": {"items": []}}}'), /results\.items/],
  [
    "a failure under 200",
    createTextAnswer('{"status": 500, "results": {"items": [], "page": 1, "total": 0}}'),
    /the `status` in its body is 500/,
  ],
  [
    "a list that is not found",
    (_rows, _page, response) => respondWithResults(response, 404, "no such tenant"),
    /returned 404: no such tenant/,
  ],
  ["an HTML page", createTextAnswer("<!doctype html><h1>Sign in</h1>"), /HTML page instead of JSON/],
];

describe("unreliable read of a list", () => {
  let tenant: HostileTenant;
  let declared: Awaited<ReturnType<typeof declareAll>>;
  let before: { entries: HostileRow[]; vips: HostileVip[] };
  beforeAll(async () => {
    tenant = await HostileTenant.start();
    declared = await declareAll(tenant.provider);
    before = structuredClone({ entries: tenant.entries, vips: tenant.vips });
  });
  afterAll(async () => {
    await tenant[Symbol.asyncDispose]();
  });

  test.for(LIES)(
    "fails every operation without a write on %s",
    { timeout: 300_000 },
    async ([_name, telling, reason]) => {
      await tenant.provider.startNextRun();
      Object.assign(tenant, { telling, reads: 0 });
      tenant.writes.length = 0;
      const { entry, list, vip, vips } = listResources(tenant.provider);
      const attempts: [string, () => Promise<unknown>][] = [
        ["refresh of an entry", () => entry.read(declared.entry.id, declared.entry.properties)],
        ["refresh of a list", () => list.read(declared.list.id, declared.list.properties)],
        ["refresh of a VIP", () => vip.read(declared.vip.id, declared.vip.properties)],
        ["refresh of a VIP list", () => vips.read(declared.vips.id, declared.vips.properties)],
        ["a new entry", () => entry.declare({ list: "deny", value: "new.example" })],
        ["a new VIP", () => vip.declare({ email: "new@company.example" })],
        [
          "an entry less of a list",
          () => list.update(declared.list.id, declared.list.properties, { entries: { "good.example": "allow" } }),
        ],
        [
          "a VIP less of a list",
          () => vips.update(declared.vips.id, declared.vips.properties, { members: { "ceo@company.example": "CEO" } }),
        ],
        ["deletion of an entry", () => entry.delete(declared.entry.id, declared.entry.properties)],
        ["deletion of a VIP", () => vip.delete(declared.vip.id, declared.vip.properties)],
        ["deletion of a list", () => list.delete(declared.list.id, declared.list.properties)],
        ["deletion of a VIP list", () => vips.delete(declared.vips.id, declared.vips.properties)],
      ];
      for (const [label, attempt] of attempts) {
        const error = (await getRejection(attempt())) as Error & { reasons?: readonly string[] };
        expect(`${label}: ${error.message}\n${error.reasons?.join("\n")}`).toMatch(reason);
      }
      expect(tenant.writes).toEqual([]);
      expect({ entries: tenant.entries, vips: tenant.vips }).toEqual(before);
      // Reading a list takes up to five attempts with two pages each, for three lists.
      expect(tenant.reads).toBeLessThanOrEqual(attempts.length * 30);
    },
  );

  test("leaves every resource usable once the service recovers", async () => {
    tenant.telling = honestly;
    tenant.writes.length = 0;
    await tenant.provider.startNextRun();
    for (const [kind, resource] of Object.entries(listResources(tenant.provider))) {
      const state = declared[kind as keyof typeof declared];
      const readResult = await resource.read(state.id, state.properties);
      // The tenant's identity couldn't be read when the resources were created.
      expect(readResult?.properties, kind).toEqual({ ...state.properties, people: expect.any(String) });
    }
    await tenant.provider.startNextRun();
    for (const [kind, resource] of Object.entries(listResources(tenant.provider))) {
      const state = declared[kind as keyof typeof declared];
      await resource.delete(state.id, state.properties);
    }
    expect({ entries: tenant.entries, vips: tenant.vips }).toEqual({ entries: [], vips: [] });
  });
});

test("neither deletes nor duplicates entries hidden by a wrong total", async () => {
  await using tenant = await HostileTenant.start();
  for (let index = 0; index < 250; index += 1) {
    const value = `bad-${index}.example`;
    tenant.entries.push({
      id: `id-${index}`,
      list: "deny",
      entry_type: "domain",
      value,
      verdict_scope: "global",
      comment: "",
    });
  }
  tenant.telling = (rows, page, response) =>
    respondWithResults(response, 200, {
      items: rows.slice(0, 200),
      page,
      page_size: 200,
      total: Math.min(rows.length, 200),
    });
  const list = tenant.provider.getResource("allowDenyList");
  const error = await getRejection(list.declare({ entries: { "bad-7.example": "deny", "bad-230.example": "deny" } }));
  expect(String((error as { reasons?: unknown }).reasons)).toContain("returned 409: it exists");
  expect(new Set(tenant.writes)).toEqual(new Set(["POST /allow_deny_entries"]));
  expect(tenant.entries).toHaveLength(250);
});

test("creates no duplicates when the page size is ignored", async () => {
  await using tenant = await HostileTenant.start();
  tenant.telling = createPagedAnswer(25);
  const count = 51;
  const entries = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`bad-${index}.example`, "deny: INC-1"]),
  );
  const list = tenant.provider.getResource("allowDenyList");
  const createdResource = await list.declare({ entries });
  expect(tenant.entries).toHaveLength(count);
  await tenant.provider.startNextRun();
  tenant.writes.length = 0;
  expect((await list.read(createdResource.id, createdResource.properties))?.properties).toEqual(
    createdResource.properties,
  );
  await list.update(createdResource.id, createdResource.properties, { ...createdResource.inputs, entries });
  expect(tenant.writes).toEqual([]);
  await list.delete(createdResource.id, createdResource.properties);
  expect(tenant.entries).toEqual([]);
});

describe("unusual ids from the service", () => {
  const ODD_IDS = [
    "../vip_employees/remove",
    "../e-0",
    "%2e%2e",
    "%2e%2e%2fe-0",
    "a/b?c=d#e",
    "?list=deny",
    "e-0\u0000",
    "e-0 ",
    "E-0",
    "\u0000",
    "__proto__",
    "constructor",
    "\u202ee-0",
    "x".repeat(1000),
  ];

  test("select only their own entry in a write", async () => {
    await using tenant = await HostileTenant.start();
    const bystander = {
      id: "e-0",
      list: "deny",
      entry_type: "domain",
      value: "bystander.example",
      verdict_scope: "global",
      comment: "",
    };
    tenant.entries.push({ ...bystander });
    const entry = tenant.provider.getResource("allowDenyEntry");
    const createdRows = [];
    for (const [index, id] of ODD_IDS.entries()) {
      tenant.nextId = () => id;
      const value = `evil-${index}.example`;
      const created = await entry.declare({ list: "deny", value });
      // Pulumi prints resource IDs as they are. If the service's own ID isn't printable, it is stored in `entryId`
      // instead.
      expect(created.properties["entryId"] ?? created.id).toBe(id);
      const { inputs } = await entry.check({ list: "deny", value, comment: "changed" }, created.properties);
      const properties = await entry.update(created.id, created.properties, inputs);
      expect(tenant.entries.find((row) => row.id === id)).toMatchObject({ value, comment: "changed" });
      createdRows.push({ id: created.id, own: id, properties });
    }
    await tenant.provider.startNextRun();
    for (const { id, own, properties } of createdRows) {
      const others = tenant.entries.filter((row) => row.id !== own);
      await entry.delete(id, properties);
      expect(tenant.entries).toEqual(others);
    }
    const paths = ODD_IDS.map((id) => `/allow_deny_entries/${encodeURIComponent(id)}`);
    expect(tenant.writes).toEqual([
      ...paths.flatMap((path) => ["POST /allow_deny_entries", `PATCH ${path}`]),
      ...paths.map((path) => `DELETE ${path}`),
    ]);
    expect(tenant.entries).toEqual([bystander]);
  });

  test.each([".", ".."])("block the deletion of an entry with id %j", async (id) => {
    await using tenant = await HostileTenant.start();
    tenant.nextId = () => id;
    const entry = tenant.provider.getResource("allowDenyEntry");
    const createdResource = await entry.declare({ list: "deny", value: "evil.example" });
    await tenant.provider.startNextRun();
    tenant.writes.length = 0;
    const error = await getRejection(entry.delete(createdResource.id, createdResource.properties));
    expect((error as Error).message).toContain(`id can't be "${id}"`);
    expect(tenant.writes).toEqual([]);
    expect(tenant.entries).toHaveLength(1);
  });

  test.each([
    ["an empty one", ""],
    ["half a character", "half \ud83d"],
    ["one that is too long", "x".repeat(1001)],
  ])("fail the creation of an entry: %s", async (_name, id) => {
    await using tenant = await HostileTenant.start();
    tenant.nextId = () => id;
    const error = await getRejection(
      tenant.provider.getResource("allowDenyEntry").declare({ list: "deny", value: "evil.example" }),
    );
    expect((error as Error).message).toContain("results.id: ");
    expect(tenant.writes.filter((write) => !write.startsWith("POST"))).toEqual([]);
  });

  test("leave somebody else's entry untouched when returned for a create", async () => {
    await using tenant = await HostileTenant.start();
    const theirs = {
      id: "e-0",
      list: "deny",
      entry_type: "domain",
      value: "theirs.example",
      verdict_scope: "global",
      comment: "",
    };
    tenant.entries.push(theirs);
    tenant.created = () => theirs;
    const entry = tenant.provider.getResource("allowDenyEntry");
    const error = await getRejection(entry.declare({ list: "deny", value: "evil.example" }));
    expect((error as Error).message).toContain("which existed before. Nothing was changed.");
    expect(tenant.writes).toEqual(["POST /allow_deny_entries"]);
    expect(tenant.entries).toEqual([theirs]);
  });
});
