import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import { selectSize } from "../../support/matrix-sampling";
import { ENDPOINTS, findEndpoint, wrapContent } from "../client/endpoints";
import { runClient } from "./client-process";
import { type Attack, buildJsonAttack, HostileService, writeFlood } from "./hostile-service";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
/** The limit on memory growth for one response of any kind. */
const MOST_GROWTH_MIB = 220;
/** The limit on bytes taken from the service for one response: the client's limit, plus buffers on the way. */
const MOST_TAKEN_BYTES = 24 * MIB;

const EVERY_ENDPOINT = ENDPOINTS.map(({ name }) => name);
/** By default a single write, because all other calls read responses in the same way. */
const SAMPLE = selectSize("hostile-sizes", EVERY_ENDPOINT, ["vipEmployees.add"]);

export interface SizeCase {
  readonly attack: Attack;
  readonly code: string;
  readonly calls?: readonly string[];
  /** The number of attempts for a read. Default: 1. */
  readonly attempts?: number;
  readonly timeoutMs?: number;
  /** The number of bytes sent for one byte of the response. Default: 1. */
  readonly overhead?: number;
}

/** Returns an attack with a JSON response of 1 GiB. */
function createFloodAttack(name: string, headers: Record<string, string>, status = 200): Attack {
  return {
    name,
    answer: async (response) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.write('{"results": "');
      await writeFlood(response as unknown as Socket, Buffer.alloc(64 * 1024, "x"), GIB);
      response.end('"}');
    },
  };
}

/** Returns an attack whose HTTP header never ends. */
function createEndlessHeadAttack(name: string, begin: string, repeated: string): Attack {
  return {
    name,
    raw: async (socket) => {
      socket.write(begin);
      await writeFlood(socket, Buffer.from(repeated.repeat(1000)), GIB);
    },
  };
}

/** Repeats a text up to 15 MiB. */
function fillBody(open: string, repeated: string, close: string): string {
  return open + repeated.repeat(Math.floor((15 * MIB) / Buffer.byteLength(repeated))) + close;
}

/** Returns 1 GiB of one letter, compressed. A gzip file may consist of several members. */
function buildGzipBomb(): Buffer {
  const member = gzipSync(Buffer.alloc(64 * MIB, "x"));
  return Buffer.concat(Array.from({ length: 16 }, () => member));
}

const TOO_LARGE: readonly SizeCase[] = [
  { attack: createFloodAttack("1 GiB, chunked", {}), code: "ERR_RESPONSE_TOO_LARGE" },
  {
    attack: createFloodAttack("1 GiB, announced", { "content-length": String(GIB + 15) }),
    code: "ERR_RESPONSE_TOO_LARGE",
  },
  {
    attack: buildJsonAttack("a gzip bomb of 1 GiB", buildGzipBomb(), { "content-encoding": "gzip" }),
    code: "ERR_CONTENT_TYPE",
  },
  {
    attack: buildJsonAttack("10 million nested arrays", `{"results":${"[".repeat(10_000_000)}`),
    code: "ERR_RESPONSE_TOO_LARGE",
  },
  {
    attack: buildJsonAttack("8 million nested arrays, closed", `{"results":${"[".repeat(8e6)}${"]".repeat(8e6)}}`),
    code: "ERR_RESPONSE_TOO_LARGE",
  },
];

const ITEMS = "vipEmployees.list";

