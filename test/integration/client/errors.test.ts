import type { ServerResponse } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, test } from "vitest";
import * as client from "../../../provider/client";
import { classifyResponse } from "../../../provider/client/response-classification";
import {
  type Answerer,
  createFixedAnswerer,
  ENTRIES,
  getRejection,
  RecordingService,
  respondWithJson,
  TestClient,
  VIPS,
} from "./service";

const readDenies = (to: client.SettingsClient) => to.allowDenyEntries.list({ list: "deny", q: "secret-query" });
const createEvilEntry = (to: client.SettingsClient) =>
  to.allowDenyEntries.create({ list: "deny", entry_type: "domain", value: "evil.example" });

/** Makes one read and one write, each with its own client, and returns both errors. */
async function captureFailures(answer: Answerer, options: Partial<client.SettingsClientOptions> = {}) {
  await using service = await RecordingService.start(answer);
  await using reader = new TestClient(service, options);
  await using writer = new TestClient(service, options);
  const readError = (await getRejection(readDenies(reader))) as client.ServiceError;
  const writeError = (await getRejection(createEvilEntry(writer))) as client.ServiceError;
  expect(service.trace).toEqual([`GET ${ENTRIES}?list=deny&page=1&q=secret-query`, `POST ${ENTRIES}`]);
  return { ofRead: readError, ofWrite: writeError, url: service.url };
}

type ErrorClass = abstract new (...args: never[]) => client.ServiceError;

