import { describe, expect, test } from "vitest";
import type { SettingsClient } from "../../../provider/client";
import { findEndpoint, wrapContent } from "./endpoints";
import { getRejection, RecordingService, respondWithJson, TestClient } from "./service";

/*
 * Each query parameter and limit in the reference: the values that the client sends, those it leaves to the service's
 * defaults, and those it rejects before any request.
 */

type ReadCall = (client: SettingsClient, query?: Record<string, unknown>) => Promise<unknown>;

/** Each call with a query, including queries that the types don't allow. */
const CALLS: Readonly<Record<string, ReadCall>> = {
  "threats.list": ({ threats }, query) => threats.list(query as never),
  "phishingReports.list": ({ phishingReports }, query) => phishingReports.list(query as never),
  "phishingReports.meanTimeToAnalyze": ({ phishingReports }, query) =>
    phishingReports.meanTimeToAnalyze(query as never),
  "metrics.threatsOverTime": ({ metrics }, query) => metrics.threatsOverTime(query as never),
  "metrics.topTargetedEntities": ({ metrics }, query) => metrics.topTargetedEntities(query as never),
  "metrics.topThreatTypes": ({ metrics }, query) => metrics.topThreatTypes(query as never),
  "metrics.highlightedThreats": ({ metrics }, query) => metrics.highlightedThreats(query as never),
  "metrics.hoursSaved": ({ metrics }, query) => metrics.hoursSaved(query as never),
  "metrics.protectedInboxes": ({ metrics }, query) => metrics.protectedInboxes(query as never),
  "vipEmployees.list": ({ vipEmployees }, query) => vipEmployees.list(query as never),
  "allowDenyEntries.list": ({ allowDenyEntries }, query) => allowDenyEntries.list(query as never),
};
const getCall = (name: string): ReadCall => CALLS[name] as ReadCall;

async function startEndpointService(name: string): Promise<RecordingService> {
  const { envelope, content } = findEndpoint(name);
  return await RecordingService.start((_request, response) =>
    respondWithJson(response, 200, wrapContent(envelope, content)),
  );
}

/** Returns the query that is sent. */
async function captureQuery(name: string, query?: Record<string, unknown>): Promise<string> {
  await using service = await startEndpointService(name);
  await using client = new TestClient(service);
  await getCall(name)(client, query);
  expect(service.received).toHaveLength(1);
  return service.received[0]?.url.match(/\?.*/)?.[0] ?? "";
}

/** Returns the error message of a call that is rejected before any request. */
async function captureRejection(name: string, query: Record<string, unknown>): Promise<string> {
  await using service = await startEndpointService(name);
  await using client = new TestClient(service);
  const error = await getRejection(getCall(name)(client, query));
  expect(error).toMatchObject({ name: "InvalidArgumentError", code: "ERR_INVALID_ARGUMENT" });
  expect(service.received).toEqual([]);
  return (error as Error).message;
}

const LISTS_BY_WINDOW = ["threats.list", "phishingReports.list"];
const BY_DAYS = [
  "metrics.threatsOverTime",
  "metrics.topTargetedEntities",
  "metrics.topThreatTypes",
  "metrics.highlightedThreats",
  "metrics.hoursSaved",
  "metrics.protectedInboxes",
  "phishingReports.meanTimeToAnalyze",
];
const SETTINGS = ["vipEmployees.list", "allowDenyEntries.list"];

describe("omitted parameters", () => {
  test.each([
    // "minutes_ago | integer | 7*24*60 (one week)"; "default 30*24*60, thirty days"; "page | integer | 1"
    ...LISTS_BY_WINDOW.map((name) => [name, ""]),
    // "`days` integer (default 7)"; "entity type string, `user` or `group` (default `user`)"
    ...BY_DAYS.map((name) => [name, ""]),
    // "page_size | integer | 50"; "sort | string, asc or desc | desc"; the client always sends the page.
    ...SETTINGS.map((name) => [name, "?page=1"]),
  ])("leave the defaults of %s to the service, sending %j", async (name = "", query) => {
    expect(await captureQuery(name)).toBe(query);
    expect(await captureQuery(name, {})).toBe(query);
    const allUndefined = { minutes_ago: undefined, page: undefined, page_size: undefined, days: undefined };
    const more = { q: undefined, sort: undefined, list: undefined, entity_type: undefined, extra: undefined };
    expect(await captureQuery(name, { ...allUndefined, ...more })).toBe(query);
  });
});