const MADE_BIG: readonly SizeCase[] = [
  {
    attack: buildJsonAttack("5 million objects", fillBody('{"results":[', "{},", "{}]}")),
    code: "ERR_RESPONSE_TOO_LARGE",
  },
  {
    attack: buildJsonAttack("5 million properties", fillBody('{"results":{', '"a":0,', '"b":0}}')),
    code: "ERR_RESPONSE_TOO_LARGE",
  },
  {
    attack: buildJsonAttack(
      "half a million wrong items",
      `{"results":{"items":[${"{},".repeat(490_000)}{}],"total":1}}`,
    ),
    code: "ERR_RESPONSE_TOO_LARGE",
    calls: ["allowDenyEntries.list"],
  },
  {
    attack: buildJsonAttack("half a million items that are no objects", `{"results":[${"7,".repeat(490_000)}7]}`),
    code: "ERR_RESPONSE_TOO_LARGE",
    calls: ["threats.byInternetMessageId", "phishingReports.byReportInternetMessageId"],
  },
  {
    attack: buildJsonAttack("half a million addresses that are none", `{"not_in_org":[${"7,".repeat(490_000)}7]}`),
    code: "ERR_INVALID_RESPONSE",
    calls: ["vipEmployees.add"],
  },
  {
    attack: buildJsonAttack("half a million nested arrays in a field that nobody knows", buildNestedField(490_000)),
    code: "",
    calls: [ITEMS],
  },
  {
    attack: buildJsonAttack("a key of 15 MiB", fillBody('{"', "k", '":0}')),
    code: "ERR_INVALID_RESPONSE",
  },
  {
    attack: buildJsonAttack("a number of 15 million digits", fillBody('{"results":', "9", "}")),
    code: "ERR_INVALID_RESPONSE",
  },
  { attack: buildJsonAttack("15 MiB of escapes", fillBody('{"error":"', "\\u0007", '"}')), code: "ERR_WRONG_ENVELOPE" },
  {
    attack: buildJsonAttack("15 MiB of control characters", fillBody("", "\u0007", "")),
    code: "ERR_TRUNCATED_BODY",
    attempts: 4,
  },
  {
    attack: buildJsonAttack("15 MiB of white space", fillBody("", " ", "")),
    code: "ERR_EMPTY_BODY",
    // For a deletion, a success without a body is valid.
    calls: SAMPLE.filter((name) => !name.endsWith(".delete")),
  },
  {
    attack: buildJsonAttack("15 MiB that is no UTF-8", Buffer.alloc(15 * MIB, 0xff)),
    code: "ERR_TRUNCATED_BODY",
    attempts: 4,
  },
  {
    attack: buildJsonAttack("15 MiB of backslashes", fillBody('{"results":"', "\\\\", '"}')),
    code: "ERR_INVALID_RESPONSE",
  },
  {
    attack: buildJsonAttack("15 MiB of HTML", fillBody("<html>", "<p>\u0007", ""), { "content-type": "text/html" }),
    code: "ERR_HTML_RESPONSE",
  },
];

/** The endpoints that return lists, both top-five and complete ones. */
const LISTING = ENDPOINTS.filter(({ envelope }) => envelope !== "object").map(({ name }) => name);

/** Responds to each of these endpoints with `count` of its smallest rows, or with as many as fit into 15 MiB. */
function createRowsAttack(count: number, names: readonly string[] = LISTING): Attack {
  return {
    name: `${count} small rows`,
    answer: (response) => {
      const path = response.req.url?.split("?")[0] ?? "";
      const name = names.find((candidate) => isAt(findEndpoint(candidate).row, path)) ?? "";
      const { envelope, content } = findEndpoint(name);
      const row = JSON.stringify(content);
      const fitting = Math.min(count, Math.floor((15 * MIB) / (row.length + 1)));
      const [before = "", after] = JSON.stringify(wrapContent(envelope, "ROWS")).split('"ROWS"');
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`${before}${`${row},`.repeat(fitting - 1)}${row}${after}`);
    },
  };
}

