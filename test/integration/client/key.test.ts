import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { SettingsClient, type SettingsClientOptions } from "../../../provider/client";
import { type Answerer, createFixedAnswerer, getRejection, KEY, RecordingService, TestClient } from "./service";

/** A part of the key that identifies it in any encoding. */
const CANARY = "canary-5f1d";

/** Returns everything that code could print about a value. */
function formatEverything(thing: unknown): string {
  const representations = [
    String(thing),
    inspect(thing),
    inspect(thing, { showHidden: true, depth: Number.POSITIVE_INFINITY, getters: true }),
    inspect(thing, { showHidden: true, depth: Number.POSITIVE_INFINITY, customInspect: false }),
    JSON.stringify(thing),
  ];
  for (let current = thing; current instanceof Error; current = current.cause) {
    const properties = Object.fromEntries(
      Object.getOwnPropertyNames(current).map((name) => [name, (current as unknown as Record<string, unknown>)[name]]),
    );
    representations.push(current.message, current.stack ?? "", JSON.stringify(properties));
  }
  return representations.join("\n");
}

afterEach(() => {
  vi.unstubAllEnvs();
});

test("finds the key in an error that contains it", () => {
  const error = new Error("no", { cause: new Error(`the key is ${KEY}`) });
  expect(formatEverything(error)).toContain(CANARY);
  expect(formatEverything(Object.defineProperty(new Error("no"), "body", { value: { KEY } }))).toContain(CANARY);
});

describe("errors when the service echoes the key", () => {
  const inHtml = KEY.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("'", "&#39;");
  const createHeaderAnswerer =
    (status: number, headers: Record<string, string>, body: string): Answerer =>
    (_request, response) =>
      response.writeHead(status, headers).end(body);

  test.each<[string, Answerer, Partial<SettingsClientOptions>?]>([
    ...[400, 401, 403, 404, 409, 418, 429, 500, 503].map((status): [string, Answerer] => [
      `the error message of a ${status}`,
      createFixedAnswerer(status, { error: `unknown key ${KEY}`, [KEY]: [{ key: KEY }] }),
    ]),
    [
      "an escaped error message",
      createHeaderAnswerer(
        401,
        {},
        `{"error": "${[...KEY].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"}`,
      ),
    ],
    [
      "addresses outside the organization",
      createFixedAnswerer(400, { error: KEY, not_in_org: [`${KEY}@else.example`] }),
    ],
    [
      "addresses outside the organization, under status 200",
      createFixedAnswerer(200, { results: { not_in_org: [`${KEY}@else.example`] } }),
    ],
    ["a response of another shape", createFixedAnswerer(200, { results: { added: KEY } })],
    ["an error message under status 200", createFixedAnswerer(200, { error: `unknown key ${KEY}` })],
    ["HTML", createHeaderAnswerer(200, { "content-type": "text/html" }, `<h1>${inHtml}</h1>`)],
    ["HTML without escapes", createHeaderAnswerer(200, { "content-type": "text/html" }, `<h1>${KEY}</h1>`)],
    ["HTML of a 502", createHeaderAnswerer(502, { "content-type": "text/html" }, `<h1>${KEY}</h1>`)],
    ["a content type", createHeaderAnswerer(200, { "content-type": `text/${KEY}` }, "x")],
    ["half a body of JSON", createHeaderAnswerer(200, {}, `{"key": ${JSON.stringify(KEY)}, `)],
    ["the location of a redirect", createHeaderAnswerer(302, { location: `https://else.example/${KEY}` }, "")],
    [
      "the percent-encoded location of a redirect",
      createHeaderAnswerer(302, { location: `/?key=${encodeURIComponent(KEY)}` }, KEY),
    ],
    ["Retry-After", createHeaderAnswerer(429, { "retry-after": KEY }, "")],
    ["a body that is too large", createHeaderAnswerer(200, {}, KEY.repeat(100)), { maxResponseBytes: 500 }],
    ["a body that doesn't end", (_request, response) => response.writeHead(200).write(KEY), { timeoutMs: 300 }],
    ["no response, because the connection breaks", (_request, response) => response.socket?.resetAndDestroy()],
  ])("hide a key echoed in %s", async (_name, answer, options) => {
    await using service = await RecordingService.start(answer);
    await using client = new TestClient(service, options);
    const error = await getRejection(client.vipEmployees.add(["jane@example.com"]));
    expect(error).toMatchObject({ code: expect.stringMatching(/^ERR_[A-Z_]+$/) });
    expect(formatEverything(error)).not.toContain(CANARY);
    expect(service.received[0]?.headers["x-api-key"]).toBe(KEY);
  });

  test("replaces the key in the service message with a placeholder", async () => {
    await using service = await RecordingService.start(
      createFixedAnswerer(401, { error: `unknown key ${KEY}!`, hint: KEY }),
    );
    await using client = new TestClient(service);
    expect(await getRejection(client.vipEmployees.list())).toMatchObject({
      serviceMessage: "unknown key <API_KEY>!",
      body: { error: "unknown key <API_KEY>!", hint: "<API_KEY>" },
    });
  });

  test("omits a body nested too deeply to redact", async () => {
    const deep = `{"error": "no", "x": ${"[".repeat(200_000)}${JSON.stringify(KEY)}${"]".repeat(200_000)}}`;
    await using service = await RecordingService.start(
      createHeaderAnswerer(400, { "content-type": "application/json" }, deep),
    );
    await using client = new TestClient(service);
    const error = await getRejection(client.vipEmployees.list());
    expect(error).toMatchObject({ code: "ERR_BAD_REQUEST", serviceMessage: "no", body: undefined });
  });
});