describe("query parameters", () => {
  test.each<[string, Record<string, unknown>, string]>([
    ["threats.list", { page: 2, minutes_ago: 10_080 }, "?minutes_ago=10080&page=2"],
    ["threats.list", { page: 1, page_size: 100 }, "?page=1&page_size=100"],
    ["phishingReports.list", { page: 2, minutes_ago: 43_200 }, "?minutes_ago=43200&page=2"],
    ["metrics.threatsOverTime", { page: 2, days: 7 }, "?days=7&page=2"],
    ["metrics.topTargetedEntities", { days: 7, entity_type: "user" }, "?days=7&entity_type=user"],
    ["metrics.topTargetedEntities", { entity_type: "group" }, "?entity_type=group"],
    [
      "metrics.topTargetedEntities",
      { entity_type: "group", entity_type_parameter: "kind of&entity" },
      "?kind+of%26entity=group",
    ],
    // The name alone sends nothing, so the service's default applies.
    ["metrics.topTargetedEntities", { entity_type_parameter: "kind" }, ""],
    ...BY_DAYS.map((name): [string, Record<string, unknown>, string] => [name, { days: 90 }, "?days=90"]),
    [
      "vipEmployees.list",
      { page: 2, page_size: 200, q: "Ann & é", sort: "asc" },
      "?page=2&page_size=200&q=Ann+%26+%C3%A9&sort=asc",
    ],
    ["vipEmployees.list", { sort: "desc" }, "?page=1&sort=desc"],
    [
      "allowDenyEntries.list",
      { list: "allow", page: 2, page_size: 1, q: "evil" },
      "?list=allow&page=2&page_size=1&q=evil",
    ],
  ])("encodes %s with %j as %j", async (name, query, line) => {
    expect(await captureQuery(name, query)).toBe(line);
  });
});

describe("arguments out of range", () => {
  const numbers: [name: string, property: string, most?: number][] = [
    ...LISTS_BY_WINDOW.flatMap((name): [string, string][] => [
      [name, "minutes_ago"],
      [name, "page"],
    ]),
    ...BY_DAYS.map((name): [string, string] => [name, "days"]),
    ["metrics.threatsOverTime", "page"],
    // "page_size maximum | 100 | threat list (stated in the pagination schema)"
    ["threats.list", "page_size", 100],
    // "page_size maximum | 200 | VIP list, allow/deny list"
    ...SETTINGS.flatMap((name): [string, string, number?][] => [
      [name, "page"],
      [name, "page_size", 200],
    ]),
  ];

  test.each(numbers)("rejects a call of %s with an invalid %s", async (name, property, most) => {
    const range = most === undefined ? "of 1 or more" : `from 1 to ${most}`;
    const misfits: [unknown, string][] = [
      [0, "0"],
      [-1, "-1"],
      [1.5, "1.5"],
      [Number.NaN, "NaN"],
      [Number.POSITIVE_INFINITY, "Infinity"],
      // A string that looks like a number, as JavaScript code receives it from a form or the environment.
      ["7", '"7"'],
      ["", '""'],
      [true, "true"],
      [null, "null"],
      [[7], "[7]"],
      ...(most === undefined ? [] : ([[most + 1, String(most + 1)]] as [unknown, string][])),
    ];
    for (const [value, label] of misfits) {
      expect(await captureRejection(name, { [property]: value })).toBe(
        `${property} must be a whole number ${range}, not ${label}`,
      );
    }
    if (most === undefined) {
      expect(await captureRejection(name, { [property]: 1e20 })).toBe(
        `${property} is too large: 100000000000000000000 is more than 9007199254740991`,
      );
    }
    for (const value of most === undefined ? [1, 1_000_000] : [1, most]) {
      expect(await captureQuery(name, { [property]: value })).toContain(`${property}=${value}`);
    }
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["vipEmployees.list", { sort: "up" }, 'sort must be "asc" or "desc", not "up"'],
    ["allowDenyEntries.list", { list: "block" }, 'list must be "allow" or "deny", not "block"'],
    [
      "metrics.topTargetedEntities",
      { entity_type: "team\n" },
      'entity_type must be "user" or "group", not "team\\u{a}"',
    ],
    ["metrics.topTargetedEntities", { entity_type_parameter: "" }, "entity_type_parameter is empty"],
    ["metrics.topTargetedEntities", { entity_type_parameter: 7 }, "entity_type_parameter must be a string, not 7"],
    [
      "metrics.topTargetedEntities",
      { entity_type_parameter: "days", entity_type: "user", days: 7 },
      'entity_type_parameter can\'t be "days", because the period has that name',
    ],
  ])("rejects %s with %j", async (name, query, message) => {
    expect(await captureRejection(name, query)).toBe(message);
  });

  test.each<[string, (client: SettingsClient) => Promise<unknown>, string]>([
    // "emails array length | 1 to 1000 | VIP remove"
    ["no address", (c) => c.vipEmployees.remove([]), "emails is empty; specify at least one address"],
    [
      "1001 addresses",
      (c) => c.vipEmployees.remove(Array.from({ length: 1001 }, () => "a@example.com")),
      "emails has 1001 addresses; one request can have at most 1000",
    ],
    [
      "an address instead of a list",
      (c) => c.vipEmployees.remove("a@example.com" as never),
      "emails must be an array of addresses",
    ],
    [
      "an address that isn't a string",
      (c) => c.vipEmployees.add(["a@example.com", undefined] as never),
      "emails[1] must be a string, not undefined",
    ],
    ["an edit without an address", (c) => c.vipEmployees.editComment(" ", "x"), "email is empty"],
    [
      "an entry whose value is white space",
      (c) => c.allowDenyEntries.create({ list: "deny", entry_type: "domain", value: " " }),
      "value is empty",
    ],
    [
      "an entry whose value is a number",
      (c) => c.allowDenyEntries.create({ list: "deny", entry_type: "ip", value: 7 as never }),
      "value must be a string, not 7",
    ],
  ])("reject %s", async (_name, call, message) => {
    await using service = await startEndpointService("threats.list");
    await using client = new TestClient(service);
    expect(await getRejection(call(client))).toMatchObject({ code: "ERR_INVALID_ARGUMENT", message });
    expect(service.received).toEqual([]);
  });
});

