import Ajv2020 from "ajv/dist/2020";
import { describe, expect, it } from "vitest";
import { buildPublishedSchemas } from "../../../../provider/commands/json-schemas";
import { readTargets } from "../../../../provider/rollout/targets/read-targets";
import { buildTenantsJsonSchema } from "../../../../provider/rollout/targets/targets-schema";
import { readYaml } from "../../../../provider/settings-files/yaml-source";
import { createTestDirectory } from "../../../support/test-directory";

const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(buildTenantsJsonSchema());

function isRead(text: string): boolean {
  using directory = createTestDirectory({ "tenants.yaml": text });
  try {
    readTargets(directory.at("tenants.yaml"));
    return true;
  } catch {
    return false;
  }
}

const DEFAULTS =
  "version: 1\ndefaults: { baseUrl: https://mail.example, key: { environment: '{NAME}_KEY' }, settings: '{name}.yaml', labels: { a: b, c: e }, allowInsecureHttp: false }\n";

const formatTenant = (fields: string): string => `${DEFAULTS}tenants: { acme: { ${fields} } }`;
const formatWave = (fields: string): string => `${DEFAULTS}tenants: { acme: }\nwaves: [{ name: w, ${fields} }]`;

it("publishes the tenants schema", () => {
  expect(buildPublishedSchemas()["tenants.schema.json"]).toEqual(buildTenantsJsonSchema());
  expect(Object.keys(buildPublishedSchemas())).toContain("settings.schema.json");
});

describe("a valid tenants file", () => {
  it.each([
    formatTenant(""),
    formatTenant("stack: a, resource: b c, labels: { 'x/y': 'a b' }, key: { file: /run/secrets/acme }"),
    formatTenant("key: { command: [get, ''] }, baseUrl: https://other.example/api/"),
    formatWave("match: { a: b, c: [d, e] }, limit: 10%, maxConcurrent: 2, failureTolerance: 0, soak: 0s, gate: true"),
    formatWave(
      "limit: 1, failureTolerance: 0.25%, health: { command: [a], timeout: 1d, threats: { risePercent: 0, min: 1 } }",
    ),
    `${DEFAULTS}project: p\ninclude: []\ntenants: { acme: }\nfailureTolerance: 100%\nservices: { https://mail.example: { requestsPerSecond: 0.1, maxConcurrent: 1 } }`,
  ])("is accepted by the schema: %s", (text) => {
    expect(validate(readYaml(text, "a").value), JSON.stringify(validate.errors)).toBe(true);
    expect(isRead(text)).toBe(true);
  });
});

/** Invalid files; `false` if only reading the file finds the mistake. */
describe("an invalid tenants file", () => {
  it.each<[text: string, bySchema?: false]>([
    ["tenants: {}"],
    ["version: 2"],
    [formatTenant("colour: red")],
    [formatTenant("stack: a/b")],
    [formatTenant("key: abc")],
    [formatTenant("key: { value: abc }")],
    [formatTenant("key: {}")],
    [formatTenant("key: { file: a, environment: B }")],
    [formatTenant("key: { environment: a b }")],
    [formatTenant("key: { command: [] }")],
    [formatTenant("key: { command: get }")],
    [formatTenant("labels: { a: 1 }")],
    [formatTenant("labels: { a b: x }")],
    [formatTenant("labels: { a: 'x,y' }")],
    [formatTenant("allowInsecureHttp: yes please")],
    [formatTenant("provider: both")],
    [`${DEFAULTS}tenants: { a b: }`],
    [`${DEFAULTS}tenants: [acme]`],
    [`${DEFAULTS}tenants: { acme: }\nservices: { https://mail.example: { requestsPerSecond: 0 } }`],
    [`${DEFAULTS}tenants: { acme: }\nfailureTolerance: 101%`],
    [`${DEFAULTS}tenants: { acme: }\nfailureTolerance: -1`],
    [`${DEFAULTS}tenants: { acme: }\nwaves: []`],
    [formatWave("limit: 0")],
    [formatWave("limit: 1.5")],
    [formatWave("soak: 30")],
    [formatWave("soak: 1w")],
    [formatWave("gate: 1")],
    [formatWave("maxConcurrent: 0")],
    [formatWave("match: { a: [] }")],
    [formatWave("health: { threats: { min: 0 } }")],
    [formatWave("health: { command: check }")],
    [formatWave("limit: 0%"), false],
    [formatWave("soak: 31d"), false],
    [formatWave("health: {}"), false],
    [formatWave("health: { command: [''] }"), false],
    [formatTenant("baseUrl: mail"), false],
    [formatTenant("settings: /etc/acme.yaml"), false],
    [`${DEFAULTS}tenants: { ..: }`, false],
    [`${DEFAULTS}tenants: {}`, false],
  ])("is rejected by the reader: %s", (text, isInSchema) => {
    expect(isRead(text), "when it is read").toBe(false);
    expect(validate(readYaml(text, "a").value), "by the schema").toBe(isInSchema === false);
  });
});
