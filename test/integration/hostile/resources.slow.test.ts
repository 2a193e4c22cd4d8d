import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ProviderProcess } from "../../support/provider-process";
import { textOf } from "../../support/read-request-body";
import { failure } from "../client/service";
import { pour } from "./hostile-service";

interface Row {
  id: string;
  list: string;
  entry_type: string;
  value: string;
  verdict_scope: string;
  comment: string;
}

interface Vip {
  email: string;
  comment: string;
  source: string;
  added_by: string;
}

/** Writes the response to a list request, given the rows and the requested page. */
type Telling = (rows: readonly unknown[], page: number, response: ServerResponse) => void;

const tell = (response: ServerResponse, status: number, results: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(status < 300 ? { results } : { error: String(results) }));
};

const inPagesOf =
  (size: number): Telling =>
  (rows, page, response) =>
    tell(response, 200, {
      items: rows.slice((page - 1) * size, page * size),
      page,
      page_size: size,
      total: rows.length,
    });

const honestly = inPagesOf(200);

const withTotal =
  (total: number | string): Telling =>
  (rows, page, response) =>
    tell(response, 200, { items: page === 1 ? rows : [], page, page_size: 200, total });

const asText =
  (body: string): Telling =>
  (_rows, _page, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(body);
  };

/** A tenant that handles writes correctly, but responds to list requests arbitrarily. */
class HostileTenant implements AsyncDisposable {
  readonly entries: Row[] = [];
  readonly vips: Vip[] = [];
  /** The write requests, such as `DELETE /…`, with their paths as sent. */
  readonly writes: string[] = [];
  reads = 0;
  telling: Telling = honestly;
  nextId: () => string = () => `e-${this.entries.length + 1}`;
  /** Returns the response to an entry's creation. Default: the new entry. */
  created: (() => Row) | undefined;
  readonly provider: ProviderProcess;
  readonly #server;

  private constructor(server: ReturnType<typeof createServer>, provider: ProviderProcess) {
    this.#server = server;
    this.provider = provider;
  }