describe("invalid queries", () => {
  test.each(Object.keys(CALLS))("are rejected before any request by %s", async (name) => {
    for (const [query, label] of [
      [null, "null"],
      ["x", '"x"'],
      [5, "5"],
      [[], "[]"],
    ] as const) {
      expect(await captureRejection(name, query as never)).toBe(`query must be an object, not ${label}`);
    }
    expect(await captureRejection(name, { minutesAgo: 5 })).toMatch(
      /^query contains "minutesAgo", which isn't a parameter of this call; the parameters are (minutes_ago|days|q|list), /,
    );
    if (SETTINGS.includes(name)) {
      for (const [q, label] of [
        [{}, "{}"],
        [null, "null"],
        [[], "[]"],
        [5, "5"],
      ]) {
        expect(await captureRejection(name, { q })).toBe(`q must be a string, not ${label}`);
      }
    } else {
      for (const [extra, label] of [
        ["a=b", '"a=b"'],
        [["a"], '["a"]'],
        [null, "null"],
      ]) {
        expect(await captureRejection(name, { extra })).toBe(`extra must be an object, not ${label}`);
      }
    }
  });
});

describe("invalid request bodies", () => {
  const entry = { list: "deny", entry_type: "domain", value: "evil.example" } as const;
  const NO_TEXTS: [unknown, string][] = [
    [null, "null"],
    [5, "5"],
    [{}, "{}"],
    [[], "[]"],
  ];
  type WriteCall = (client: SettingsClient, value: never) => Promise<unknown>;
  const buildRejectionCases = (property: string, call: WriteCall): [string, WriteCall, unknown, string][] =>
    NO_TEXTS.map(([value, label]) => [property, call, value, `${property} must be a string, not ${label}`]);

  test.each<[string, WriteCall, unknown, string]>([
    ...buildRejectionCases("comment", (c, comment) => c.vipEmployees.editComment("a@example.com", comment)),
    [
      "comment",
      (c, comment) => c.vipEmployees.editComment("a@example.com", comment),
      undefined,
      "comment must be a string, not undefined",
    ],
    ...buildRejectionCases("comment", (c, comment) => c.vipEmployees.add(["a@example.com"], comment)),
    ...buildRejectionCases("comment", (c, comment) => c.allowDenyEntries.create({ ...entry, comment })),
    ...buildRejectionCases("verdict_scope", (c, scope) =>
      c.allowDenyEntries.create({ ...entry, verdict_scope: scope }),
    ),
    ...buildRejectionCases("comment", (c, comment) => c.allowDenyEntries.update("e1", { comment })),
    ...buildRejectionCases("verdict_scope", (c, scope) => c.allowDenyEntries.update("e1", { verdict_scope: scope })),
    ...[undefined, null, 5, "x", []].flatMap((value): [string, WriteCall, unknown, string][] => [
      [
        "change",
        (c, change) => c.allowDenyEntries.update("e1", change),
        value,
        `change must be an object, not ${JSON.stringify(value)}`,
      ],
      [
        "entry",
        (c, argument) => c.allowDenyEntries.create(argument),
        value,
        `entry must be an object, not ${JSON.stringify(value)}`,
      ],
    ]),
    ...[{}, { comment: undefined }].map((value): [string, WriteCall, unknown, string] => [
      "change",
      (c, change) => c.allowDenyEntries.update("e1", change),
      value,
      "change is empty; set at least one of list, verdict_scope, comment",
    ]),
    [
      "change",
      (c, change) => c.allowDenyEntries.update("e1", change),
      { value: "x", comment: "y" },
      'change contains "value", which isn\'t a parameter of this call; the parameters are list, verdict_scope, comment',
    ],
    [
      "entry",
      (c, argument) => c.allowDenyEntries.create(argument),
      { ...entry, verdictScope: "global" },
      'entry contains "verdictScope", which isn\'t a parameter of this call; the parameters are id, list, entry_type, value, verdict_scope, comment, created_at, created_by',
    ],
    ["list", (c, list) => c.allowDenyEntries.readAll(list), undefined, 'list must be "allow" or "deny", not undefined'],
    ["emails", (c, emails) => c.vipEmployees.add(emails), new Array(1), "emails[0] must be a string, not undefined"],
  ])("rejects %s of call %# before any request: %s, given %j", async (_name, call, value, message) => {
    await using service = await startEndpointService("threats.list");
    await using client = new TestClient(service);
    expect(await getRejection(call(client, value as never))).toMatchObject({
      code: "ERR_INVALID_ARGUMENT",
      message,
    });
    expect(service.received).toEqual([]);
  });
});