describe("error statuses", () => {
  test.each<[number, ErrorClass, string, string]>([
    [
      400,
      client.BadRequestError,
      "ERR_BAD_REQUEST",
      "The service rejected the request as invalid; nothing was changed.",
    ],
    [
      401,
      client.AuthenticationError,
      "ERR_AUTH",
      "The service does not accept this API key; check the key, and that it belongs to this address and tenant.",
    ],
    [
      403,
      client.AuthenticationError,
      "ERR_AUTH",
      "The service does not accept this API key; check the key, and that it belongs to this address and tenant.",
    ],
    [
      404,
      client.NotFoundError,
      "ERR_NOT_FOUND",
      "Either it does not exist for this tenant, or the address isn't the service's.",
    ],
    [409, client.ConflictError, "ERR_CONFLICT", "It already exists, or conflicts with another entry."],
    [
      418,
      client.UnexpectedStatusError,
      "ERR_UNEXPECTED_STATUS",
      "The service's reference does not define this status.",
    ],
    [
      422,
      client.UnexpectedStatusError,
      "ERR_UNEXPECTED_STATUS",
      "The service's reference does not define this status.",
    ],
    [429, client.RateLimitedError, "ERR_RATE_LIMITED", "Too many requests; wait, then run again."],
    [500, client.ServerError, "ERR_SERVER", "The service failed. You can safely run again."],
    [503, client.ServerError, "ERR_SERVER", "The service failed. You can safely run again."],
  ])("maps status %i to its error class and code", async (status, errorClass, code, advice) => {
    const { ofRead, ofWrite, url } = await captureFailures(
      createFixedAnswerer(status, { error: "not\u001b[2J today\n" }),
    );
    for (const [error, method] of [
      [ofRead, "GET"],
      [ofWrite, "POST"],
    ] as const) {
      expect(error).toBeInstanceOf(errorClass);
      expect(error).toBeInstanceOf(client.ServiceError);
      expect(error).toBeInstanceOf(client.EmailSecurityError);
      expect(error).toMatchObject({
        name: errorClass.name,
        code,
        status,
        request: { method, path: ENTRIES },
        serviceMessage: "not\\u{1b}[2J today",
        message: `${method} ${ENTRIES} at ${url} returned ${status}: not\\u{1b}[2J today. ${advice}`,
        // The outcome is unknown only if the service failed during a write.
        outcomeUnknown: method === "POST" && classifyResponse({ status }).outcomeUnknown,
      });
      expect(error.body).toEqual({ error: "not\u001b[2J today\n" });
    }
  });

  test.each<[string, Answerer]>([
    ["HTML", (_request, response) => response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad</h1>")],
    ["nothing", (_request, response) => response.writeHead(502).end()],
    ["half a body", (_request, response) => response.writeHead(502).end('{"error": "ha')],
    ["a body that breaks off", (_request, response) => breakOff(response, 502)],
    ["no text", createFixedAnswerer(502, { error: { message: "no" } })],
    ["an empty text", createFixedAnswerer(502, { error: " " })],
    ["a body that is far too large", createFixedAnswerer(502, { error: "x".repeat(5000) })],
  ])("maps 502 with %s to ERR_SERVER without a service message", async (_name, answer) => {
    const { ofRead, ofWrite, url } = await captureFailures(answer, { maxResponseBytes: 2000 });
    for (const error of [ofRead, ofWrite]) {
      expect(error).toMatchObject({ code: "ERR_SERVER", status: 502, serviceMessage: undefined });
    }
    expect(ofRead.message).toBe(`GET ${ENTRIES} at ${url} returned 502. The service failed. You can safely run again.`);
    expect([ofRead.outcomeUnknown, ofWrite.outcomeUnknown]).toEqual([false, true]);
  });

  test("classifies an error by its status when the body never ends", async () => {
    const { ofRead, ofWrite } = await captureFailures(
      (_request, response) => {
        response.writeHead(401, { "content-type": "application/json" }).write('{"error": "inva');
      },
      { timeoutMs: 200 },
    );
    for (const error of [ofRead, ofWrite]) expect(error).toMatchObject({ code: "ERR_AUTH", outcomeUnknown: false });
  });

  test("truncates long service messages", async () => {
    const long = await captureFailures(createFixedAnswerer(400, { error: "x".repeat(2000) }));
    expect(long.ofRead.serviceMessage).toBe(`${"x".repeat(500)}…`);
    const { ofRead } = await captureFailures(createFixedAnswerer(400, { error: "Try later." }));
    expect(ofRead.message).toContain("returned 400: Try later. The service rejected");
  });
});

describe("Retry-After", () => {
  test.each([
    ["120", 120_000],
    [" 0 ", 0],
    ["Wed, 21 Oct 2015 07:28:00 GMT", 0],
    [undefined, undefined],
    ["", undefined],
    ["soon", undefined],
    ["soon 5", undefined],
    ["1.5", 1_500],
    ["2, 3", 3_000],
    ["+2", 2_000],
    ["-1", 1_000],
    ['"4"', 4_000],
    [".5", 500],
    ["3,2", 3_000],
    ["2, soon", 2_000],
    ["2; 3", 3_000],
    ["5 s", 5_000],
    ["2 minutes", 120_000],
    ["1.5m", 90_000],
    ["1500 ms", 1_500],
    ["1e2", 100_000],
    ["Wed, 21 Oct 2015 07:28:00 GMT, 7", 7_000],
    ["Wed, 21 Oct 2015 07:28:00 UTC", 0],
    ["Wed Oct 21 07:28:00 2015", 0],
    ["2015-10-21T07:28:00Z", 0],
    [["2", "9", "3"], 9_000],
    [["2, 4", "3"], 4_000],
  ])("parses %j as %j ms", async (value, retryAfterMs) => {
    const headers: Record<string, string | string[]> = value === undefined ? {} : { "retry-after": value };
    const { ofWrite } = await captureFailures(createFixedAnswerer(429, { error: "slow down" }, headers));
    const wait = retryAfterMs ? `wait ${Math.ceil(retryAfterMs / 1000)} s` : "wait";
    expect(ofWrite.message).toContain(`returned 429: slow down. Too many requests; ${wait}, then run again.`);
    expect(ofWrite).toBeInstanceOf(client.RateLimitedError);
    expect((ofWrite as client.RateLimitedError).retryAfterMs).toBe(retryAfterMs);
    expect(ofWrite.outcomeUnknown).toBe(false);
  });

  test.each([
    ["9".repeat(12)],
    ["9".repeat(400)],
    ["1764115200"],
    ["2, 99999999999"],
    ["Wed, 21 Oct 2099 07:28:00 GMT"],
    ["2099-10-21T07:28:00+02:00"],
  ])("caps %j at 7 days", async (value) => {
    const { ofRead } = await captureFailures(createFixedAnswerer(429, {}, { "retry-after": value }));
    expect((ofRead as client.RateLimitedError).retryAfterMs).toBe(7 * 86_400_000);
    expect(ofRead.message).toMatch(
      /wait 604800 s \(at least until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\), which is longer than a run waits, then run again\.$/,
    );
  });

  test("states the end of a long wait in the error of a 503", async () => {
    const { ofRead } = await captureFailures(createFixedAnswerer(503, {}, { "retry-after": "1 hour" }));
    expect(ofRead.message).toMatch(/First wait 3600 s \(until .*Z\), which is longer than a run waits\.$/);
  });

  test("converts a future date to the time left", async () => {
    const headers = { date: "Sat, 21 Nov 2026 09:30:00 GMT", "retry-after": "Sun, 22 Nov 2026 09:30:00 GMT" };
    const { ofRead } = await captureFailures(createFixedAnswerer(429, {}, headers));
    expect((ofRead as client.RateLimitedError).retryAfterMs).toBe(86_400_000);
  });
});

describe("redirects", () => {
  test.each([301, 302, 303, 307, 308])("sends no request to the target of a %i", async (status) => {
    await using elsewhere = await RecordingService.start(createFixedAnswerer(200, { results: {} }));
    const location = `${elsewhere.url}/trap`;
    const { ofRead, ofWrite, url } = await captureFailures((_request, response) => {
      response.writeHead(status, { location }).end();
    });
    expect(elsewhere.received).toEqual([]);
    expect(ofWrite).toBeInstanceOf(client.RedirectError);
    expect(ofRead).toMatchObject({
      code: "ERR_REDIRECT",
      status,
      message: `GET ${ENTRIES} at ${url} returned ${status}, a redirect to "${elsewhere.url}/trap", which is not followed because it would send the API key elsewhere. Configure the address that responds without a redirect.`,
    });
  });

  test("rejects a redirect without a Location header", async () => {
    const { ofRead } = await captureFailures((_request, response) => response.writeHead(302).end());
    expect(ofRead).toMatchObject({
      code: "ERR_REDIRECT",
      message: expect.stringContaining("302, a redirect, which"),
    });
  });
});

describe("connection failures", () => {
  test("reports a known outcome when the connection is refused", async () => {
    const closed = await RecordingService.start(createFixedAnswerer(200, {}));
    const { url } = closed;
    await closed[Symbol.asyncDispose]();
    await using to = new TestClient({ url });
    for (const attempt of [readDenies, createEvilEntry]) {
      const error = await getRejection(attempt(to));
      expect(error).toBeInstanceOf(client.NetworkError);
      expect(error).toMatchObject({
        code: "ERR_NETWORK",
        status: undefined,
        outcomeUnknown: false,
        message: expect.stringMatching(/^(GET|POST) \S+ at \S+ failed: .*ECONNREFUSED.* Check that the address/),
        cause: { message: expect.stringContaining("ECONNREFUSED") },
      });
      expect((error as Error).message).not.toContain("secret-query");
    }
  });

  test("sends nothing after the client is closed", async () => {
    await using service = await RecordingService.start(createFixedAnswerer(200, {}));
    const to = new TestClient(service);
    await to.close();
    expect(await getRejection(createEvilEntry(to))).toMatchObject({
      code: "ERR_NETWORK",
      outcomeUnknown: false,
      message: `POST ${ENTRIES} at ${service.url} was not sent: this client is closed.`,
    });
    expect(service.received).toEqual([]);
  });

  test("reports an unknown outcome for a write after a reset", async () => {
    const { ofRead, ofWrite } = await captureFailures((_request, response) => response.socket?.resetAndDestroy());
    for (const error of [ofRead, ofWrite]) expect(error).toBeInstanceOf(client.NetworkError);
    expect([ofRead.outcomeUnknown, ofWrite.outcomeUnknown]).toEqual([false, true]);
    expect(ofWrite.message).toMatch(/^POST \S+ at \S+ failed: [^.]+\. Check that the address/);
  });

  test("raises ERR_NETWORK for a response that isn't HTTP", async () => {
    const server = createServer((socket) => {
      // The client closes connections that don't speak HTTP.
      socket.on("error", () => {});
      socket.end("SSH-2.0-OpenSSH_9.9\r\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await using to = new TestClient({ url: `http://127.0.0.1:${port}` });
    const error = await getRejection(readDenies(to));
    server.close();
    expect(error).toMatchObject({ code: "ERR_NETWORK" });
  });
});

describe("response timeouts", () => {
  test.each<[string, Answerer]>([
    ["no headers", () => {}],
    [
      "no end of the body",
      (_request, response) => {
        response.writeHead(200, { "content-type": "application/json" }).write('{"results": {');
      },
    ],
  ])("raises TimeoutError for a response with %s", async (_name, answer) => {
    const { ofRead, ofWrite, url } = await captureFailures(answer, { timeoutMs: 300 });
    for (const error of [ofRead, ofWrite]) expect(error).toBeInstanceOf(client.TimeoutError);
    expect(ofRead).toMatchObject({
      code: "ERR_TIMEOUT",
      status: undefined,
      message: `GET ${ENTRIES} at ${url} received no complete response within 300 ms. Check the address. If the service is slow, increase the timeout: EMAIL_SECURITY_TIMEOUT_MS, or timeoutMs in a program.`,
    });
    expect([ofRead.outcomeUnknown, ofWrite.outcomeUnknown]).toEqual([false, true]);
  });
});

describe("unreadable success responses", () => {
  const createRawAnswerer =
    (body: string, contentType?: string, status = 200): Answerer =>
    (_request, response) =>
      response.writeHead(status, contentType === undefined ? {} : { "content-type": contentType }).end(body);

  const { EmptyBodyError, TruncatedBodyError, HtmlResponseError, ContentTypeError } = client;
  const { InvalidResponseError, WrongEnvelopeError, ResponseTooLargeError } = client;
  const formatHtmlMessage = (label: string) =>
    `200 with an HTML page instead of JSON: "${label}". Check that the address is the service's own, and not that of a sign-in page or a proxy.`;

  test.each<[string, Answerer, ErrorClass, string, string]>([
    [
      "an empty body",
      createRawAnswerer("", "application/json"),
      EmptyBodyError,
      "ERR_EMPTY_BODY",
      "200 with an empty body instead of JSON",
    ],
    [
      "no body at all",
      createRawAnswerer("", undefined, 204),
      EmptyBodyError,
      "ERR_EMPTY_BODY",
      "204 with an empty body instead of JSON",
    ],
    [
      "half a body",
      createRawAnswerer('{"results": {', "application/json"),
      TruncatedBodyError,
      "ERR_TRUNCATED_BODY",
      `200 with JSON that is invalid or truncated: '{"results": {'`,
    ],
    [
      "a body cut off by a reset",
      (_request, response) => breakOff(response, 200),
      TruncatedBodyError,
      "ERR_TRUNCATED_BODY",
      "200 with a truncated body: the connection ended before the end of the body",
    ],
    [
      "chunks cut off by the end of the connection",
      (_request, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.write('{"results": {', () => response.socket?.end());
      },
      TruncatedBodyError,
      "ERR_TRUNCATED_BODY",
      "200 with a truncated body: the connection ended before the end of the body",
    ],
    [
      "HTML",
      createRawAnswerer(`<html>\u0007${"x".repeat(200)}`, "text/html; charset=utf-8"),
      HtmlResponseError,
      "ERR_HTML_RESPONSE",
      formatHtmlMessage(`<html>\\u{7}${"x".repeat(73)}…`),
    ],
    [
      "HTML under the content type of JSON",
      createRawAnswerer("\n<!DOCTYPE html>", "application/json"),
      HtmlResponseError,
      "ERR_HTML_RESPONSE",
      formatHtmlMessage("\\u{a}<!DOCTYPE html>"),
    ],
    [
      "JSON under another content type",
      createRawAnswerer('{"results": {}}', "text/plain"),
      ContentTypeError,
      "ERR_CONTENT_TYPE",
      `200 with content of type "text/plain" instead of JSON: '{"results": {}}'`,
    ],
    [
      "a list",
      createFixedAnswerer(200, []),
      InvalidResponseError,
      "ERR_INVALID_RESPONSE",
      "200, but its body doesn't match the reference: the body: Invalid input: expected object, received array",
    ],
    [
      "null",
      createFixedAnswerer(200, null),
      InvalidResponseError,
      "ERR_INVALID_RESPONSE",
      "200, but its body doesn't match the reference: the body: Invalid input: expected object, received null",
    ],
    [
      "no envelope",
      createFixedAnswerer(200, { items: [] }),
      InvalidResponseError,
      "ERR_INVALID_RESPONSE",
      "200, but its body doesn't match the reference: results: Invalid input: expected object, received undefined",
    ],
    [
      "results of another shape",
      createFixedAnswerer(200, { results: "none" }),
      InvalidResponseError,
      "ERR_INVALID_RESPONSE",
      "200, but its body doesn't match the reference: results: Invalid input: expected object, received string",
    ],
    [
      "another envelope",
      createFixedAnswerer(200, { results: [] }),
      WrongEnvelopeError,
      "ERR_WRONG_ENVELOPE",
      "200, but `results` is an array, but the reference has an object",
    ],
    [
      "the envelope of an error",
      createFixedAnswerer(200, { error: "no\u001b[2J" }),
      WrongEnvelopeError,
      "ERR_WRONG_ENVELOPE",
      "200, but it has `error` instead of `results`; the service reports: no\\u{1b}[2J",
    ],
    [
      "too large a body",
      createFixedAnswerer(200, { results: "x".repeat(3000) }),
      ResponseTooLargeError,
      "ERR_RESPONSE_TOO_LARGE",
      "more than 2000 bytes; reading was stopped",
    ],
  ])("rejects a success response with %s", async (_name, answer, errorClass, code, description) => {
    const { ofRead, ofWrite, url } = await captureFailures(answer, { maxResponseBytes: 2000 });
    for (const error of [ofRead, ofWrite]) {
      expect(error).toBeInstanceOf(client.InvalidResponseError);
      expect([error.constructor, error.name, error.code]).toEqual([errorClass, errorClass.name, code]);
      expect(error.status).toBe(Number(description.match(/^\d{3}\b/)?.[0] ?? 200));
    }
    expect(ofRead.message).toBe(`GET ${ENTRIES} at ${url} returned ${description}`);
    expect([ofRead.outcomeUnknown, ofWrite.outcomeUnknown]).toEqual([false, true]);
  });

  test("stops reading an endless response at the size limit", async () => {
    const { ofRead } = await captureFailures(
      (_request, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const writeMore = () => {
          while (!response.destroyed && response.write("x".repeat(10_000)));
        };
        response.on("drain", writeMore);
        writeMore();
      },
      { maxResponseBytes: 100_000 },
    );
    expect(ofRead).toMatchObject({
      name: "ResponseTooLargeError",
      code: "ERR_RESPONSE_TOO_LARGE",
      status: 200,
      message: expect.stringContaining("more than 100000 bytes"),
    });
  });

  test.each(["application/json", "application/json; charset=utf-8", "application/problem+json", undefined])(
    "parses content type %j as JSON",
    async (contentType) => {
      await using service = await RecordingService.start(
        createRawAnswerer('{"results": {"items": [], "total": 0}}', contentType),
      );
      await using to = new TestClient(service);
      expect(await to.vipEmployees.list()).toMatchObject({ items: [] });
    },
  );
});

test("ignores a byte order mark before the JSON", async () => {
  await using service = await RecordingService.start((_request, response) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end('\u{feff}{"results": {"items": [], "total": 0}}'),
  );
  await using to = new TestClient(service);
  expect((await to.vipEmployees.list()).items).toEqual([]);
});

test("keeps working after a failed request", async () => {
  await using service = await RecordingService.start((_request, response, index) => {
    if (index === 0) response.socket?.resetAndDestroy();
    else respondWithJson(response, 200, { results: { items: [{ email: "jane@example.com" }], total: 1 } });
  });
  await using to = new TestClient(service);
  await getRejection(to.vipEmployees.list());
  expect((await to.vipEmployees.list()).items).toHaveLength(1);
  expect(service.trace).toEqual([`GET ${VIPS}?page=1`, `GET ${VIPS}?page=1`]);
});

function breakOff(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-type": "application/json", "content-length": "1000" });
  response.write('{"results": {', () => response.socket?.resetAndDestroy());
}
