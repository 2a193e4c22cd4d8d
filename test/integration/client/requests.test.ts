import { describe, expect, test } from "vitest";
import { type EntryChange, type List, type NewEntry, SettingsClient } from "../../../provider/client";
import {
  buildEntry,
  buildListBody,
  ENTRIES,
  getRejection,
  KEY,
  type ReceivedRequest,
  RecordingService,
  respondWithJson,
  TestClient,
  VIPS,
} from "./service";

/** Starts a service with a valid response for each endpoint. */
async function startRecordingService(): Promise<RecordingService> {
  return await RecordingService.start((request, response) => {
    const { method, url } = request;
    if (method === "GET") respondWithJson(response, 200, buildListBody([]));
    else if (method === "DELETE") respondWithJson(response, 200, { results: { id: "e1", deleted: true } });
    else
      respondWithJson(response, 200, {
        results: url.startsWith(ENTRIES) ? buildEntry("e1") : { affected: 1, added: [] },
      });
  });
}

/** Returns all requests that one call sends. */
async function captureRequests(
  call: (client: SettingsClient) => Promise<unknown>,
  path = "",
): Promise<ReceivedRequest[]> {
  await using service = await startRecordingService();
  await using client = new TestClient({ url: `${service.url}${path}` });
  await call(client);
  return service.received;
}

const mailboxes = ["jane@example.com", "john@example.com"];
const added: NewEntry = { list: "deny", entry_type: "domain", value: "evil.example" };

describe("wire format of each call", () => {
  test.each<[string, (client: SettingsClient) => Promise<unknown>, string, unknown?]>([
    ["list entries", ({ allowDenyEntries }) => allowDenyEntries.list(), `GET ${ENTRIES}?page=1`],
    [
      "list entries, with everything",
      ({ allowDenyEntries }) => allowDenyEntries.list({ list: "allow", page: 3, page_size: 200, q: "a&b=c d+é" }),
      `GET ${ENTRIES}?list=allow&page=3&page_size=200&q=a%26b%3Dc+d%2B%C3%A9`,
    ],
    ["create", ({ allowDenyEntries }) => allowDenyEntries.create(added), `POST ${ENTRIES}`, added],
    [
      "create, with everything",
      ({ allowDenyEntries }) =>
        allowDenyEntries.create({ ...added, verdict_scope: "graymail", comment: "¡añadido! \u{1f4e7}" }),
      `POST ${ENTRIES}`,
      { ...added, verdict_scope: "graymail", comment: "¡añadido! \u{1f4e7}" },
    ],
    [
      "update",
      ({ allowDenyEntries }) => allowDenyEntries.update("e1", { comment: "" }),
      `PATCH ${ENTRIES}/e1`,
      { comment: "" },
    ],
    [
      "update, with everything",
      ({ allowDenyEntries }) => allowDenyEntries.update("e1", { list: "allow", verdict_scope: "global", comment: "x" }),
      `PATCH ${ENTRIES}/e1`,
      { list: "allow", verdict_scope: "global", comment: "x" },
    ],
    ["delete", ({ allowDenyEntries }) => allowDenyEntries.delete("e1"), `DELETE ${ENTRIES}/e1`],
    ["list VIPs", ({ vipEmployees }) => vipEmployees.list(), `GET ${VIPS}?page=1`],
    [
      "list VIPs, with everything",
      ({ vipEmployees }) => vipEmployees.list({ page: 2, page_size: 1, q: "CEO", sort: "asc" }),
      `GET ${VIPS}?page=2&page_size=1&q=CEO&sort=asc`,
    ],
    ["add VIPs", ({ vipEmployees }) => vipEmployees.add(mailboxes), `POST ${VIPS}`, { emails: mailboxes }],
    [
      "add VIPs with a comment",
      ({ vipEmployees }) => vipEmployees.add(mailboxes, "board"),
      `POST ${VIPS}`,
      { emails: mailboxes, comment: "board" },
    ],
    [
      "edit a comment",
      ({ vipEmployees }) => vipEmployees.editComment("jane@example.com", ""),
      `PATCH ${VIPS}`,
      { email: "jane@example.com", comment: "" },
    ],
    ["remove VIPs", ({ vipEmployees }) => vipEmployees.remove(mailboxes), `POST ${VIPS}/remove`, { emails: mailboxes }],
  ])("matches the reference for: %s", async (_name, call, line, body) => {
    const [request, ...more] = await captureRequests(call);
    expect(more).toEqual([]);
    expect(`${request?.method} ${request?.url}`).toBe(line);
    const bytes = body === undefined ? "" : JSON.stringify(body);
    expect(request?.body).toBe(bytes);
    const { host, connection, "content-length": length, ...headers } = request?.headers ?? {};
    expect(headers).toEqual({
      "x-api-key": KEY,
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    });
    if (body !== undefined) expect(length).toBe(String(Buffer.byteLength(bytes)));
    else expect(length ?? "0").toBe("0");
  });

  test("sends 1000 removals in one request", async () => {
    const emails = Array.from({ length: 1000 }, (_, index) => `jane-${index}@example.com`);
    const [request] = await captureRequests(({ vipEmployees }) => vipEmployees.remove(emails));
    expect(JSON.parse(request?.body ?? "")).toEqual({ emails });
  });
});