/** Returns whether a path belongs to a row of the reference's summary. */
function isAt(row: string, path: string): boolean {
  const [method, rowPath = ""] = row.split(" ");
  return (
    method === "GET" && path.startsWith(rowPath.replace(/\{.*/, "")) && rowPath.includes("{") === (rowPath !== path)
  );
}

const ROWS: readonly SizeCase[] = [
  { attack: createRowsAttack(490_000), code: "ERR_RESPONSE_TOO_LARGE", calls: LISTING },
  // This many rows are accepted, so that a service can return a whole list at once.
  ...selectSize(
    "hostile-sizes",
    LISTING.filter((name) => findEndpoint(name).envelope !== "items"),
    ["vipEmployees.list", "threats.list"],
  ).map((name) => ({ attack: createRowsAttack(50_000, [name]), code: "", calls: [name] })),
  {
    attack: buildJsonAttack(
      "100 thousand parts of one row",
      `{"results":[{"id":"t","threat_indicators":[${"{},".repeat(99_000)}{}]}]}`,
    ),
    code: "",
    calls: ["threats.byInternetMessageId"],
  },
  {
    attack: buildJsonAttack(
      "900 thousand addresses",
      `{"results":{"added":[${'"a@b.example",'.repeat(900_000)}""],"already_vip":[],"not_in_org":[]}}`,
    ),
    code: "",
    calls: ["vipEmployees.add"],
  },
];

function buildNestedField(depth: number): string {
  const nested = "[".repeat(depth) + "]".repeat(depth);
  return `{"results":{"items":[],"total":0,"page":1,"more":${nested}}}`;
}

const HEADS: readonly SizeCase[] = [
  {
    attack: createEndlessHeadAttack("a header without an end", "HTTP/1.1 200 OK\r\nx-long: ", "x".repeat(60)),
    code: "ERR_NETWORK",
    attempts: 4,
  },
  {
    attack: createEndlessHeadAttack("headers without an end", "HTTP/1.1 200 OK\r\n", "x-more: 1\r\n"),
    code: "ERR_NETWORK",
    attempts: 4,
  },
  {
    attack: createEndlessHeadAttack(
      "interim answers without an end",
      "",
      "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n",
    ),
    code: "ERR_TIMEOUT",
    attempts: 4,
    timeoutMs: 250,
  },
  {
    attack: createEndlessHeadAttack(
      "trailers without an end",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n",
      "x-more: 1\r\n",
    ),
    code: "ERR_TRUNCATED_BODY",
    attempts: 4,
  },
  {
    attack: createEndlessHeadAttack(
      "chunks with extensions without an end",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
      "2;x=1\r\n  \r\n",
    ),
    code: "ERR_RESPONSE_TOO_LARGE",
    calls: ["allowDenyEntries.list"],
    overhead: 6,
  },
  {
    attack: {
      name: "a slow endless body",
      answer: (response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const drip = setInterval(() => response.write(" "), 20);
        response.on("close", () => clearInterval(drip));
      },
    },
    code: "ERR_TIMEOUT",
    attempts: 4,
    timeoutMs: 250,
  },
  {
    attack: {
      name: "slow endless headers",
      raw: (socket) => {
        socket.write("HTTP/1.1 200 OK\r\n");
        const drip = setInterval(() => socket.write("x: 1\r\n"), 20);
        socket.on("close", () => clearInterval(drip));
      },
    },
    code: "ERR_TIMEOUT",
    attempts: 4,
    timeoutMs: 250,
  },
  { attack: createFloodAttack("1 GiB under 400", {}, 400), code: "ERR_BAD_REQUEST" },
  { attack: createFloodAttack("1 GiB under 500", {}, 500), code: "ERR_SERVER", attempts: 4 },
];

/** All cases, with the default endpoints of each group. */
export const GROUPS: readonly (readonly [label: string, cases: readonly SizeCase[], endpoints: readonly string[]])[] = [
  ["that is too large", TOO_LARGE, SAMPLE],
  ["that expands in memory", MADE_BIG, SAMPLE],
  ["of many rows", ROWS, []],
  ["without an end", HEADS, SAMPLE],
];

/** The cases that `npm test` runs. */
const BRIEFLY = [
  "1 GiB, chunked",
  "half a million nested arrays in a field that nobody knows",
  "490000 small rows",
  "headers without an end",
];

export function isBrief({ attack: { name } }: SizeCase): boolean {
  return BRIEFLY.includes(name);
}

export async function assertBoundedCost(
  { attack, code, calls: own, attempts = 1, timeoutMs, overhead = 1 }: SizeCase,
  endpoints: readonly string[],
): Promise<void> {
  const calls = own ?? endpoints;
  await using service = await HostileService.start(attack);
  const run = await runClient({
    baseUrl: service.url,
    calls,
    concurrent: timeoutMs !== undefined,
    options: timeoutMs === undefined ? {} : { timeoutMs },
  });
  expect({ ...run, grownMiB: 0 }).toEqual({
    outcomes: expect.any(Array),
    grownMiB: 0,
    exitCode: 0,
    complaints: "",
  });
  expect(run.outcomes.map((outcome) => [outcome.name, outcome.code ?? ""]).sort()).toEqual(
    calls.map((name) => [name, code]).sort(),
  );
  expect(run.grownMiB).toBeLessThan(MOST_GROWTH_MIB);
  expect(service.requests).toBeLessThanOrEqual(calls.length * attempts);
  await service[Symbol.asyncDispose]();
  expect(service.bytes / service.requests).toBeLessThan(MOST_TAKEN_BYTES * overhead);
}
