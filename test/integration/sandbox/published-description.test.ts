import { Ajv2020, type ValidateFunction } from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import type { SandboxOptions } from "../../../provider/sandbox";
import { ENTRIES, type Json, METRICS, REPORTS, type SandboxService, startService, THREATS, VIPS } from "./service";

const ALL = [
  "DELETE /api/v1/settings/allow_deny_entries/{id}",
  `GET ${METRICS}/highlighted_threats`,
  `GET ${METRICS}/hours_saved`,
  `GET ${METRICS}/protected_inboxes`,
  `GET ${METRICS}/threats_over_time`,
  `GET ${METRICS}/top_targeted_entities`,
  `GET ${METRICS}/top_threat_types`,
  `GET ${ENTRIES}`,
  `GET ${VIPS}`,
  `GET ${REPORTS}`,
  `GET ${REPORTS}/aggs/mttr`,
  `GET ${REPORTS}/by_report_internet_message_id/{internet_message_id}`,
  `GET ${REPORTS}/{id}`,
  `GET ${THREATS}`,
  `GET ${THREATS}/by_internet_message_id/{id}`,
  `PATCH ${ENTRIES}/{id}`,
  `PATCH ${VIPS}`,
  `POST ${ENTRIES}`,
  `POST ${VIPS}`,
  `POST ${VIPS}/remove`,
];

interface DescribedOperation {
  name: string;
  operation: Json;
  path: RegExp;
  method: string;
}

