import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  allowDenyEntryArguments,
  checkAllowDenyEntry,
  checkVipEmployee,
  type RawArguments,
  vipEmployeeArguments,
} from "../../../provider/model/arguments";
import {
  allowDenyListArguments,
  ENTRY_LIST_KIND,
  VIP_LIST_KIND,
  vipListArguments,
} from "../../../provider/model/list-arguments";
import { checkList } from "../../../provider/model/list-check";
import manifest from "../../../provider/package.json";
import type { DocIndex } from "../../../provider/plugin/schema/doc-index";
import { buildPackageSchema } from "../../../provider/plugin/schema/package-schema";
import { definitions } from "../../../provider/resources/functions/definitions";
import { allowDenyEntryLifecycle } from "../../../provider/resources/lifecycle/allow-deny-entry";
import { vipEmployeeLifecycle } from "../../../provider/resources/lifecycle/vip-employee";
import { readSchemaExamples } from "../../../scripts/build-plugin.mjs";
import { readPluginDocs } from "../../../scripts/read-jsdoc.mjs";
import native from "../../../sdk/nodejs/package.json";

const words = readPluginDocs("provider");
const examples = readSchemaExamples("provider");
const schema = buildPackageSchema(words, manifest, examples);

/** The check of each resource's arguments. */
const RESOURCES: [
  name: string,
  arguments_: { readonly shape: object },
  check: (raw: RawArguments) => { failures: readonly { property: string }[] },
][] = [
  ["AllowDenyEntry", allowDenyEntryArguments, checkAllowDenyEntry],
  ["VipEmployee", vipEmployeeArguments, checkVipEmployee],
  ["AllowDenyList", allowDenyListArguments, (raw) => checkList(ENTRY_LIST_KIND, raw)],
  ["VipList", vipListArguments, (raw) => checkList(VIP_LIST_KIND, raw)],
];

it.each(RESOURCES)("requires the same inputs of %s as its check", (name, { shape }, check) => {
  const resource = schema.resources[`email-security:index:${name}`];
  expect(Object.keys(resource?.inputProperties ?? {}).sort()).toEqual(Object.keys(shape).sort());
  const missing = check({}).failures.map(({ property }) => property);
  expect([...(resource?.requiredInputs ?? [])].sort()).toEqual(missing.sort());
  expect(missing).not.toEqual([]);
});

it("declares list filters in types that `pulumi do` supports", () => {
  const inputs = RESOURCES.map(([name]) => [
    name,
    schema.resources[`email-security:index:${name}`]?.listInputs?.properties,
  ]);
  expect(Object.fromEntries(inputs)).toEqual({
    AllowDenyEntry: { list: { type: "string", description: expect.stringMatching(/`"allow"` or `"deny"`/) } },
    AllowDenyList: {},
    VipEmployee: {},
    VipList: {},
  });
});

