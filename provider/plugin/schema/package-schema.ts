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

/** A resource: what it takes and, in `properties`, what its state holds. */
interface ResourceSpec extends ObjectSpec {
  readonly inputProperties: Readonly<Record<string, PropertySpec>>;
  readonly requiredInputs: readonly string[];
  /** Whether it is made of other resources, and holds nothing itself. */
  readonly isComponent?: true;
  /** By what those that are there can be chosen, where they are listed. */
  readonly listInputs?: ObjectSpec;
}

/** A function: what it takes, if anything, and what it answers. */
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
 * Pulumi's schema of the package: the types of the zod schemas that check the arguments, in the words of the JSDoc.
 *
 * @param examples of each resource, by its name, as Markdown.
 * @throws {Error} when the two tell of different properties.
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
    // By which a program that names no place of the plugin has it downloaded: from the releases there.
    pluginDownloadURL: `github://api.github.com/${repository.path}`,
    // The Go SDK is a module with a go.mod of its own only where packing is supported.
    meta: { moduleFormat: "(.*)", supportPack: true },
    config: { variables: configuration },
    provider: {
      description: wordsOf(words, "Provider").text,
      properties: {},
      inputProperties: configuration,
      // The default one, and that of `pulumi do`, have them of the environment; of another the plugin itself demands them.
      requiredInputs: [],
    },
    resources,
    functions: Object.fromEntries(functions),
    types: types.named,
    language: languages(description, repository),
  };

  /**
   * A resource by its class and the schema of its arguments; of a list also which argument holds its content, and of one thing
   * which of them make it another.
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
    // A new resource has none until `npm run sdks` has made one of its schema.
    return example === undefined ? text : `${text}\n\n${example}`;
  }

  /** A component by its class and the schema of its arguments. */
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

  /** In the words of the function that lists the same; as texts, for which alone `pulumi do` has flags. */
  function listInputs({ shape }: z.ZodObject): ObjectSpec {
    const texts = Object.keys(shape).map((name) => [name, { type: "string" }] as const);
    const properties =
      texts.length === 0 ? {} : described(words, "GetAllowDenyEntriesArgs", Object.fromEntries(texts));
    return { type: "object", properties };
  }

  /** A function by its definition, in the words of the function of that name and of the types it is declared with. */
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
    // A type without members of its own is a row of the service, which says what it is itself.
    const isRow = Object.keys(members).length === 0;
    const properties = isRow ? object.properties : described(words, name, object.properties);
    return { description: text, type: "object", ...object, properties };
  }
}

/**
 * What the provider takes. No default from the environment is named here, or its key would get into the provider's inputs,
 * and so into state: the plugin reads the environment itself, for the default provider alone.
 */
const PROVIDER: Readonly<Record<string, TypeSpec & { readonly secret?: boolean }>> = {
  baseUrl: { type: "string" },
  apiKey: { type: "string", secret: true },
  allowInsecureHttp: { type: "boolean" },
  timeoutMs: { type: "integer" },
  ownDomains: { type: "array", items: { type: "string" } },
};

/** Where the sources are and releases are made, which the names and addresses of all that is published follow from. */
interface Repository {
  readonly url: string;
  readonly owner: string;
  /** The owner's name and its own, `owner/name`. */
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

/** What each generator of SDKs is told. */
function languages(description: string, repository: Repository): Readonly<Record<string, unknown>> {
  const go = `github.com/${repository.path}/sdk/go`;
  return {
    nodejs: {
      // Not the name of the package with the dynamic resources: what a program imports by that is another front.
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
    // Named for the owner, to whom the registries of .NET and Java bind such names; those that begin with Pulumi's are Pulumi's.
    csharp: {
      rootNamespace: pascalCase(repository.owner),
      respectSchemaVersion: true,
    },
    java: {
      basePackage: `io.github.${repository.owner.replaceAll("-", "")}`,
      // The pom.xml is written beside what is generated, with the group that Maven Central knows the owner by.
      buildFiles: "none",
    },
  };
}

function providerArguments(words: Words): Record<string, PropertySpec> {
  return described(words, "ProviderArgs", PROVIDER);
}

/**
 * Only told, and not demanded of the engine, which would compare the texts: the plugin compares what they mean, and replaces
 * nothing for another way of writing the same.
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
      // Where the SDKs have one form of an argument, only its first paragraph is about that one.
      const text = said.get(property) ?? "";
      return [property, { ...type, description: type === KEYED ? firstParagraph(text) : text }];
    }),
  );
}

/** What the state of a resource holds, by the properties of its class: texts, and keyed lists. */
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

/** The schema without the content of a list, which is checked element by element and has one type for the SDKs. */
function without(schema: z.ZodObject, property: string): z.ZodObject {
  const { [property]: _content, ...shape } = schema.shape;
  return z.strictObject(shape);
}

function firstParagraph(text: string): string {
  return text.split("\n\n")[0] ?? text;
}