function listOperations(description: Json): DescribedOperation[] {
  return Object.entries<Json>(description.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`),
      operation,
    })),
  );
}

async function fetchDescription(service: SandboxService): Promise<Json> {
  const { status, headers, body } = await service.stranger.get("/openapi.json");
  expect([status, headers.get("Content-Type")]).toEqual([200, "application/json"]);
  return body;
}

/** Compiles every schema of a description into a validator. */
function createValidator(description: Json): (schema: Json) => ValidateFunction {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true });
  addFormats["default"](ajv);
  ajv.addKeyword("components");
  const known = new Map<Json, ValidateFunction>();
  return (schema) => {
    const judge = known.get(schema) ?? ajv.compile({ ...schema, components: description.components });
    known.set(schema, judge);
    return judge;
  };
}

test("describes the twenty endpoints and their responses", async () => {
  await using service = await startService();
  const description = await fetchDescription(service);
  expect(description).toMatchObject({
    openapi: "3.1.0",
    // "The interface description carries version 1.0.0."
    info: { version: "1.0.0" },
    security: [{ ApiKey: [] }],
    components: { securitySchemes: { ApiKey: { type: "apiKey", in: "header", name: "X-Api-Key" } } },
  });
  const operations = listOperations(description);
  expect(operations.map(({ name }) => name).sort()).toEqual([...ALL].sort());
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(20);

  const judge = createValidator(description);
  for (const { name, operation, method } of operations) {
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(["401", "429", "500"]));
    const success = name === `POST ${ENTRIES}` ? "201" : "200";
    const statuses = Object.keys(operation.responses).filter((status) => status < "300");
    expect([name, statuses]).toEqual([name, [success]]);
    for (const response of Object.values<Json>(operation.responses)) {
      expect(judge(response.content["application/json"].schema)).toBeTypeOf("function");
    }
    const inPath = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
    const described = operation.parameters.filter((parameter: Json) => parameter.in === "path");
    expect(described.map((parameter: Json) => parameter.name)).toEqual(inPath);
    for (const parameter of operation.parameters) {
      expect([parameter.name, parameter.required]).toEqual([parameter.name, parameter.in === "path"]);
    }
    expect([name, "requestBody" in operation]).toEqual([name, method === "POST" || method === "PATCH"]);
  }
});

test("contains the reference's defaults and limits", async () => {
  await using service = await startService();
  const { paths } = await fetchDescription(service);
  const findParameter = (path: string, name: string) =>
    paths[path].get.parameters.find((each: Json) => each.name === name).schema;
  expect(findParameter(THREATS, "minutes_ago")).toMatchObject({
    type: "integer",
    minimum: 1,
    default: 7 * 24 * 60,
  });
  expect(findParameter(THREATS, "page")).toMatchObject({ type: "integer", minimum: 1, default: 1 });
  expect(findParameter(THREATS, "page_size")).toEqual({ type: "integer", minimum: 1, maximum: 100, default: 50 });
  expect(findParameter(REPORTS, "minutes_ago")).toMatchObject({ type: "integer", default: 30 * 24 * 60 });
  expect(findParameter(`${METRICS}/threats_over_time`, "days")).toMatchObject({ type: "integer", default: 7 });
  expect(findParameter(`${METRICS}/top_targeted_entities`, "entity_type")).toEqual({
    type: "string",
    enum: ["user", "group"],
    default: "user",
  });
  for (const path of [VIPS, ENTRIES]) {
    expect(findParameter(path, "page_size")).toEqual({ type: "integer", minimum: 1, maximum: 200, default: 50 });
  }
  expect(findParameter(VIPS, "sort")).toEqual({ type: "string", enum: ["asc", "desc"], default: "desc" });
  const remove = paths[`${VIPS}/remove`].post.requestBody.content["application/json"].schema;
  expect(remove.properties.emails).toMatchObject({ minItems: 1, maxItems: 1000 });
});

describe.each<[string, SandboxOptions]>([
  ["with default options", {}],
  ["answering 200 at the top outside the organization", { notInOrgStatus: 200, notInOrgShape: "top" }],
  ["answering 422 at the top outside the organization", { notInOrgStatus: 422, notInOrgShape: "top" }],
  ["without any mail", { scenario: "empty" }],
  ["with a low rate limit", { rateLimit: { perSecond: 0.001, burst: 5 } }],
])("sandbox %s", (_, options) => {
  test("returns only responses that its description covers", async () => {
    const answers: { method: string; path: string; status: number; body: unknown }[] = [];
    await using service = await startService({
      ...options,
      afterHandle({ method, path }, { status, body }) {
        answers.push({ method, path, status, body });
        return undefined;
      },
    });
    const description = await fetchDescription(service);
    const operations = listOperations(description);
    const judge = createValidator(description);
    await requestEveryOperation(service);

    const seen = new Set<string>();
    for (const { method, path, status, body } of answers) {
      const described = operations.find((each) => each.method === method && each.path.test(path));
      const schema = described?.operation.responses[status]?.content["application/json"].schema;
      expect([method, path, status, schema === undefined]).toEqual([method, path, status, false]);
      const judgement = judge(schema);
      judgement(body);
      expect([method, path, status, judgement.errors]).toEqual([method, path, status, null]);
      expect(judgement({ ...(body as object), unheardOf: 1 })).toBe(false);
      seen.add(described?.name ?? "");
    }
    expect([...seen].sort()).toEqual([...ALL].sort());
  });
});

/** Requests a successful response and every documented error from each endpoint. */
async function requestEveryOperation({ acme, globex, stranger, sandbox }: SandboxService): Promise<void> {
  const encoded = encodeURIComponent;
  for (const path of [THREATS, REPORTS, VIPS, ENTRIES]) {
    for (const query of ["", "?page=2", "?page=999", "?page=0", "?minutes_ago=999999", "?page_size=100"]) {
      await acme.get(path + query);
    }
    await globex.get(path);
    await stranger.get(path);
  }
  for (const name of [
    "threats_over_time",
    "top_targeted_entities",
    "top_threat_types",
    "highlighted_threats",
    "hours_saved",
    "protected_inboxes",
  ]) {
    for (const query of ["", "?days=200", "?days=x"]) await acme.get(`${METRICS}/${name}${query}`);
  }
  await acme.get(`${METRICS}/top_targeted_entities?entity_type=group&days=200`);
  for (const query of ["", "?days=200", "?days=x"]) await acme.get(`${REPORTS}/aggs/mttr${query}`);
  const reports = [...sandbox.phishingReports("acme").slice(0, 30)];
  for (const { id, report_internet_message_id, original_email_internet_message_id } of reports) {
    await acme.get(`${REPORTS}/${id}`);
    await acme.get(`${REPORTS}/by_report_internet_message_id/${encoded(report_internet_message_id)}`);
    await acme.get(`${THREATS}/by_internet_message_id/${encoded(original_email_internet_message_id)}`);
  }
  await acme.get(`${REPORTS}/none`);
  await acme.get(`${REPORTS}/by_report_internet_message_id/none`);
  await acme.get(`${THREATS}/by_internet_message_id/none`);

  const entry = { list: "deny", entry_type: "domain", value: "walk.example" };
  const created = await acme.post(ENTRIES, entry);
  await acme.post(ENTRIES, entry);
  await acme.post(ENTRIES, { ...entry, value: "" });
  for (const id of [created.body.results?.id ?? "none", "none"]) {
    await acme.patch(`${ENTRIES}/${id}`, { comment: "x" });
    await acme.patch(`${ENTRIES}/${id}`, { value: "x" });
    await acme.delete(`${ENTRIES}/${id}`);
  }
  for (const emails of [["mei.chen@acme.example"], ["ruth.castellan@acme.example"], ["x@elsewhere.example"], []]) {
    await acme.post(VIPS, { emails, comment: "x" });
    for (const email of emails) await acme.patch(VIPS, { email, comment: "y" });
    await acme.post(`${VIPS}/remove`, { emails });
  }
}
