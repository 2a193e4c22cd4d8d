import { describe, expect, test } from "vitest";
import { findEndpoint, parseRows, wrapContent } from "./endpoints";
import { getRejection, RecordingService, respondWithJson, TestClient } from "./service";

/*
 * Each field of each table in the reference's section "Resources and their fields", in each response that contains it.
 * The client returns it unchanged. An optional field can be missing or null without an error; a field that the client
 * acts on is rejected with its path if it is invalid.
 */

interface FieldTable {
  readonly name: string;
  /** The rows of the reference: field and type. */
  readonly fields: string;
  /** The client's methods whose responses contain the table. */
  readonly readBy: readonly string[];
  /** The fields that a response must contain. */
  readonly required: readonly string[];
  /** The location of the table in a response's content. Default: the content itself. */
  readonly place?: string;
}

const REPORT_FIELDS = `
| id | string |
| original_email_internet_message_id | string |
| report_internet_message_id | string |
| reasoning | string |
| report_date | string |
| reporter | string |
| sender | string |
| subject | string |
| verdict | string |`;

const TABLES: readonly FieldTable[] = [
  {
    name: "Threat",
    fields: `
| id | string |
| action_taken | string enum |
| criticality | string |
| verdict | string |
| detection_time | string, date-time |
| time | string, date-time |
| reasoning | string |
| recipient_email | string |
| recipient_name | string |
| sender_email | string |
| sender_name | string |
| sender_domain | string |
| sender_registry_date | string |
| source | string |
| subject | string |
| threat_type | string |
| threat_indicators | array of Threat indicator |
| remediation_time | string, date-time |`,
    readBy: ["threats.list", "threats.byInternetMessageId", "metrics.highlightedThreats"],
    required: ["id"],
  },
  {
    name: "Threat indicator",
    fields: `
| indicator_type | string |
| explanation | string |
| grounding | string |`,
    readBy: ["threats.list", "threats.byInternetMessageId", "metrics.highlightedThreats"],
    required: [],
    place: "threat_indicators",
  },
  {
    name: "Phishing report (list form)",
    fields: REPORT_FIELDS,
    readBy: ["phishingReports.list", "phishingReports.byReportInternetMessageId"],
    required: ["id"],
  },
  {
    name: "Phishing report (detail form)",
    fields: `${REPORT_FIELDS}
| to | array of string |
| cc | array of string |
| bcc | array of string |
| email_content_url | string |
| response_content_url | string |`,
    readBy: ["phishingReports.get"],
    required: ["id"],
  },
  {
    name: "VIP employee (list row)",
    fields: `
| email | string (mailbox address) |
| full_name | string |
| job_title | string |
| department | string |
| comment | string |
| added_by | string |
| date_added | string |
| updated_at | string |
| source | string |`,
    readBy: ["vipEmployees.list"],
    // "A row without a mailbox is a real VIP."
    required: [],
  },
  {
    name: "VIP stored row",
    fields: `
| added_by | string |
| comment | string |
| date_added | string |
| email | string |
| source | string |
| updated_at | string |`,
    readBy: ["vipEmployees.editComment"],
    required: [],
  },
  {
    name: "Allow/deny entry",
    fields: `
| id | string |
| list | string enum |
| entry_type | string |
| value | string |
| verdict_scope | string |
| comment | string |
| created_at | string |
| created_by | string |`,
    readBy: ["allowDenyEntries.list", "allowDenyEntries.create", "allowDenyEntries.update"],
    required: ["id", "list", "entry_type", "value"],
  },
  {
    name: "Add VIP",
    fields: `
| added | array of string |
| already_vip | array of string |
| not_in_org | array of string |`,
    readBy: ["vipEmployees.add"],
    required: [],
  },
  { name: "Remove VIP", fields: "| affected | integer |", readBy: ["vipEmployees.remove"], required: [] },
  {
    name: "Delete allow/deny entry",
    fields: `
| deleted | boolean |
| deleted_at | string |
| deleted_by | string |
| id | string |`,
    readBy: ["allowDenyEntries.delete"],
    required: [],
  },
  {
    name: "threats_over_time item",
    fields: `
| date | string (date-time) |
| count_threats | integer |`,
    readBy: ["metrics.threatsOverTime"],
    required: ["date", "count_threats"],
  },
  {
    name: "top_targeted_entities item",
    fields: `
| full_name | string |
| job_title | string |
| count_threats | integer |`,
    readBy: ["metrics.topTargetedEntities"],
    required: ["count_threats"],
  },
  {
    name: "top_threat_types item",
    fields: `
| type | string |
| count_threats | integer |`,
    readBy: ["metrics.topThreatTypes"],
    required: ["count_threats"],
  },
];