  static async start(): Promise<HostileTenant> {
    const server = createServer(async (request, response) => {
      const text = await textOf(request);
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
        tell(response, 200, { affected: emails.length });
        return;
      }
      for (const email of emails)
        this.vips.push({ email, comment: body["comment"] ?? "", source: "manual", added_by: "us" });
      tell(response, 200, { added: emails, already_vip: [], not_in_org: [] });
      return;
    }
    if (method === "POST") {
      if (this.entries.some((row) => row.value === body["value"])) {
        tell(response, 409, "it exists");
        return;
      }
      if (this.created !== undefined) {
        tell(response, 201, this.created());
        return;
      }
      const row = { comment: "", verdict_scope: "global", ...body, id: this.nextId() } as unknown as Row;
      this.entries.push(row);
      tell(response, 201, row);
      return;
    }
    const id = decodeURIComponent(url.slice(url.lastIndexOf("/allow_deny_entries/") + "/allow_deny_entries/".length));
    const at = this.entries.findIndex((row) => row.id === id);
    const row = this.entries[at];
    if (row === undefined) {
      tell(response, 404, "no such entry");
      return;
    }
    if (method === "PATCH") Object.assign(row, body);
    else this.entries.splice(at, 1);
    tell(response, 200, method === "PATCH" ? row : { id, deleted: true });
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
function resourcesOf(provider: ProviderProcess) {
  return {
    entry: provider.resource("allowDenyEntry"),
    list: provider.resource("allowDenyList"),
    vip: provider.resource("vipEmployee"),
    vips: provider.resource("vipList"),
  };
}

async function declareAll(provider: ProviderProcess) {
  const { entry, list, vip, vips } = resourcesOf(provider);
  return {
    entry: await entry.declare(DECLARED.entry),
    list: await list.declare(DECLARED.list),
    vip: await vip.declare(DECLARED.vip),
    vips: await vips.declare(DECLARED.vips),
  };
}

/** List responses that can't be trusted. */
const LIES: readonly [string, Telling, RegExp][] = [
  ["a total that is too high", withTotal(1_000), /could not be read consistently/],
  ["a total that is too low", withTotal(1), /could not be read consistently/],
  ["a negative total", withTotal(-1), /doesn't match the reference: results\.total/],
  ["a total that is a text", withTotal("3"), /doesn't match the reference: results\.total/],
  [
    "one page for ever",
    (rows, page, response) => tell(response, 200, { items: rows, page, page_size: 200, total: 1e9 }),
    /was listed twice/,
  ],
  ["10 million nested arrays", asText(`{"results": ${"[".repeat(10_000_000)}`), /JSON with more than 1000000 values/],
  [
    "1 GiB",
    async (_rows, _page, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      await pour(response as unknown as Socket, Buffer.alloc(64 * 1024, "["), 2 ** 30);
      response.end();
    },
    /more than 16777216 bytes/,
  ],
  ["an id that is none", asText('{"results": {"items": [{"id": "", "email": 7}], "total": 1}}'), /results\.items\.0\./],
  ["no list at all", asText('{"results": {"__proto__": {"items": []}}}'), /results\.items/],
  [
    "a failure under 200",
    asText('{"status": 500, "results": {"items": [], "page": 1, "total": 0}}'),
    /the `status` in its body is 500/,
  ],
  [
    "a list that is not found",
    (_rows, _page, response) => tell(response, 404, "no such tenant"),
    /returned 404: no such tenant/,
  ],
  ["an HTML page", asText("<!doctype html><h1>Sign in</h1>"), /HTML page instead of JSON/],
];

describe("unreliable read of a list", () => {
  let tenant: HostileTenant;
  let made: Awaited<ReturnType<typeof declareAll>>;
  let before: { entries: Row[]; vips: Vip[] };
  beforeAll(async () => {
    tenant = await HostileTenant.start();
    made = await declareAll(tenant.provider);
    before = structuredClone({ entries: tenant.entries, vips: tenant.vips });
  });
  afterAll(async () => {
    await tenant[Symbol.asyncDispose]();
  });

  test.for(LIES)(
    "fails every operation without a write on %s",
    { timeout: 300_000 },
    async ([_name, telling, reason]) => {
      await tenant.provider.nextRun();
      Object.assign(tenant, { telling, reads: 0 });
      tenant.writes.length = 0;
      const { entry, list, vip, vips } = resourcesOf(tenant.provider);
      const attempts: [string, () => Promise<unknown>][] = [
        ["refresh of an entry", () => entry.read(made.entry.id, made.entry.properties)],
        ["refresh of a list", () => list.read(made.list.id, made.list.properties)],
        ["refresh of a VIP", () => vip.read(made.vip.id, made.vip.properties)],
        ["refresh of a VIP list", () => vips.read(made.vips.id, made.vips.properties)],
        ["a new entry", () => entry.declare({ list: "deny", value: "new.example" })],
        ["a new VIP", () => vip.declare({ email: "new@company.example" })],
        [
          "an entry less of a list",
          () => list.update(made.list.id, made.list.properties, { entries: { "good.example": "allow" } }),
        ],
        [
          "a VIP less of a list",
          () => vips.update(made.vips.id, made.vips.properties, { members: { "ceo@company.example": "CEO" } }),
        ],
        ["deletion of an entry", () => entry.delete(made.entry.id, made.entry.properties)],
        ["deletion of a VIP", () => vip.delete(made.vip.id, made.vip.properties)],
        ["deletion of a list", () => list.delete(made.list.id, made.list.properties)],
        ["deletion of a VIP list", () => vips.delete(made.vips.id, made.vips.properties)],
      ];
      for (const [what, attempt] of attempts) {
        const error = (await failure(attempt())) as Error & { reasons?: readonly string[] };
        expect(`${what}: ${error.message}\n${error.reasons?.join("\n")}`).toMatch(reason);
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
    await tenant.provider.nextRun();
    for (const [kind, resource] of Object.entries(resourcesOf(tenant.provider))) {
      const state = made[kind as keyof typeof made];
      const found = await resource.read(state.id, state.properties);
      // The tenant's identity couldn't be read when the resources were created.
      expect(found?.properties, kind).toEqual({ ...state.properties, people: expect.any(String) });
    }
    await tenant.provider.nextRun();
    for (const [kind, resource] of Object.entries(resourcesOf(tenant.provider))) {
      const state = made[kind as keyof typeof made];
      await resource.delete(state.id, state.properties);
    }
    expect({ entries: tenant.entries, vips: tenant.vips }).toEqual({ entries: [], vips: [] });
  });
});

test("neither deletes nor duplicates entries hidden by a wrong total", async () => {
  await using tenant = await HostileTenant.start();
  for (let at = 0; at < 250; at += 1) {
    const value = `bad-${at}.example`;
    tenant.entries.push({
      id: `id-${at}`,
      list: "deny",
      entry_type: "domain",
      value,
      verdict_scope: "global",
      comment: "",
    });
  }
  tenant.telling = (rows, page, response) =>
    tell(response, 200, {
      items: rows.slice(0, 200),
      page,
      page_size: 200,
      total: Math.min(rows.length, 200),
    });
  const list = tenant.provider.resource("allowDenyList");
  const error = await failure(list.declare({ entries: { "bad-7.example": "deny", "bad-230.example": "deny" } }));
  expect(String((error as { reasons?: unknown }).reasons)).toContain("returned 409: it exists");
  expect(new Set(tenant.writes)).toEqual(new Set(["POST /allow_deny_entries"]));
  expect(tenant.entries).toHaveLength(250);
});

test("creates no duplicates when the page size is ignored", async () => {
  await using tenant = await HostileTenant.start();
  tenant.telling = inPagesOf(25);
  const count = 51;
  const entries = Object.fromEntries(Array.from({ length: count }, (_, at) => [`bad-${at}.example`, "deny: INC-1"]));
  const list = tenant.provider.resource("allowDenyList");
  const made = await list.declare({ entries });
  expect(tenant.entries).toHaveLength(count);
  await tenant.provider.nextRun();
  tenant.writes.length = 0;
  expect((await list.read(made.id, made.properties))?.properties).toEqual(made.properties);
  await list.update(made.id, made.properties, { ...made.inputs, entries });
  expect(tenant.writes).toEqual([]);
  await list.delete(made.id, made.properties);
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

  test("select only their own entry in updates and deletes", async () => {
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
    const entry = tenant.provider.resource("allowDenyEntry");
    const made = [];
    for (const [at, id] of ODD_IDS.entries()) {
      tenant.nextId = () => id;
      const value = `evil-${at}.example`;
      const created = await entry.declare({ list: "deny", value });
      // Pulumi prints resource IDs as they are. If the service's own ID isn't printable, it is stored in `entryId`
      // instead.
      expect(created.properties["entryId"] ?? created.id).toBe(id);
      const { inputs } = await entry.check({ list: "deny", value, comment: "changed" }, created.properties);
      const properties = await entry.update(created.id, created.properties, inputs);
      expect(tenant.entries.find((row) => row.id === id)).toMatchObject({ value, comment: "changed" });
      made.push({ id: created.id, own: id, properties });
    }
    await tenant.provider.nextRun();
    for (const { id, own, properties } of made) {
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
    const entry = tenant.provider.resource("allowDenyEntry");
    const made = await entry.declare({ list: "deny", value: "evil.example" });
    await tenant.provider.nextRun();
    tenant.writes.length = 0;
    const error = await failure(entry.delete(made.id, made.properties));
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
    const error = await failure(
      tenant.provider.resource("allowDenyEntry").declare({ list: "deny", value: "evil.example" }),
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
    const entry = tenant.provider.resource("allowDenyEntry");
    const error = await failure(entry.declare({ list: "deny", value: "evil.example" }));
    expect((error as Error).message).toContain("which existed before. Nothing was changed.");
    expect(tenant.writes).toEqual(["POST /allow_deny_entries"]);
    expect(tenant.entries).toEqual([theirs]);
  });
});
