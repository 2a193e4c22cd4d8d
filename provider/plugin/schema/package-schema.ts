import { z } from "zod";
import { allowDenyEntryArguments, vipEmployeeArguments } from "../../model/arguments";
import { ENTRY_LIST_KIND, VIP_LIST_KIND } from "../../model/list-arguments";
import { tenantSettingsArguments } from "../../plan/declared-list-arguments";
import { definitions } from "../../resources/functions/definitions";
import type { FunctionDefinition } from "../../resources/functions/function-definition";
import { getLifecycle } from "../../resources/get-lifecycle";
import type { ResourceKind } from "../../resources/resource-type";
import { type DocIndex, getDoc, getMemberTexts } from "./doc-index";
import {
  ENCODED_LIST_TYPE,
  MODULE,
  type ObjectSpec,
  type PropertySpec,
  SchemaTypes,
  type TypeSpec,
  toPascalCase,
} from "./schema-types";

export interface SourceManifest {
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly keywords: readonly string[];
  readonly repository: { readonly url: string };
}

interface ResourceSpec extends ObjectSpec {
  readonly inputProperties: Readonly<Record<string, PropertySpec>>;
  readonly requiredInputs: readonly string[];
  /** Whether it consists of other resources and has no state of its own. */
  readonly isComponent?: true;
  readonly listInputs?: ObjectSpec;
}

interface FunctionSpec {
  readonly description: string;
  readonly inputs?: ObjectSpec;
  readonly outputs: ObjectSpec;
}

export interface PackageSpec {
  readonly name: string;
  readonly displayName: string;
  readonly version: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly license: string;
  readonly homepage: string;
  readonly repository: string;
  readonly publisher: string;
  readonly logoUrl: string;
  readonly pluginDownloadURL: string;
  readonly meta: { readonly moduleFormat: string; readonly supportPack: boolean };
  readonly config: { readonly variables: Readonly<Record<string, PropertySpec>> };
  readonly provider: ResourceSpec;
  readonly resources: Readonly<Record<string, ResourceSpec>>;
  readonly functions: Readonly<Record<string, FunctionSpec>>;
  readonly types: SchemaTypes["namedTypes"];
  readonly language: Readonly<Record<string, unknown>>;
}

/**
 * Builds Pulumi's schema of the package from the zod schemas of the arguments and the JSDoc.
 *
 * @param examples the examples of each resource by name, as Markdown.
 * @throws {Error} if schema and JSDoc have different properties.
 */