type FieldRow = Record<string, unknown>;

const listFields = ({ fields }: FieldTable) => parseRows(fields).map(([name = "", type = ""]) => ({ name, type }));

/** Returns a value for a type in the reference. */
function buildSampleValue(name: string, type: string): unknown {
  // Any mailbox in this field causes a separate error: see response-parsing.test.ts.
  if (name === "not_in_org") return [];
  if (type.startsWith("array of string")) return [`${name} 1`, `${name} 2`];
  if (type.startsWith("array of")) return [{ indicator_type: "url", explanation: "é", grounding: "x" }];
  if (type === "integer") return 3;
  if (type === "number") return 2.5;
  if (type === "boolean") return false;
  return type.includes("date-time") ? "2026-01-02T03:04:05.678+02:00" : `${name} of é 😀`;
}

/** Returns values that are invalid for a type in the reference. */
function listInvalidValues(type: string): unknown[] {
  if (type.startsWith("array of string")) return ["x", {}, [7], [null]];
  if (type.startsWith("array of")) return ["x", {}, [7], [null], ["x"]];
  if (type === "integer") return ["3", true, 1.5, -1];
  return type === "number" ? ["3", true] : type === "boolean" ? ["true", 1, {}] : [7, true, {}, ["x"]];
}

const buildFullRow = (table: FieldTable): FieldRow =>
  Object.fromEntries(listFields(table).map(({ name, type }) => [name, buildSampleValue(name, type)]));

/** Starts a service and a client to read rows through one method, each row in its own response. */
async function startReader(method: string, table: FieldTable) {
  const endpoint = findEndpoint(method);
  const rows: unknown[] = [];
  const service = await RecordingService.start((_request, response, index) => {
    const content = table.place === undefined ? rows[index] : { id: "t1", [table.place]: [rows[index]] };
    respondWithJson(response, 200, wrapContent(endpoint.envelope, content));
  });
  const client = new TestClient(service);
  return {
    read: async (row: FieldRow): Promise<FieldRow> => {
      rows.push(row);
      const answer = await endpoint.call(client, "x1");
      const list = Array.isArray(answer) ? answer : ((answer as { items?: unknown[] }).items ?? [answer]);
      expect(list).toHaveLength(1);
      const [fieldRow] = list as [FieldRow];
      return table.place === undefined ? fieldRow : ((fieldRow[table.place] as [FieldRow])[0] as FieldRow);
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await service[Symbol.asyncDispose]();
    },
  };
}

const readings = TABLES.flatMap((table) => table.readBy.map((method) => [table.name, method, table] as const));

describe.each(readings)("table %s, read by %s", (_name, method, table) => {
  test("keeps exactly the documented fields", async () => {
    await using to = await startReader(method, table);
    const whole = buildFullRow(table);
    expect(await to.read({ ...whole, field_of_tomorrow: { a: [1] } })).toEqual(whole);
  });

  test.each(listFields(table).map(({ name, type }) => [name, type] as const))(
    "validates %s of type %s",
    async (name, type) => {
      await using to = await startReader(method, table);
      const { [name]: _left, ...without } = buildFullRow(table);
      const isRequired = table.required.includes(name);
      for (const row of [without, { ...without, [name]: null }]) {
        if (isRequired) {
          const error = await getRejection(to.read(row));
          expect(error).toMatchObject({ name: "InvalidResponseError", code: "ERR_INVALID_RESPONSE" });
          expect((error as Error).message).toMatch(
            new RegExp(`: results\\.[\\w.]*\\b${name}: Invalid input: expected `),
          );
        } else {
          const read = await to.read(row);
          expect(read[name]).toEqual(type.startsWith("array") ? [] : undefined);
          expect({ ...read, [name]: "" }).toEqual({ ...without, [name]: "" });
        }
      }
      for (const misfit of listInvalidValues(type)) {
        const error = await getRejection(to.read({ ...without, [name]: misfit }));
        expect(error).toMatchObject({ code: "ERR_INVALID_RESPONSE" });
        expect((error as Error).message).toMatch(new RegExp(`: results\\.[\\w.]*\\b${name}\\b[\\w.]*: `));
      }
    },
  );
});

