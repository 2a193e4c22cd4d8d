import { z } from "zod";
import { tenantSettingsArguments } from "../../plan/declared-lists";
import { definitions } from "../../resources/functions/definitions";
import type { FunctionDefinition } from "../../resources/functions/function-definition";
import { lifecycleOf } from "../../resources/lifecycles";
import type { ResourceKind } from "../../resources/resource-type";
import { allowDenyEntryArguments, vipEmployeeArguments } from "../../settings/arguments";
import { ENTRIES, MEMBERS } from "../../settings/list-arguments";
import {
  KEYED,
  MODULE,
  type ObjectSpec,
  type PropertySpec,
  pascalCase,
  SchemaTypes,
  type TypeSpec,
} from "./schema-types";
import { type Words, wordsOf, wordsOfEach } from "./words";

/** The part of the package's manifest that its schema repeats. */
export interface Manifest {
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly keywords: readonly string[];
  readonly repository: { readonly url: string };
}

/** A resource: its inputs and, in `properties`, its state. */
interface ResourceSpec extends ObjectSpec {
  readonly inputProperties: Readonly<Record<string, PropertySpec>>;
  readonly requiredInputs: readonly string[];
  /** Whether it consists of other resources and has no state of its own. */
  readonly isComponent?: true;
  /** The filters for listing existing resources. */
  readonly listInputs?: ObjectSpec;
}

/** A function: its inputs, if any, and its outputs. */
interface FunctionSpec {
  readonly description: string;
  readonly inputs?: ObjectSpec;
  readonly outputs: ObjectSpec;
}

/** What Pulumi's package schema says of a package. */
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
  readonly types: SchemaTypes["named"];
  readonly language: Readonly<Record<string, unknown>>;
}

/**
 * Builds Pulumi's schema of the package from the zod schemas of the arguments and the JSDoc.
 *
 * @param examples the examples of each resource by name, as Markdown.
 * @throws {Error} if schema and JSDoc have different properties.
 */
export function packageSchema(
  words: Words,
  manifest: Manifest,
  examples: Readonly<Record<string, string>>,
): PackageSpec {
  const types = new SchemaTypes(words);
  const resources = {
    [`${MODULE}:AllowDenyEntry`]: resource("AllowDenyEntry", {
      schema: allowDenyEntryArguments,
      replacedBy: ["value", "entryType"],
    }),
    [`${MODULE}:AllowDenyList`]: resource("AllowDenyList", ENTRIES),
    [`${MODULE}:TenantSettings`]: component("TenantSettings", tenantSettingsArguments),
    [`${MODULE}:VipEmployee`]: resource("VipEmployee", {
      schema: vipEmployeeArguments,
      replacedBy: ["email"],
    }),
    [`${MODULE}:VipList`]: resource("VipList", MEMBERS),
  };
  const functions = Object.entries(definitions).map(([name, one]) => [
    `${MODULE}:${name}`,
    dataFunction(name, one),
  ]);
  const { version, description, license, keywords } = manifest;
  const repository = repositoryOf(manifest);
  const configuration = providerArguments(words);
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
      description: wordsOf(words, "Provider").text,
      properties: {},
      inputProperties: configuration,
      // The default instance and `pulumi do` may take them from the environment; the plugin itself requires them for others.
      requiredInputs: [],
    },
    resources,
    functions: Object.fromEntries(functions),
    types: types.named,
    language: languages(description, repository),
  };

  /**
   * Builds a resource from its class and the schema of its arguments. For a list, also names the argument with its content;
   * otherwise, the arguments that replace it.
   */
  function resource(
    name: ResourceKind,
    checked: {
      readonly schema: z.ZodObject;
      readonly property?: string;
      readonly replacedBy?: readonly string[];
    },
  ): ResourceSpec {
    const { schema, property: content, replacedBy = [] } = checked;
    const { properties, required = [] } = types.propertiesOf(
      content === undefined ? schema : without(schema, content),
      "arguments",
    );
    return {
      description: withExample(name),
      ...outputs(words, name),
      inputProperties: sayingWhatReplaces(
        described(
          words,
          `${name}Args`,
          content === undefined ? properties : { [content]: KEYED, ...properties },
        ),
        replacedBy,
      ),
      requiredInputs: content === undefined ? required : [content, ...required],
      listInputs: listInputs(lifecycleOf(name).query),
    };
  }

  function withExample(name: string): string {
    const { text } = wordsOf(words, name);
    const example = examples[name];
    // A new resource has no example until `npm run sdks` generates one from its schema.
    return example === undefined ? text : `${text}\n\n${example}`;
  }

  /** Builds a component from its class and the schema of its arguments. */
  function component(name: string, schema: z.ZodObject): ResourceSpec {
    const { properties, required = [] } = types.propertiesOf(schema, "arguments");
    return {
      isComponent: true,
      description: withExample(name),
      properties: {},
      inputProperties: described(words, `${name}Args`, properties),
      requiredInputs: required,
    };
  }

  /** Documented like the function that lists the same objects. All are strings, the only type that `pulumi do` has flags for. */
  function listInputs({ shape }: z.ZodObject): ObjectSpec {
    const texts = Object.keys(shape).map((name) => [name, { type: "string" }] as const);
    const properties =
      texts.length === 0 ? {} : described(words, "GetAllowDenyEntriesArgs", Object.fromEntries(texts));
    return { type: "object", properties };
  }

  /** Builds a function from its definition, documented by the function of that name and its declared types. */
  function dataFunction(name: string, definition: FunctionDefinition<object, object>): FunctionSpec {
    const { text, args = "", result = "" } = wordsOf(words, name);
    const inputs = types.propertiesOf(definition.args, "arguments");
    const outputs = types.propertiesOf(definition.result, "answer");
    return {
      description: text,
      ...(Object.keys(inputs.properties).length === 0 ? {} : { inputs: inWords(args, inputs) }),
      outputs: inWords(/^Promise<(\w+)>$/.exec(result)?.[1] ?? result, outputs),
    };
  }

  function inWords(name: string, object: ObjectSpec): ObjectSpec {
    const { text, members } = wordsOf(words, name);
    // A type without its own members is a row of the service, which documents itself.
    const isRow = Object.keys(members).length === 0;
    const properties = isRow ? object.properties : described(words, name, object.properties);
    return { description: text, type: "object", ...object, properties };
  }
}

