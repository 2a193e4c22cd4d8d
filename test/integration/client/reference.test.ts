import { describe, expect, test } from "vitest";
import * as client from "../../../provider/client";
import { type ClientEndpoint, ENDPOINTS, type Envelope, ODD_ID, parseRows, SUMMARY, wrapContent } from "./endpoints";
import {
  type Answerer,
  createFixedAnswerer,
  getRejection,
  KEY,
  RecordingService,
  respondWithJson,
  TestClient,
} from "./service";

/*
 * The reference line by line, for every endpoint: the summary, requests, response envelopes, and every error response.
 * fields.test.ts covers the tables of fields, and parameters.test.ts covers parameters and limits.
 */

const summary = parseRows(SUMMARY).map(([method, path]) => `${method} ${path}`);

/** Returns the client's error for one response to an endpoint's call. */
async function captureFailure(endpoint: ClientEndpoint, answer: Answerer, options = {}): Promise<client.ServiceError> {
  await using service = await RecordingService.start(answer);
  await using to = new TestClient(service, options);
  const error = await getRejection(endpoint.call(to, "x1"));
  expect(service.received).toHaveLength(1);
  expect(JSON.stringify(error) + String(error)).not.toContain(KEY);
  return error as client.ServiceError;
}

const isWrite = ({ row }: ClientEndpoint) => !row.startsWith("GET ");
const getMethod = ({ row }: ClientEndpoint) => row.split(" ")[0];
const getPath = ({ row }: ClientEndpoint, id: string) => row.split(" ")[1]?.replace(/\{\w+\}/, id) ?? "";

describe("endpoint summary", () => {
  test("lists exactly the twenty tested endpoints", () => {
    expect(summary).toHaveLength(20);
    expect(ENDPOINTS.map(({ row }) => row)).toEqual(summary);
  });

  test("lists every client method except reads of complete lists", async () => {
    await using to = new TestClient({ url: "https://mail-security.example" });
    const methods = Object.entries(to).flatMap(([group, methods]) =>
      Object.getOwnPropertyNames(Object.getPrototypeOf(methods))
        .filter((name) => name !== "constructor")
        .map((name) => `${group}.${name}`),
    );
    const readings = methods.filter((name) => /\.(iterate|readAll)/.test(name));
    expect(readings.sort()).toEqual([
      "allowDenyEntries.iterate",
      "allowDenyEntries.readAll",
      "metrics.iterateThreatsOverTime",
      "phishingReports.iterate",
      "threats.iterate",
      "vipEmployees.iterate",
      "vipEmployees.readAll",
    ]);
    expect(methods.filter((name) => !readings.includes(name)).sort()).toEqual(ENDPOINTS.map(({ name }) => name).sort());
  });
});

describe("request and response of each endpoint", () => {
  test.each(ENDPOINTS.map((endpoint) => [endpoint.row, endpoint] as const))(
    "match the reference for %s",
    async (_row, endpoint) => {
      const body = wrapContent(endpoint.envelope, endpoint.content);
      await using service = await RecordingService.start(createFixedAnswerer(200, body));
      await using to = new TestClient(service);
      expect(await endpoint.call(to, ODD_ID)).toEqual(endpoint.answer ?? endpoint.content);
      const segment = encodeURIComponent(ODD_ID);
      expect(service.trace).toEqual([`${getMethod(endpoint)} ${getPath(endpoint, segment)}${endpoint.query ?? ""}`]);
      // "Bodies are JSON; requests with a body use `Content-Type: application/json`."
      const [request] = service.received;
      expect(request?.body).toBe(endpoint.body === undefined ? "" : JSON.stringify(endpoint.body));
      expect(request?.headers["content-type"]).toBe(endpoint.body === undefined ? undefined : "application/json");
      // "Every endpoint requires an API key in the request header `X-Api-Key`."
      expect(request?.headers["x-api-key"]).toBe(KEY);
    },
  );

  test.each([201, 202, 206])("accepts status %i as success", async (status) => {
    for (const endpoint of ENDPOINTS) {
      await using service = await RecordingService.start(
        createFixedAnswerer(status, wrapContent(endpoint.envelope, endpoint.content)),
      );
      await using to = new TestClient(service);
      expect(await endpoint.call(to, "x1")).toEqual(endpoint.answer ?? endpoint.content);
    }
  });
});