describe("ids in paths", () => {
  test.each([
    ["a/b", "a%2Fb"],
    ["..%2f", "..%252f"],
    ["../vip_employees", "..%2Fvip_employees"],
    ["%2e%2e", "%252e%252e"],
    ["?x#y", "%3Fx%23y"],
    ["a b\n\u0000", "a%20b%0A%00"],
    ["é日😀", "%C3%A9%E6%97%A5%F0%9F%98%80"],
    ["...", "..."],
    ["\\", "%5C"],
    ["a;b=c,d:@&+$!'()*~", "a%3Bb%3Dc%2Cd%3A%40%26%2B%24!'()*~"],
  ])("are percent-encoded: %j", async (id, segment) => {
    const requests = await captureRequests(async ({ allowDenyEntries }) => {
      await allowDenyEntries.update(id, { comment: "x" });
      await allowDenyEntries.delete(id);
    });
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      `PATCH ${ENTRIES}/${segment}`,
      `DELETE ${ENTRIES}/${segment}`,
    ]);
    const url = requests[0]?.url ?? "";
    expect(decodeURIComponent(url.slice(ENTRIES.length + 1))).toBe(id);
  });
});

describe("invalid arguments", () => {
  test.each<[string, (client: SettingsClient) => Promise<unknown>, string]>([
    ...[
      ["", "id is empty"],
      [".", 'id can\'t be ".", because a URL treats that as a directory'],
      ["..", 'id can\'t be "..", because a URL treats that as a directory'],
      ["half \ud83d", "id contains half a character (an unpaired surrogate), which a URL can't contain"],
    ].flatMap(([id = "", reason = ""]): [string, (client: SettingsClient) => Promise<unknown>, string][] => [
      [`an update of id ${JSON.stringify(id)}`, (c) => c.allowDenyEntries.update(id, {}), reason],
      [`a deletion of id ${JSON.stringify(id)}`, (c) => c.allowDenyEntries.delete(id), reason],
    ]),
    ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY].flatMap(
      (number): [string, (client: SettingsClient) => Promise<unknown>, string][] => [
        [
          `page ${number} of entries`,
          (c) => c.allowDenyEntries.list({ page: number }),
          `page must be a whole number of 1 or more, not ${number}`,
        ],
        [
          `page ${number} of VIPs`,
          (c) => c.vipEmployees.list({ page: number }),
          `page must be a whole number of 1 or more, not ${number}`,
        ],
        [
          `pages of ${number} entries`,
          (c) => c.allowDenyEntries.list({ page_size: number }),
          `page_size must be a whole number from 1 to 200, not ${number}`,
        ],
      ],
    ),
    [
      "pages of 201 entries",
      (c) => c.allowDenyEntries.list({ page_size: 201 }),
      "page_size must be a whole number from 1 to 200, not 201",
    ],
    [
      "pages of 201 VIPs",
      (c) => c.vipEmployees.list({ page_size: 201 }),
      "page_size must be a whole number from 1 to 200, not 201",
    ],
    [
      "an invalid list to read",
      (c) => c.allowDenyEntries.readAll("block" as List),
      'list must be "allow" or "deny", not "block"',
    ],
    [
      "an invalid list to add to",
      (c) => c.allowDenyEntries.create({ ...added, list: "block" as List }),
      'list must be "allow" or "deny", not "block"',
    ],
    [
      "an invalid list to move to",
      (c) => c.allowDenyEntries.update("e1", { list: "block" } as unknown as EntryChange),
      'list must be "allow" or "deny", not "block"',
    ],
    [
      "an invalid type",
      (c) => c.allowDenyEntries.create({ ...added, entry_type: "url" as "domain" }),
      'entry_type must be "domain" or "ip" or "email_address", not "url"',
    ],
    ["no value", (c) => c.allowDenyEntries.create({ ...added, value: "" }), "value is empty"],
    ["no address to add", (c) => c.vipEmployees.add([]), "emails is empty; specify at least one address"],
    ["an empty address to add", (c) => c.vipEmployees.add(["a@example.com", " "]), "emails[1] is empty"],
    ["an empty address to edit", (c) => c.vipEmployees.editComment("", "x"), "email is empty"],
    ["no address to remove", (c) => c.vipEmployees.remove([]), "emails is empty; specify at least one address"],
    [
      "1001 addresses to remove",
      (c) => c.vipEmployees.remove(Array.from({ length: 1001 }, () => "a@example.com")),
      "emails has 1001 addresses; one request can have at most 1000",
    ],
  ])("are rejected before any request: %s", async (_name, call, message) => {
    await using service = await startRecordingService();
    await using client = new TestClient(service);
    const error = await getRejection(call(client));
    expect(error).toMatchObject({
      name: "InvalidArgumentError",
      code: "ERR_INVALID_ARGUMENT",
      message: expect.stringContaining(message),
    });
    expect(service.received).toEqual([]);
  });
});

