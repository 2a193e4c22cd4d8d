import { describe, expect, test } from "vitest";
import type { SettingsClient } from "../../../provider/client";
import {
  buildEntry,
  buildListBody,
  createFixedAnswerer,
  ENTRIES,
  getRejection,
  RecordingService,
  respondWithJson,
  TestClient,
} from "./service";

/** Returns the client's result for a response body. */
async function readBody<T>(body: unknown, call: (client: SettingsClient) => Promise<T>): Promise<T> {
  await using service = await RecordingService.start((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await using client = new TestClient(service);
  return await call(client);
}

const listDenies = (client: SettingsClient) => client.allowDenyEntries.list({ list: "deny" });
const createEvilEntry = (client: SettingsClient) =>
  client.allowDenyEntries.create({ list: "deny", entry_type: "domain", value: "evil.example" });

describe("lenient response parsing", () => {
  test("keeps every field of an entry", async () => {
    const whole = buildEntry("e1", {
      verdict_scope: "global",
      comment: "",
      created_at: "2026-01-02T03:04:05Z",
      created_by: "Ann",
    });
    expect(await readBody({ status: 201, results: whole }, createEvilEntry)).toEqual(whole);
  });

  test("ignores unknown fields at every level", async () => {
    const body = {
      ...buildListBody([buildEntry(1, { risk: { score: 1 } })], { next: "x" }),
      status: 200,
      trace_id: "t",
    };
    expect(await readBody(body, listDenies)).toEqual({
      items: [expect.objectContaining({ id: "1" })],
      page: 1,
      page_size: 200,
      total: 1,
    });
  });

  test.each([
    ["missing", {}],
    ["null", { verdict_scope: null, comment: null, created_at: null, created_by: null }],
  ])("accepts optional fields that are %s", async (_name, more) => {
    const row = await readBody({ results: buildEntry("e1", more) }, createEvilEntry);
    expect(row).toMatchObject({ id: "e1", list: "deny" });
    expect([row.verdict_scope, row.comment, row.created_at, row.created_by]).toEqual(
      Array.from({ length: 4 }, () => undefined),
    );
  });

  test("keeps unknown lists, types, scopes and dates unchanged", async () => {
    const odd = buildEntry("e1", {
      list: "watch",
      entry_type: "url",
      verdict_scope: "bulk",
      created_at: "yesterday",
    });
    expect(await readBody({ results: odd }, createEvilEntry)).toMatchObject(odd);
  });

  test("ignores keys named __proto__ and constructor", async () => {
    const body = `{"__proto__": {"polluted": 1}, "results": {"__proto__": {"total": 9}, "page": 1, "items": [
      {"__proto__": {"comment": "polluted"}, "constructor": {"prototype": {"polluted": 1}},
       "id": "e1", "list": "deny", "entry_type": "ip", "value": "192.0.2.1"}]}}`;
    const { items, total } = await readBody(body, listDenies);
    expect([items[0]?.id, items[0]?.comment, total]).toEqual(["e1", undefined, undefined]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test.each([undefined, null, "", "  "])("reads a VIP with mailbox %j as one without a mailbox", async (email) => {
    const { items } = await readBody(buildListBody([{ email, full_name: "Room Berlin" }]), (client) =>
      client.vipEmployees.list(),
    );
    expect(items).toEqual([{ email: undefined, full_name: "Room Berlin" }]);
  });

  test("accepts an empty result of a write", async () => {
    const bare = { results: {} };
    expect(await readBody(bare, (client) => client.allowDenyEntries.delete("e1"))).toEqual({});
    expect(await readBody(bare, (client) => client.vipEmployees.editComment("a@example.com", "x"))).toEqual({});
    expect(await readBody(bare, (client) => client.vipEmployees.remove(["a@example.com"]))).toEqual({});
  });
});

describe("missing required fields", () => {
  const { id, list: onList, entry_type, value } = buildEntry("e1");

  test.each<[string, unknown, string]>([
    ["no id", { list: onList, entry_type, value }, "id: Invalid input: expected string, received undefined"],
    [
      "an empty id",
      { id: "", list: onList, entry_type, value },
      "id: Too small: expected string to have >=1 characters",
    ],
    [
      "an id of another type",
      { id: 7, list: onList, entry_type, value },
      "id: Invalid input: expected string, received number",
    ],
    ["no list", { id, entry_type, value }, "list: Invalid input: expected string, received undefined"],
    ["null for the list", { id, list: null, entry_type, value }, "list: Invalid input: expected string, received null"],
    ["no type", { id, list: onList, value }, "entry_type: Invalid input: expected string, received undefined"],
    ["no value", { id, list: onList, entry_type }, "value: Invalid input: expected string, received undefined"],
  ])("rejects %s with ERR_INVALID_RESPONSE", async (_name, row, label) => {
    const createError = await getRejection(readBody({ results: row }, createEvilEntry));
    expect(createError).toMatchObject({
      code: "ERR_INVALID_RESPONSE",
      status: 200,
      outcomeUnknown: true,
      body: { results: row },
      message: expect.stringMatching(
        new RegExp(`^POST ${ENTRIES} at \\S+ returned 200, but its body doesn't match the reference: `),
      ),
    });
    expect((createError as Error).message.endsWith(`: results.${label}`)).toBe(true);
    const listError = await getRejection(readBody(buildListBody([buildEntry("e0"), row]), listDenies));
    expect(listError).toMatchObject({ code: "ERR_INVALID_RESPONSE", outcomeUnknown: false });
    expect((listError as Error).message.endsWith(`: results.items.1.${label}`)).toBe(true);
  });

  test("rejects an invalid response to an addition of VIPs", async () => {
    const addJane = (client: SettingsClient) => client.vipEmployees.add(["jane@example.com"]);
    expect(await getRejection(readBody({ status: 200 }, addJane))).toMatchObject({
      code: "ERR_INVALID_RESPONSE",
      message: expect.stringMatching(/: results: Invalid input: expected object, received undefined$/),
    });
    expect(await getRejection(readBody({ results: { added: "jane@example.com" } }, addJane))).toMatchObject({
      message: expect.stringMatching(/: results\.added: Invalid input: expected array, received string$/),
    });
    for (const results of [{}, { added: null, already_vip: null, not_in_org: null }, { affected: 1 }]) {
      expect(await getRejection(readBody({ results }, addJane))).toMatchObject({
        code: "ERR_INVALID_RESPONSE",
        outcomeUnknown: true,
        message: expect.stringMatching(/: results: added, already_vip and not_in_org are all missing$/),
      });
    }
    for (const name of ["added", "already_vip", "not_in_org"]) {
      expect(await readBody({ results: { [name]: [] } }, addJane)).toEqual({
        added: [],
        already_vip: [],
        not_in_org: [],
      });
    }
  });

  test.each(["items", "total"])("rejects a page with an invalid %s", async (field) => {
    expect(await getRejection(readBody(buildListBody([], { [field]: "x" }), listDenies))).toMatchObject({
      code: "ERR_INVALID_RESPONSE",
      message: expect.stringContaining(`: results.${field}: Invalid input: expected`),
    });
  });

  test("reports only the first three problems", async () => {
    const error = await getRejection(readBody(buildListBody([{}, {}, {}]), listDenies));
    expect((error as Error).message.match(/results\.items/g)).toHaveLength(3);
  });
});

describe("mailboxes outside the organization", () => {
  const named = ["x@else.example", "y\u0007@else.example"];

  test.each([200, 201, 400, 401, 404, 409, 422, 500])(
    "raises ERR_NOT_IN_ORGANIZATION for status %i",
    async (status) => {
      for (const body of [
        { error: "outside", not_in_org: named },
        { error: "outside", results: { not_in_org: named } },
        { error: "outside", results: { added: [], already_vip: [], not_in_org: named } },
        { status, results: null, not_in_org: named },
        { status, results: {}, not_in_org: named },
        { status, results: [], not_in_org: named },
        { status, results: { added: 0, not_in_org: named } },
        { status, results: { added: [], already_vip: [], not_in_org: [] }, not_in_org: named },
      ]) {
        await using service = await RecordingService.start(createFixedAnswerer(status, body));
        await using client = new TestClient(service);
        const error = await getRejection(client.vipEmployees.add(["jane@example.com", ...named]));
        expect(error).toMatchObject({
          name: "NotInOrganizationError",
          code: "ERR_NOT_IN_ORGANIZATION",
          addresses: named,
          outcomeUnknown: false,
          request: { method: "POST", path: "/api/v1/settings/vip_employees" },
          message:
            "According to the service, x@else.example, y\\u{7}@else.example aren't mailboxes of the organization; nothing was written. Check the spelling, that the mailbox exists in the directory, and that the API key belongs to the right tenant.",
        });
        expect(service.received).toHaveLength(1);
      }
    },
  );

  test("names at most ten addresses in the message", async () => {
    const addUnknownAddresses = (addresses: string[]) =>
      getRejection(
        readBody({ results: { not_in_org: addresses } }, (client) => client.vipEmployees.add(["a@b.example"])),
      );
    expect(((await addUnknownAddresses(["x@else.example"])) as Error).message).toMatch(
      /^According to the service, x@else\.example isn't a mailbox of/,
    );
    const many = Array.from({ length: 12 }, (_, index) => `x${index}@else.example`);
    const error = (await addUnknownAddresses(many)) as Error & { addresses: string[] };
    expect(error.message).toMatch(/x9@else\.example and 2 more aren't mailboxes of/);
    expect(error.addresses).toEqual(many);
  });

  test.each<[number, unknown, string]>([
    [400, { error: "bad", not_in_org: [] }, "ERR_BAD_REQUEST"],
    [400, { error: "bad", results: { not_in_org: "x@else.example" } }, "ERR_BAD_REQUEST"],
    [404, { error: "gone" }, "ERR_NOT_FOUND"],
    [409, {}, "ERR_CONFLICT"],
    [401, { error: "who" }, "ERR_AUTH"],
    [500, { error: "oops", not_in_org: null }, "ERR_SERVER"],
  ])("raises another error for status %i with %j", async (status, body, code) => {
    await using service = await RecordingService.start(createFixedAnswerer(status, body));
    await using client = new TestClient(service);
    expect(await getRejection(client.vipEmployees.add(["jane@example.com"]))).toMatchObject({ code });
  });
});

test("accepts a mailbox that is already a VIP", async () => {
  await using service = await RecordingService.start((_request, response) =>
    respondWithJson(response, 200, {
      status: 200,
      results: { added: ["a@example.com"], already_vip: ["b@example.com"] },
    }),
  );
  await using client = new TestClient(service);
  expect(await client.vipEmployees.add(["a@example.com", "b@example.com"])).toEqual({
    added: ["a@example.com"],
    already_vip: ["b@example.com"],
    not_in_org: [],
  });
});
