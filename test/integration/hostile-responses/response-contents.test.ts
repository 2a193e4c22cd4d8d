import { describe, expect, test } from "vitest";
import { ENDPOINTS, findEndpoint, wrapContent } from "../client/endpoints";
import { getRejection, RecordingService, TestClient } from "../client/service";

const ENTRY = '"id": "e1", "list": "deny", "entry_type": "domain", "value": "evil.example"';

/** Starts a service that responds to every request with exactly this body. */
async function startBodyService(body: string | Buffer) {
  return await RecordingService.start((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(body);
  });
}

describe("JavaScript property names in responses", () => {
  test.each(ENDPOINTS)("don't change the result of $name", async ({ name, call, envelope, content, answer }) => {
    const odd = '"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}, "toString": 7';
    const body = JSON.stringify(wrapContent(envelope, content)).replaceAll("{", `{${odd}, `);
    await using service = await startBodyService(body);
    await using client = new TestClient(service);
    expect(await call(client, "an-id"), name).toEqual(answer ?? content);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test.each(["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"])(
    "are ordinary values: %s",
    async (word) => {
      await using service = await startBodyService(
        `{"results": {"items": [{"id": "${word}", "list": "${word}", "entry_type": "${word}", "value": "${word}", "comment": "${word}"}], "total": 1}}`,
      );
      await using client = new TestClient(service);
      const [row] = await client.allowDenyEntries.readAll("deny");
      expect(row).toMatchObject({ id: word, list: word, entry_type: word, value: word, comment: word });
      await getRejection(client.allowDenyEntries.delete(word));
      expect(service.trace.at(-1)).toBe(`DELETE /api/v1/settings/allow_deny_entries/${word}`);
    },
  );
});

describe("unusual but valid JSON", () => {
  test.each<[string, string | Buffer, unknown]>([
    [
      "a duplicate key whose last value counts",
      `{"results": {}, "results": {${ENTRY}, "value": "other.example"}}`,
      { value: "other.example" },
    ],
    ["NUL in a text", `{"results": {${ENTRY}, "comment": "a\\u0000b"}}`, { comment: "a\u0000b" }],
    ["a lone surrogate in a comment", `{"results": {${ENTRY}, "comment": "a\\ud83d"}}`, { comment: "a\ud83d" }],
    ["numbers out of range", `{"results": {${ENTRY}, "more": [9007199254740993, 1e999, -0]}}`, { id: "e1" }],
    [
      "invalid UTF-8 in a comment",
      Buffer.concat([
        Buffer.from(`{"results": {${ENTRY}, "comment": "a`),
        Buffer.from([0xff, 0xfe]),
        Buffer.from('"}}'),
      ]),
      { comment: "a\ufffd\ufffd" },
    ],
    ["a byte order mark", `\ufeff{"results": {${ENTRY}}}`, { id: "e1" }],
  ])("is accepted: %s", async (_name, body, expected) => {
    await using service = await startBodyService(body);
    await using client = new TestClient(service);
    expect(await client.allowDenyEntries.update("e1", { comment: "x" })).toMatchObject(expected as object);
  });

  test.each<[string, string | Buffer]>([
    ["empty", '""'],
    ["a number", "7"],
    ["null", "null"],
    ["a lone surrogate", '"a\\ud83d"'],
    ["invalid UTF-8", Buffer.from([0x22, 0xc3, 0x28, 0x22])],
    ["longer than any id", JSON.stringify("x".repeat(1001))],
  ])("rejects an id that can't be sent back: %s", async (_name, id) => {
    const rest = Buffer.from(', "list": "deny", "entry_type": "domain", "value": "evil.example"}], "total": 1}}');
    await using service = await startBodyService(
      Buffer.concat([Buffer.from('{"results": {"items": [{"id": '), Buffer.from(id), rest]),
    );
    await using client = new TestClient(service);
    expect(await getRejection(client.allowDenyEntries.readAll("deny"))).toMatchObject({
      code: "ERR_INVALID_RESPONSE",
      message: expect.stringContaining("results.items.0.id: "),
    });
    expect(service.received).toHaveLength(1);
  });
});

describe("ids in paths", () => {
  const ID_ENDPOINTS = ENDPOINTS.filter(({ row }) => row.includes("{")).map(({ name }) => name);

  test("are part of five endpoints", () => {
    expect(ID_ENDPOINTS).toHaveLength(5);
  });

  test.each(ID_ENDPOINTS)("are part of one path segment: %s", async (name) => {
    const { call, envelope, content, row } = findEndpoint(name);
    const [method = "", path = ""] = row.split(" ");
    const before = path.slice(0, path.indexOf("{"));
    await using service = await startBodyService(JSON.stringify(wrapContent(envelope, content)));
    await using client = new TestClient(service);
    const sent = [
      "../x",
      "..%2f",
      "%2e%2e",
      "%2E.",
      ".%2e",
      "%252e%252e",
      "/",
      "//",
      "\\",
      "..\\x",
      "?",
      "#",
      "a?b#c",
      "\u0000",
      "a\u0000b",
      "...",
      " ",
      ". ",
      "é\u202e",
      "\uff0e\uff0e",
      "x".repeat(1000),
    ];
    for (const id of sent) await call(client, id);
    expect(service.received.map(({ method, url }) => `${method} ${url}`)).toEqual(
      sent.map((id) => `${method} ${before}${encodeURIComponent(id)}`),
    );
    for (const [index, { url }] of service.received.entries()) {
      expect(decodeURIComponent(url.slice(before.length))).toBe(sent[index]);
      // Any other URL parser reads the same path.
      expect(new URL(url, "http://x").pathname).toBe(url);
    }
    service.received.length = 0;
    for (const id of ["", ".", "..", "\ud83d", "x".repeat(1001)]) {
      expect(await getRejection(call(client, id))).toMatchObject({ code: "ERR_INVALID_ARGUMENT" });
    }
    expect(service.received).toEqual([]);
  });
});
