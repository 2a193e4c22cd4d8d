import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import { threat, vipEmployee } from "../../../provider/client/schemas";
import { camelCaseKeys } from "../../../provider/resources/functions/camel-case";
import { buildCamelCaseSchema } from "../../../provider/resources/functions/camel-case-schema";
import { definitions } from "../../../provider/resources/functions/definitions";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ scenario: "acme" });
});
afterAll(async () => await sandbox.close());
beforeEach(() => sandbox.clearRequests());

async function callFunction(name: string, args: object): Promise<object | undefined> {
  const client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" });
  return await definitions[name]?.read(client, args);
}

it.each<[name: string, args: unknown, message: string]>([
  ["getThreats", { minutesAgo: -5 }, "minutesAgo must be a whole number of 1 or more, not -5"],
  ["getThreats", { limit: "7" }, 'limit must be a whole number of 1 or more, not "7"'],
  ["getThreats", { minutesAgo: 2 ** 60 }, "minutesAgo is too large: 1152921504606847000 is more than 9007199254740991"],
  [
    "getThreats",
    { minutesAgo: 1.5, limit: 0 },
    "minutesAgo must be a whole number of 1 or more, not 1.5\nlimit must be",
  ],
  ["getHoursSaved", { days: null }, "days must be a whole number of 1 or more, not null"],
  ["getHoursSaved", { month: 1 }, "month isn't an argument of this function; its arguments are days"],
  ["getVipEmployees", { page: 1 }, "page isn't an argument of this function"],
  ["getVipEmployees", "all", 'the arguments must be an object, not "all"'],
  ["getPhishingReport", {}, "id must be a string, not undefined"],
  ["getTopTargetedEntities", { entityType: "team" }, 'entityType must be "user" or "group", not "team"'],
  ["getAllowDenyEntries", { list: "Deny" }, 'list must be "allow" or "deny", not "Deny"'],
])("rejects %s with %j before any request", async (name, args, message) => {
  const refusal = callFunction(name, args as object);
  await expect(refusal).rejects.toMatchObject({
    code: "ERR_INVALID_ARGUMENT",
    message: expect.stringContaining(message),
  });
  expect(sandbox.requests).toEqual([]);
});

it("returns exactly the fields of each result schema", async () => {
  const { reports } = (await callFunction("getPhishingReports", { limit: 1 })) as { reports: { id: string }[] };
  const inputs: Record<string, object> = {
    getPhishingReport: { id: reports[0]?.id },
    getPhishingReportsByReportInternetMessageId: { internetMessageId: "<no@message.example>" },
    getThreatsByInternetMessageId: { internetMessageId: "<no@message.example>" },
    getTopTargetedEntities: { entityType: "group", days: 30 },
    getAllowDenyEntries: { list: undefined },
  };
  for (const [name, { result }] of Object.entries(definitions)) {
    const answer = await callFunction(name, inputs[name] ?? {});
    expect(result.strict().safeParse(answer), name).toMatchObject({ success: true });
    expect(answer, name).toEqual(result.parse(answer));
  }
});

it("builds a camel-case schema that matches converted rows", () => {
  const row = { id: "t1", action_taken: null, threat_indicators: [{ indicator_type: "link" }], later: 1 };
  const schema = buildCamelCaseSchema(threat);
  const read = camelCaseKeys(threat.parse(row));
  expect(schema.strict().parse(read)).toEqual({ id: "t1", threatIndicators: [{ indicatorType: "link" }] });
  expect(schema.safeParse({ ...read, threatIndicators: [{ indicatorType: 1 }] }).success).toBe(false);
  expect(schema.safeParse({ ...read, threatIndicators: undefined }).success).toBe(false);
  expect(Object.keys(buildCamelCaseSchema(vipEmployee).shape)).toContain("fullName");
  expect(schema.meta()).toMatchObject({ title: "Threat" });
});