export function buildPackageSchema(
  docs: DocIndex,
  manifest: SourceManifest,
  examples: Readonly<Record<string, string>>,
): PackageSpec {
  const types = new SchemaTypes(docs);
  const resources = {
    [`${MODULE}:AllowDenyEntry`]: buildResource("AllowDenyEntry", {
      schema: allowDenyEntryArguments,
      replacedBy: ["value", "entryType"],
    }),
    [`${MODULE}:AllowDenyList`]: buildResource("AllowDenyList", ENTRY_LIST_KIND),
    [`${MODULE}:TenantSettings`]: buildComponentSpec("TenantSettings", tenantSettingsArguments),
    [`${MODULE}:VipEmployee`]: buildResource("VipEmployee", {
      schema: vipEmployeeArguments,
      replacedBy: ["email"],
    }),
    [`${MODULE}:VipList`]: buildResource("VipList", VIP_LIST_KIND),
  };
  const functions = Object.entries(definitions).map(([name, definition]) => [
    `${MODULE}:${name}`,
    buildFunction(name, definition),
  ]);
  const { version, description, license, keywords } = manifest;
  const repository = parseRepository(manifest);
  const configuration = describeProviderArguments(docs);
  return {
    name: "email-security",
    displayName: "Email Security",
    version,
    description,
    keywords: [...new Set([...keywords, "category/utility", "kind/native"])],
    license,
    homepage: repository.url,
    repository: repository.url,
    publisher: repository.owner,
    logoUrl: `https://raw.githubusercontent.com/${repository.path}/main/docs/public/logo.png`,
    // Programs that don't name a plugin source download it from these releases.
    pluginDownloadURL: `github://api.github.com/${repository.path}`,
    // The Go SDK is a module with its own go.mod only if packing is supported.
    meta: { moduleFormat: "(.*)", supportPack: true },
    config: { variables: configuration },
    provider: {
      description: getDoc(docs, "Provider").text,
      properties: {},
      inputProperties: configuration,
      // The default instance and `pulumi do` may take them from the environment; the plugin itself requires them for others.
      requiredInputs: [],
    },
    resources,
    functions: Object.fromEntries(functions),
    types: types.namedTypes,
    language: buildLanguageOptions(description, repository),
  };

  /**
   * Builds a resource from its class and the schema of its arguments. For a list, also names the argument with its content;
   * otherwise, the arguments that replace it.
   */
  function buildResource(
    name: ResourceKind,
    argumentSource: {
      readonly schema: z.ZodObject;
      readonly property?: string;
      readonly replacedBy?: readonly string[];
    },
  ): ResourceSpec {
    const { schema, property: listProperty, replacedBy = [] } = argumentSource;
    const { properties, required = [] } = types.buildObjectSpec(
      listProperty === undefined ? schema : omitProperty(schema, listProperty),
      "arguments",
    );
    return {
      description: addExample(name),
      ...buildOutputs(docs, name),
      inputProperties: markReplacements(
        describeProperties(
          docs,
          `${name}Args`,
          listProperty === undefined ? properties : { [listProperty]: ENCODED_LIST_TYPE, ...properties },
        ),
        replacedBy,
      ),
      requiredInputs: listProperty === undefined ? required : [listProperty, ...required],
      listInputs: buildListInputs(getLifecycle(name).querySchema),
    };
  }

  function addExample(name: string): string {
    const { text } = getDoc(docs, name);
    const example = examples[name];
    // A new resource has no example until `npm run sdks` generates one from its schema.
    return example === undefined ? text : `${text}\n\n${example}`;
  }

  function buildComponentSpec(name: string, schema: z.ZodObject): ResourceSpec {
    const { properties, required = [] } = types.buildObjectSpec(schema, "arguments");
    return {
      isComponent: true,
      description: addExample(name),
      properties: {},
      inputProperties: describeProperties(docs, `${name}Args`, properties),
      requiredInputs: required,
    };
  }

  /**
   * Builds the filters with the texts of the function that lists the same objects. Their type is string, because
   * `pulumi do` has flags for strings only.
   */
  function buildListInputs({ shape }: z.ZodObject): ObjectSpec {
    const textProperties = Object.keys(shape).map((name) => [name, { type: "string" }] as const);
    const properties =
      textProperties.length === 0
        ? {}
        : describeProperties(docs, "GetAllowDenyEntriesArgs", Object.fromEntries(textProperties));
    return { type: "object", properties };
  }

  function buildFunction(name: string, definition: FunctionDefinition<object, object>): FunctionSpec {
    const { text, args = "", result = "" } = getDoc(docs, name);
    const inputs = types.buildObjectSpec(definition.args, "arguments");
    const buildOutputs = types.buildObjectSpec(definition.result, "answer");
    return {
      description: text,
      ...(Object.keys(inputs.properties).length === 0 ? {} : { inputs: addDescriptions(args, inputs) }),
      outputs: addDescriptions(/^Promise<(\w+)>$/.exec(result)?.[1] ?? result, buildOutputs),
    };
  }

  function addDescriptions(name: string, object: ObjectSpec): ObjectSpec {
    const { text, members } = getDoc(docs, name);
    // A type without members of its own is a row of the service, whose schema has its own texts.
    const isRow = Object.keys(members).length === 0;
    const properties = isRow ? object.properties : describeProperties(docs, name, object.properties);
    return { description: text, type: "object", ...object, properties };
  }
}

/**
 * The provider's inputs. They declare no environment defaults, which would put the key into the inputs and so into state. The
 * plugin reads the environment itself, for the default provider only.
 */
const PROVIDER_TYPES: Readonly<Record<string, TypeSpec & { readonly secret?: boolean }>> = {
  baseUrl: { type: "string" },
  apiKey: { type: "string", secret: true },
  allowInsecureHttp: { type: "boolean" },
  timeoutMs: { type: "integer" },
  ownDomains: { type: "array", items: { type: "string" } },
};

/** The repository of sources and releases, from which all published names and addresses derive. */
interface Repository {
  readonly url: string;
  readonly owner: string;
  readonly path: string;
}