describe("ids in paths", () => {
  const idEndpoints = ENDPOINTS.filter(({ row }) => row.includes("{"));

  test("are part of five endpoints", () => {
    expect(idEndpoints).toHaveLength(5);
  });

  test.each([
    "<a/b+c%@host>",
    "<CAF=x1@mail.example>",
    "..%2f",
    "../../settings/vip_employees",
    "%2e%2e",
    "%",
    "%zz",
    "a b\tc\n",
    "?q=1&r=2#s",
    "aggs/mttr",
    "日本é😀",
    '"quoted"@host',
    "\\..\\",
    "...",
  ])("arrive unchanged after percent-decoding: %j", async (id) => {
    await using service = await RecordingService.start(createFixedAnswerer(404, { error: "no" }));
    await using to = new TestClient(service);
    for (const endpoint of idEndpoints) {
      await getRejection(endpoint.call(to, id));
      const prefix = getPath(endpoint, "");
      const url = service.received.at(-1)?.url ?? "";
      expect(url.startsWith(prefix)).toBe(true);
      expect(url.slice(prefix.length)).not.toMatch(/[/?#]/);
      expect(decodeURIComponent(url.slice(prefix.length))).toBe(id);
    }
    expect(service.received).toHaveLength(5);
  });

  test.each<[unknown, RegExp]>([
    ["", /^(id|internetMessageId) is empty$/],
    [".", /^(id|internetMessageId) can't be "\."/],
    ["..", /^(id|internetMessageId) can't be "\.\."/],
    ["half \ud83d", /^(id|internetMessageId) contains half a character/],
    [7, /^(id|internetMessageId) must be a string, not 7$/],
    [undefined, /^(id|internetMessageId) must be a string, not undefined$/],
  ])("are rejected before any request: %j", async (id, message) => {
    await using service = await RecordingService.start(createFixedAnswerer(200, {}));
    await using to = new TestClient(service);
    for (const endpoint of idEndpoints) {
      expect(await getRejection(endpoint.call(to, id as string))).toMatchObject({
        code: "ERR_INVALID_ARGUMENT",
        message: expect.stringMatching(message),
      });
    }
    expect(service.received).toEqual([]);
  });
});

type ErrorClass = abstract new (...args: never[]) => client.ServiceError;

/** The reference's table "Errors", and the two statuses from the notes on it. */
const STATUSES: readonly (readonly [status: number, Class: ErrorClass, code: string])[] = [
  [400, client.BadRequestError, "ERR_BAD_REQUEST"],
  [401, client.AuthenticationError, "ERR_AUTH"],
  [404, client.NotFoundError, "ERR_NOT_FOUND"],
  [409, client.ConflictError, "ERR_CONFLICT"],
  [429, client.RateLimitedError, "ERR_RATE_LIMITED"],
  [500, client.ServerError, "ERR_SERVER"],
];

describe.each(STATUSES)("status %i", (status, Class, code) => {
  test.each(ENDPOINTS.map((endpoint) => [endpoint.row, endpoint] as const))(
    "raises its error class for %s",
    async (_row, endpoint) => {
      const body = { error: `no, ${status}` };
      const error = await captureFailure(endpoint, createFixedAnswerer(status, body));
      expect(error.constructor).toBe(Class);
      expect(error).toMatchObject({
        code,
        status,
        serviceMessage: `no, ${status}`,
        request: { method: getMethod(endpoint), path: getPath(endpoint, "x1") },
        outcomeUnknown: status === 500 && isWrite(endpoint),
        body,
      });
      expect(error.message).toContain(`${getMethod(endpoint)} ${getPath(endpoint, "x1")} at http://127.0.0.1:`);
      expect(error.message).toContain(` returned ${status}: no, ${status}. `);
    },
  );
});

const createRawAnswerer =
  (body: string, type: string): Answerer =>
  (_request, response) =>
    response.writeHead(200, { "content-type": type }).end(body);

/** Responses that don't follow the reference, although their status does. */
const WRONG: readonly (readonly [name: string, answer: Answerer, Class: ErrorClass, code: string])[] = [
  [
    "an HTML page",
    createRawAnswerer("<!doctype html><title>Sign in</title>", "text/html"),
    client.HtmlResponseError,
    "ERR_HTML_RESPONSE",
  ],
  ["an empty body", createRawAnswerer("", "application/json"), client.EmptyBodyError, "ERR_EMPTY_BODY"],
  [
    "half a body of JSON",
    createRawAnswerer('{"status": 200, "results": {', "application/json"),
    client.TruncatedBodyError,
    "ERR_TRUNCATED_BODY",
  ],
  [
    "a body cut off by the end of the connection",
    (_request, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"status": 200, ', () => response.socket?.end());
    },
    client.TruncatedBodyError,
    "ERR_TRUNCATED_BODY",
  ],
  ["another content type", createRawAnswerer("status=200", "text/plain"), client.ContentTypeError, "ERR_CONTENT_TYPE"],
  [
    "a body over the size limit",
    createRawAnswerer(`{"results": "${"x".repeat(2000)}"}`, "application/json"),
    client.ResponseTooLargeError,
    "ERR_RESPONSE_TOO_LARGE",
  ],
  ["no envelope", createFixedAnswerer(200, { status: 200 }), client.InvalidResponseError, "ERR_INVALID_RESPONSE"],
  [
    "results that are neither object nor array",
    createFixedAnswerer(200, { status: 200, results: 7 }),
    client.InvalidResponseError,
    "ERR_INVALID_RESPONSE",
  ],
  [
    "the envelope of an error",
    createFixedAnswerer(200, { error: "no" }),
    client.WrongEnvelopeError,
    "ERR_WRONG_ENVELOPE",
  ],
];

describe.each(WRONG)("response with %s", (_name, answer, Class, code) => {
  test.each(ENDPOINTS.map((endpoint) => [endpoint.row, endpoint] as const))(
    "is rejected for %s",
    async (_row, endpoint) => {
      const error = await captureFailure(endpoint, answer, { maxResponseBytes: 1000 });
      expect(error).toBeInstanceOf(client.InvalidResponseError);
      expect(error.constructor).toBe(Class);
      expect(error).toMatchObject({
        name: Class.name,
        code,
        status: 200,
        serviceMessage: code === "ERR_WRONG_ENVELOPE" ? "no" : undefined,
        request: { method: getMethod(endpoint), path: getPath(endpoint, "x1") },
        outcomeUnknown: isWrite(endpoint),
      });
      expect(error.message).toContain(`${getMethod(endpoint)} ${getPath(endpoint, "x1")} at http://`);
    },
  );
});

/** The envelopes that can't be mistaken for the expected one. */
const OTHERS: Readonly<Record<Envelope, readonly Envelope[]>> = {
  object: ["array", "items", "paginated", "settings page"],
  array: ["object", "items", "paginated", "settings page"],
  items: ["array", "paginated", "settings page"],
  paginated: ["array", "items", "settings page"],
  "settings page": ["array", "items", "paginated"],
};

describe("wrong envelopes", () => {
  test.each(ENDPOINTS.map((endpoint) => [endpoint.row, endpoint] as const))(
    "raise WrongEnvelopeError for %s",
    async (_row, endpoint) => {
      for (const other of OTHERS[endpoint.envelope]) {
        const body = wrapContent(other, endpoint.content);
        const error = await captureFailure(endpoint, createFixedAnswerer(200, body));
        expect(error).toMatchObject({
          name: "WrongEnvelopeError",
          code: "ERR_WRONG_ENVELOPE",
          status: 200,
          body,
          outcomeUnknown: isWrite(endpoint),
          message: expect.stringMatching(/ returned 200, but (?=.*`results`).*but the reference has /),
        });
      }
    },
  );
});

describe("page envelopes", () => {
  const paged = ENDPOINTS.filter(({ envelope }) => envelope === "paginated" || envelope === "settings page");

  test.each(paged.map((endpoint) => [endpoint.row, endpoint] as const))("are read for %s", async (_row, endpoint) => {
    const numbers = { page: 3, page_size: 1, total: 9 };
    const none = { page: undefined, page_size: undefined, total: undefined };
    const items = [endpoint.content];
    const bodies: [unknown, unknown][] =
      endpoint.envelope === "paginated"
        ? [
            [{ status: 200, pagination: numbers, results: { items } }, numbers],
            [{ pagination: { page: null }, results: { items } }, none],
            [{ pagination: { total: null }, results: { items } }, none],
          ]
        : [
            [{ status: 200, results: { items, ...numbers } }, numbers],
            [{ results: { items, page: null, page_size: null, total: null } }, none],
            [{ results: { items, total: null } }, none],
          ];
    await using service = await RecordingService.start((_request, response, index) =>
      respondWithJson(response, 200, bodies[index]?.[0]),
    );
    await using to = new TestClient(service);
    for (const [, read] of bodies) {
      expect(await endpoint.call(to, "x1")).toEqual({ items, ...(read as object) });
    }
  });

  test.each(paged.map((endpoint) => [endpoint.row, endpoint] as const))(
    "rejects %s without page data",
    async (_row, endpoint) => {
      for (const pagination of [undefined, null, {}, { next: "x" }]) {
        const body = { status: 200, pagination, results: { items: [] } };
        expect(await captureFailure(endpoint, createFixedAnswerer(200, body))).toMatchObject({
          code: "ERR_WRONG_ENVELOPE",
        });
      }
    },
  );

  test.each(paged.map((endpoint) => [endpoint.row, endpoint] as const))(
    "rejects %s with invalid page numbers",
    async (_row, endpoint) => {
      for (const name of ["page", "page_size", "total"]) {
        for (const wrong of ["1", -1, 1.5]) {
          const inside = { items: [], [name]: wrong };
          const body =
            endpoint.envelope === "paginated"
              ? { pagination: { [name]: wrong }, results: { items: [] } }
              : { results: inside };
          const error = await captureFailure(endpoint, createFixedAnswerer(200, body));
          const section = endpoint.envelope === "paginated" ? "pagination" : "results";
          expect(error).toMatchObject({ code: "ERR_INVALID_RESPONSE" });
          expect(error.message).toContain(`: ${section}.${name}: `);
        }
      }
    },
  );
});

test("exports each schema with its type", () => {
  const hours: client.HoursSaved = client.hoursSaved.parse({ hours_saved: 1.5 });
  const inboxes: client.ProtectedInboxes = client.protectedInboxes.parse({ protected_inboxes: 2 });
  const mean: client.MeanAnalysisTime = client.meanAnalysisTime.parse({ analysis_time: null });
  expect([hours.hours_saved, inboxes.protected_inboxes, mean.analysis_time]).toEqual([1.5, 2, null]);
  expect(client).not.toHaveProperty("optionalCountSchema");
});