describe("base URL", () => {
  test.each([
    ["", ""],
    ["/", ""],
    ["//", ""],
    ["/tenant-a", "/tenant-a"],
    ["/tenant-a/", "/tenant-a"],
    ["/a/b%20c///", "/a/b%20c"],
    ["/a/../b", "/b"],
  ])("turns the path %j into the prefix %j", async (path, prefix) => {
    const [request] = await captureRequests(({ vipEmployees }) => vipEmployees.list(), path);
    expect(request?.url).toBe(`${prefix}${VIPS}?page=1`);
  });

  test.each([
    ["https://mail-security.example", "https://mail-security.example"],
    ["https://Mail-Security.example:443/", "https://mail-security.example"],
    ["http://localhost:8080", "http://localhost:8080"],
    ["http://127.8.9.1", "http://127.8.9.1"],
    ["http://[::1]:8080/x/", "http://[::1]:8080/x"],
  ])("normalizes %s to %s", async (baseUrl, normalizedUrl) => {
    await using client = new TestClient({ url: baseUrl });
    expect(client.baseUrl).toBe(normalizedUrl);
  });

  test("accepts plain HTTP when explicitly allowed", async () => {
    await using client = new TestClient({ url: "http://mail-security.example" }, { allowInsecureHttp: true });
    expect(client.baseUrl).toBe("http://mail-security.example");
  });

  const advice = "Set it to an address such as https://mail-security.example.";
  test.each([
    ["", `isn't a valid URL. ${advice}`],
    ["mail-security.example", `isn't a valid URL. ${advice}`],
    ["mail-security.example:8443", `doesn't start with https:// or http://. ${advice}`],
    ["ftp://mail-security.example", `doesn't start with https:// or http://. ${advice}`],
    ["https://user@mail-security.example", `contains a user name or a password. ${advice}`],
    ["https://:password@mail-security.example", `contains a user name or a password. ${advice}`],
    [
      "https://mail-security.example/x?key=1",
      `has a query or a fragment after "https://mail-security.example/x". ${advice}`,
    ],
    [
      "https://mail-security.example/#top",
      `has a query or a fragment after "https://mail-security.example/". ${advice}`,
    ],
    ...[
      "http://mail-security.example",
      "http://127.0.0.1.evil.example",
      "http://localhost.evil.example",
      // A resolver doesn't have to treat it as loopback.
      "http://sandbox.localhost",
      "http://10.0.0.1",
      "http://[2001:db8::1]",
    ].map((url) => [
      url,
      `is "${url}": plain http would send the API key unencrypted. Use https. If you really need http, set allowInsecureHttp (EMAIL_SECURITY_ALLOW_INSECURE_HTTP=true for resources).`,
    ]),
  ])("rejects %j as an address", (baseUrl, reason) => {
    expect(() => new SettingsClient({ baseUrl: baseUrl ?? "", apiKey: KEY })).toThrow(
      expect.objectContaining({
        name: "ConfigurationError",
        code: "ERR_CONFIGURATION",
        message: `The service's address (baseUrl) ${reason}`,
      }),
    );
  });
});

describe("invalid API keys", () => {
  test.each([
    ["", "is empty"],
    ["key\n", "contains white space, a line break or a non-ASCII character"],
    ["key\r\nx-evil: 1", "contains white space, a line break or a non-ASCII character"],
    [" key", "contains white space, a line break or a non-ASCII character"],
    ["ключ", "contains white space, a line break or a non-ASCII character"],
    ["key\u{feff}", "contains white space, a line break or a non-ASCII character"],
    ["key\u0000", "contains white space, a line break or a non-ASCII character"],
    [undefined as unknown as string, "is empty"],
  ])("are rejected: %j", (apiKey, reason) => {
    const createKeyClient = () => new SettingsClient({ baseUrl: "https://mail-security.example", apiKey });
    expect(createKeyClient).toThrow(
      expect.objectContaining({
        name: "ConfigurationError",
        code: "ERR_CONFIGURATION",
        message: expect.stringContaining(`The API key (apiKey) ${reason}`),
      }),
    );
  });
});

test.each([
  ["timeoutMs", 0],
  ["timeoutMs", -1],
  ["timeoutMs", 1.5],
  ["timeoutMs", 2 ** 31],
  ["timeoutMs", Number.POSITIVE_INFINITY],
  ["maxResponseBytes", 0],
  ["maxResponseBytes", Number.NaN],
])("rejects %s of %d", (name, value) => {
  expect(() => new TestClient({ url: "https://mail-security.example" }, { [name]: value })).toThrow(
    expect.objectContaining({
      code: "ERR_INVALID_ARGUMENT",
      message: expect.stringMatching(new RegExp(`^${name} must be a whole number .*, not ${value}$`)),
    }),
  );
});