/**
 * The provider's inputs. They declare no environment defaults, which would put the key into the inputs and so into state. The
 * plugin reads the environment itself, for the default provider only.
 */
const PROVIDER: Readonly<Record<string, TypeSpec & { readonly secret?: boolean }>> = {
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
  /** The full name, `owner/name`. */
  readonly path: string;
}

function repositoryOf({ repository }: Manifest): Repository {
  const [, path, owner] = /^git\+https:\/\/github\.com\/(([\w-]+)\/[\w.-]+)\.git$/.exec(repository.url) ?? [];
  if (path === undefined || owner === undefined) {
    throw new Error(
      `${repository.url} is no repository of GitHub's: write git+https://github.com/OWNER/NAME.git`,
    );
  }
  return { url: `https://github.com/${path}`, owner, path };
}

/** Returns the options of each SDK generator. */
function languages(description: string, repository: Repository): Readonly<Record<string, unknown>> {
  const go = `github.com/${repository.path}/sdk/go`;
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
      importBasePath: `${go}/emailsecurity`,
      modulePath: go,
      rootPackageName: "emailsecurity",
      generateResourceContainerTypes: true,
      respectSchemaVersion: true,
    },
    // Named after the owner, because .NET and Java registries bind names to owners; names that begin with Pulumi are reserved.
    csharp: {
      rootNamespace: pascalCase(repository.owner),
      respectSchemaVersion: true,
    },
    java: {
      basePackage: `io.github.${repository.owner.replaceAll("-", "")}`,
      // The pom.xml is written separately, with the owner's group on Maven Central.
      buildFiles: "none",
    },
  };
}

function providerArguments(words: Words): Record<string, PropertySpec> {
  return described(words, "ProviderArgs", PROVIDER);
}

/**
 * Documents replacement without declaring it: the engine would compare the texts, but the plugin ignores differences in
 * spelling.
 */
function sayingWhatReplaces(
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

function described(
  words: Words,
  name: string,
  types: Readonly<Record<string, TypeSpec>>,
): Record<string, PropertySpec> {
  const said = wordsOfEach(words, name, Object.keys(types));
  return Object.fromEntries(
    Object.entries(types).map(([property, type]) => {
      // If the SDKs have only one form of an argument, only its first paragraph applies.
      const text = said.get(property) ?? "";
      return [property, { ...type, description: type === KEYED ? firstParagraph(text) : text }];
    }),
  );
}

/** Returns the state of a resource, from the properties of its class: texts and keyed lists. */
function outputs(words: Words, name: string): Pick<ObjectSpec, "properties" | "required"> {
  const members = Object.entries(wordsOf(words, name).members);
  const said = wordsOfEach(
    words,
    name,
    members.map(([member]) => member),
  );
  const isAlways = (type: string): boolean => !/\| undefined>$/.test(type);
  return {
    properties: Object.fromEntries(
      members.map(([member, { type }]) => [
        member,
        {
          ...(type.includes("Record<string, string>") ? KEYED : { type: "string" }),
          description: said.get(member) ?? "",
        },
      ]),
    ),
    required: members.filter(([, { type }]) => isAlways(type)).map(([member]) => member),
  };
}

/** Returns the schema without a list's content, which is validated per element and has one type in the SDKs. */
function without(schema: z.ZodObject, property: string): z.ZodObject {
  const { [property]: _content, ...shape } = schema.shape;
  return z.strictObject(shape);
}

function firstParagraph(text: string): string {
  return text.split("\n\n")[0] ?? text;
}