function parseRepository({ repository }: SourceManifest): Repository {
  const [, path, owner] = /^git\+https:\/\/github\.com\/(([\w-]+)\/[\w.-]+)\.git$/.exec(repository.url) ?? [];
  if (path === undefined || owner === undefined) {
    throw new Error(`${repository.url} isn't a GitHub repository: write git+https://github.com/OWNER/NAME.git`);
  }
  return { url: `https://github.com/${path}`, owner, path };
}

function buildLanguageOptions(description: string, repository: Repository): Readonly<Record<string, unknown>> {
  const goModule = `github.com/${repository.path}/sdk/go`;
  return {
    nodejs: {
      // Differs from the package with the dynamic resources, since programs import another provider by that name.
      packageName: "pulumi-email-security-native",
      packageDescription: description,
      respectSchemaVersion: true,
      dependencies: { "@pulumi/pulumi": "^3.142.0" },
    },
    python: {
      packageName: "pulumi_email_security",
      requires: { pulumi: ">=3.165.0,<4.0.0" },
      pyproject: { enabled: true },
      pythonRequires: ">=3.9",
      respectSchemaVersion: true,
      inputTypes: "classes-and-dicts",
    },
    go: {
      importBasePath: `${goModule}/emailsecurity`,
      modulePath: goModule,
      rootPackageName: "emailsecurity",
      generateResourceContainerTypes: true,
      respectSchemaVersion: true,
    },
    // Named after the owner, because .NET and Java registries bind names to owners; names that begin with Pulumi are reserved.
    csharp: {
      rootNamespace: toPascalCase(repository.owner),
      respectSchemaVersion: true,
    },
    java: {
      basePackage: `io.github.${repository.owner.replaceAll("-", "")}`,
      // The pom.xml is written separately, with the owner's group on Maven Central.
      buildFiles: "none",
    },
  };
}

function describeProviderArguments(docs: DocIndex): Record<string, PropertySpec> {
  return describeProperties(docs, "ProviderArgs", PROVIDER_TYPES);
}

/**
 * Documents replacement without declaring it: the engine would compare the texts, but the plugin ignores differences in
 * spelling.
 */
function markReplacements(
  properties: Record<string, PropertySpec>,
  replacedBy: readonly string[],
): Record<string, PropertySpec> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      replacedBy.includes(name) ? { ...property, willReplaceOnChanges: true } : property,
    ]),
  );
}

function describeProperties(
  docs: DocIndex,
  name: string,
  types: Readonly<Record<string, TypeSpec>>,
): Record<string, PropertySpec> {
  const memberDocs = getMemberTexts(docs, name, Object.keys(types));
  return Object.fromEntries(
    Object.entries(types).map(([property, type]) => {
      // The SDKs have only one form of this argument, which the first paragraph describes.
      const text = memberDocs.get(property) ?? "";
      return [property, { ...type, description: type === ENCODED_LIST_TYPE ? getFirstParagraph(text) : text }];
    }),
  );
}

/** Builds the state of a resource from the properties of its class: texts and encoded lists. */
function buildOutputs(docs: DocIndex, name: string): Pick<ObjectSpec, "properties" | "required"> {
  const members = Object.entries(getDoc(docs, name).members);
  const memberDocs = getMemberTexts(
    docs,
    name,
    members.map(([member]) => member),
  );
  const isRequired = (type: string): boolean => !/\| undefined>$/.test(type);
  return {
    properties: Object.fromEntries(
      members.map(([member, { type }]) => [
        member,
        {
          ...getOutputType(type),
          description: memberDocs.get(member) ?? "",
        },
      ]),
    ),
    required: members.filter(([, { type }]) => isRequired(type)).map(([member]) => member),
  };
}

/** @throws {TypeError} for a type without a form in the schema. */
function getOutputType(type: string): TypeSpec {
  if (type.includes("Record<string, string>")) return ENCODED_LIST_TYPE;
  if (/<string\[\]/.test(type)) return { type: "array", items: { type: "string" } };
  if (/\b(?:number|boolean)\b|\[\]/.test(type)) throw new TypeError(`The schema has no form for the output ${type}.`);
  return { type: "string" };
}

/**
 * Returns the schema without the content of a list, which is validated element by element and has one type for all
 * SDKs.
 */
function omitProperty(schema: z.ZodObject, property: string): z.ZodObject {
  const { [property]: _content, ...shape } = schema.shape;
  return z.strictObject(shape);
}

function getFirstParagraph(text: string): string {
  return text.split("\n\n")[0] ?? text;
}