it("describes every argument and output with its JSDoc text", () => {
  for (const [name] of RESOURCES) {
    const resource = schema.resources[`email-security:index:${name}`];
    expect(resource?.description).toBe(`${words[name]?.text}\n\n${examples[name]}`);
    for (const [property, { description }] of Object.entries(resource?.properties ?? {})) {
      expect(description).toBe(words[name]?.members[property]?.text);
    }
    for (const [property, { description = "" }] of Object.entries(resource?.inputProperties ?? {})) {
      expect(words[`${name}Args`]?.members[property]?.text.split("\n\n")[0]).toBe(description);
      expect(description).toMatch(/^[^{]/);
      expect(description).not.toMatch(/\{@link|\*\/|\n/);
    }
  }
  expect(words["AllowDenyEntryArgs"]?.members["value"]?.text).toBe(
    "The domain, IP address or mailbox. Compared in canonical form (case, IDN, trailing dot, IPv6 text), kept as written. Changing it replaces the entry.",
  );
  expect(words["GetThreatsArgs"]?.text).toBe("The arguments of getThreats.");
});

it("models a list as a map of texts", () => {
  const keyed = { type: "object", additionalProperties: { type: "string" } };
  for (const [name, content] of [
    ["AllowDenyList", "entries"],
    ["VipList", "members"],
  ] as const) {
    const { inputProperties, properties } = schema.resources[`email-security:index:${name}`] ?? {};
    expect(inputProperties?.[content]).toMatchObject(keyed);
    expect(properties?.[content]).toMatchObject(keyed);
  }
  const entry = schema.resources["email-security:index:AllowDenyEntry"];
  expect(entry?.inputProperties["verdictScope"]).toMatchObject({
    oneOf: [{ type: "string" }, { $ref: "#/types/email-security:index:VerdictScope" }],
  });
  expect(entry?.inputProperties["list"]).toMatchObject({ $ref: "#/types/email-security:index:EntryList" });
  // The service may return values that aren't known.
  expect(entry?.properties["list"]).toMatchObject({ type: "string" });
  expect(entry?.required).toEqual(["list", "value", "entryType", "verdictScope", "entryId"]);
});

it("marks only the API key as secret", () => {
  const secrets = [...JSON.stringify(schema).matchAll(/"(\w+)":\{"type":"string","secret":true/g)];
  expect(secrets.map(([, name]) => name)).toEqual(["apiKey", "apiKey"]);
  expect(JSON.stringify(schema)).not.toMatch(/"default(Info)?":/);
  // The default provider gets them from the environment, and so does the provider of `pulumi do`, which would prompt
  // for required inputs.
  expect(schema.provider.requiredInputs).toEqual([]);
});

it("includes every function with its arguments and result", () => {
  expect(Object.keys(schema.functions).sort()).toEqual(
    Object.keys(definitions)
      .map((name) => `email-security:index:${name}`)
      .sort(),
  );
  for (const [name, { args }] of Object.entries(definitions)) {
    const { inputs, outputs } = schema.functions[`email-security:index:${name}`] ?? {};
    expect(Object.keys(inputs?.properties ?? {})).toEqual(Object.keys(args.shape));
    expect(Object.keys(outputs?.properties ?? {})).not.toEqual([]);
  }
  expect(schema.functions["email-security:index:getThreats"]).toMatchObject({
    inputs: { properties: { minutesAgo: { type: "integer" } }, required: [] },
    outputs: {
      properties: { threats: { type: "array", items: { $ref: "#/types/email-security:index:Threat" } } },
      required: ["threats"],
    },
  });
  expect(schema.types["email-security:index:Threat"]).toMatchObject({
    type: "object",
    description: words["Threat"]?.text,
    properties: {
      actionTaken: { type: "string" },
      threatIndicators: { type: "array", items: { $ref: "#/types/email-security:index:ThreatIndicator" } },
    },
    required: ["id", "threatIndicators"],
  });
});

it("defines exactly the types that it references", () => {
  const referred = [...JSON.stringify(schema).matchAll(/"#\/types\/([^"]+)"/g)].map(([, token]) => token);
  expect([...new Set(referred)].sort()).toEqual(Object.keys(schema.types).sort());
});

/** Returns the doc index with the members of one declaration changed. */
function changeMembers(
  name: string,
  change: (members: Record<string, { text: string; type: string }>) => void,
): DocIndex {
  const copy = structuredClone(words) as Record<string, { text: string; members: never }>;
  change(copy[name]?.members ?? ({} as never));
  return copy;
}

it.each<[label: string, words: () => DocIndex, message: string]>([
  [
    "an undocumented argument",
    () => changeMembers("VipEmployeeArgs", (members) => delete members["onDelete"]),
    "VipEmployeeArgs doesn't document onDelete. Add JSDoc there.",
  ],
  [
    "an argument without a description",
    () => changeMembers("ProviderArgs", (members) => Object.assign(members["apiKey"] ?? {}, { text: "" })),
    "ProviderArgs doesn't document apiKey. Add JSDoc there.",
  ],
  [
    "words of what no check knows",
    () =>
      changeMembers("AllowDenyListArgs", (members) =>
        Object.assign(members, { color: { text: "A color.", type: "" } }),
      ),
    "AllowDenyListArgs documents color, but the validation schema does not have it.",
  ],
  [
    "a function without words",
    () => ({ ...words, getThreats: { text: "", members: {} } }),
    "getThreats has no JSDoc, which the schema needs for its description.",
  ],
])("fails the build for %s", (_label, buildDocs, message) => {
  expect(() => buildPackageSchema(buildDocs(), manifest, examples)).toThrow(message);
});

it("names a package that the main package does not depend on", () => {
  const { packageName } = schema.language["nodejs"] as { packageName: string };
  expect(packageName).toBe(native.name);
  expect(packageName).not.toBe(manifest.name);
  // The engine would try to download the plugin for programs that don't use it.
  const { dependencies, peerDependencies } = manifest;
  expect(Object.keys({ ...dependencies, ...peerDependencies })).not.toContain(packageName);
});

it.each([
  ["AllowDenyEntry", allowDenyEntryLifecycle],
  ["VipEmployee", vipEmployeeLifecycle],
] as const)("marks the properties of %s whose change replaces it", (name, { diff }) => {
  const { inputProperties = {} } = schema.resources[`email-security:index:${name}`] ?? {};
  const properties = Object.keys(inputProperties);
  const describeEach = (text: string) => Object.fromEntries(properties.map((property) => [property, text]));
  const changes = diff(describeEach("one.example") as never, describeEach("other.example") as never);
  const replaced = changes.filter(({ replace }) => replace).map(({ property }) => property);
  const replacingProperties = properties.filter((property) => inputProperties[property]?.willReplaceOnChanges);
  expect(replacingProperties.sort()).toEqual(replaced.sort());
  expect(replacingProperties).not.toEqual([]);
});

it("derives its URLs and namespaces from the repository URL", () => {
  const moved = { ...manifest, repository: { url: "git+https://github.com/acme-corp/mail.git" } };
  const { homepage, publisher, pluginDownloadURL, logoUrl, language } = buildPackageSchema(words, moved, examples);
  expect({ homepage, publisher, pluginDownloadURL }).toEqual({
    homepage: "https://github.com/acme-corp/mail",
    publisher: "acme-corp",
    pluginDownloadURL: "github://api.github.com/acme-corp/mail",
  });
  expect(language).toMatchObject({
    go: { modulePath: "github.com/acme-corp/mail/sdk/go" },
    csharp: { rootNamespace: "AcmeCorp" },
    java: { basePackage: "io.github.acmecorp" },
  });
  const logo = readFileSync(logoUrl.replace(/^.*\/main\//, ""));
  // The width and height.
  expect([logo.readUInt32BE(16), logo.readUInt32BE(20)]).toEqual([100, 100]);
  expect(() => buildPackageSchema(words, { ...moved, repository: { url: "acme-corp/mail" } }, examples)).toThrow(
    "git+https://github.com/OWNER/NAME.git",
  );
});

it("matches the committed schema file", () => {
  const committed = readFileSync("provider/cmd/pulumi-resource-email-security/schema.json", "utf8");
  expect(JSON.parse(committed)).toEqual(schema);
});