describe("single-number metrics", () => {
  test.each([
    ["metrics.hoursSaved", "hours_saved", [0, 12.5, 1e6], [null, undefined, "1"], []],
    ["metrics.protectedInboxes", "protected_inboxes", [0, 120], [null, undefined, "1", 1.5, -1], []],
    // Without any reports there is no mean, which isn't an error.
    ["phishingReports.meanTimeToAnalyze", "analysis_time", [0, 41.25], [undefined, "1"], [null]],
  ] as const)("%s accepts only numbers in %s", async (method, field, numbers, misfits, none) => {
    const { call } = findEndpoint(method);
    const bodies = [...numbers, ...none, ...misfits];
    await using service = await RecordingService.start((_request, response, index) =>
      respondWithJson(response, 200, { status: 200, results: { [field]: bodies[index] } }),
    );
    await using client = new TestClient(service);
    for (const number of numbers) expect(await call(client, "")).toBe(number);
    for (const _ of none) expect(await call(client, "")).toBeUndefined();
    for (const _ of misfits) {
      expect(await getRejection(call(client, ""))).toMatchObject({
        code: "ERR_INVALID_RESPONSE",
        message: expect.stringMatching(new RegExp(`: results\\.${field}: (Invalid input|Too small): expected `)),
      });
    }
  });
});

describe("enumeration values", () => {
  const ACTIONS =
    "moved_to_trash, moved_to_spam, moved_to_graymail, moved_to_promotions, quarantined, released_from_quarantine, restored, none";
  const VERDICTS = "unknown, spam, malicious, safe, allowed, denied, simulation, graymail, no_analysis";

  test.each([
    ["Threat", "action_taken", `${ACTIONS}, shredded`],
    ["Threat", "criticality", "high, low, 11"],
    ["Threat", "verdict", `${VERDICTS}, of tomorrow`],
    ["Threat", "threat_type", "phishing, of tomorrow"],
    ["Phishing report (list form)", "verdict", `${VERDICTS}, of tomorrow`],
    ["Phishing report (detail form)", "verdict", `${VERDICTS}, of tomorrow`],
    ["VIP employee (list row)", "source", "auto, manual, of tomorrow"],
    ["Allow/deny entry", "list", "allow, deny, watch"],
    ["Allow/deny entry", "entry_type", "domain, ip, email_address, url"],
    ["Allow/deny entry", "verdict_scope", "global, graymail, of tomorrow"],
  ])("accepts in %s for %s any of: %s", async (name, field, values) => {
    for (const [, method, table] of readings.filter(([readingName]) => readingName === name)) {
      await using to = await startReader(method, table);
      for (const value of ["", ...values.split(", ")]) {
        expect((await to.read({ ...buildFullRow(table), [field]: value }))[field]).toBe(value);
      }
    }
  });
});

describe("dates in any format", () => {
  test.each(["2026-01-02T03:04:05Z", "2026-01-02", "02.01.2026", "1767322800", "yesterday", ""])(
    "keeps %j unchanged",
    async (date) => {
      const dates = /_(date|at|time)$|^(date|time)$|^date_/;
      for (const [, method, table] of readings) {
        await using to = await startReader(method, table);
        const names = listFields(table)
          .map(({ name }) => name)
          .filter((name) => dates.test(name));
        const row = Object.fromEntries(names.map((name) => [name, date]));
        if (names.length > 0) expect(await to.read({ ...buildFullRow(table), ...row })).toMatchObject(row);
      }
    },
  );
});

test.each(["vipEmployees.list", "vipEmployees.editComment"])("reads a blank mailbox as missing: %s", async (method) => {
  const table = TABLES.find(({ readBy }) => readBy.includes(method)) as FieldTable;
  await using to = await startReader(method, table);
  for (const email of ["", "  "]) {
    expect(await to.read({ email, comment: "x" })).toEqual({ email: undefined, comment: "x" });
  }
});

test.each(["metrics.topTargetedEntities", "metrics.topThreatTypes", "metrics.highlightedThreats"])(
  "accepts any number of items from %s",
  async (method) => {
    const { call, content } = findEndpoint(method);
    const counts = [0, 1, 5, 6];
    await using service = await RecordingService.start((_request, response, index) =>
      respondWithJson(response, 200, { results: { items: Array.from({ length: counts[index] ?? 0 }, () => content) } }),
    );
    await using client = new TestClient(service);
    for (const count of counts) expect(await call(client, "")).toHaveLength(count);
  },
);

test.each(["threats.byInternetMessageId", "phishingReports.byReportInternetMessageId"])(
  "accepts an empty or long array from %s",
  async (method) => {
    const { call, content } = findEndpoint(method);
    const counts = [0, 1, 500];
    await using service = await RecordingService.start((_request, response, index) =>
      respondWithJson(response, 200, {
        status: 200,
        results: Array.from({ length: counts[index] ?? 0 }, () => content),
      }),
    );
    await using client = new TestClient(service);
    for (const count of counts) expect(await call(client, "x1")).toHaveLength(count);
    expect(service.received).toHaveLength(3);
  },
);