describe("writable fields", () => {
  const row = {
    id: "e1",
    list: "deny",
    entry_type: "domain",
    value: "evil.example",
    created_by: "Ann",
  } as const;

  test.each<[string, (client: SettingsClient) => Promise<unknown>, unknown]>([
    // "only `list`, `verdict_scope` and `comment` are mutable"
    [
      "PATCH",
      (c) =>
        c.allowDenyEntries.update("e1", {
          list: "deny",
          verdict_scope: "global",
          comment: undefined,
        } as never),
      { list: "deny", verdict_scope: "global" },
    ],
    ["POST", (c) => c.allowDenyEntries.create(row), { list: "deny", entry_type: "domain", value: "evil.example" }],
  ])("are the only fields that a %s request sends", async (_name, call, body) => {
    await using service = await RecordingService.start((_request, response) =>
      respondWithJson(response, 200, { status: 200, results: row }),
    );
    await using client = new TestClient(service);
    await call(client);
    expect(service.received.map((request) => JSON.parse(request.body))).toEqual([body]);
  });
});

describe("extra query parameters", () => {
  const extensibleCalls = Object.keys(CALLS).filter((name) => !SETTINGS.includes(name));
  /** Returns the parameters that each of these calls sets itself. */
  const listOwn = (name: string): string[] => [
    ...(LISTS_BY_WINDOW.includes(name) ? ["minutes_ago", "page"] : ["days"]),
    ...(name === "threats.list" ? ["page_size"] : []),
    ...(name === "metrics.threatsOverTime" ? ["page"] : []),
    ...(name === "metrics.topTargetedEntities" ? ["entity_type"] : []),
  ];

  test.each(extensibleCalls)("are appended by %s after its own", async (name) => {
    const extra = { "a b": "c&d=é", zero: 0, half: 0.5, no: false, empty: "", left_out: undefined };
    const own = LISTS_BY_WINDOW.includes(name) ? "minutes_ago" : "days";
    expect(await captureQuery(name, { extra, [own]: 3 })).toBe(
      `?${own}=3&a+b=c%26d%3D%C3%A9&zero=0&half=0.5&no=false&empty=`,
    );
  });

  test.each(extensibleCalls)("are rejected by %s when it sets them itself", async (name) => {
    for (const own of listOwn(name)) {
      for (const query of [{ [own]: own === "entity_type" ? "user" : 1 }, {}]) {
        expect(await captureRejection(name, { ...query, extra: { [own]: 2 } })).toBe(
          `extra contains "${own}", but this call has its own property for it; use that`,
        );
      }
    }
  });

  test("can't repeat the renamed entity type parameter", async () => {
    const name = "metrics.topTargetedEntities";
    const query = { entity_type: "group", entity_type_parameter: "kind" };
    expect(await captureRejection(name, { ...query, extra: { kind: "user" } })).toContain('extra contains "kind"');
    expect(await captureQuery(name, { ...query, extra: { entity_type: "x" } })).toBe("?kind=group&entity_type=x");
  });

  test("may have the name of an Object.prototype property", async () => {
    const extra = JSON.parse('{"constructor": "a", "__proto__": "b", "toString": "c"}');
    expect(await captureQuery("metrics.hoursSaved", { extra })).toBe("?constructor=a&__proto__=b&toString=c");
  });

  test.each<[unknown, string]>([
    [Number.NaN, "NaN"],
    [Number.NEGATIVE_INFINITY, "-Infinity"],
    [null, "null"],
    [{ a: 1 }, '{"a":1}'],
    [["a", "b"], '["a","b"]'],
  ])("can't have the value %j", async (value, label) => {
    expect(await captureRejection("threats.list", { extra: { risk: value } })).toBe(
      `extra.risk must be a string, a finite number or a boolean, not ${label}`,
    );
  });
});