describe("configuration errors that involve the key", () => {
  test.each<[string, Partial<SettingsClientOptions>]>([
    ["the key has a line break", { apiKey: `${KEY}\n` }],
    ["the key has a letter outside ASCII", { apiKey: `${KEY}é` }],
    ["the key is in place of the address", { baseUrl: KEY, apiKey: "https://mail-security.example" }],
    ["a key with a colon is in place of the address", { baseUrl: `${CANARY}:secret` }],
    ["the key is the address's password", { baseUrl: `https://x:${CANARY}@mail-security.example` }],
    ["the key is the password in an invalid address", { baseUrl: `https://x:${CANARY}@mail security` }],
    ["the key is in the address's query", { baseUrl: `https://mail-security.example/?key=${CANARY}` }],
  ])("hide the key when %s", (_name, options) => {
    let error: unknown;
    try {
      new SettingsClient({ baseUrl: "https://mail-security.example", apiKey: KEY, ...options });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: "ERR_CONFIGURATION" });
    expect(formatEverything(error)).not.toContain(CANARY);
  });

  test("hides the password of an invalid proxy address", () => {
    vi.stubEnv("HTTPS_PROXY", `http://user:${CANARY}@proxy example`);
    vi.stubEnv("https_proxy", `http://user:${CANARY}@proxy example`);
    let error: unknown;
    try {
      new SettingsClient({ baseUrl: "https://mail-security.example", apiKey: KEY });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({
      code: "ERR_CONFIGURATION",
      message: expect.stringContaining("HTTPS_PROXY"),
    });
    expect(formatEverything(error)).not.toContain(CANARY);
  });
});

test("hides the key when a client is inspected", async () => {
  await using service = await RecordingService.start(createFixedAnswerer(200, { results: { items: [], total: 0 } }));
  await using client = new TestClient(service);
  await client.vipEmployees.list();
  const { allowDenyEntries, metrics, phishingReports, threats, vipEmployees } = client;
  for (const part of [client, allowDenyEntries, metrics, phishingReports, threats, vipEmployees, { client }]) {
    expect(formatEverything(part)).not.toContain(CANARY);
  }
  expect(inspect(client)).toBe(`SettingsClient { baseUrl: '${service.url}' }`);
});

test("sends loopback requests directly, not through a proxy", async () => {
  await using proxy = await RecordingService.start(createFixedAnswerer(200, { results: { items: [], total: 0 } }));
  await using service = await RecordingService.start(
    createFixedAnswerer(200, { results: { items: [{ email: "jane@example.com" }], total: 1 } }),
  );
  for (const name of ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"]) vi.stubEnv(name, proxy.url);
  for (const name of ["NO_PROXY", "no_proxy"]) vi.stubEnv(name, "");
  await using client = new TestClient(service);
  expect((await client.vipEmployees.list()).items).toHaveLength(1);
  expect(proxy.received).toEqual([]);
});
